//! File systems that fail: any call, without locks, with an owner who is somebody else, and clocks that jump.

#![cfg(target_os = "linux")]

use super::child::{act_as_child, child, ended, in_format};
use super::disk::Disk;
use super::{Service, export, names, run, run_pages, work};
use serde_json::Value;
use std::fs;
use talentdata_columns::export::Format;

const ENOSPC: i32 = 28;
const EIO: i32 = 5;
const EACCES: i32 = 13;
const EDQUOT: i32 = 122;

#[tokio::test]
async fn whichever_call_fails_what_is_left_can_be_resumed() {
    act_as_child().await;
    let test = "failing_calls::whichever_call_fails_what_is_left_can_be_resumed";
    let service = Service::start(60);
    let calls = every_call(test, &service, Format::Jsonl, 1).await;
    assert!(calls > 20, "{calls}");
    let service = Service::start(8_700);
    every_call(test, &service, Format::Parquet, 9).await;
}

/// Lets every `step`-th call fail; returns how many calls an export has.
async fn every_call(test: &str, service: &Service, format: Format, step: usize) -> usize {
    let elsewhere = tempfile::tempdir().unwrap();
    let alone = elsewhere.path().join("alone");
    run(&in_format(format, &alone), &service.client)
        .await
        .unwrap();
    let expected = fs::read(&alone).unwrap();
    let mut last = 0;
    for call in (0..).step_by(step) {
        let root = tempfile::tempdir().unwrap();
        let disk = Disk::new(root.path());
        let path = disk.directory.join("out");
        let export = in_format(format, &path);
        let (errno, words) = [
            (ENOSPC, "No space left"),
            (EIO, "Input/output error"),
            (EACCES, "Permission denied"),
            (EDQUOT, "quota exceeded"),
        ][call % 4];
        let failing = child(test, &disk.at(call, &errno.to_string()), service, &export);
        let (code, said) = ended(failing);
        let left = names(&disk.directory);
        if code == Some(0) {
            assert_eq!(left, ["out"], "{call}");
            // Some failures do no harm, such as that of removing what is not there.
            if call > last + 5 * step {
                return call;
            }
            continue;
        }
        last = call;
        assert_eq!(code, Some(32), "{call}: {said}");
        assert!(said.contains(words), "{call}: {said}");
        match said {
            said if said.contains("records are kept in") => {
                let kept = names(&work(&path, ""));
                let kept = |name: &str| kept.iter().any(|kept| kept == name);
                assert!(kept("data") && kept("checkpoint"), "{said} {left:?}");
            }
            said if said.contains("out is complete") => assert!(path.exists(), "{call}: {said}"),
            said if said.contains("nothing can be resumed") => {}
            // It failed before there was anything to keep.
            said => assert!(left.is_empty(), "{call}: {said} {left:?}"),
        }
        run(&export, &service.client).await.unwrap();
        assert!(fs::read(&path).unwrap() == expected, "{format} {call}");
        assert_eq!(names(&disk.directory), ["out"], "{call}");
    }
    unreachable!()
}

#[tokio::test]
async fn a_file_system_without_locks_is_used_without_them() {
    act_as_child().await;
    let test = "failing_calls::a_file_system_without_locks_is_used_without_them";
    let service = Service::start(60);
    const EINVAL: i32 = 22;
    const ENOLCK: i32 = 37;
    const ENOSYS: i32 = 38;
    const EOPNOTSUPP: i32 = 95;
    for errno in [EINVAL, ENOLCK, ENOSYS, EOPNOTSUPP, EIO] {
        let root = tempfile::tempdir().unwrap();
        let disk = Disk::new(root.path());
        let path = disk.directory.join("out");
        let export = export(&path);
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
                if !interrupted {
                    assert_eq!(names(&work(&path, "")), ["lock"]);
                }
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
    let test = "failing_calls::files_of_another_user_are_refused";
    let service = Service::start(60);
    let root = tempfile::tempdir().unwrap();
    let disk = Disk::new(root.path());
    let mut export = export(&disk.directory.join("out"));
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
    let test = "failing_calls::a_clock_that_jumps_changes_nothing";
    let service = Service::start(60);
    let root = tempfile::tempdir().unwrap();
    let disk = Disk::new(root.path());
    let path = disk.directory.join("out");
    let export = export(&path);
    let killed =
        disk.setting("TALENTDATA_TEST_CLOCK=1 TALENTDATA_TEST_CALL=14 TALENTDATA_TEST_EVENT=kill");
    let (code, said) = ended(child(test, &killed, &service, &export));
    assert_eq!(code, None, "{said}");
    let jumping = disk.setting("TALENTDATA_TEST_CLOCK=1");
    let (code, said) = ended(child(test, &jumping, &service, &export));
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(fs::read_to_string(&path).unwrap(), service.lines());
    assert_eq!(names(&disk.directory), ["out"]);
    let line = said.lines().find(|line| line.starts_with('{')).unwrap();
    let receipt: Value = serde_json::from_str(line).unwrap();
    for member in ["seconds", "seconds_waited_for_budget", "seconds_backed_off"] {
        let seconds = receipt[member].as_f64().unwrap();
        assert!((0.0..3600.0).contains(&seconds), "{receipt}");
    }
}
