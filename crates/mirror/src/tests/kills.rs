//! Syncs that are killed anywhere in their commit leave the previous sync or the new one.

#![cfg(unix)]

use super::erasing::{TRACES, lived_in, of_others, traces};
use super::*;
use crate::{Erase, acknowledge};
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
    // Without shared memory, SQLite uses a rollback journal. A small cache writes pages before the end.
    let set = format!("PRAGMA journal_mode = {mode}; PRAGMA cache_size = 10");
    staging.connection.execute_batch(&set).unwrap();
    kill_after(&mut staging.connection, steps.parse().unwrap());
    let receipt = receipt(second().len(), COUNTED);
    staging.commit(receipt, SystemTime::now()).unwrap();
}

/// Kills this process after a number of steps of SQLite's machine.
fn kill_after(connection: &mut rusqlite::Connection, mut left: u64) {
    let kill = move || {
        if left == 0 {
            use rustix::process::{Signal, getpid, kill_process};
            kill_process(getpid(), Signal::KILL).unwrap();
        }
        left = left.saturating_sub(1);
        false
    };
    connection.progress_handler(20, Some(kill)).unwrap();
}

/// The ids of the records to erase, separated by commas.
const IDS: &str = "TALENTDATA_TEST_IDS";

/// The child of a test: an erasure that kills this process.
#[test]
fn erasing_child() {
    let [Ok(path), Ok(ids), Ok(steps)] = [PATH, IDS, STEPS].map(std::env::var) else {
        return;
    };
    let mut writing = crate::forget::Writing::open(Path::new(&path)).unwrap();
    kill_after(&mut writing.connection, steps.parse().unwrap());
    Erase::new(CONTACTS, &path, ids.split(','))
        .run_in(writing)
        .unwrap();
}

/// Runs an erasure that is killed after a number of steps. Returns whether it was killed.
fn erase_and_kill(trial: &Trial, ids: &[String], steps: u64) -> bool {
    let mut child = program("kills::erasing_child", &trial.path);
    child.env(IDS, ids.join(",")).env(STEPS, steps.to_string());
    let status = child.stdout(Stdio::null()).status().unwrap();
    assert!(status.success() || status.signal() == Some(9), "{status}");
    !status.success()
}

#[test]
fn a_killed_erasure_is_finished_by_the_next_one_or_by_a_sync() {
    let (mut steps, mut uncleaned, mut rounds) = (0, 0, 0);
    let ids = ["canary-id".to_owned()];
    loop {
        let trial = lived_in();
        let others = of_others(&trial, 5);
        let was_killed = erase_and_kill(&trial, &ids, steps);
        let is_there = trial.current().iter().any(|text| text.contains("canary"));
        assert!(
            trial.mirror().verify().unwrap().matches,
            "after {steps} steps"
        );
        assert!(of_others(&trial, 5) == others, "after {steps} steps");
        uncleaned += usize::from(!is_there && !traces(&trial, &TRACES).is_empty());
        if is_there || rounds % 2 == 0 {
            Erase::new(CONTACTS, &trial.path, &ids).run().unwrap();
        } else {
            trial.sync(&contacts(0..300), COUNTED);
        }
        assert_eq!(traces(&trial, &TRACES), [""; 0], "after {steps} steps");
        assert!(trial.mirror().verify().unwrap().matches);
        rounds += 1;
        if !was_killed {
            break;
        }
        steps = steps * 5 / 4 + 1;
    }
    println!("{rounds} rounds, {uncleaned} of them were killed before the file was clean");
    assert!(rounds > 10 && uncleaned > 0, "{rounds} {uncleaned}");
}

/// Returns a person whose fields all have unique values.
fn person(id: u64, version: u64) -> String {
    format!("{{\"id\":\"key-{id}-\",\"name\":\"mark-{id}-{version}\"}}")
}

/// Returns the texts and changes of others in the last syncs.
fn recent(trial: &Trial, last: u64, marks: &[String]) -> Vec<String> {
    let mirror = trial.mirror();
    let first = mirror.syncs(CONTACTS).unwrap()[0]
        .generation
        .max(last.saturating_sub(3));
    let mut all = Vec::new();
    for sync in first..=last {
        all.extend(trial.as_of(sync));
    }
    let changes = mirror.changes(CONTACTS, &SyncPoint::Sync(first)).unwrap();
    all.extend(texts(changes));
    all.retain(|text| !marks.iter().any(|mark| text.contains(mark)));
    all
}

#[test]
fn erasures_between_syncs_with_kills_leave_nothing_and_lose_nothing() {
    let rounds = rounds(20);
    let mut random = fastrand::Rng::with_seed(17);
    let mut trial = Trial::new();
    let mut list: BTreeMap<u64, u64> = (0..60).map(|id| (id, 0)).collect();
    let (mut next, mut killed, mut erased) = (60, 0, 0);
    for round in 0..rounds {
        for _ in 0..4 {
            let id = random.u64(..next);
            list.entry(id).and_modify(|version| *version += 1);
            list.insert(next, 0);
            next += 1;
        }
        let all = list.iter().map(|(id, version)| person(*id, *version));
        trial.sync.keep = (round % 10 == 9).then_some(Duration::ZERO);
        let last = trial.sync(&all.collect::<Vec<_>>(), COUNTED).generation;
        let known: Vec<u64> = list.keys().copied().collect();
        let count = random.usize(1..4);
        let gone: Vec<u64> = random.choose_multiple(known.iter().copied(), count);
        let of =
            |what: &str| -> Vec<String> { gone.iter().map(|id| format!("{what}-{id}-")).collect() };
        let (ids, marks) = (of("key"), of("mark"));
        let others = recent(&trial, last, &ids);
        if random.bool() {
            let steps = 1 << random.u32(..9);
            killed += u64::from(erase_and_kill(&trial, &ids, steps + random.u64(..steps)));
            assert!(trial.mirror().verify().unwrap().matches, "round {round}");
        }
        Erase::new(CONTACTS, &trial.path, &ids).run().unwrap();
        let marks: Vec<&[u8]> = marks.iter().map(|mark| mark.as_bytes()).collect();
        assert_eq!(traces(&trial, &marks), [""; 0], "round {round}");
        assert!(trial.mirror().verify().unwrap().matches, "round {round}");
        assert!(recent(&trial, last, &ids) == others, "round {round}");
        if random.bool() {
            let up_to = trial
                .mirror()
                .syncs(CONTACTS)
                .unwrap()
                .pop()
                .unwrap()
                .generation;
            acknowledge(&trial.path, CONTACTS, &SyncPoint::Sync(up_to)).unwrap();
            let keys: Vec<&[u8]> = ids.iter().map(|key| key.as_bytes()).collect();
            assert_eq!(traces(&trial, &keys), [""; 0], "round {round}");
            assert!(trial.mirror().verify().unwrap().matches, "round {round}");
        }
        erased += gone.len();
        list.retain(|id, _| !gone.contains(id));
    }
    println!("{rounds} rounds: {erased} people erased, {killed} erasures killed");
    assert!(killed > rounds / 10);
}

fn second() -> Vec<String> {
    let mut texts = contacts(20..220);
    texts[50] = contact(70, 1);
    texts.reverse();
    texts
}

#[test]
fn a_killed_sync_leaves_the_previous_sync_or_the_new_one() {
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
fn a_killed_sync_leaves_an_older_file_unchanged_or_upgrades_it() {
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

/// A full disk, a limit or a kill can interrupt the move of a commit from the log into the file. The file is then
/// shorter than its first page says.
#[test]
fn a_mirror_with_a_partly_moved_log_is_intact() {
    const PAGE: usize = 4096;
    let trial = Trial::of(0..3);
    // The log stays while there is a reader.
    let reader = rusqlite::Connection::open(&trial.path).unwrap();
    reader.execute_batch("BEGIN; SELECT * FROM sync").unwrap();
    trial.sync(&contacts(0..300), COUNTED);
    let [mut file, log] = ["mirror.db", "mirror.db-wal"]
        .map(|name| std::fs::read(trial.path.with_file_name(name)).unwrap());
    // A frame of the log has the number of a page, other fields, and the page.
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
