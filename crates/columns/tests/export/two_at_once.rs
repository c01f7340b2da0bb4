//! Two exports to one file exclude each other, and the one that was there first is not disturbed.

use super::{Service, export, run};
use std::fs;
use talentdata_columns::export::Export;
use talentdata_core::ErrorKind;
use talentdata_core::scan::Receipt;
use tokio::sync::Notify;

#[tokio::test]
async fn the_second_is_refused_while_the_first_runs() {
    let service = Service::start(5_000);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.jsonl");
    let (first, second) = (export(&path), export(&path));
    let begun = Notify::new();
    let count = |_: &Receipt| begun.notify_one();
    let running = first.run(&service.client, std::future::pending(), count);
    let refused = async {
        begun.notified().await;
        for resume in [true, false] {
            let second = Export {
                resume,
                ..second.clone()
            };
            let error = run(&second, &service.client).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Io);
            assert!(error.message().contains("another export"), "{error}");
            assert!(error.message().contains("out.jsonl"), "{error}");
        }
    };
    let (outcome, ()) = tokio::join!(running, refused);
    assert_eq!(outcome.unwrap().resumed, 0);
    assert_eq!(fs::read_to_string(&path).unwrap(), service.lines());
    run(&second, &service.client).await.unwrap();
}
