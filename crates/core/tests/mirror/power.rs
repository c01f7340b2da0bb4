//! A power failure before any call of a sync to the file system leaves the old generation or the new one, and the
//! next sync goes on.
//!
//! A process runs with `disk.c`, which notes what was synced; what else there was on the disk is lost: of files always,
//! of directories everywhere, nowhere, or in some of them.

use super::crashes::history::History;
use super::crashes::{act_as_child, command, copy};
use super::files;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Which directories have lost the names that were not synced.
#[derive(Clone, Copy, Debug)]
enum Lost {
    Everywhere,
    Nowhere,
    /// In those for which this and their path say so.
    Here(u64),
}

impl Lost {
    fn is_lost(self, directory: &Path) -> bool {
        match self {
            Lost::Everywhere => true,
            Lost::Nowhere => false,
            Lost::Here(seed) => {
                let path = directory.as_os_str().as_encoded_bytes();
                let sum = path
                    .iter()
                    .fold(seed, |sum, byte| sum.wrapping_mul(31) + u64::from(*byte));
                fastrand::Rng::with_seed(sum).bool()
            }
        }
    }
}

fn inode(path: &Path) -> u64 {
    fs::metadata(path).unwrap().ino()
}

/// The names in a directory, those of directories with a slash, and their inodes.
fn names(directory: &Path) -> Vec<(u64, String)> {
    let entries = fs::read_dir(directory).unwrap();
    let name = |entry: std::io::Result<fs::DirEntry>| {
        let entry = entry.unwrap();
        let slash = if entry.path().is_dir() { "/" } else { "" };
        let name = format!("{}{slash}", entry.file_name().to_str().unwrap());
        (inode(&entry.path()), name)
    };
    entries.map(name).collect()
}

/// Notes that everything in a directory was synced, as `disk.c` notes it.
fn note(directory: &Path, notes: &Path) {
    let mut all = String::new();
    for (inode, name) in names(directory) {
        let path = directory.join(&name);
        match name.ends_with('/') {
            true => note(&path, notes),
            false => drop(fs::copy(&path, notes.join(inode.to_string())).unwrap()),
        }
        all += &format!("{inode} {name}\n");
    }
    fs::write(notes.join(format!("names-{}", inode(directory))), all).unwrap();
}

/// What is left of a directory with this inode, as a new one.
fn left(now: Option<&Path>, number: u64, notes: &Path, lost: Lost, path: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    let names = match now.filter(|_| !lost.is_lost(path)) {
        Some(now) => names(now),
        None => {
            let noted = fs::read_to_string(notes.join(format!("names-{number}")));
            let noted = noted.unwrap_or_default();
            let entry = |line: &str| {
                let (inode, name) = line.split_once(' ').unwrap();
                (inode.parse().unwrap(), name.to_owned())
            };
            noted.lines().map(entry).collect()
        }
    };
    for (number, name) in names {
        let to = to.join(name.trim_end_matches('/'));
        if name.ends_with('/') {
            let now = now.map(|now| now.join(&name));
            let now = now.filter(|now| now.is_dir() && inode(now) == number);
            left(now.as_deref(), number, notes, lost, &path.join(&name), &to);
        } else {
            let content = fs::read(notes.join(number.to_string()));
            fs::write(to, content.unwrap_or_default()).unwrap();
        }
    }
}

/// A mirror on a disk that forgets.
struct Disk {
    root: tempfile::TempDir,
    path: PathBuf,
    notes: PathBuf,
}

impl Disk {
    /// With what is in a directory, which is synced.
    fn of(directory: &Path) -> Self {
        let root = tempfile::tempdir().unwrap();
        let (path, notes) = (root.path().join("mirror"), root.path().join("notes"));
        fs::create_dir(&path).unwrap();
        fs::create_dir(&notes).unwrap();
        copy(directory, &path);
        note(&path, &notes);
        Disk { root, path, notes }
    }

    /// Cuts the power before a call of a sync; whether there was such a call.
    fn cut(&self, test: &str, history: &History, fold: bool, call: usize) -> bool {
        let mut child = command(test, &history.list, &self.path, fold, Some((call, "kill")));
        child.env("TALENTDATA_TEST_DISK", &self.notes);
        child.env("TALENTDATA_TEST_TREE", "1");
        let output = child.output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        let code = output.status.code();
        assert!(matches!(code, None | Some(0)), "call {call}: {said}");
        code.is_none()
    }

    /// What is left of it.
    fn left(&self, lost: Lost) -> PathBuf {
        let to = self.root.path().join(format!("{lost:?}"));
        let number = inode(&self.path);
        left(
            Some(&self.path),
            number,
            &self.notes,
            lost,
            Path::new(""),
            &to,
        );
        to
    }
}

/// Cuts the power before every `step`-th call of a sync; returns how many calls one has.
async fn cut_before_every_call(test: &str, history: &History, fold: bool, step: usize) -> usize {
    let mut outcomes = BTreeSet::new();
    for call in (0..).step_by(step) {
        let disk = Disk::of(history.mirror.path());
        let was_cut = disk.cut(test, history, fold, call);
        let (here, there) = (Lost::Here(call as u64), Lost::Here(call as u64 + 1000));
        for lost in [Lost::Everywhere, Lost::Nowhere, here, there] {
            let to = disk.left(lost);
            outcomes.insert(files(&to).into_keys().collect::<Vec<_>>());
            history
                .go_on(&to, fold, &format!("before call {call}, lost {lost:?}"))
                .await;
        }
        // And once more, while the next sync repairs what is left.
        let again = Disk::of(&disk.left(Lost::Here(call as u64 + 2000)));
        again.cut(test, history, fold, call * 7 % 31);
        history
            .go_on(
                &again.left(there),
                fold,
                &format!("twice, first before call {call}"),
            )
            .await;
        if !was_cut {
            println!(
                "{call} calls, {} different sets of files were left",
                outcomes.len()
            );
            return call;
        }
    }
    unreachable!()
}

#[tokio::test]
async fn a_power_failure_before_any_call_leaves_the_old_or_the_new() {
    act_as_child().await;
    let test = "power::a_power_failure_before_any_call_leaves_the_old_or_the_new";
    for (generations, step) in [(1, 1), (3, 3)] {
        let history = History::of(generations).await;
        let calls = cut_before_every_call(test, &history, false, step).await;
        assert!(calls > 20, "{calls}");
    }
}

#[tokio::test]
async fn a_power_failure_while_old_generations_are_folded_leaves_what_can_be_read() {
    act_as_child().await;
    let test = "power::a_power_failure_while_old_generations_are_folded_leaves_what_can_be_read";
    let history = History::of(4).await;
    let calls = cut_before_every_call(test, &history, true, 5).await;
    assert!(calls > 60, "{calls}");
}
