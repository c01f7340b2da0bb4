//! Every format comes out whole, and interrupted as if nothing had happened.

use super::{Service, export, names, run, run_pages, work};
use serde_json::Value;
use std::fs;
use std::path::Path;
use talentdata_columns::export::{Export, Format};
use talentdata_columns::verify::verify;
use talentdata_core::ErrorKind;

/// Large pages, so that large lists are soon through.
fn in_format(format: Format, path: &Path) -> Export {
    let mut export = export(path);
    export.format = format;
    export.resume = format != Format::Arrow;
    export.scan.page_size = Some(100);
    export
}

fn ids_of_csv(text: &[u8]) -> Vec<String> {
    let mut reader = csv::Reader::from_reader(text);
    let at = reader
        .headers()
        .unwrap()
        .iter()
        .position(|name| name == "id");
    let records = reader
        .records()
        .map(|record| record.unwrap()[at.unwrap()].to_owned());
    records.collect()
}

async fn ids(service: &Service) -> Vec<String> {
    let lines = service.lines();
    let id = |line| serde_json::from_str::<Value>(line).unwrap()["id"].clone();
    lines
        .lines()
        .map(|line| id(line).as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn csv_goes_on_once_its_columns_are_decided() {
    let service = Service::start(2000);
    let directory = tempfile::tempdir().unwrap();
    let alone = directory.path().join("alone.csv");
    run(&in_format(Format::Csv, &alone), &service.client)
        .await
        .unwrap();
    let expected = fs::read(&alone).unwrap();
    assert_eq!(ids_of_csv(&expected), ids(&service).await);
    for pages in [1, 10, 11, 18, 20] {
        let path = directory.path().join("out.csv");
        let export = in_format(Format::Csv, &path);
        let error = run_pages(&export, &service.client, pages)
            .await
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
        // Before, it is not known what a line looks like.
        let kept = pages >= 11;
        assert_eq!(work(&path, "").exists(), kept, "{error}");
        let receipt = run(&export, &service.client).await.unwrap();
        assert_eq!(receipt.resumed, u64::from(kept));
        assert_eq!(receipt.records, 2000);
        assert!(fs::read(&path).unwrap() == expected, "after {pages} pages");
        assert_eq!(names(directory.path()), ["alone.csv", "out.csv"]);
        fs::remove_file(path).unwrap();
    }
}

#[tokio::test]
async fn parquet_goes_on_behind_the_last_group() {
    let service = Service::start(8_700);
    let directory = tempfile::tempdir().unwrap();
    let alone = directory.path().join("alone.parquet");
    let export = in_format(Format::Parquet, &alone);
    let receipt = run(&export, &service.client).await.unwrap();
    let path = directory.path().join("out.parquet");
    let export = in_format(Format::Parquet, &path);
    let error = run_pages(&export, &service.client, 83).await.unwrap_err();
    assert!(error.message().contains("8192 records are kept"), "{error}");
    assert_eq!(
        names(&work(&path, "")),
        ["checkpoint", "data", "ids", "lock"]
    );
    let resumed = run(&export, &service.client).await.unwrap();
    assert_eq!((resumed.resumed, resumed.records), (1, 8_700));
    assert_eq!(resumed.unknown_fields, receipt.unknown_fields);
    assert!(fs::read(&path).unwrap() == fs::read(&alone).unwrap());
    assert_eq!(names(directory.path()), ["alone.parquet", "out.parquet"]);
}

#[tokio::test]
async fn what_was_joined_before_a_kill_does_not_stay() {
    let service = Service::start(8_700);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.parquet");
    let export = in_format(Format::Parquet, &path);
    run_pages(&export, &service.client, 84).await.unwrap_err();
    fs::write(work(&path, "joined"), "PAR1 torn").unwrap();
    let receipt = run(&export, &service.client).await.unwrap();
    assert_eq!((receipt.resumed, receipt.records), (1, 8_700));
    assert_eq!(names(directory.path()), ["out.parquet"]);
}

#[tokio::test]
async fn arrow_begins_afresh_and_leaves_nothing() {
    let service = Service::start(2000);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.arrow");
    let mut export = in_format(Format::Arrow, &path);
    export.resume = true;
    let error = run(&export, &service.client).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    export.resume = false;
    for pages in [2, 12] {
        let error = run_pages(&export, &service.client, pages)
            .await
            .unwrap_err();
        assert!(
            error.message().contains("no partial file was kept"),
            "{error}"
        );
        assert!(names(directory.path()).is_empty());
    }
    run(&export, &service.client).await.unwrap();
    let first = fs::read(&path).unwrap();
    assert!(first.starts_with(b"ARROW1") && first.ends_with(b"ARROW1"));
    run(&export, &service.client).await.unwrap();
    assert!(fs::read(&path).unwrap() == first);
    assert_eq!(names(directory.path()), ["out.arrow"]);
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
            Format::Arrow => assert!(bytes.ends_with(b"ARROW1")),
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
        let path = directory.path().join("file");
        run(&in_format(format, &path), &service.client)
            .await
            .unwrap();
        let pipe = directory.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::read(pipe).unwrap()
        });
        let receipt = run(&in_format(format, &pipe), &service.client).await;
        let receipt = receipt.unwrap();
        assert_eq!(receipt.written.as_ref().unwrap().file, None);
        assert!(
            reader.join().unwrap() == fs::read(&path).unwrap(),
            "{format}"
        );
        assert!(verify(&path, &receipt).unwrap().matches, "{format}");
        fs::remove_file(pipe).unwrap();
    }
}
