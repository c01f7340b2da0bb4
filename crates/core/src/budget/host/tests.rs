//! The file of the shared state, in all the ways in which others can damage it, replace it, or hold its lock.

#![allow(clippy::unwrap_used, reason = "clippy knows tests by cfg(test) alone")]

use super::file::StateFile;
use super::image::{self, Image};
use crate::gate::{Endpoint, GateSettings, PriorityClass, Requester, SharedGate, Turn};
use crate::host::clock;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::time::Duration;

/// A directory for a state, and the path in it.
fn place() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
    let path = directory.path().join("budget-3-test");
    (directory, path)
}

fn member(path: &Path) -> StateFile {
    StateFile::new(path.to_owned(), GateSettings::default())
}

/// Asks; how many members there are then, and whether the request may be sent.
fn ask(file: &mut StateFile, id: u64) -> (usize, Turn) {
    try_to_ask(file, id).unwrap()
}

fn try_to_ask(file: &mut StateFile, id: u64) -> std::io::Result<(usize, Turn)> {
    file.change(|gate, now| {
        let requester = Requester {
            id,
            process: 1,
            name: "test",
            share: 1.0,
        };
        let turn = gate.take(now, &requester, PriorityClass::Scan, Endpoint::Api);
        (gate.present(now), turn)
    })
}

fn read(file: &File) -> Image {
    image::read(file, &GateSettings::default()).unwrap()
}

fn open(path: &Path) -> File {
    OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .unwrap()
}

#[test]
fn what_one_does_the_others_know() {
    let (_directory, path) = place();
    let (mut one, mut other) = (member(&path), member(&path));
    assert!(matches!(ask(&mut one, 1), (1, Turn::Now(_))));
    assert_eq!(ask(&mut other, 2).0, 2);
    assert_eq!(ask(&mut one, 1).0, 2);
    let facts = std::fs::metadata(&path).unwrap();
    assert_eq!(facts.mode() & 0o777, 0o600, "nobody else may read it");
    let seen = member(&path).look().unwrap().unwrap();
    assert_eq!(seen.present(seen.used()), 2);
}

/// Whatever lies at the path is left as it is, and what a member knows outlives it.
#[test]
fn a_file_that_is_lost_or_replaced_is_made_again_from_what_a_member_knows() {
    type Harm = fn(&PathBuf);
    let harms: [(&str, Harm); 7] = [
        ("removed", |path| std::fs::remove_file(path).unwrap()),
        ("emptied", |path| open(path).set_len(0).unwrap()),
        ("cut off", |path| open(path).set_len(4100).unwrap()),
        ("overwritten", |path| {
            std::fs::write(path, [7; 300_000]).unwrap()
        }),
        ("a link", |path| {
            let target = path.with_extension("target");
            std::fs::write(&target, "mine").unwrap();
            std::fs::remove_file(path).unwrap();
            symlink(target, path).unwrap();
        }),
        ("a file with two names", |path| {
            let target = path.with_extension("target");
            std::fs::write(&target, "mine").unwrap();
            std::fs::remove_file(path).unwrap();
            std::fs::hard_link(target, path).unwrap();
        }),
        ("a pipe", |path| {
            std::fs::remove_file(path).unwrap();
            let made = std::process::Command::new("mkfifo").arg(path).status();
            assert!(made.unwrap().success());
        }),
    ];
    for (harm, do_harm) in harms {
        let (_directory, path) = place();
        let (mut one, mut other) = (member(&path), member(&path));
        ask(&mut one, 1);
        ask(&mut other, 2);
        do_harm(&path);
        // The one knows of itself only, the other of both.
        assert_eq!(ask(&mut other, 2).0, 2, "{harm}");
        assert_eq!(ask(&mut one, 1).0, 2, "{harm}");
        let target = path.with_extension("target");
        if target.exists() {
            assert_eq!(std::fs::read_to_string(target).unwrap(), "mine", "{harm}");
        }
    }
}

/// Somebody has sent, and nobody knows how much.
#[test]
fn who_finds_only_damage_lets_a_window_pass() {
    let (_directory, path) = place();
    std::fs::write(&path, "something else").unwrap();
    let Turn::Wait { earliest, .. } = ask(&mut member(&path), 1).1 else {
        panic!("it sends at once");
    };
    let seen = member(&path).look().unwrap().unwrap();
    assert_eq!(earliest, seen.paused_until());
    assert!(earliest > seen.used() + Duration::from_millis(500));
}

#[test]
fn a_directory_in_its_place_and_a_directory_of_everybody_are_refused() {
    let (directory, path) = place();
    std::fs::create_dir(&path).unwrap();
    assert!(member(&path).change(|_, _| ()).is_err());
    std::fs::remove_dir(&path).unwrap();
    std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let error = member(&path).change(|_, _| ()).err().unwrap();
    assert!(
        error.to_string().contains("other users may write"),
        "{error}"
    );
}

/// As a process does that is stopped at the worst moment.
#[test]
fn a_lock_that_is_never_given_back_holds_up_nobody() {
    let (_directory, path) = place();
    let (mut one, mut other) = (member(&path), member(&path));
    ask(&mut one, 1);
    ask(&mut other, 2);
    let stopped = open(&path);
    stopped.lock().unwrap();
    assert_eq!(ask(&mut one, 1).0, 2, "it takes the state along");
    // The stopped one goes on, and writes what nobody reads.
    let Image::State(number, state) = read(&stopped) else {
        panic!("the file has a state");
    };
    image::write(&stopped, number + 1, &state).unwrap();
    stopped.unlock().unwrap();
    assert_eq!(ask(&mut other, 2).0, 2);
    assert_eq!(
        stopped.metadata().unwrap().nlink(),
        0,
        "the path leads elsewhere"
    );
}

/// Members that all begin at the same moment, each of which asks once; how many there are in the end.
fn ask_at_once(path: &Path) -> usize {
    const MEMBERS: usize = 4;
    let moment = Barrier::new(MEMBERS);
    std::thread::scope(|scope| {
        for id in 1..=MEMBERS as u64 {
            let moment = &moment;
            scope.spawn(move || {
                moment.wait();
                ask(&mut member(path), id);
            });
        }
    });
    // One that only looks is no member.
    let state = member(path).look().unwrap().unwrap();
    state.present(clock::now())
}

/// If each of them put a file there, what others have noted in theirs would be lost.
#[test]
fn of_several_that_replace_a_file_at_the_same_moment_one_does() {
    for _ in 0..10 {
        let (_directory, path) = place();
        ask(&mut member(&path), 9);
        let stopped = open(&path);
        stopped.lock().unwrap();
        assert_eq!(ask_at_once(&path), 5, "with the one whose lock is held");
    }
    for _ in 0..50 {
        let (directory, path) = place();
        symlink(directory.path().join("elsewhere"), &path).unwrap();
        assert_eq!(ask_at_once(&path), 4);
    }
}

/// Whoever is killed while writing leaves the copy before, whichever part of the new one is written.
#[test]
fn half_a_copy_is_no_copy() {
    let (_directory, path) = place();
    let mut one = member(&path);
    for _ in 0..3 {
        ask(&mut one, 1);
    }
    let before = std::fs::read(&path).unwrap();
    ask(&mut member(&path), 2);
    let after = std::fs::read(&path).unwrap();
    let changed: Vec<usize> = (0..after.len())
        .filter(|at| before.get(*at) != after.get(*at))
        .collect();
    assert!(changed.len() > 20, "a copy was written");
    let mut half = before.clone();
    half.resize(after.len(), 0);
    for (done, at) in changed.iter().enumerate() {
        std::fs::write(&path, &half).unwrap();
        let Image::State(_, state) = read(&open(&path)) else {
            panic!("nothing is left after {done} bytes of a copy");
        };
        assert_eq!(state.present(state.used()), 1, "after {done} bytes");
        half[*at] = after[*at];
    }
    std::fs::write(&path, &half).unwrap();
    let Image::State(_, state) = read(&open(&path)) else {
        panic!("the whole copy is not read");
    };
    assert_eq!(state.present(state.used()), 2);
}

/// A host that was restarted counts its time from the beginning.
#[test]
fn a_state_from_the_future_is_forgotten() {
    let (_directory, path) = place();
    let mut one = member(&path);
    ask(&mut one, 1);
    let future = crate::host::clock::now() + Duration::from_secs(1000);
    let mut state = SharedGate::new(GateSettings::default(), future);
    let requester = Requester {
        id: 9,
        process: 1,
        name: "before",
        share: 1.0,
    };
    state.take(future, &requester, PriorityClass::Scan, Endpoint::Api);
    image::write(&open(&path), 99, &state).unwrap();
    assert_eq!(ask(&mut member(&path), 1).0, 1);
}
