//! What a power failure leaves on the disk is enough to go on from, and a disk that cannot sync is an error.
//!
//! A process runs with `disk.c`, which notes what was synced; then everything else is lost.

#![cfg(target_os = "linux")]

use super::kills::{act_as_child, child, in_format, kill};
use super::{Service, names, run};
use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use talentdata_core::export::Format;

/// A folder on a disk that forgets.
struct Disk {
    folder: PathBuf,
    /// What was synced, as `disk.c` notes it.
    notes: PathBuf,
    library: PathBuf,
}

impl Disk {
    fn new(root: &Path) -> Self {
        let disk = Disk {
            folder: root.join("folder"),
            notes: root.join("notes"),
            library: root.join("disk.so"),
        };
        fs::create_dir(&disk.folder).unwrap();
        fs::create_dir(&disk.notes).unwrap();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/export/disk.c");
        let mut compiler = Command::new("cc");
        let flags = ["-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o"];
        compiler
            .args(flags)
            .arg(&disk.library)
            .arg(source)
            .arg("-ldl");
        assert!(compiler.status().unwrap().success());
        disk
    }

    /// What the shell has to say before a process that writes to the disk.
    fn setting(&self) -> String {
        let (notes, library) = (self.notes.display(), self.library.display());
        format!("export TALENTDATA_TEST_DISK='{notes}' LD_PRELOAD='{library}';")
    }

    /// The files with their inodes, as they are now.
    fn present(&self) -> HashMap<String, u64> {
        let inode = |name: &String| fs::metadata(self.folder.join(name)).unwrap().ino();
        let names = names(&self.folder);
        names
            .into_iter()
            .map(|name| (name.clone(), inode(&name)))
            .collect()
    }

    /// The power fails: names are those synced last, or may be as `recent` as can be; of no file is
    /// more left than was synced.
    fn fail(&self, recent: bool) {
        let synced = || {
            let noted = fs::read_to_string(self.notes.join("names")).unwrap_or_default();
            let entry = |line: &str| {
                let (inode, name) = line.split_once(' ').unwrap();
                (name.to_owned(), inode.parse().unwrap())
            };
            noted.lines().map(entry).collect()
        };
        let files: HashMap<String, u64> = if recent { self.present() } else { synced() };
        let left: Vec<(String, Vec<u8>)> = files
            .into_iter()
            .map(|(name, inode)| {
                let content = fs::read(self.notes.join(inode.to_string()));
                (name, content.unwrap_or_default())
            })
            .collect();
        for folder in [&self.folder, &self.notes] {
            fs::remove_dir_all(folder).unwrap();
            fs::create_dir(folder).unwrap();
        }
        for (name, content) in &left {
            fs::write(self.folder.join(name), content).unwrap();
        }
        // What is left is on the disk.
        let entry = |(name, inode): (String, u64)| {
            fs::copy(self.folder.join(&name), self.notes.join(inode.to_string())).unwrap();
            format!("{inode} {name}\n")
        };
        let noted: String = self.present().into_iter().map(entry).collect();
        fs::write(self.notes.join("names"), noted).unwrap();
    }
}

#[tokio::test]
async fn after_a_power_failure_nothing_is_lost_or_repeated() {
    act_as_child().await;
    let test = "disk::after_a_power_failure_nothing_is_lost_or_repeated";
    let lose_power = async |format, records, rounds| {
        let root = tempfile::tempdir().unwrap();
        let disk = Disk::new(root.path());
        let fail = || disk.fail(fastrand::bool());
        let child = (test, &*disk.setting());
        kill(child, format, records, rounds, &disk.folder, fail).await;
    };
    lose_power(Format::Jsonl, 1000, 30).await;
    if cfg!(feature = "arrow") {
        lose_power(Format::Csv, 6000, 10).await;
        lose_power(Format::Parquet, 40_000, 5).await;
    }
}

#[tokio::test]
async fn a_disk_that_cannot_sync_is_an_error_and_then_resumed() {
    act_as_child().await;
    let service = Service::start(100);
    let expected = service.lines();
    for failing in 0.. {
        let root = tempfile::tempdir().unwrap();
        let disk = Disk::new(root.path());
        let path = disk.folder.join("out");
        let export = in_format(Format::Jsonl, &path);
        let setting = format!(
            "export TALENTDATA_TEST_FAIL_SYNC={failing};{}",
            disk.setting()
        );
        let test = "disk::a_disk_that_cannot_sync_is_an_error_and_then_resumed";
        let child = child(test, &setting, &service, &export);
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        if output.status.success() {
            assert!(failing > 4, "{failing}: {said}");
            break;
        }
        assert_eq!(output.status.code(), Some(32), "{failing}: {said}");
        assert!(said.contains("Input/output error"), "{failing}: {said}");
        if path.exists() {
            assert!(said.contains("is whole"), "{failing}: {said}");
        } else {
            run(&export, &service.client).await.unwrap();
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), expected, "{failing}");
    }
}
