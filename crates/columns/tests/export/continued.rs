//! Stopped wherever it may be and continued, an export ends with the same bytes as one that was left alone.

use super::{Service, export, in_format, large, names, run, run_pages, work};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::fs;
use std::io::Write;
use std::path::Path;
use talentdata_columns::export::Format;
use talentdata_columns::verify::verify;
use talentdata_core::ErrorKind;
use talentdata_core::scan::Completeness;
use talentdata_sandbox::Drift;

/// Adds what a process that was killed may have left behind its checkpoint.
fn tear(path: &Path) {
    for name in ["data", "ids"] {
        let mut file = fs::File::options()
            .append(true)
            .open(work(path, name))
            .unwrap();
        file.write_all(b"{\"id\":\"torn").unwrap();
    }
    fs::write(work(path, "output"), "PAR1 torn").unwrap();
    fs::write(work(path, "checkpoint.next"), "talentdata exp").unwrap();
}

/// Stops exports after so many pages of each of their runs.
#[tokio::test]
async fn wherever_it_is_stopped_it_goes_on_to_the_same_bytes() {
    let each = (1..=11).map(|pages| vec![pages]);
    let table: [(Format, u64, Vec<Vec<u64>>); 4] = [
        (
            Format::Jsonl,
            95,
            each.chain([vec![1; 9], vec![1, 2, 3]]).collect(),
        ),
        (
            Format::Csv,
            2000,
            vec![vec![1], vec![10], vec![11, 7], vec![20]],
        ),
        // Behind a row group, and before the columns are decided.
        (Format::Parquet, 8_700, vec![vec![5], vec![80, 3]]),
        (Format::Arrow, 2000, vec![vec![2], vec![11, 7]]),
    ];
    for (format, records, cases) in table {
        let service = Service::start(records);
        let directory = tempfile::tempdir().unwrap();
        let alone = directory.path().join("alone");
        let receipt = run(&in_format(format, &alone), &service.client)
            .await
            .unwrap();
        assert_eq!((receipt.records, receipt.resumed), (records, 0));
        let expected = fs::read(&alone).unwrap();
        if format == Format::Jsonl {
            assert_eq!(String::from_utf8_lossy(&expected), service.lines());
        }
        let path = directory.path().join("out");
        let export = in_format(format, &path);
        let page_size = export.scan.page_size.unwrap();
        for runs in cases {
            let (mut resumed, mut delivered) = (0, 1);
            for pages in &runs {
                // Pages overlap by one record.
                delivered = records.min(delivered + pages * (page_size - 1));
                let error = run_pages(&export, &service.client, *pages as usize).await;
                let error = error.unwrap_err();
                let context = format!("{format} {runs:?}: {error}");
                assert_eq!(error.kind(), ErrorKind::Cancelled, "{context}");
                let words = format!("; {delivered} records are kept in ");
                assert!(error.message().contains(&words), "{context}");
                assert!(!path.exists(), "{context}");
                let mut files = names(&work(&path, ""));
                files.retain(|name| name != "checkpoint.next");
                assert_eq!(files, ["checkpoint", "data", "ids", "lock"], "{context}");
                tear(&path);
                resumed += 1;
            }
            let last = run(&export, &service.client).await.unwrap();
            assert_eq!(
                (last.records, last.resumed),
                (records, resumed),
                "{format} {runs:?}"
            );
            assert_eq!(last.completeness, Completeness::Proven);
            assert_eq!(last.unknown_fields, receipt.unknown_fields);
            assert_eq!(last.total_first, Some(records as i64));
            assert!(fs::read(&path).unwrap() == expected, "{format} {runs:?}");
            assert!(verify(&path, &last).unwrap().matches, "{format} {runs:?}");
            assert_eq!(names(directory.path()), ["alone", "out"]);
            fs::remove_file(&path).unwrap();
        }
    }
}

/// What was kept is encoded again; that can be stopped, too.
#[tokio::test]
async fn stopped_before_its_first_page_a_resumed_export_keeps_what_it_has() {
    let service = Service::start(2_000);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out");
    let export = large(Format::Parquet, &path);
    run_pages(&export, &service.client, 12).await.unwrap_err();
    let kept = fs::read(work(&path, "data")).unwrap();
    let stop = std::future::ready(());
    let stopped = export.run(&service.client, stop, |_| {}).await.unwrap_err();
    assert_eq!(stopped.kind(), ErrorKind::Cancelled);
    assert_eq!(fs::read(work(&path, "data")).unwrap(), kept);
    let receipt = run(&export, &service.client).await.unwrap();
    assert_eq!((receipt.resumed, receipt.records), (1, 2_000));
}

#[tokio::test]
async fn a_limit_ends_the_export_and_covers_all_its_runs() {
    let service = Service::start(500);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.jsonl");
    let mut export = export(&path);
    export.scan.limit = Some(205);
    run_pages(&export, &service.client, 3).await.unwrap_err();
    let receipt = run(&export, &service.client).await.unwrap();
    assert_eq!((receipt.resumed, receipt.records), (1, 205));
    assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 205);
}

#[tokio::test]
async fn a_page_that_always_fails_leaves_what_came_before_it() {
    let service = Service::start(300);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.jsonl");
    let fail = |from: u64, status: u64| {
        let rule =
            json!({"match": {"path": "/v1/contacts", "from": from}, "reply": {"status": status}});
        service.ask("POST", "/__faults", &json!({"rules": [rule]}));
    };
    fail(1, 403);
    let error = run(&export(&path), &service.client).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Forbidden);
    assert!(
        error.message().contains("no partial file was kept"),
        "{error}"
    );
    assert!(names(directory.path()).is_empty());
    fail(7, 400);
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
    // One that begins again leaves that as it is until there is something to write.
    fail(1, 403);
    let mut afresh = export(&path);
    afresh.resume = false;
    let error = run(&afresh, &service.client).await.unwrap_err();
    assert!(
        error
            .message()
            .contains(&format!("{records} records are kept in")),
        "{error}"
    );
    assert_eq!(fs::read_to_string(work(&path, "data")).unwrap(), part);
    service.ask("DELETE", "/__faults", &json!(null));
    run(&export(&path), &service.client).await.unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), service.lines());
}

/// A list that changes while it is exported, stopped and resumed: what stayed is there, once, in order.
#[tokio::test]
async fn what_stayed_all_the_time_is_there_once() {
    for seed in 0..8 {
        let drift = Drift {
            every_requests: 3,
            inserts: 2,
            deletes: 1,
            seed,
            ..Drift::default()
        };
        let service = Service::start_with(300, Some(drift));
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out.jsonl");
        for pages in [3, 1, 7] {
            run_pages(&export(&path), &service.client, pages)
                .await
                .unwrap_err();
        }
        let receipt = run(&export(&path), &service.client).await.unwrap();
        assert_eq!(
            receipt.completeness,
            Completeness::Proven,
            "seed {seed}: {receipt:?}"
        );
        let text = fs::read_to_string(&path).unwrap();
        let id = |line: &str| serde_json::from_str::<Value>(line).unwrap()["id"].to_string();
        let written: Vec<String> = text.lines().map(id).collect();
        assert_eq!(receipt.records as usize, written.len());
        let distinct: HashSet<&String> = written.iter().collect();
        assert_eq!(distinct.len(), written.len(), "seed {seed}: repeated");
        let truth = service.ask("GET", "/__drift?list=contacts", &json!(null));
        let stayed = truth["stayed"].as_array().unwrap();
        assert!(stayed.len() > 100, "{}", stayed.len());
        let lost = stayed.iter().find(|id| !distinct.contains(&id.to_string()));
        assert_eq!(lost, None, "seed {seed}");
    }
}

#[tokio::test]
async fn an_empty_list_is_a_table_without_rows() {
    let service = Service::start(0);
    let directory = tempfile::tempdir().unwrap();
    for format in Format::ALL {
        let path = directory.path().join(format!("out.{format}"));
        run(&in_format(format, &path), &service.client)
            .await
            .unwrap();
        let bytes = fs::read(&path).unwrap();
        match format {
            Format::Jsonl => assert!(bytes.is_empty()),
            Format::Csv => assert_eq!(bytes.iter().filter(|byte| **byte == b'\n').count(), 1),
            Format::Parquet => assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1")),
            Format::Arrow => assert!(bytes.starts_with(b"ARROW1") && bytes.ends_with(b"ARROW1")),
        }
    }
    let expected = ["out.arrow", "out.csv", "out.jsonl", "out.parquet"];
    assert_eq!(names(directory.path()), expected);
}

#[tokio::test]
async fn a_stream_gets_the_bytes_of_the_file() {
    let service = Service::start(2000);
    let directory = tempfile::tempdir().unwrap();
    for format in Format::ALL {
        let (path, pipe) = (directory.path().join("file"), directory.path().join("pipe"));
        run(&large(format, &path), &service.client).await.unwrap();
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::read(pipe).unwrap()
        });
        let receipt = run(&large(format, &pipe), &service.client).await.unwrap();
        assert_eq!(receipt.written.as_ref().unwrap().file, None);
        assert!(
            reader.join().unwrap() == fs::read(&path).unwrap(),
            "{format}"
        );
        assert!(verify(&path, &receipt).unwrap().matches, "{format}");
        fs::remove_file(pipe).unwrap();
    }
}
