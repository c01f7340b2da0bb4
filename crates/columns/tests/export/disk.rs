//! A disk that keeps nothing but what was synced, and whose calls fail on demand.
//!
//! A process runs with `disk.c`, which notes what was synced; then everything else is lost.

use super::names;
use std::fmt::Display;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use tempfile::TempDir;

/// A directory on a disk that forgets.
pub(super) struct Disk {
    pub(super) directory: PathBuf,
    /// What was synced, as `disk.c` notes it.
    notes: PathBuf,
    _root: TempDir,
}

/// Which directories have lost the names that were not synced.
#[derive(Clone, Copy, Debug)]
pub(super) enum Lost {
    Everywhere,
    Nowhere,
    /// In the directory itself, or in those within it.
    Either(bool),
}

impl Disk {
    pub(super) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let [directory, notes] = ["directory", "notes"].map(|name| root.path().join(name));
        for path in [&directory, &notes] {
            fs::create_dir(path).unwrap();
        }
        Disk {
            directory,
            notes,
            _root: root,
        }
    }

    /// The shell commands in front of a process that writes to the disk, with more settings of `disk.c`.
    pub(super) fn setting(&self, more: &str) -> String {
        let (notes, directory) = (self.notes.display(), self.directory.display());
        let library = library().display();
        format!(
            "export TALENTDATA_TEST_DISK='{notes}' TALENTDATA_TEST_DIRECTORY='{directory}' {more};
             export LD_PRELOAD='{library}';"
        )
    }

    /// The same, with an event before a call.
    pub(super) fn at(&self, call: impl Display, event: impl Display) -> String {
        let event = format!("TALENTDATA_TEST_CALL={call} TALENTDATA_TEST_EVENT={event}");
        self.setting(&event)
    }

    /// The power fails: of each file only what was synced is left, and of a directory that has lost them only the
    /// names that were synced.
    pub(super) fn fail(&self, lost: Lost) {
        let left = self.directory.with_extension("left");
        let number = inode(&self.directory);
        self.leave(Some(&self.directory), number, lost, 0, &left);
        fs::remove_dir_all(&self.directory).unwrap();
        fs::rename(left, &self.directory).unwrap();
        self.sync();
    }

    /// Makes everything permanent that is there now, what another process did included.
    pub(super) fn sync(&self) {
        fs::remove_dir_all(&self.notes).unwrap();
        fs::create_dir(&self.notes).unwrap();
        note(&self.directory, &self.notes);
    }

    /// Makes what is left of a directory with this inode, `now` or as it was noted, as a new one.
    fn leave(&self, now: Option<&Path>, number: u64, lost: Lost, depth: u32, to: &Path) {
        fs::create_dir(to).unwrap();
        if depth > 0 {
            fs::set_permissions(to, Permissions::from_mode(0o700)).unwrap();
        }
        let is_lost = match lost {
            Lost::Everywhere => true,
            Lost::Nowhere => false,
            Lost::Either(within) => within == (depth > 0),
        };
        let names = match now.filter(|_| !is_lost) {
            Some(now) => entries(now),
            None => {
                let noted = fs::read_to_string(self.notes.join(format!("names-{number}")));
                let entry = |line: &str| {
                    let (inode, name) = line.split_once(' ').unwrap();
                    (inode.parse().unwrap(), name.to_owned())
                };
                noted.unwrap_or_default().lines().map(entry).collect()
            }
        };
        for (number, name) in names {
            let to = to.join(name.trim_end_matches('/'));
            if name.ends_with('/') {
                let now = now.map(|now| now.join(&name));
                let now = now.filter(|now| now.is_dir() && inode(now) == number);
                self.leave(now.as_deref(), number, lost, depth + 1, &to);
            } else {
                let content = fs::read(self.notes.join(format!("file-{number}")));
                fs::write(to, content.unwrap_or_default()).unwrap();
            }
        }
    }
}

fn inode(path: &Path) -> u64 {
    fs::metadata(path).unwrap().ino()
}

/// The names in a directory, those of directories with a slash, and their inodes.
fn entries(directory: &Path) -> Vec<(u64, String)> {
    let entry = |name: String| {
        let path = directory.join(&name);
        let slash = if path.is_dir() { "/" } else { "" };
        (inode(&path), format!("{name}{slash}"))
    };
    names(directory).into_iter().map(entry).collect()
}

/// Notes that everything in a directory was synced, as `disk.c` notes it.
fn note(directory: &Path, notes: &Path) {
    let mut all = String::new();
    for (inode, name) in entries(directory) {
        let path = directory.join(&name);
        match name.ends_with('/') {
            true => note(&path, notes),
            false => drop(fs::copy(&path, notes.join(format!("file-{inode}"))).unwrap()),
        }
        all += &format!("{inode} {name}\n");
    }
    fs::write(notes.join(format!("names-{}", inode(directory))), all).unwrap();
}

/// `disk.c`, compiled once.
fn library() -> &'static Path {
    static LIBRARY: LazyLock<PathBuf> = LazyLock::new(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/export/disk.c");
        let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join("disk.so");
        let new = library.with_extension(std::process::id().to_string());
        let flags = ["-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o"];
        let mut compiler = Command::new("cc");
        compiler.args(flags).arg(&new).arg(source).arg("-ldl");
        assert!(compiler.status().unwrap().success());
        fs::rename(new, &library).unwrap();
        library
    });
    &LIBRARY
}
