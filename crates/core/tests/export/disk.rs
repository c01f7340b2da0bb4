//! What a power failure leaves on the disk is enough to go on from, and a disk that cannot sync is an error.
//!
//! A process runs with `disk.c`, which notes what was synced; then everything else is lost.

#![cfg(target_os = "linux")]

use super::child::{act_as_child, child, ended, in_format};
use super::kills::kill;
use super::{Service, names, run};
use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use talentdata_core::export::Format;

/// A directory on a disk that forgets.
pub(super) struct Disk {
    pub(super) directory: PathBuf,
    /// What was synced, as `disk.c` notes it.
    notes: PathBuf,
    library: PathBuf,
}

impl Disk {
    pub(super) fn new(root: &Path) -> Self {
        let disk = Disk {
            directory: root.join("directory"),
            notes: root.join("notes"),
            library: root.join("disk.so"),
        };
        fs::create_dir(&disk.directory).unwrap();
        fs::create_dir(&disk.notes).unwrap();
        fs::copy(library(), &disk.library).unwrap();
        disk
    }

    /// The shell commands in front of a process that writes to the disk, with more settings of `disk.c`.
    pub(super) fn setting(&self, more: &str) -> String {
        let (notes, library) = (self.notes.display(), self.library.display());
        let directory = self.directory.display();
        format!(
            "export TALENTDATA_TEST_DISK='{notes}' TALENTDATA_TEST_DIRECTORY='{directory}' {more};
             export LD_PRELOAD='{library}';"
        )
    }

    /// The same, with an event before a call.
    pub(super) fn at(&self, call: impl std::fmt::Display, event: &str) -> String {
        self.setting(&format!(
            "TALENTDATA_TEST_CALL={call} TALENTDATA_TEST_EVENT={event}"
        ))
    }

    /// The files with their inodes, as they are now.
    fn present(&self) -> HashMap<String, u64> {
        let inode = |name: &String| fs::metadata(self.directory.join(name)).unwrap().ino();
        let names = names(&self.directory);
        names
            .into_iter()
            .map(|name| (name.clone(), inode(&name)))
            .collect()
    }

    /// The power fails: the names are those that were synced last, or the most recent ones; of each file
    /// only what was synced is left. Files that exist keep their inodes.
    pub(super) fn fail(&self, recent: bool) {
        let synced = || {
            let noted = fs::read_to_string(self.notes.join("names")).unwrap_or_default();
            let entry = |line: &str| {
                let (inode, name) = line.split_once(' ').unwrap();
                (name.to_owned(), inode.parse().unwrap())
            };
            noted.lines().map(entry).collect()
        };
        let present = self.present();
        let left: HashMap<String, u64> = if recent { present.clone() } else { synced() };
        let aside = |inode: u64| self.directory.join(format!("inode-{inode}"));
        for (name, inode) in &present {
            fs::rename(self.directory.join(name), aside(*inode)).unwrap();
        }
        let removed = names(&self.notes).into_iter();
        for name in removed.filter(|name| name.starts_with("inode-")) {
            fs::rename(self.notes.join(&name), self.directory.join(name)).unwrap();
        }
        for (name, inode) in &left {
            let content = fs::read(self.notes.join(inode.to_string())).unwrap_or_default();
            let path = self.directory.join(name);
            let _ = fs::rename(aside(*inode), &path);
            fs::write(path, content).unwrap();
        }
        let rest = names(&self.directory).into_iter();
        for name in rest.filter(|name| name.starts_with("inode-")) {
            fs::remove_file(self.directory.join(name)).unwrap();
        }
        fs::remove_dir_all(&self.notes).unwrap();
        fs::create_dir(&self.notes).unwrap();
        // What is left is on the disk.
        let entry = |(name, inode): (String, u64)| {
            fs::copy(
                self.directory.join(&name),
                self.notes.join(inode.to_string()),
            )
            .unwrap();
            format!("{inode} {name}\n")
        };
        let noted: String = self.present().into_iter().map(entry).collect();
        fs::write(self.notes.join("names"), noted).unwrap();
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

#[tokio::test]
async fn after_a_power_failure_nothing_is_lost_or_repeated() {
    act_as_child().await;
    let test = "disk::after_a_power_failure_nothing_is_lost_or_repeated";
    let lose_power = async |format, records, rounds| {
        let root = tempfile::tempdir().unwrap();
        let disk = Disk::new(root.path());
        let fail = || disk.fail(fastrand::bool());
        let child = (test, &*disk.setting(""));
        kill(child, format, records, rounds, &disk.directory, fail).await;
    };
    lose_power(Format::Jsonl, 1000, 30).await;
    lose_power(Format::Csv, 6000, 10).await;
    lose_power(Format::Parquet, 40_000, 5).await;
}

/// A power failure before each call that changes a file, and another one while the export that follows
/// begins: what is left can always be resumed.
#[tokio::test]
async fn a_power_failure_before_any_call_leaves_what_can_be_resumed() {
    act_as_child().await;
    let test = "disk::a_power_failure_before_any_call_leaves_what_can_be_resumed";
    let service = Service::start(60);
    for recent in [false, true] {
        let calls = every_prefix(test, &service, Format::Jsonl, recent, 1).await;
        assert!(calls > 20, "{calls}");
    }
    let service = Service::start(8_700);
    every_prefix(test, &service, Format::Parquet, true, 11).await;
    every_prefix(test, &service, Format::Parquet, false, 13).await;
    let service = Service::start(1_200);
    every_prefix(test, &service, Format::Arrow, true, 5).await;
}

/// Cuts exports off before every `step`-th call; returns how many calls an export has.
async fn every_prefix(
    test: &str,
    service: &Service,
    format: Format,
    recent: bool,
    step: usize,
) -> usize {
    let elsewhere = tempfile::tempdir().unwrap();
    let alone = elsewhere.path().join("alone");
    run(&in_format(format, &alone), &service.client)
        .await
        .unwrap();
    let expected = fs::read(&alone).unwrap();
    for call in (0..).step_by(step) {
        let root = tempfile::tempdir().unwrap();
        let disk = Disk::new(root.path());
        let path = disk.directory.join("out");
        let mut export = in_format(format, &path);
        let cut = |call: usize, export: &_| {
            let cut = child(test, &disk.at(call, "kill"), service, export);
            let (code, said) = ended(cut);
            disk.fail(recent);
            assert!(matches!(code, None | Some(0)), "{format} {call}: {said}");
            code
        };
        if cut(call, &export) == Some(0) {
            return call;
        }
        if path.exists() {
            assert!(fs::read(&path).unwrap() == expected, "{format} {call}");
        }
        // Twice in a row, and the second time early.
        cut(call % 13, &export);
        export.resume = format != Format::Arrow && call % 2 == 0;
        let outcome = run(&export, &service.client).await;
        let receipt = outcome.unwrap_or_else(|error| panic!("{format} {call}: {error}"));
        assert!(fs::read(&path).unwrap() == expected, "{format} {call}");
        assert_eq!(receipt.records as usize, service.count(), "{format} {call}");
        assert_eq!(names(&disk.directory), ["out"], "{format} {call}");
    }
    unreachable!()
}
