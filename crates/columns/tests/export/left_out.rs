//! The files of a stopped or finished export do not contain omitted fields.

use super::{Service, export, place, run, run_pages};
use serde_json::Value;
use std::fs;
use std::path::Path;
use talentdata_columns::export::Format;

/// Counts the texts that the files in a directory contain.
fn found(directory: &Path, texts: &[String]) -> usize {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap());
    let counts = entries.map(|entry| {
        if entry.file_type().unwrap().is_dir() {
            return found(&entry.path(), texts);
        }
        let bytes = fs::read(entry.path()).unwrap();
        let has = |text: &&String| memchr::memmem::find(&bytes, text.as_bytes()).is_some();
        texts.iter().filter(has).count()
    });
    counts.sum()
}

/// Returns the email addresses of all contacts, which occur in no other text.
async fn emails(service: &Service) -> Vec<String> {
    let lines = service.lines().await;
    let records = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let emails = records.filter_map(|record| Some(record["email"].as_str()?.to_owned()));
    emails.collect()
}

#[tokio::test]
async fn a_field_that_is_left_out_is_in_no_file_stopped_or_ended() {
    let service = Service::start(300);
    let emails = emails(&service).await;
    assert!(emails.len() > 100);
    for format in [Format::Jsonl, Format::Csv, Format::Parquet, Format::Arrow] {
        for only in [false, true] {
            let (directory, path) = place();
            let whole = export(format, &path);
            run_pages(&whole, &service.client, 1).await.unwrap_err();
            assert!(found(directory.path(), &emails) > 0, "{format}");
            let mut less = whole.clone();
            if only {
                less.scan.fields = vec!["createdAt".into()];
            } else {
                less.scan.drop = vec!["email".into()];
            }
            // The work kept under the other policy is discarded first.
            run_pages(&less, &service.client, 1).await.unwrap_err();
            assert_eq!(found(directory.path(), &emails), 0, "{format}");
            let receipt = run(&less, &service.client).await.unwrap();
            assert_eq!((receipt.records, receipt.resumed), (300, 1), "{format}");
            assert!(receipt.restarted.unwrap().contains("fields"), "{format}");
            assert_eq!(found(directory.path(), &emails), 0, "{format}");
            assert_eq!(found(directory.path(), &["email".into()]), 0, "{format}");
        }
    }
}

#[tokio::test]
async fn names_that_no_record_has_are_in_the_receipt() {
    let service = Service::start(300);
    let (_directory, path) = place();
    let mut less = export(Format::Jsonl, &path);
    less.scan.drop = vec!["email".into(), "/emial".into()];
    run_pages(&less, &service.client, 2).await.unwrap_err();
    let receipt = run(&less, &service.client).await.unwrap();
    assert_eq!(receipt.unmatched_fields, ["/emial"]);
}
