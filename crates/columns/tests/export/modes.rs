//! Who may read what an export writes, while it runs and afterwards.

#![cfg(target_os = "linux")]

use super::child::{act_as_child, child};
use super::{Service, in_format, large, names, run_pages};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use talentdata_columns::export::{Export, Format};
use talentdata_core::scan::Receipt;

/// One of each way in which unfinished data lie on the disk.
fn formats() -> [Format; 3] {
    [Format::Jsonl, Format::Parquet, Format::Arrow]
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

/// A file that is to be replaced.
fn older(path: &Path, mode: u32) {
    fs::write(path, "older").unwrap();
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// Runs it and compares the mode of everything that is there with what `most` people may do.
async fn watched(export: &Export, service: &Service, directory: &Path, most: u32) -> Receipt {
    let watch = |_: &Receipt| {
        for name in names(directory) {
            let found = mode(&directory.join(&name));
            match name.ends_with(".part") {
                true => assert_eq!(found, 0o700),
                false => assert_eq!(found & !most, 0, "{name} has {found:o}"),
            }
        }
    };
    let forever = std::future::pending();
    export.run(&service.client, forever, watch).await.unwrap()
}

#[tokio::test]
async fn a_file_that_is_replaced_stays_until_then_and_hands_on_its_mode() {
    let service = Service::start(9_000);
    let modes = [0o400, 0o440, 0o600, 0o666];
    for (format, wanted) in formats()
        .into_iter()
        .flat_map(|format| modes.map(|mode| (format, mode)))
    {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out");
        older(&path, wanted);
        let export = large(format, &path);
        run_pages(&export, &service.client, 3).await.unwrap_err();
        assert_eq!(fs::read(&path).unwrap(), b"older");
        let receipt = watched(&export, &service, directory.path(), wanted | 0o600).await;
        assert_eq!((receipt.resumed, receipt.records), (1, 9_000));
        assert_eq!(mode(&path), wanted, "{format} {wanted:o}");
        assert_eq!(names(directory.path()), ["out"]);
    }
}

#[tokio::test]
async fn a_file_that_is_closed_while_the_export_runs_stays_closed() {
    let service = Service::start(100);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out");
    let close = |_: &Receipt| older(&path, 0o600);
    let export = in_format(Format::Jsonl, &path);
    let forever = std::future::pending();
    export.run(&service.client, forever, close).await.unwrap();
    assert_eq!(mode(&path), 0o600);
}

#[tokio::test]
async fn a_new_file_has_the_mode_that_the_umask_gives() {
    act_as_child().await;
    let service = Service::start(100);
    let test = "modes::a_new_file_has_the_mode_that_the_umask_gives";
    for format in formats() {
        for (umask, wanted) in [
            ("077", 0o600),
            ("027", 0o640),
            ("022", 0o644),
            ("000", 0o666),
        ] {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("out");
            let limits = format!("umask {umask};");
            let mut child = self::child(test, &limits, &service, &in_format(format, &path));
            assert!(child.wait().unwrap().success());
            assert_eq!(mode(&path), wanted, "{format} {umask}");
            // One that is replaced does not go by it.
            older(&path, 0o660);
            let mut child = self::child(test, &limits, &service, &in_format(format, &path));
            assert!(child.wait().unwrap().success());
            assert_eq!(mode(&path), 0o660, "{format} {umask}");
        }
    }
}
