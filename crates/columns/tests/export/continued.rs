//! An export that was stopped anywhere and resumed ends with the same bytes as an undisturbed one.

use super::service::client;
use super::{Service, export, fails, make_pipe, names, place, run, run_pages, stub};
use super::{undisturbed, work};
use serde_json::Value;
use std::collections::HashSet;
use std::fs;
use std::io::Write;
use std::path::Path;
use talentdata_columns::export::{Format, KeptWork};
use talentdata_columns::verify::verify;
use talentdata_core::ErrorKind;
use talentdata_core::scan::Completeness;
use talentdata_sandbox::{ChangeKind, Drift};

/// Adds the data that a killed process may have written after its checkpoint.
fn tear(path: &Path) {
    for name in ["data", "ids"] {
        let file = fs::File::options().append(true).open(work(path, name));
        file.unwrap().write_all(b"{\"id\":\"torn").unwrap();
    }
    fs::write(work(path, "output"), "PAR1 torn").unwrap();
    fs::write(work(path, "checkpoint.next"), "talentdata exp").unwrap();
}

/// Stops exports after given numbers of pages in each of their runs. A run without pages still encodes the kept
/// records.
#[tokio::test]
async fn an_export_stopped_anywhere_is_resumed_to_the_same_bytes() {
    let each = (1..=11).map(|pages| vec![pages]);
    let each = each.chain([vec![1; 9], vec![1, 2, 3]]).collect();
    let table: [(Format, u64, Vec<Vec<u64>>); 4] = [
        (Format::Jsonl, 95, each),
        (Format::Csv, 2000, vec![vec![1], vec![10, 0], vec![11, 7]]),
        // The stops are after a row group, and before the columns are decided.
        (Format::Parquet, 8_700, vec![vec![5], vec![80, 0, 3]]),
        (Format::Arrow, 2000, vec![vec![2], vec![11, 7]]),
    ];
    for (format, records, cases) in table {
        let service = Service::start(records);
        let (receipt, expected) = undisturbed(&service.client, format).await;
        assert_eq!((receipt.records, receipt.resumed), (records, 0));
        let (directory, path) = place();
        if format == Format::Jsonl {
            assert_eq!(String::from_utf8_lossy(&expected), service.lines().await);
        }
        let export = export(format, &path);
        let page_size = export.scan.page_size.unwrap();
        for runs in cases {
            let (mut resumed, mut delivered) = (0, 1);
            for pages in &runs {
                // Pages overlap by one record.
                delivered = records.min(delivered + pages * (page_size - 1));
                let stopped = run_pages(&export, &service.client, *pages as usize).await;
                let words = format!("; {delivered} records are kept in ");
                fails(stopped, ErrorKind::Cancelled, &words);
                let context = format!("{format} {runs:?}");
                assert!(!path.exists(), "{context}");
                let mut files = names(&work(&path, ""));
                files.retain(|name| name != "checkpoint.next");
                assert_eq!(files, ["checkpoint", "data", "ids", "lock"], "{context}");
                tear(&path);
                resumed += u64::from(*pages > 0);
            }
            let last = run(&export, &service.client).await.unwrap();
            let context = format!("{format} {runs:?}");
            assert_eq!(
                (last.records, last.resumed),
                (records, resumed),
                "{context}"
            );
            assert_eq!(last.completeness, Completeness::Proven);
            assert_eq!(last.unknown_fields, receipt.unknown_fields);
            assert_eq!(last.total_first, Some(records as i64));
            assert!(fs::read(&path).unwrap() == expected, "{context}");
            assert!(verify(&path, &last).unwrap().matches, "{context}");
            assert_eq!(names(directory.path()), ["out"]);
            fs::remove_file(&path).unwrap();
        }
    }
}

/// Nested values of columns hold the white space that the service sent, line breaks too.
#[tokio::test]
async fn records_with_line_breaks_are_resumed_to_the_same_bytes() {
    let url = stub::serve(stub::api(|request| {
        let record =
            |id| format!("{{\n \"id\": \"{id}\",\r\n \"tags\": [\n \"a\\n\",\n {id} ]\n}}");
        (200, "", stub::page(request, "contacts", 20, 10, record))
    }));
    let client = client(&url, "me", stub::SECRET);
    for format in Format::ALL {
        let (_, expected) = undisturbed(&client, format).await;
        let (_directory, path) = place();
        let resumed = export(format, &path);
        run_pages(&resumed, &client, 1).await.unwrap_err();
        let receipt = run(&resumed, &client).await.unwrap();
        assert_eq!((receipt.records, receipt.resumed), (20, 1));
        assert!(fs::read(&path).unwrap() == expected, "{format}");
    }
}

#[tokio::test]
async fn a_limit_ends_the_export_and_covers_all_its_runs() {
    let service = Service::start(500);
    let (_directory, path) = place();
    let mut export = export(Format::Jsonl, &path);
    export.scan.limit = Some(205);
    run_pages(&export, &service.client, 3).await.unwrap_err();
    let receipt = run(&export, &service.client).await.unwrap();
    assert_eq!((receipt.resumed, receipt.records), (1, 205));
    assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 205);
}

#[tokio::test]
async fn a_page_that_always_fails_keeps_the_records_before_it() {
    let service = Service::start(300);
    let (directory, path) = place();
    let mut export = export(Format::Jsonl, &path);
    let mut records = 0;
    for (from, status, choice, kind) in [
        (1, 403, KeptWork::Resume, ErrorKind::Forbidden),
        (7, 400, KeptWork::Resume, ErrorKind::BadRequest),
        // An export that begins again does not change kept work until there is something to write.
        (1, 403, KeptWork::Restart, ErrorKind::Forbidden),
    ] {
        service.fail(from, status);
        export.kept = choice;
        let failed = run(&export, &service.client).await;
        if from > 1 {
            // The page begins with the last record of the one before.
            records = failed.as_ref().unwrap_err().offset().unwrap() + 1;
        }
        let words = match records {
            0 => "no partial file was kept".to_owned(),
            _ if choice == KeptWork::Restart => {
                format!("the {records} records of an earlier export are still kept in")
            }
            _ => format!("{records} records are kept in"),
        };
        fails(failed, kind, &words);
        match records {
            0 => assert!(names(directory.path()).is_empty()),
            _ => {
                let kept = fs::read_to_string(work(&path, "data")).unwrap();
                assert_eq!(kept.lines().count() as u64, records);
            }
        }
    }
    service.sandbox.set_faults(r#"{"rules": []}"#).unwrap();
    export.kept = KeptWork::Resume;
    assert_eq!(run(&export, &service.client).await.unwrap().resumed, 1);
    assert_eq!(fs::read_to_string(&path).unwrap(), service.lines().await);
}

/// A list changes while it is exported, stopped and resumed. Records that stayed are exported once, in order.
#[tokio::test]
async fn records_that_stayed_all_the_time_are_exported_once() {
    let ids = |lines: &str| -> HashSet<Value> {
        let id = |line| serde_json::from_str::<Value>(line).unwrap()["id"].clone();
        lines.lines().map(id).collect()
    };
    let before = ids(&Service::start(300).lines().await);
    for seed in 0..8 {
        let drift = Drift {
            every_requests: 3,
            inserts: 2,
            deletes: 1,
            seed,
            ..Drift::default()
        };
        let service = Service::start_with(300, Some(drift));
        let (_directory, path) = place();
        let export = export(Format::Jsonl, &path);
        for pages in [3, 1, 7] {
            let stopped = run_pages(&export, &service.client, pages).await;
            stopped.unwrap_err();
        }
        let receipt = run(&export, &service.client).await.unwrap();
        let proven = Completeness::Proven;
        assert_eq!(receipt.completeness, proven, "seed {seed}: {receipt:?}");
        let written = fs::read_to_string(&path).unwrap();
        let distinct = ids(&written);
        assert_eq!(distinct.len() as u64, receipt.records, "seed {seed}");
        let lines = written.lines().count();
        assert_eq!(distinct.len(), lines, "seed {seed}: repeated");
        let changes = service.sandbox.changes("contacts", 0).unwrap().into_iter();
        let deleted = changes.filter(|change| change.operation == ChangeKind::Delete);
        let deleted: HashSet<Value> = deleted.map(|change| change.key).collect();
        let stayed: HashSet<&Value> = before.difference(&deleted).collect();
        assert!((100..300).contains(&stayed.len()), "{}", stayed.len());
        let lost = stayed.iter().find(|id| !distinct.contains(**id));
        assert_eq!(lost, None, "seed {seed}");
    }
}

#[tokio::test]
async fn an_empty_list_is_a_table_without_rows() {
    let service = Service::start(0);
    for format in Format::ALL {
        let (directory, path) = place();
        let receipt = run(&export(format, &path), &service.client).await.unwrap();
        assert_eq!(receipt.records, 0);
        let bytes = fs::read(&path).unwrap();
        let (begin, end) = match format {
            Format::Jsonl => ("", ""),
            Format::Csv => ("id,firstName,lastName,email,_extra\n", "_extra\n"),
            Format::Parquet => ("PAR1", "PAR1"),
            Format::Arrow => ("ARROW1", "ARROW1"),
        };
        assert!(bytes.starts_with(begin.as_bytes()) && bytes.ends_with(end.as_bytes()));
        assert!(bytes.len() == begin.len() || begin == end, "{format}");
        assert_eq!(names(directory.path()), ["out"]);
    }
}

#[tokio::test]
async fn a_stream_gets_the_bytes_of_the_file() {
    let service = Service::start(2000);
    for format in Format::ALL {
        let (directory, path) = place();
        let pipe = directory.path().join("pipe");
        run(&export(format, &path), &service.client).await.unwrap();
        make_pipe(&pipe);
        let to_pipe = export(format, &pipe);
        let reader = std::thread::spawn(move || fs::read(pipe).unwrap());
        let receipt = run(&to_pipe, &service.client).await.unwrap();
        assert_eq!(receipt.written.as_ref().unwrap().file, None);
        let read = reader.join().unwrap();
        assert!(read == fs::read(&path).unwrap(), "{format}");
        assert!(verify(&path, &receipt).unwrap().matches, "{format}");
    }
}
