//! Files compared with their receipts: what was written matches, and what happens to it afterwards is found.

use super::{Service, export, large, run, run_pages, work};
use std::fs;
use std::path::{Path, PathBuf};
use talentdata_columns::export::Format;
use talentdata_columns::verify::{read_receipt, verify};
use talentdata_core::ErrorKind;
use talentdata_core::scan::{Receipt, Written};

const RECORDS: u64 = 30;

/// Of each format: its path, its receipt and its bytes.
async fn written(service: &Service, directory: &Path) -> Vec<(PathBuf, Receipt, Vec<u8>)> {
    let mut written = Vec::new();
    for format in Format::ALL {
        let path = directory.join(format!("contacts.{format}"));
        let receipt = run(&large(format, &path), &service.client).await.unwrap();
        let bytes = fs::read(&path).unwrap();
        written.push((path, receipt, bytes));
    }
    written
}

#[tokio::test]
async fn what_was_written_matches_and_has_the_same_records_in_every_format() {
    let service = Service::start(RECORDS);
    let directory = tempfile::tempdir().unwrap();
    let written = written(&service, directory.path()).await;
    let first = written[0].1.written.clone().unwrap();
    for (path, receipt, bytes) in &written {
        let found = verify(path, receipt).unwrap();
        assert!(found.matches, "{found:?}");
        found.to_result(path).unwrap();
        let one: &Written = receipt.written.as_ref().unwrap();
        assert_eq!((one.bytes, one.records), (bytes.len() as u64, RECORDS));
        assert_eq!(one.records_digest, first.records_digest);
        assert_eq!(one.file.as_deref(), path.file_name().unwrap().to_str());
    }
}

/// Records are hashed as they are in a line, where service and file differ: white space of a service that breaks lines.
#[tokio::test]
async fn records_of_several_lines_are_recognised_by_the_line_that_they_become() {
    let service = Service::start(3);
    let page = "{\"contacts\":[\n{\"id\":\"a\",\n \"firstName\":\"A b\",\"lastName\":\"C\",\"email\":\"d\"}],\
                \"pagination\":{\"total\":1,\"limit\":1,\"offset\":0,\"hasMore\":false}}";
    let rule = serde_json::json!({"match": {"path": "/v1/contacts"}, "reply": {"body": page}});
    let script = serde_json::json!({"rules": [rule]}).to_string();
    service.sandbox.set_faults(&script).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("contacts.jsonl");
    let receipt = run(&export(&path), &service.client).await.unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 1);
    assert!(verify(&path, &receipt).unwrap().matches);
}

#[tokio::test]
async fn a_thousand_flipped_bits_of_each_format_are_found() {
    let service = Service::start(RECORDS);
    let directory = tempfile::tempdir().unwrap();
    let mut rng = fastrand::Rng::with_seed(12);
    for (path, receipt, good) in written(&service, directory.path()).await {
        for _ in 0..1000 {
            let mut flipped = good.clone();
            flipped[rng.usize(..good.len())] ^= 1 << rng.u8(..8);
            fs::write(&path, flipped).unwrap();
            let found = verify(&path, &receipt).unwrap();
            let error = found.to_result(&path).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Mismatch);
        }
        let cut = &good[..good.len() - 1];
        fs::write(&path, cut).unwrap();
        let error = verify(&path, &receipt).unwrap().to_result(&path);
        let message = format!("{} bytes instead of {}", cut.len(), good.len());
        assert!(error.unwrap_err().message().contains(&message));
    }
}

/// Flips a bit of a file that an interrupted export has left, over and over: resuming is refused, or ends with the bytes
/// that it would have had.
#[tokio::test]
async fn flipped_bits_of_work_files_never_change_what_is_exported() {
    let service = Service::start(8_300);
    let mut rng = fastrand::Rng::with_seed(7);
    let rounds = 1000;
    for (format, files) in [
        (Format::Jsonl, &["data", "ids", "checkpoint"][..]),
        (Format::Csv, &["data"]),
        (Format::Parquet, &["data"]),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out");
        let export = large(format, &path);
        let pages = if format == Format::Parquet { 83 } else { 14 };
        run_pages(&export, &service.client, pages)
            .await
            .unwrap_err();
        for name in files {
            let file = work(&path, name);
            let good = fs::read(&file).unwrap();
            for _ in 0..rounds {
                let mut flipped = good.clone();
                flipped[rng.usize(..good.len())] ^= 1 << rng.u8(..8);
                fs::write(&file, &flipped).unwrap();
                // All that is kept is covered by a digest, so that no flip goes unnoticed.
                let error = run(&export, &service.client).await.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Io, "{format} {name}: {error}");
                let way_out = ["move it away", "delete"];
                assert!(
                    way_out.iter().any(|way| error.message().contains(way)),
                    "{error}"
                );
                assert!(fs::read(&file).unwrap() == flipped, "{format} {name}");
            }
            fs::write(&file, good).unwrap();
        }
        let receipt = run(&export, &service.client).await.unwrap();
        assert_eq!((receipt.resumed, receipt.records), (1, 8_300));
        assert!(verify(&path, &receipt).unwrap().matches);
    }
}

#[tokio::test]
async fn receipts_that_are_none_or_contradict_themselves_are_refused() {
    let service = Service::start(RECORDS);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("contacts.jsonl");
    let receipt = run(&export(&path), &service.client).await.unwrap();
    let scanned = Receipt::default();
    let refused = verify(&path, &scanned).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
    let nowhere = directory.path().join("nowhere");
    for path in [nowhere.as_path(), directory.path()] {
        assert_eq!(verify(path, &receipt).unwrap_err().kind(), ErrorKind::Io);
    }
    let file = directory.path().join("receipt.json");
    let one = serde_json::to_string(&receipt).unwrap();
    let scan = serde_json::to_string(&scanned).unwrap();
    for (text, says) in [
        ("", "not a receipt"),
        ("{}", "not a receipt"),
        ("\u{0}garbage", "not a receipt"),
        ("[]", "no files"),
        (&format!("[{scan},{scan}]"), "no files"),
    ] {
        fs::write(&file, text).unwrap();
        let error = read_receipt(&file, &path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().contains(says), "{text}: {error}");
    }
    for text in [one.clone(), format!(" [{scan},{one}]")] {
        fs::write(&file, text).unwrap();
        assert_eq!(read_receipt(&file, &path).unwrap(), receipt);
    }
    // Whatever a single receipt is of, the file may have another name by now.
    fs::write(&file, &one).unwrap();
    read_receipt(&file, &nowhere).unwrap();
    fs::write(&file, format!("[{scan},{one}]")).unwrap();
    let error = read_receipt(&file, &nowhere).unwrap_err();
    assert!(error.message().contains("contacts.jsonl"), "{error}");
}
