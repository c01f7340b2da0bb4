//! Exports of snapshots: they are not resumed, and say so by leaving nothing behind.

use super::{Service, export, names, run, run_pages};
use std::fs;
use talentdata_core::ErrorKind;
use talentdata_core::export::Format;
use talentdata_core::scan::{Basis, Completeness, Consistency};

#[tokio::test]
async fn a_snapshot_is_exported_once() {
    let service = Service::start(300);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.jsonl");
    let mut snapshot = export(&path);
    snapshot.scan.consistency = Consistency::Snapshot;
    let receipt = run(&snapshot, &service.client).await.unwrap();
    assert_eq!(receipt.completeness, Completeness::Proven);
    assert_eq!(receipt.basis, Some(Basis::Twice));
    assert!(receipt.snapshot_at.is_some());
    assert_eq!(fs::read_to_string(&path).unwrap(), service.lines());
}

#[tokio::test]
async fn a_snapshot_that_was_stopped_begins_again() {
    let service = Service::start(300);
    for format in Format::ALL {
        let directory = tempfile::tempdir().unwrap();
        let mut snapshot = export(&directory.path().join("out"));
        snapshot.format = format;
        snapshot.resume = format != Format::Arrow;
        snapshot.scan.consistency = Consistency::Snapshot;
        let error = run_pages(&snapshot, &service.client, 3).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
        assert!(
            error.message().contains("no partial file was kept"),
            "{error}"
        );
        assert_eq!(names(directory.path()), [""; 0], "{format}");
        assert!(!snapshot.is_resumable(&service.client));
        let receipt = run(&snapshot, &service.client).await.unwrap();
        assert_eq!((receipt.resumed, receipt.records), (0, 300), "{format}");
        assert_eq!(receipt.basis, Some(Basis::Twice), "{format}");
        assert_eq!(names(directory.path()), ["out"], "{format}");
    }
}

#[tokio::test]
async fn what_another_export_has_left_is_not_continued_as_a_snapshot() {
    let service = Service::start(300);
    let directory = tempfile::tempdir().unwrap();
    let mut other = export(&directory.path().join("out.jsonl"));
    run_pages(&other, &service.client, 3).await.unwrap_err();
    other.scan.consistency = Consistency::Snapshot;
    let error = run(&other, &service.client).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    for words in ["consistency: ", "complete", "snapshot", "without resume"] {
        assert!(error.message().contains(words), "{error}");
    }
    other.resume = false;
    let receipt = run(&other, &service.client).await.unwrap();
    assert_eq!((receipt.resumed, receipt.basis), (0, Some(Basis::Twice)));
}
