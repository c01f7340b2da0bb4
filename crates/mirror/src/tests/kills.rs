//! Syncs that are killed anywhere in their commit leave the sync before, or this one.

#![cfg(unix)]

use super::*;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

const MODE: &str = "TALENTDATA_TEST_MODE";
const STEPS: &str = "TALENTDATA_TEST_STEPS";

/// The child of a test: a sync that kills this process after a number of steps of SQLite's machine.
#[test]
fn child() {
    let [Ok(path), Ok(mode), Ok(steps)] = [PATH, MODE, STEPS].map(std::env::var) else {
        return;
    };
    let claim = Claim::acquire(Path::new(&path)).unwrap();
    let sync = Sync::new(CONTACTS, &path);
    let mut staging = Staging::begin(&claim, &sync, &config("c")).unwrap();
    staging.take(&[], &records(&second())).unwrap();
    // A rollback journal is what is used where there is no shared memory. A small cache writes pages before the end.
    let set = format!("PRAGMA journal_mode = {mode}; PRAGMA cache_size = 10");
    staging.connection.execute_batch(&set).unwrap();
    let mut left: u64 = steps.parse().unwrap();
    let kill = move || {
        if left == 0 {
            use rustix::process::{Signal, getpid, kill_process};
            kill_process(getpid(), Signal::KILL).unwrap();
        }
        left = left.saturating_sub(1);
        false
    };
    staging.connection.progress_handler(20, Some(kill)).unwrap();
    let receipt = receipt(second().len(), COUNTED);
    staging.commit(receipt, SystemTime::now()).unwrap();
}

fn second() -> Vec<String> {
    let mut texts = contacts(20..220);
    texts[50] = contact(70, 1);
    texts.reverse();
    texts
}

#[test]
fn a_killed_sync_leaves_the_one_before_or_this_one() {
    let (mut killed, mut done, mut committed) = (0, 0, 0);
    for mode in ["WAL", "DELETE"] {
        let (mut steps, mut rounds) = (0, 0);
        loop {
            let trial = Trial::of(0..200);
            let mut child = program("kills::child", &trial.path);
            child.env(MODE, mode).env(STEPS, steps.to_string());
            let status = child.stdout(Stdio::null()).status().unwrap();
            let used: String = trial.ask("PRAGMA journal_mode");
            assert!(used == mode.to_lowercase());
            let current = trial.current();
            let first = current == contacts(0..200);
            assert!(first || current == second(), "after {steps} steps");
            committed += usize::from(!first);
            assert!(trial.mirror().verify().unwrap().matches);
            // The next sync needs no repair.
            let next = trial.sync(&second(), COUNTED);
            assert_eq!(next.generation, if first { 2 } else { 3 });
            assert_eq!(trial.current(), second());
            rounds += 1;
            if status.success() {
                done += 1;
                break;
            }
            assert_eq!(status.signal(), Some(9));
            killed += 1;
            steps = steps * 9 / 8 + 1;
        }
        assert!(rounds > 20, "{rounds}");
    }
    println!("{killed} killed, {done} done, {committed} of them committed");
}

#[test]
fn a_killed_sync_leaves_an_older_file_as_it_was_or_brings_it_up_to_date() {
    let (mut steps, mut versions) = (0, Vec::new());
    loop {
        let trial = versions::kept(5);
        let before = trial.current();
        let mut child = program("kills::child", &trial.path);
        child.env(MODE, "WAL").env(STEPS, steps.to_string());
        let status = child.stdout(Stdio::null()).status().unwrap();
        let version: u8 = trial.ask("PRAGMA user_version");
        let is_whole = match version {
            5 => trial.current() == before,
            _ => trial.as_of(7) == second(),
        };
        assert!(is_whole, "after {steps} steps");
        assert!(trial.mirror().verify().unwrap().matches);
        trial.sync(&second(), COUNTED);
        assert!(trial.mirror().verify().unwrap().matches);
        versions.push(version);
        if status.success() {
            break;
        }
        steps = steps * 9 / 8 + 1;
    }
    assert!(versions.len() > 20 && versions.ends_with(&[6]) && versions.starts_with(&[5]));
}

/// A full disk, a limit or a kill can end the move of a commit from the log into the file before its last page, when the
/// file is shorter than its first page says.
#[test]
fn a_mirror_whose_log_was_moved_in_part_is_as_it_was() {
    const PAGE: usize = 4096;
    let trial = Trial::of(0..3);
    // As long as somebody reads, the log stays.
    let reader = rusqlite::Connection::open(&trial.path).unwrap();
    reader.execute_batch("BEGIN; SELECT * FROM sync").unwrap();
    trial.sync(&contacts(0..300), COUNTED);
    let [mut file, log] = ["mirror.db", "mirror.db-wal"]
        .map(|name| std::fs::read(trial.path.with_file_name(name)).unwrap());
    // A frame of the log is the number of a page, more, and the page.
    let frames = log[32..].chunks_exact(24 + PAGE);
    let mut first = frames.filter(|frame| frame[..4] == 1_u32.to_be_bytes());
    file[..PAGE].copy_from_slice(&first.next_back().unwrap()[24..]);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("moved.db");
    std::fs::write(&path, file).unwrap();
    std::fs::write(directory.path().join("moved.db-wal"), log).unwrap();
    let mirror = Mirror::open(&path).unwrap();
    assert_eq!(mirror.records(CONTACTS, None).unwrap().count(), 300);
    Claim::acquire(&path).unwrap().open().unwrap();
    assert!(mirror.verify().unwrap().matches);
}
