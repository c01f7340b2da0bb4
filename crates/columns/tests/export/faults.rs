//! Processes that are killed, power that fails, disks that are full, system calls that fail: what is left goes on.

#![cfg(target_os = "linux")]

use super::child::{act_as_child, child, ended, go_on, ordinary_child, wait_until_stopped};
use super::disk::{Disk, Lost};
use super::{Service, export, in_format, names, run, run_pages, work};
use serde_json::Value;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Child;
use std::time::Duration;
use talentdata_columns::export::{Export, Format};

/// The bytes of an export that nothing disturbs.
async fn undisturbed(service: &Service, format: Format) -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("alone");
    run(&in_format(format, &path), &service.client)
        .await
        .unwrap();
    fs::read(&path).unwrap()
}

/// A disk, and an export to it.
fn on_disk(format: Format) -> (tempfile::TempDir, Disk, Export) {
    let root = tempfile::tempdir().unwrap();
    let disk = Disk::new(root.path());
    let export = in_format(format, &disk.directory.join("out"));
    (root, disk, export)
}

/// How many times a process is killed; `TALENTDATA_ROUNDS` asks for more.
fn rounds() -> usize {
    let given = std::env::var("TALENTDATA_ROUNDS");
    given.map_or(30, |rounds| rounds.parse().unwrap())
}

#[tokio::test]
async fn killed_at_any_moment_nothing_is_lost_or_repeated() {
    act_as_child().await;
    let test = "faults::killed_at_any_moment_nothing_is_lost_or_repeated";
    // Four whole row groups of 8,192 records, and more pages than are fetched ahead.
    for (format, records, rounds) in [
        (Format::Jsonl, 1000, rounds()),
        (Format::Csv, 6000, rounds() / 3),
        (Format::Parquet, 40_000, rounds() / 6),
    ] {
        let directory = tempfile::tempdir().unwrap();
        kill((test, ""), format, records, rounds, directory.path(), None).await;
    }
}

#[tokio::test]
async fn after_a_power_failure_nothing_is_lost_or_repeated() {
    act_as_child().await;
    let test = "faults::after_a_power_failure_nothing_is_lost_or_repeated";
    for (format, records, rounds) in [
        (Format::Jsonl, 1000, 30),
        (Format::Csv, 6000, 10),
        (Format::Parquet, 40_000, 5),
    ] {
        let (_root, disk, _) = on_disk(format);
        let (child, directory) = ((test, &*disk.setting("")), &disk.directory);
        kill(child, format, records, rounds, directory, Some(&disk)).await;
    }
}

/// Kills exports of a list into `directory` so many times, each at a moment of its own, and completes the last
/// one. The power of a disk fails with each kill. A process runs the test within the limits that are given with it.
async fn kill(
    (test, limits): (&str, &str),
    format: Format,
    records: u64,
    rounds: usize,
    directory: &Path,
    disk: Option<&Disk>,
) {
    let service = Service::start(records);
    let expected = undisturbed(&service, format).await;
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
        let either = Lost::Either(fastrand::bool());
        let lost = [Lost::Everywhere, Lost::Nowhere, either][fastrand::usize(..3)];
        if let Some(disk) = disk {
            disk.fail(lost);
        }
        if path.exists() {
            whole += 1;
            assert!(fs::read(&path).unwrap() == expected, "{format}");
            fs::remove_file(&path).unwrap();
            // Or the next failure brings it back, with the bytes of whatever then has its inode.
            if let Some(disk) = disk {
                disk.sync();
            }
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

/// A power failure before each call that changes a file, and another one while the export that follows
/// begins: what is left can always be resumed.
#[tokio::test]
async fn a_power_failure_before_any_call_leaves_what_can_be_resumed() {
    act_as_child().await;
    let test = "faults::a_power_failure_before_any_call_leaves_what_can_be_resumed";
    for (format, records, lost, step) in [
        (Format::Jsonl, 60, Lost::Everywhere, 1),
        (Format::Jsonl, 60, Lost::Nowhere, 1),
        (Format::Jsonl, 60, Lost::Either(true), 2),
        (Format::Jsonl, 60, Lost::Either(false), 2),
        (Format::Parquet, 8_700, Lost::Nowhere, 11),
        (Format::Parquet, 8_700, Lost::Everywhere, 13),
        (Format::Arrow, 1_200, Lost::Nowhere, 5),
    ] {
        let service = Service::start(records);
        let expected = undisturbed(&service, format).await;
        let mut calls = 0;
        loop {
            let (_root, disk, mut export) = on_disk(format);
            let cut = |call: usize, export: &_| {
                let cut = child(test, &disk.at(call, "kill"), &service, export);
                let (code, said) = ended(cut);
                disk.fail(lost);
                assert!(matches!(code, None | Some(0)), "{format} {call}: {said}");
                code
            };
            if cut(calls, &export) == Some(0) {
                break;
            }
            let path = disk.directory.join("out");
            assert!(
                !path.exists() || fs::read(&path).unwrap() == expected,
                "{format} {calls}"
            );
            // Twice in a row, and the second time early.
            cut(calls % 13, &export);
            export.resume = calls % 2 == 0;
            finishes(&service, &export, &disk, &expected).await;
            calls += step;
        }
        assert!(calls > 20, "{format}: {calls}");
    }
}

/// Each call fails in turn, until the export has no more of them.
#[tokio::test]
async fn whichever_call_fails_what_is_left_can_be_resumed() {
    act_as_child().await;
    let test = "faults::whichever_call_fails_what_is_left_can_be_resumed";
    for (format, records, step) in [(Format::Jsonl, 60, 1), (Format::Parquet, 8_700, 9)] {
        let service = Service::start(records);
        let expected = undisturbed(&service, format).await;
        let (mut call, mut last) = (0, 0);
        // Some failures do no harm, such as that of removing what is not there.
        while call <= last + 5 * step {
            let (_root, disk, export) = on_disk(format);
            let path = disk.directory.join("out");
            let (errno, words) = [
                (ENOSPC, "No space left"),
                (EIO, "Input/output error"),
                (EACCES, "Permission denied"),
                (EDQUOT, "quota exceeded"),
            ][call % 4];
            let failing = child(test, &disk.at(call, &errno.to_string()), &service, &export);
            let (code, said) = ended(failing);
            let left = names(&disk.directory);
            if code == Some(0) {
                assert_eq!(left, ["out"], "{call}");
            } else {
                last = call;
                assert_eq!(code, Some(32), "{call}: {said}");
                assert!(said.contains(words), "{call}: {said}");
                match said {
                    said if said.contains("records are kept in") => {
                        let kept = names(&work(&path, ""));
                        let kept = |name: &str| kept.iter().any(|kept| kept == name);
                        assert!(kept("data") && kept("checkpoint"), "{said} {left:?}");
                    }
                    said if said.contains("out is complete") => assert!(path.exists(), "{said}"),
                    said if said.contains("nothing can be resumed") => {}
                    // It failed before there was anything to keep.
                    said => assert!(left.is_empty(), "{call}: {said} {left:?}"),
                }
                finishes(&service, &export, &disk, &expected).await;
            }
            call += step;
        }
        assert!(last > 20, "{format}: {last}");
    }
}

/// What was left of an export comes to its end.
async fn finishes(service: &Service, export: &Export, disk: &Disk, expected: &[u8]) {
    let outcome = run(export, &service.client).await;
    let receipt = outcome.unwrap_or_else(|error| panic!("{}: {error}", export.format));
    assert!(
        fs::read(disk.directory.join("out")).unwrap() == expected,
        "{}",
        export.format
    );
    assert_eq!(receipt.records as usize, service.count());
    assert_eq!(names(&disk.directory), ["out"]);
}

const ENOSPC: i32 = 28;
const EIO: i32 = 5;
const EACCES: i32 = 13;
const EDQUOT: i32 = 122;

#[tokio::test]
async fn a_full_disk_is_an_error_and_then_resumed() {
    act_as_child().await;
    let service = Service::start(400);
    let expected = service.lines();
    let mut resumed = 0;
    for blocks in [0, 1, 2, 3, 4, 10, 11, 80, 160] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out");
        // A signal would end the process; ignored, it becomes an error of the write.
        let limits = format!("trap '' XFSZ; ulimit -f {blocks};");
        let test = "faults::a_full_disk_is_an_error_and_then_resumed";
        let (code, said) = ended(child(test, &limits, &service, &export(&path)));
        assert_eq!(code, Some(32), "{said}");
        assert!(said.contains("File too large"), "{said}");
        let left = names(directory.path());
        if left.is_empty() {
            assert!(said.contains("no partial file was kept"), "{said}");
        } else {
            assert!(said.contains("records are kept in"), "{said}");
            assert_eq!(left, ["out.part"]);
            assert_eq!(
                names(&work(&path, "")),
                ["checkpoint", "data", "ids", "lock"]
            );
            let part = fs::read_to_string(work(&path, "data")).unwrap();
            assert!(!part.is_empty() && expected.starts_with(&part));
        }
        let receipt = run(&export(&path), &service.client).await.unwrap();
        assert_eq!(receipt.resumed, u64::from(!left.is_empty()));
        assert_eq!(fs::read_to_string(&path).unwrap(), expected);
        resumed += receipt.resumed;
    }
    assert!(resumed > 0);
}

#[tokio::test]
async fn a_file_system_without_locks_is_used_without_them() {
    act_as_child().await;
    let test = "faults::a_file_system_without_locks_is_used_without_them";
    let service = Service::start(60);
    const EINVAL: i32 = 22;
    const ENOLCK: i32 = 37;
    const ENOSYS: i32 = 38;
    const EOPNOTSUPP: i32 = 95;
    for errno in [EINVAL, ENOLCK, ENOSYS, EOPNOTSUPP, EIO] {
        let (_root, disk, export) = on_disk(Format::Jsonl);
        let path = disk.directory.join("out");
        let flock = disk.setting(&format!("TALENTDATA_TEST_FLOCK={errno}"));
        // A new export, and one that is resumed.
        for interrupted in [false, true] {
            if interrupted {
                run_pages(&export, &service.client, 3).await.unwrap_err();
            }
            let (code, said) = ended(child(test, &flock, &service, &export));
            if errno == EIO {
                assert_eq!(code, Some(32), "{said}");
                assert!(said.contains("out.part/lock"), "{said}");
                // Whether anybody else has locked it cannot be told, so it stays, with nothing in it.
                assert_eq!(names(&disk.directory), ["out.part"]);
                assert!(interrupted || names(&work(&path, "")) == ["lock"]);
            } else {
                assert_eq!(code, Some(0), "{errno}: {said}");
                assert_eq!(fs::read_to_string(&path).unwrap(), service.lines());
                assert_eq!(names(&disk.directory), ["out"], "{errno}");
                fs::remove_file(&path).unwrap();
            }
        }
    }
}

#[tokio::test]
async fn files_of_another_user_are_refused() {
    act_as_child().await;
    let test = "faults::files_of_another_user_are_refused";
    let service = Service::start(60);
    let (_root, disk, mut export) = on_disk(Format::Jsonl);
    run_pages(&export, &service.client, 3).await.unwrap_err();
    let part = work(&disk.directory.join("out"), "");
    let before = (names(&part), fs::read(part.join("data")).unwrap());
    let owner = disk.setting("TALENTDATA_TEST_FOREIGN=.part");
    for resume in [true, false] {
        export.resume = resume;
        let (code, said) = ended(child(test, &owner, &service, &export));
        assert_eq!(code, Some(32), "{said}");
        let shown = part.display().to_string();
        for words in [
            shown.trim_end_matches('/'),
            "belongs to another user",
            "move it away",
        ] {
            assert!(said.contains(words), "{words}: {said}");
        }
        let after = (names(&part), fs::read(part.join("data")).unwrap());
        assert_eq!(after, before);
    }
    assert_eq!(names(&disk.directory), ["out.part"]);
}

#[tokio::test]
async fn a_clock_that_jumps_changes_nothing() {
    act_as_child().await;
    let test = "faults::a_clock_that_jumps_changes_nothing";
    let service = Service::start(60);
    let (_root, disk, export) = on_disk(Format::Jsonl);
    let kill = "TALENTDATA_TEST_CLOCK=1 TALENTDATA_TEST_CALL=14 TALENTDATA_TEST_EVENT=kill";
    let (code, said) = ended(child(test, &disk.setting(kill), &service, &export));
    assert_eq!(code, None, "{said}");
    let jumping = disk.setting("TALENTDATA_TEST_CLOCK=1");
    let (code, said) = ended(child(test, &jumping, &service, &export));
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(
        fs::read_to_string(disk.directory.join("out")).unwrap(),
        service.lines()
    );
    assert_eq!(names(&disk.directory), ["out"]);
    let line = said.lines().find(|line| line.starts_with('{')).unwrap();
    let receipt: Value = serde_json::from_str(line).unwrap();
    for member in ["seconds", "seconds_waited_for_budget", "seconds_backed_off"] {
        let seconds = receipt[member].as_f64().unwrap();
        assert!((0.0..3600.0).contains(&seconds), "{receipt}");
    }
}

#[tokio::test]
async fn an_export_is_refused_until_the_one_before_has_cleaned_up() {
    act_as_child().await;
    let test = "faults::an_export_is_refused_until_the_one_before_has_cleaned_up";
    let service = Service::start(1_500);
    for format in [Format::Jsonl, Format::Parquet] {
        let (_root, disk, export) = on_disk(format);
        let path = disk.directory.join("out");
        let stop = "TALENTDATA_TEST_CALL=unlink TALENTDATA_TEST_NAME=out.part/checkpoint TALENTDATA_TEST_EVENT=stop";
        let mut first = child(test, &disk.setting(stop), &service, &export);
        wait_until_stopped(&mut first);
        assert!(path.exists() && !work(&path, "data").exists());
        let before = names(&disk.directory);
        let error = run(&export, &service.client).await.unwrap_err();
        assert!(error.message().contains("another export"), "{error}");
        assert_eq!(names(&disk.directory), before);
        go_on(&first);
        let (code, said) = ended(first);
        assert_eq!(code, Some(0), "{said}");
        assert_eq!(names(&disk.directory), ["out"]);
        run(&export, &service.client).await.unwrap();
    }
}

#[tokio::test]
async fn what_is_not_permitted_is_an_error_and_then_resumed() {
    act_as_child().await;
    let test = "faults::what_is_not_permitted_is_an_error_and_then_resumed";
    let service = Service::start(60);
    let (root, disk, export) = on_disk(Format::Jsonl);
    let set_mode =
        |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    // The library and the program must be readable.
    set_mode(root.path(), 0o755);
    set_mode(&root.path().join("notes"), 0o777);
    let path = disk.directory.join("out");
    let start = |limits: &str| ordinary_child(test, limits, &service, &export, &disk.directory);
    let refused = |child, words: &str| {
        let (code, said) = ended(child);
        assert_eq!(code, Some(32), "{said}");
        assert!(
            said.contains("Permission denied") && said.contains(words),
            "{words}: {said}"
        );
    };
    // Nothing can be created.
    set_mode(&disk.directory, 0o555);
    refused(start(""), &disk.directory.to_string_lossy());
    assert!(names(&disk.directory).is_empty());
    // Permission is withdrawn after the first page has been saved.
    set_mode(&disk.directory, 0o755);
    let mut child = start(&disk.setting(
        "TALENTDATA_TEST_CALL=rename TALENTDATA_TEST_NAME=/data TALENTDATA_TEST_EVENT=stop",
    ));
    wait_until_stopped(&mut child);
    set_mode(&disk.directory, 0o555);
    go_on(&child);
    refused(child, "records are kept");
    set_mode(&disk.directory, 0o755);
    for name in ["data", "checkpoint", "ids"] {
        let file = work(&path, name);
        let before = fs::read(&file).unwrap();
        set_mode(&file, 0);
        refused(start(""), &file.to_string_lossy());
        set_mode(&file, 0o600);
        assert_eq!(fs::read(&file).unwrap(), before);
    }
    let (code, said) = ended(start(""));
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("\"resumed\":1"), "{said}");
    assert_eq!(fs::read_to_string(&path).unwrap(), service.lines());
    assert_eq!(names(&disk.directory), ["out"]);
}
