//! A sync that is killed before any of its calls to the file system, or of which any call fails, leaves the old
//! generation or the new one, and the next sync goes on.

pub(super) mod history;

use super::list::{List, contact};
use super::{CONTACTS, applied, as_of, changes, files, run, stub, sync};
use history::History;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::time::Duration;
use talentdata_core::mirror::{Mirror, Sync};

/// Tells a process that it is a child, and what it needs.
const CHILD: &str = "TALENTDATA_TEST_SYNC_CHILD";

/// More calls than a sync makes.
const MOST_CALLS: usize = 250;

const ENOSPC: i32 = 28;
const EIO: i32 = 5;

/// Runs the child's sync, if this process is one.
pub(super) async fn act_as_child() {
    let Ok(settings) = std::env::var(CHILD) else {
        return;
    };
    let (base_url, path, fold): (String, PathBuf, bool) = serde_json::from_str(&settings).unwrap();
    let mut settings = stub::settings(&base_url);
    let client = settings.paced(false).build().unwrap();
    let code = match run(&with(&path, fold), &client).await {
        Ok(_) => 0,
        Err(error) => {
            println!("{error}");
            error.kind().exit_code()
        }
    };
    std::process::exit(code.into());
}

fn with(path: &Path, fold: bool) -> Sync {
    Sync {
        keep: fold.then_some(Duration::ZERO),
        ..Sync::new(CONTACTS, path)
    }
}

/// A process that runs `test` as a child, with the calls to the file system counted.
fn child(test: &str, list: &List, path: &Path, fold: bool, event: Option<(usize, &str)>) -> Child {
    command(test, list, path, fold, event).spawn().unwrap()
}

/// The same, to be started.
pub(super) fn command(
    test: &str,
    list: &List,
    path: &Path,
    fold: bool,
    event: Option<(usize, &str)>,
) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let settings = (&list.base_url, path, fold);
    command
        .args([test, "--exact", "--nocapture"])
        .env(CHILD, serde_json::to_string(&settings).unwrap())
        .env("TALENTDATA_TEST_DIRECTORY", path)
        .env("LD_PRELOAD", library())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    if let Some((call, event)) = event {
        command.env("TALENTDATA_TEST_CALL", call.to_string());
        command.env("TALENTDATA_TEST_EVENT", event);
    }
    command
}

/// The library that the tests of exports are preloaded with, compiled once.
fn library() -> &'static Path {
    static LIBRARY: LazyLock<PathBuf> = LazyLock::new(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/export/disk.c");
        let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mirror-disk.so");
        let new = library.with_extension(std::process::id().to_string());
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-o"]).arg(&new);
        compiler.arg(source).arg("-ldl");
        assert!(compiler.status().unwrap().success());
        fs::rename(new, &library).unwrap();
        library
    });
    &LIBRARY
}

/// Copies a mirror.
pub(super) fn copy(from: &Path, to: &Path) {
    for (name, bytes) in files(from) {
        let path = to.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

/// Lets something happen before every `step`-th call of a sync; returns how many calls one has.
async fn every_call(
    test: &str,
    history: &History,
    fold: bool,
    events: &[&str],
    step: usize,
) -> usize {
    for call in (0..).step_by(step) {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("mirror");
        copy(history.mirror.path(), &path);
        let event = events[call % events.len()];
        let place = format!("{event} before call {call}");
        let child = child(test, &history.list, &path, fold, Some((call, event)));
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        history.go_on(&path, fold, &place).await;
        if event == "kill" && output.status.code() == Some(0) {
            return call;
        }
        // Some failures do no harm; behind the last call none happens.
        if event != "kill" && call > MOST_CALLS {
            return call;
        }
        assert!(
            matches!(output.status.code(), None | Some(0 | 32)),
            "{place}: {said}"
        );
    }
    unreachable!()
}

#[tokio::test]
async fn killed_before_any_call_a_mirror_is_the_old_or_the_new() {
    act_as_child().await;
    let test = "crashes::killed_before_any_call_a_mirror_is_the_old_or_the_new";
    let history = History::of(3).await;
    let calls = every_call(test, &history, false, &["kill"], 1).await;
    println!("{calls} calls of a sync");
    assert!((20..MOST_CALLS).contains(&calls), "{calls}");
    let calls = every_call(test, &History::of(1).await, false, &["kill"], 1).await;
    assert!(calls > 20, "{calls}");
}

#[tokio::test]
async fn killed_while_it_folds_a_mirror_reads_as_before() {
    act_as_child().await;
    let test = "crashes::killed_while_it_folds_a_mirror_reads_as_before";
    let history = History::of(4).await;
    let calls = every_call(test, &history, true, &["kill"], 3).await;
    println!("{calls} calls of a sync that folds");
}

#[tokio::test]
async fn whichever_call_fails_the_mirror_is_the_old_or_the_new() {
    act_as_child().await;
    let test = "crashes::whichever_call_fails_the_mirror_is_the_old_or_the_new";
    let history = History::of(2).await;
    let events = [ENOSPC.to_string(), EIO.to_string()];
    let events = [events[0].as_str(), events[1].as_str()];
    every_call(test, &history, false, &events, 3).await;
}

/// How many times a process is killed; `TALENTDATA_ROUNDS` asks for more.
fn rounds() -> u64 {
    let given = std::env::var("TALENTDATA_ROUNDS");
    given.map_or(30, |rounds| rounds.parse().unwrap())
}

#[tokio::test]
async fn killed_at_any_moment_syncs_go_on() {
    act_as_child().await;
    let test = "crashes::killed_at_any_moment_syncs_go_on";
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("mirror");
    let list = List::with_ids(0..1500);
    let (mut killed, mut done) = (0, 0);
    let mut archives: Vec<String> = Vec::new();
    for round in 0..rounds() {
        let ids = (0..1500).filter(|id| (id + round) % 70 != 0);
        list.set(ids.map(|id| match (id + round) % 90 {
            0 => contact(id).replace("A", &round.to_string()),
            _ => contact(id),
        }));
        let mut child = child(test, &list, &path, false, None);
        std::thread::sleep(Duration::from_micros(fastrand::u64(
            ..1 << fastrand::u32(8..19),
        )));
        let _ = child.kill();
        match child.wait().unwrap().code() {
            None => killed += 1,
            Some(_) => done += 1,
        }
        let generations = Mirror::open(&path).map_or(0, |mirror| {
            mirror.generations(CONTACTS).map_or(0, <[_]>::len)
        });
        if generations > archives.len() {
            archives.push(list.lines());
        }
        assert_eq!(generations, archives.len());
        if let Some(last) = archives.last() {
            assert_eq!(&as_of(&path, generations as u64), last);
        }
    }
    println!("{killed} killed, {done} ended before");
    sync(&list.client, &path).await.unwrap();
    archives.push(list.lines());
    for (archive, generation) in archives.iter().zip(1..) {
        assert_eq!(&as_of(&path, generation), archive);
    }
    let mut copy: Vec<String> = applied(&path).into_values().collect();
    let mut lines: Vec<String> = list.lines().lines().map(str::to_owned).collect();
    copy.sort();
    lines.sort();
    assert_eq!(copy, lines);
    assert!(!changes(&path, 0).is_empty());
}
