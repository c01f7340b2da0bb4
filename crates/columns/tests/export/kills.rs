//! A process that is killed at any moment, or whose disk is full, leaves an export that goes on.

#![cfg(unix)]

use super::child::{act_as_child, child, in_format};
use super::{Service, export, names, run, work};
use std::fs;
use std::path::Path;
use std::process::Child;
use std::time::Duration;
use talentdata_columns::export::Format;

/// How many times a process is killed; `TALENTDATA_ROUNDS` asks for more.
fn rounds() -> usize {
    let given = std::env::var("TALENTDATA_ROUNDS");
    given.map_or(30, |rounds| rounds.parse().unwrap())
}

#[tokio::test]
async fn killed_at_any_moment_nothing_is_lost_or_repeated() {
    act_as_child().await;
    let test = "kills::killed_at_any_moment_nothing_is_lost_or_repeated";
    let kill = async |format, records, rounds| {
        let directory = tempfile::tempdir().unwrap();
        kill((test, ""), format, records, rounds, directory.path(), || {}).await;
    };
    kill(Format::Jsonl, 1000, rounds()).await;
    kill(Format::Csv, 6000, rounds() / 3).await;
    // Four whole row groups of 8,192 records, and more pages than are fetched ahead.
    kill(Format::Parquet, 40_000, rounds() / 6).await;
}

/// Kills exports of a list into `directory` so many times, each at a moment of its own and followed by
/// `then`, and completes the last one. A process runs the test within the limits that are given with it.
pub(super) async fn kill(
    (test, limits): (&str, &str),
    format: Format,
    records: u64,
    rounds: usize,
    directory: &Path,
    then: impl Fn(),
) {
    let service = Service::start(records);
    let elsewhere = tempfile::tempdir().unwrap();
    let alone = elsewhere.path().join("alone");
    run(&in_format(format, &alone), &service.client)
        .await
        .unwrap();
    let expected = fs::read(&alone).unwrap();
    let path = directory.join("out");
    let export = in_format(format, &path);
    let pages = records / export.scan.page_size.unwrap();
    let (mut killed, mut resumed, mut whole) = (0, 0, 0);
    // Kills that leave nothing to go on from prove little.
    while killed < rounds || (resumed == 0 && killed < 10 * rounds) {
        resumed += usize::from(export.is_resumable(&service.client));
        let mut child = child(test, limits, &service, &export);
        wait_for_a_moment(&mut child, &service, pages);
        child.kill().unwrap();
        killed += usize::from(child.wait().unwrap().code().is_none());
        then();
        if path.exists() {
            whole += 1;
            assert!(fs::read(&path).unwrap() == expected, "{format}");
            fs::remove_file(&path).unwrap();
        }
    }
    let receipt = run(&export, &service.client).await.unwrap();
    assert!(fs::read(&path).unwrap() == expected, "{format}");
    assert_eq!(receipt.records, records);
    assert_eq!(names(directory), ["out"]);
    assert!(resumed > 0, "{format}");
    println!("{format}: {killed} kills, {resumed} resumed, {whole} whole before");
}

/// Comes back some requests later, fewer than there are pages, and somewhat after the last of them;
/// sooner if the child ends.
fn wait_for_a_moment(child: &mut Child, service: &Service, pages: u64) {
    let requests = || service.sandbox.stats().requests;
    let last = requests() + fastrand::u64(..pages);
    while requests() < last && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    // Of all lengths alike, up to half a second.
    let bits = fastrand::u32(8..19);
    std::thread::sleep(Duration::from_micros(fastrand::u64(..1 << bits)));
}

#[tokio::test]
async fn a_full_disk_is_an_error_and_then_resumed() {
    act_as_child().await;
    let service = Service::start(400);
    let expected = service.lines();
    let mut resumed = 0;
    for blocks in [0, 1, 2, 3, 4, 10, 11, 80, 160] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out.jsonl");
        // A signal would end the process; ignored, it becomes an error of the write.
        let limits = format!("trap '' XFSZ; ulimit -f {blocks};");
        let test = "kills::a_full_disk_is_an_error_and_then_resumed";
        let child = child(test, &limits, &service, &export(&path));
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(32), "{said}");
        assert!(said.contains("File too large"), "{said}");
        let left = names(directory.path());
        if left.is_empty() {
            assert!(said.contains("no partial file was kept"), "{said}");
        } else {
            assert!(said.contains("records are kept in"), "{said}");
            assert_eq!(left, ["out.jsonl.part"]);
            let files = ["checkpoint", "data", "ids", "lock"];
            assert_eq!(names(&work(&path, "")), files);
            let part = fs::read_to_string(work(&path, "data")).unwrap();
            assert!(!part.is_empty() && expected.starts_with(&part));
        }
        let receipt = run(&export(&path), &service.client).await.unwrap();
        assert_eq!(receipt.resumed, u64::from(!left.is_empty()));
        assert_eq!(receipt.records, 400);
        assert_eq!(fs::read_to_string(&path).unwrap(), expected);
        resumed += receipt.resumed;
    }
    assert!(resumed > 0);
}
