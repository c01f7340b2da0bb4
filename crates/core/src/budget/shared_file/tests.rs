//! Shared files that others damage, replace or keep locked.

#![allow(clippy::unwrap_used, reason = "clippy knows tests by cfg(test) alone")]

use super::*;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::Barrier;

/// A change of the file at a path.
type Harm = fn(&Path);

/// Returns a directory for a file, and the file in it.
pub(crate) fn place() -> (tempfile::TempDir, SharedFile) {
    let directory = tempfile::tempdir().unwrap();
    set_mode(directory.path(), 0o700);
    let path = directory.path().join("budget-test");
    let file = SharedFile::new(path, 500, Duration::from_micros(100));
    (directory, file)
}

pub(crate) fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

pub(crate) fn open(path: &Path) -> File {
    let mut options = OpenOptions::new();
    options.read(true).write(true).open(path).unwrap()
}

fn write(file: &SharedFile, value: &[u8]) {
    file.lock().unwrap().write(value).unwrap();
}

fn read(file: &SharedFile) -> Option<Vec<u8>> {
    file.look().unwrap()
}

/// If something at the path is not our file, it stays unchanged, no value is read from it, and the next value replaces
/// it at the path.
#[test]
fn something_that_is_not_our_file_is_replaced() {
    fn in_place(path: &Path, of: impl Fn(&Path)) {
        let target = path.with_extension("target");
        std::fs::rename(path, &target).unwrap();
        of(&target);
    }
    let harms: [(&str, Harm); 9] = [
        ("nothing", |path| std::fs::remove_file(path).unwrap()),
        ("emptied", |path| open(path).set_len(0).unwrap()),
        ("cut off", |path| {
            open(path).set_len(HEADER_SIZE + COPY_SIZE + 30).unwrap()
        }),
        ("overwritten", |path| {
            std::fs::write(path, [7; 600_000]).unwrap()
        }),
        ("a link", |path| {
            in_place(path, |target| symlink(target, path).unwrap())
        }),
        ("a file with two names", |path| {
            in_place(path, |target| std::fs::hard_link(target, path).unwrap());
        }),
        ("readable by others", |path| set_mode(path, 0o644)),
        ("a pipe", |path| {
            std::fs::remove_file(path).unwrap();
            let made = std::process::Command::new("mkfifo").arg(path).status();
            assert!(made.unwrap().success());
        }),
        ("a link to nothing", |path| {
            std::fs::remove_file(path).unwrap();
            symlink(path.with_extension("nothing"), path).unwrap();
        }),
    ];
    for (harm, do_harm) in harms {
        let (_directory, file) = place();
        assert_eq!(read(&file), None);
        write(&file, b"the first value");
        assert_eq!(read(&file).unwrap(), b"the first value");
        let before = std::fs::read(&file.path).unwrap();
        do_harm(&file.path);
        assert_eq!(read(&file), None, "{harm}");
        write(&file, b"the second value");
        assert_eq!(read(&file).unwrap(), b"the second value", "{harm}");
        let facts = std::fs::symlink_metadata(&file.path).unwrap();
        assert_eq!(
            facts.mode() & 0o777,
            0o600,
            "{harm}: nobody else may read it"
        );
        let target = file.path.with_extension("target");
        assert!(
            !target.exists() || std::fs::read(target).unwrap() == before,
            "{harm}"
        );
    }
}

#[test]
fn a_directory_at_the_path_and_a_public_directory_are_refused() {
    let (directory, file) = place();
    std::fs::create_dir(&file.path).unwrap();
    assert!(file.lock().is_err());
    std::fs::remove_dir(&file.path).unwrap();
    write(&file, b"value");
    // The mode was right when the file was created.
    set_mode(directory.path(), 0o777);
    for error in [file.lock().err(), file.look().err()] {
        let error = error.unwrap().to_string();
        assert!(error.contains("make its mode 0700"), "{error}");
    }
}

#[test]
fn the_file_of_another_user_is_not_ours() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let facts = file.as_file().metadata().unwrap();
    assert!(is_of(&facts, facts.uid()));
    assert!(!is_of(&facts, facts.uid() + 1));
}

/// The lock is held as by a process that is stopped at the worst time and continues later.
#[test]
fn a_lock_that_is_never_released_blocks_nobody() {
    let (_directory, file) = place();
    write(&file, b"value");
    let stopped = file.lock().unwrap();
    let next = file.lock().unwrap();
    assert_eq!(
        next.value().unwrap(),
        b"value",
        "the value is copied to the new file"
    );
    assert!(next.is_current() && !stopped.is_current());
    assert!(open(&file.path).try_lock().is_err(), "it excludes others");
    stopped.write(b"what nobody reads").unwrap();
    next.write(b"newer").unwrap();
    drop((stopped, next));
    assert_eq!(read(&file).unwrap(), b"newer");
}

#[test]
fn a_process_that_is_stopped_while_it_replaces_a_file_blocks_nobody() {
    let (directory, file) = place();
    let first = file.open(true).unwrap().unwrap();
    let stopped = File::open(directory.path()).unwrap();
    stopped.lock().unwrap();
    file.replace(Some(&first)).unwrap();
    assert!(!leads_to(&file.path, &first));
    let second = open(&file.path);
    file.replace(Some(&first)).unwrap();
    assert!(leads_to(&file.path, &second), "it was not stale");
}

/// Starts four processes at the same time, each of which adds one byte, and returns the final length.
fn add_at_once(file: &SharedFile) -> usize {
    let moment = Barrier::new(4);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                moment.wait();
                loop {
                    let locked = file.lock().unwrap();
                    let value = locked.value().unwrap_or_default();
                    locked.write(&[value, b"x"].concat()).unwrap();
                    if locked.is_current() {
                        break;
                    }
                }
            });
        }
    });
    read(file).unwrap().len()
}

/// If each of them replaced the file, values of others would be lost.
#[test]
fn only_one_of_several_processes_replaces_a_file() {
    for _ in 0..10 {
        let (_directory, file) = place();
        write(&file, b"x");
        let _stopped = file.lock().unwrap();
        assert_eq!(add_at_once(&file), 5, "with what was there before");
    }
    for _ in 0..50 {
        let (directory, file) = place();
        symlink(directory.path().join("elsewhere"), &file.path).unwrap();
        assert_eq!(add_at_once(&file), 4);
    }
}

/// A process that is killed while it writes leaves the previous copy, regardless of the part of the new copy that is
/// written.
#[test]
fn a_partial_copy_is_ignored() {
    let (_directory, file) = place();
    for value in [b"one", b"two"] {
        write(&file, value);
    }
    let before = std::fs::read(&file.path).unwrap();
    write(&file, b"a longer one");
    let mut half = before.clone();
    let after = std::fs::read(&file.path).unwrap();
    half.resize(after.len(), 0);
    for at in 0..after.len() {
        if half[at] != after[at] {
            std::fs::write(&file.path, &half).unwrap();
            assert_eq!(read(&file).unwrap(), b"two", "{at} bytes are written");
            half[at] = after[at];
        }
    }
    std::fs::write(&file.path, &half).unwrap();
    assert_eq!(read(&file).unwrap(), b"a longer one");
}
