//! Stopped and resumed, an export ends with the same bytes as one that was left alone.

use super::{Service, export, names, run, run_pages, work};
use serde_json::json;
use std::fs;
use talentdata_core::ErrorKind;
use talentdata_core::scan::Completeness;

#[tokio::test]
async fn stopped_after_any_page_it_goes_on_to_the_same_bytes() {
    let service = Service::start(95);
    let expected = service.lines();
    let directory = tempfile::tempdir().unwrap();
    let alone = directory.path().join("alone.jsonl");
    let receipt = run(&export(&alone), &service.client).await.unwrap();
    assert_eq!(fs::read_to_string(&alone).unwrap(), expected);
    assert_eq!((receipt.records, receipt.resumed), (95, 0));
    for pages in 1..=11 {
        let path = directory.path().join("out.jsonl");
        let error = run_pages(&export(&path), &service.client, pages).await;
        let error = error.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
        let part = fs::read_to_string(work(&path, "data")).unwrap();
        assert!(expected.starts_with(&part), "after {pages} pages");
        let kept = format!("{} records are kept", part.lines().count());
        assert!(error.message().contains(&kept), "{error}");
        assert!(!path.exists());
        let resumed = run(&export(&path), &service.client).await.unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), expected);
        assert_eq!(resumed.completeness, Completeness::Proven);
        assert_eq!((resumed.records, resumed.resumed), (95, 1));
        assert_eq!(resumed.total_first, Some(95));
        assert_eq!(resumed.unknown_fields, receipt.unknown_fields);
        assert_eq!(names(directory.path()), ["alone.jsonl", "out.jsonl"]);
        fs::remove_file(path).unwrap();
    }
}

#[tokio::test]
async fn stopped_after_every_page_it_comes_to_its_end() {
    let service = Service::start(60);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.jsonl");
    let mut runs = 0;
    let receipt = loop {
        match run_pages(&export(&path), &service.client, 1).await {
            Ok(receipt) => break receipt,
            Err(error) => assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}"),
        }
        runs += 1;
    };
    assert!(runs >= 6, "{runs}");
    assert_eq!(receipt.resumed, runs);
    assert_eq!(receipt.records, 60);
    assert_eq!(fs::read_to_string(&path).unwrap(), service.lines());
}

#[tokio::test]
async fn a_page_that_always_fails_leaves_what_came_before_it() {
    let service = Service::start(300);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.jsonl");
    let rule = json!({"match": {"path": "/v1/contacts", "from": 7}, "reply": {"status": 400}});
    service.ask("POST", "/__faults", &json!({"rules": [rule]}));
    let error = run(&export(&path), &service.client).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BadRequest);
    // The page begins with the last record of the one before.
    let records = error.offset().unwrap() + 1;
    let part = fs::read_to_string(work(&path, "data")).unwrap();
    assert_eq!(part.lines().count() as u64, records);
    assert!(
        error
            .message()
            .contains(&format!("{records} records are kept in")),
        "{error}"
    );
    service.ask("DELETE", "/__faults", &json!(null));
    run(&export(&path), &service.client).await.unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), service.lines());
}

#[tokio::test]
async fn what_was_begun_behind_the_checkpoint_is_dropped() {
    let service = Service::start(50);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.jsonl");
    run_pages(&export(&path), &service.client, 2)
        .await
        .unwrap_err();
    let part = work(&path, "data");
    let mut data = fs::read(&part).unwrap();
    data.extend_from_slice(b"{\"id\":\"torn");
    fs::write(&part, data).unwrap();
    // A checkpoint that was being written when the export was killed.
    fs::write(work(&path, "checkpoint.next"), "talentdata exp").unwrap();
    run(&export(&path), &service.client).await.unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), service.lines());
    assert_eq!(names(directory.path()), ["out.jsonl"]);
}

#[tokio::test]
async fn a_failure_before_the_first_page_leaves_nothing() {
    let service = Service::start(50);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.jsonl");
    let rule = json!({"match": {"path": "/v1/contacts"}, "reply": {"status": 403}});
    service.ask("POST", "/__faults", &json!({"rules": [rule]}));
    let error = run(&export(&path), &service.client).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Forbidden);
    assert!(
        error.message().contains("no partial file was kept"),
        "{error}"
    );
    assert!(names(directory.path()).is_empty());
}
