//! Killed processes, power failures, full disks and failed system calls: the next export continues from the remaining
//! work.

use super::disk::{Disk, KEPT_EVERYWHERE, KEPT_NOWHERE, KEPT_OUTSIDE, KEPT_WITHIN};
use super::service::ended;
use super::{PLAIN_AND_ENCODED, Service, export, names, run, run_pages, undisturbed, work};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use std::fs;
use std::time::Duration;
use talentdata_columns::export::{Export, Format, KeptWork};
use talentdata_core::ErrorKind;

/// A disk, and an export to it.
fn on_disk(format: Format) -> (Disk, Export) {
    let disk = Disk::new();
    let export = export(format, &disk.directory.join("out"));
    (disk, export)
}

/// Kills exports again and again, each at another time, and completes the last one. With a power failure, the disk also
/// loses everything that was not synced.
#[tokio::test]
async fn kills_at_any_time_lose_and_repeat_nothing() {
    // TALENTDATA_ROUNDS sets another number.
    let given = std::env::var("TALENTDATA_ROUNDS");
    let given = given.map_or(60, |rounds| rounds.parse().unwrap());
    // More pages than are fetched ahead.
    for (format, records, rounds) in [
        (Format::Jsonl, 1000, given),
        (Format::Csv, 6000, given / 3),
        (Format::Parquet, 10_000, given / 6),
    ] {
        let service = Service::start(records);
        let (_, expected) = undisturbed(&service.client, format).await;
        let (disk, mut export) = on_disk(format);
        let path = disk.directory.join("out");
        let pages = records / export.scan.page_size.unwrap();
        let (mut killed, mut resumed, mut whole) = (0, 0, 0);
        // Kills that leave no work to resume prove little.
        while killed < rounds || (resumed == 0 && killed < 10 * rounds) {
            resumed += usize::from(export.is_resumable(&service.client));
            let restarts = fastrand::u8(..6) == 0;
            export.kept = [KeptWork::Resume, KeptWork::Restart][usize::from(restarts)];
            let mut child = service.child(&disk.setting(""), &export);
            // The process is killed a random number of requests later, fewer than there are pages, and after a random
            // delay.
            let requests = || service.sandbox.stats().requests;
            let last = requests() + fastrand::u64(..pages);
            while requests() < last && child.try_wait().unwrap().is_none() {
                std::thread::sleep(Duration::from_millis(1));
            }
            // Short delays are as frequent as long ones, up to half a second.
            let bits = fastrand::u32(8..19);
            std::thread::sleep(Duration::from_micros(fastrand::u64(..1 << bits)));
            child.kill().unwrap();
            killed += usize::from(child.wait().unwrap().code().is_none());
            match fastrand::usize(..6) {
                0 => disk.fail(KEPT_NOWHERE),
                1 => disk.fail(KEPT_EVERYWHERE),
                2 => disk.fail([KEPT_OUTSIDE, KEPT_WITHIN][fastrand::usize(..2)]),
                _ => {}
            }
            if path.exists() {
                whole += 1;
                assert!(fs::read(&path).unwrap() == expected, "{format}");
                fs::remove_file(&path).unwrap();
                // Otherwise the next failure would restore the file, with the bytes of another file that reuses its
                // inode.
                disk.sync();
            }
        }
        export.kept = KeptWork::Resume;
        finishes(&service, &export, &disk, &expected).await;
        assert!(resumed > 0, "{format}");
        println!("{format}: {killed} kills, {resumed} resumed, {whole} whole before");
    }
}

/// The power fails before each call that changes a file, and again while the next export begins. The remaining work can
/// always be resumed.
#[tokio::test]
async fn work_can_be_resumed_after_a_power_failure_before_any_call() {
    for (format, records, kept, step) in [
        (Format::Jsonl, 60, KEPT_NOWHERE, 1),
        (Format::Jsonl, 60, KEPT_EVERYWHERE, 1),
        (Format::Jsonl, 60, KEPT_OUTSIDE, 2),
        (Format::Jsonl, 60, KEPT_WITHIN, 2),
        (Format::Parquet, 8_700, KEPT_EVERYWHERE, 11),
        (Format::Parquet, 8_700, KEPT_NOWHERE, 13),
        (Format::Arrow, 1_200, KEPT_EVERYWHERE, 5),
    ] {
        let service = Service::start(records);
        let (_, expected) = undisturbed(&service.client, format).await;
        let mut calls = 0;
        loop {
            let (disk, mut export) = on_disk(format);
            let cut = |call: usize, export: &_| {
                let (code, said) = ended(service.child(&disk.at(call, "kill"), export));
                disk.fail(kept);
                assert!(matches!(code, None | Some(0)), "{format} {call}: {said}");
                code
            };
            if cut(calls, &export) == Some(0) {
                break;
            }
            let left = fs::read(disk.directory.join("out"));
            assert!(left.is_err() || left.unwrap() == expected, "{calls}");
            // The second failure comes early, also while an export begins again.
            export.kept = [KeptWork::Resume, KeptWork::Restart][calls % 2];
            cut(calls % 13, &export);
            export.kept = [KeptWork::Resume, KeptWork::Restart][calls / 2 % 2];
            finishes(&service, &export, &disk, &expected).await;
            calls += step;
        }
        assert!(calls > 20, "{format}: {calls}");
    }
}

/// Each system call fails in turn, until the export makes no further calls.
#[tokio::test]
async fn work_can_be_resumed_after_any_failed_call() {
    for (format, records, step) in [(Format::Jsonl, 60, 1), (Format::Parquet, 8_700, 9)] {
        let service = Service::start(records);
        let (_, expected) = undisturbed(&service.client, format).await;
        let (mut call, mut last) = (0, 0);
        // Some failures do no harm, for example to remove a file that does not exist.
        while call <= last + 5 * step {
            let (disk, export) = on_disk(format);
            let path = disk.directory.join("out");
            let (errno, words, kind) = [
                (Errno::NOSPC, "No space left", ErrorKind::StorageFull),
                (Errno::IO, "Input/output error", ErrorKind::Io),
                (Errno::ACCESS, "Permission denied", ErrorKind::Path),
                (Errno::DQUOT, "quota exceeded", ErrorKind::StorageFull),
            ][call % 4];
            let setting = disk.at(call, errno.raw_os_error());
            let (code, said) = ended(service.child(&setting, &export));
            let left = names(&disk.directory);
            if code == Some(0) {
                assert_eq!(left, ["out"], "{call}");
            } else {
                last = call;
                assert_eq!(code, Some(i32::from(kind.exit_code())), "{call}: {said}");
                assert!(said.contains(words), "{call}: {said}");
                if said.contains("records are kept in") {
                    let kept = |name: &str| work(&path, name).exists();
                    assert!(kept("data") && kept("checkpoint"), "{said} {left:?}");
                } else if said.contains("out is complete") {
                    assert!(path.exists(), "{said}");
                } else if !said.contains("nothing can be resumed") {
                    // The export failed before there was anything to keep.
                    assert!(left.is_empty(), "{call}: {said} {left:?}");
                }
                finishes(&service, &export, &disk, &expected).await;
            }
            call += step;
        }
        assert!(last > 20, "{format}: {last}");
    }
}

/// Checks that the export finishes from the remaining work.
async fn finishes(service: &Service, export: &Export, disk: &Disk, expected: &[u8]) {
    let format = export.format;
    let receipt = run(export, &service.client).await;
    let receipt = receipt.unwrap_or_else(|error| panic!("{format}: {error}"));
    let written = fs::read(disk.directory.join("out")).unwrap();
    assert!(written == expected, "{format}");
    assert_eq!(receipt.records, service.contacts);
    assert_eq!(names(&disk.directory), ["out"]);
}

/// File systems without locks and directories of other users: settings of the disk, and the words of the refusal.
#[tokio::test]
async fn an_unusual_file_system_does_no_harm_or_is_refused() {
    let service = Service::start(60);
    let (_, expected) = undisturbed(&service.client, Format::Jsonl).await;
    let foreign = ["belongs to another user", "move it away"];
    for (setting, refusal) in [
        ("FLOCK=22", None), // EINVAL, ENOLCK, ENOSYS, EOPNOTSUPP
        ("FLOCK=37", None),
        ("FLOCK=38", None),
        ("FLOCK=95", None),
        // It is unknown whether another export has the lock.
        (
            "FLOCK=5",
            Some((ErrorKind::Io, ["out.part/lock", "Input/output error"])),
        ),
        ("FOREIGN=.part", Some((ErrorKind::Path, foreign))),
    ] {
        // The export is resumed or begins again.
        for choice in [KeptWork::Resume, KeptWork::Restart] {
            let (disk, mut export) = on_disk(Format::Jsonl);
            let path = disk.directory.join("out");
            run_pages(&export, &service.client, 3).await.unwrap_err();
            export.kept = choice;
            let kept = fs::read(work(&path, "data")).unwrap();
            let setting = disk.setting(&format!("TALENTDATA_TEST_{setting}"));
            let (code, said) = ended(service.child(&setting, &export));
            if let Some((kind, words)) = refusal {
                assert_eq!(code, Some(i32::from(kind.exit_code())), "{said}");
                let missing = words.iter().find(|words| !said.contains(**words));
                assert_eq!(missing, None, "{said}");
                assert_eq!(fs::read(work(&path, "data")).unwrap(), kept);
                assert_eq!(names(&disk.directory), ["out.part"]);
            } else {
                assert_eq!(code, Some(0), "{setting}: {said}");
                assert_eq!(fs::read(&path).unwrap(), expected);
                assert_eq!(names(&disk.directory), ["out"], "{setting}");
            }
        }
    }
}

#[tokio::test]
async fn an_export_is_refused_until_the_one_before_has_cleaned_up() {
    let service = Service::start(1_500);
    for format in PLAIN_AND_ENCODED {
        let (disk, export) = on_disk(format);
        let path = disk.directory.join("out");
        let call = "unlink TALENTDATA_TEST_NAME=out.part/checkpoint";
        let first = service.child(&disk.at(call, "stop"), &export);
        let process = Pid::from_child(&first);
        let state = waitpid(Some(process), WaitOptions::UNTRACED).unwrap();
        assert!(state.is_some_and(|(_, state)| state.stopped()), "{state:?}");
        assert!(path.exists() && !work(&path, "data").exists());
        let before = names(&disk.directory);
        let error = run(&export, &service.client).await.unwrap_err();
        assert!(error.message().contains("another export"), "{error}");
        assert_eq!(names(&disk.directory), before);
        kill_process(process, Signal::CONT).unwrap();
        let (code, said) = ended(first);
        assert_eq!(code, Some(0), "{said}");
        assert_eq!(names(&disk.directory), ["out"]);
        run(&export, &service.client).await.unwrap();
    }
}
