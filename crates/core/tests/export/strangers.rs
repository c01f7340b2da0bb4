//! Names of work files that are taken: what is not ours stays as it is, and no link is followed.

#![cfg(unix)]

use super::{Service, beside, export, names, run, run_pages};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use talentdata_core::ErrorKind;
use talentdata_core::export::{Export, Format};
use talentdata_core::scan::Receipt;

const TAKEN: [&str; 5] = [
    ".part.1",
    ".part.2",
    ".part.40",
    ".checkpoint",
    ".checkpoint.new",
];

/// In the largest pages, so that several groups of Parquet, of 8,192 records each, are soon through.
fn large(path: &Path, format: Format) -> Export {
    let mut export = export(path);
    export.format = format;
    export.scan.page_size = Some(100);
    export
}

/// One of each way in which unfinished data lie on the disk.
fn formats() -> impl Iterator<Item = Format> {
    let parquet = cfg!(feature = "arrow").then_some(Format::Parquet);
    [Format::Jsonl].into_iter().chain(parquet)
}

#[tokio::test]
async fn where_nothing_is_unfinished_what_is_there_is_refused_and_stays() {
    let service = Service::start(30);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    let victim = folder.path().join("victim");
    fs::write(&victim, "precious").unwrap();
    for format in formats() {
        for ending in TAKEN {
            let name = beside(&path, ending);
            let taken: [&dyn Fn(); 3] = [
                &|| fs::write(&name, "my own").unwrap(),
                &|| symlink("victim", &name).unwrap(),
                &|| symlink("nowhere", &name).unwrap(),
            ];
            for take in taken {
                take();
                let before = fs::symlink_metadata(&name).unwrap();
                let error = run(&large(&path, format), &service.client).await;
                let error = error.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Io, "{error}");
                let shown = name.display().to_string();
                assert!(error.message().contains(&shown), "{error}");
                let after = fs::symlink_metadata(&name).unwrap();
                assert_eq!(after.modified().unwrap(), before.modified().unwrap());
                assert_eq!(after.file_type(), before.file_type());
                assert_eq!(names(folder.path()).len(), 2, "{error}");
                fs::remove_file(&name).unwrap();
            }
        }
    }
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    assert_eq!(service.sandbox.stats().requests, 0);
}

#[tokio::test]
async fn names_that_only_look_alike_are_left_alone() {
    let service = Service::start(30);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    let alike = [
        ".part.01",
        ".part.1.bak",
        ".part.",
        ".part.+1",
        ".part.x",
        ".partial.1",
    ];
    for ending in alike {
        fs::write(beside(&path, ending), "my own").unwrap();
    }
    for resume in [false, true] {
        let unfinished = Export {
            resume,
            ..export(&path)
        };
        run_pages(&unfinished, &service.client, 2)
            .await
            .unwrap_err();
        run(&unfinished, &service.client).await.unwrap();
    }
    for ending in alike {
        assert_eq!(fs::read(beside(&path, ending)).unwrap(), b"my own");
    }
}

#[tokio::test]
async fn links_among_the_files_of_an_unfinished_export_are_not_followed() {
    let service = Service::start(8_200);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    let victim = folder.path().join("victim");
    fs::write(&victim, "precious").unwrap();
    for format in formats() {
        for ending in TAKEN {
            fs::write(beside(&path, ".part"), "").unwrap();
            symlink("victim", beside(&path, ending)).unwrap();
            let afresh = Export {
                resume: false,
                ..large(&path, format)
            };
            run(&afresh, &service.client).await.unwrap();
            assert_eq!(names(folder.path()), ["out", "victim"], "{format} {ending}");
            assert!(!fs::symlink_metadata(&path).unwrap().is_symlink());
            assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        }
    }
}

#[tokio::test]
async fn links_that_come_while_an_export_runs_are_not_followed() {
    let service = Service::start(20_000);
    for (format, ending) in formats().zip([".checkpoint.new", ".part.2"]) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let victim = folder.path().join("victim");
        fs::write(&victim, "precious").unwrap();
        let plant = |_: &Receipt| {
            // When the first work files are there; a second time is refused.
            if beside(&path, ".part").exists() {
                let _ = symlink("victim", beside(&path, ending));
            }
        };
        let export = large(&path, format);
        let forever = std::future::pending();
        let outcome = export.run(&service.client, forever, plant).await;
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        if format == Format::Parquet {
            let error = outcome.unwrap_err();
            assert!(error.message().contains("out.part.2"), "{error}");
            assert!(error.message().contains("records are kept"), "{error}");
            fs::remove_file(beside(&path, ending)).unwrap();
            let receipt = run(&export, &service.client).await.unwrap();
            assert_eq!((receipt.resumed, receipt.records), (1, 20_000));
        }
    }
}

#[cfg(feature = "arrow")]
#[tokio::test]
async fn a_link_in_place_of_a_group_is_not_resumed_from() {
    let service = Service::start(20_000);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    let export = large(&path, Format::Parquet);
    run_pages(&export, &service.client, 191).await.unwrap_err();
    let elsewhere = folder.path().join("elsewhere");
    for ending in [".part.1", ".checkpoint"] {
        let name = beside(&path, ending);
        fs::rename(&name, &elsewhere).unwrap();
        symlink("elsewhere", &name).unwrap();
        let error = run(&export, &service.client).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io, "{error}");
        assert!(error.message().contains(ending), "{error}");
        fs::rename(&elsewhere, &name).unwrap();
    }
    let receipt = run(&export, &service.client).await.unwrap();
    assert_eq!(receipt.resumed, 1);
}
