//! A disk that keeps only synced data, and whose calls fail on demand. A process runs with `disk.c`, which records the
//! synced data. Then everything else is lost.

use std::fmt::Display;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use tempfile::TempDir;

/// A directory on a disk that loses everything that was not synced.
pub(super) struct Disk {
    pub(super) directory: PathBuf,
    /// The directory in which `disk.c` records the synced data.
    notes: PathBuf,
    _root: TempDir,
}

/// The directories that keep names that were not synced, as expressions for `find`: none, all, the directory itself, or
/// those within it.
pub(super) const KEPT_NOWHERE: &str = "-false";
pub(super) const KEPT_EVERYWHERE: &str = "-type d";
pub(super) const KEPT_OUTSIDE: &str = "-maxdepth 0";
pub(super) const KEPT_WITHIN: &str = "-mindepth 1 -type d";

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

    /// Returns the shell commands before a process that writes to the disk, with more settings of `disk.c`.
    pub(super) fn setting(&self, more: &str) -> String {
        let (notes, directory) = (self.notes.display(), self.directory.display());
        let library = library().display();
        format!(
            "export TALENTDATA_TEST_DISK='{notes}' TALENTDATA_TEST_DIRECTORY='{directory}' {more};
             export LD_PRELOAD='{library}';"
        )
    }

    /// Returns the shell commands before a process that writes to the disk, with an event before a call.
    pub(super) fn at(&self, call: impl Display, event: impl Display) -> String {
        let event = format!("TALENTDATA_TEST_CALL={call} TALENTDATA_TEST_EVENT={event}");
        self.setting(&event)
    }

    /// Simulates a power failure. Only the synced part of each file remains, and only the synced names of each
    /// directory. The directories `kept` keep all names.
    pub(super) fn fail(&self, kept: &str) {
        self.sync_those(kept);
        let left = self.directory.with_extension("left");
        let number = fs::metadata(&self.directory).unwrap().ino();
        self.leave(&number.to_string(), &left);
        fs::remove_dir_all(&self.directory).unwrap();
        fs::rename(left, &self.directory).unwrap();
        self.sync();
    }

    /// Makes the current state permanent, including the changes of other processes.
    pub(super) fn sync(&self) {
        fs::remove_dir_all(&self.notes).unwrap();
        fs::create_dir(&self.notes).unwrap();
        self.sync_those("");
    }

    /// Syncs the files and directories that `find` finds with the expression `which`.
    fn sync_those(&self, which: &str) {
        let (setting, directory) = (self.setting(""), self.directory.display());
        let command = format!("{setting} find '{directory}' {which} -exec sync {{}} +");
        let synced = Command::new("sh").args(["-c", &command]).status();
        assert!(synced.unwrap().success());
    }

    /// Restores the recorded state of the directory with this inode.
    fn leave(&self, number: &str, to: &Path) {
        DirBuilder::new().mode(0o700).create(to).unwrap();
        let names = fs::read_to_string(self.notes.join(format!("names-{number}")));
        for line in names.unwrap_or_default().lines() {
            let (number, name) = line.split_once(' ').unwrap();
            match name.strip_suffix('/') {
                Some(name) => self.leave(number, &to.join(name)),
                None => {
                    let content = fs::read(self.notes.join(format!("file-{number}")));
                    fs::write(to.join(name), content.unwrap_or_default()).unwrap();
                }
            }
        }
    }
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
