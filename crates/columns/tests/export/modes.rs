//! The users who may read the files of an export, while it runs and afterwards.

use super::service::act_as_child;
use super::{PLAIN_AND_ENCODED, Service, export, names, place, run_pages, watch};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use talentdata_columns::export::{FileMode, Format};

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

/// Creates a file that the export will replace.
fn older(path: &Path, mode: u32) {
    fs::write(path, "older").unwrap();
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[tokio::test]
async fn a_replaced_file_stays_until_the_end_and_passes_on_its_mode() {
    let service = Service::start(2_500);
    let modes = [0o400, 0o440, 0o600, 0o666].into_iter();
    for (wanted, format) in modes.flat_map(|mode| PLAIN_AND_ENCODED.map(|format| (mode, format))) {
        let (directory, path) = place();
        older(&path, wanted);
        let export = export(format, &path);
        run_pages(&export, &service.client, 3).await.unwrap_err();
        assert_eq!(fs::read(&path).unwrap(), b"older");
        let receipt = watch(&export, &service.client, |_| {
            for name in names(directory.path()) {
                let found = mode(&directory.path().join(&name));
                let expected = if name == "out" { wanted } else { 0o700 };
                assert_eq!(found, expected, "{name}");
            }
        });
        let receipt = receipt.await.unwrap();
        assert_eq!((receipt.resumed, receipt.records), (1, 2_500));
        assert_eq!(mode(&path), wanted, "{format} {wanted:o}");
        assert_eq!(names(directory.path()), ["out"]);
    }
}

#[tokio::test]
async fn a_file_that_becomes_private_while_the_export_runs_stays_private() {
    let service = Service::start(100);
    let (_directory, path) = place();
    let close = |_: &_| older(&path, 0o600);
    let export = export(Format::Jsonl, &path);
    watch(&export, &service.client, close).await.unwrap();
    assert_eq!(mode(&path), 0o600);
}

#[tokio::test]
async fn a_new_file_is_private_regardless_of_the_umask() {
    act_as_child().await;
    let service = Service::start(100);
    for format in PLAIN_AND_ENCODED {
        for umask in [0o077, 0o022, 0o000] {
            let (_directory, path) = place();
            // A replaced file keeps its own mode.
            for wanted in [0o600, 0o660] {
                let limits = format!("umask {umask:03o};");
                let mut child = service.child(&limits, &export(format, &path));
                assert!(child.wait().unwrap().success());
                assert_eq!(mode(&path), wanted, "{format} {umask:o}");
                older(&path, 0o660);
            }
        }
    }
}

#[tokio::test]
async fn files_are_private_until_they_get_the_mode_that_is_set() {
    let service = Service::start(300);
    for format in PLAIN_AND_ENCODED {
        let (directory, path) = place();
        let export = export(format, &path).with_mode("0644".parse().unwrap());
        let receipt = watch(&export, &service.client, |_| {
            for entry in fs::read_dir(directory.path().join("out.part")).unwrap() {
                let found = entry.unwrap().path();
                assert_eq!(mode(&found), 0o600, "{}", found.display());
            }
        });
        receipt.await.unwrap();
        assert_eq!(mode(&path), 0o644, "{format}");
    }
}

#[test]
fn a_mode_that_its_owner_cannot_use_is_refused() {
    for wrong in ["", "640x", "0440", "1777", "888", "+600", "00600"] {
        assert!(wrong.parse::<FileMode>().is_err(), "{wrong}");
    }
}
