//! Plants what is not ours at the names of an export, and compares what is there before and after.

use super::{Service, export, names, run};
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use talentdata_columns::export::{Export, Format};
use talentdata_core::ErrorKind;

/// What can be at a name, and what puts it there.
type Kind<'a> = (&'static str, Box<dyn Fn(&Path) + 'a>);

/// What can be seen of a file.
#[derive(Debug, PartialEq)]
struct State {
    name: String,
    inode: u64,
    links: u64,
    mode: u32,
    changed: (i64, i64),
    content: Option<Vec<u8>>,
}

/// A directory with an output path, and a file that must not be harmed.
pub(super) struct Planted {
    pub(super) directory: tempfile::TempDir,
    pub(super) path: PathBuf,
    pub(super) victim: PathBuf,
}

fn look(directory: &Path, states: &mut Vec<State>) {
    for name in names(directory) {
        let path = directory.join(&name);
        let found = fs::symlink_metadata(&path).unwrap();
        let content = found.is_file().then(|| fs::read(&path).unwrap());
        states.push(State {
            name,
            inode: found.ino(),
            links: found.nlink(),
            mode: found.mode(),
            changed: (found.mtime(), found.mtime_nsec()),
            content,
        });
        if found.is_dir() {
            look(&path, states);
        }
    }
}

impl Planted {
    pub(super) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let (path, victim) = (
            directory.path().join("out"),
            directory.path().join("victim"),
        );
        fs::write(&victim, "precious").unwrap();
        Planted {
            directory,
            path,
            victim,
        }
    }

    /// Everything that can be at the name of a work directory, or of a file in one, and is not ours.
    pub(super) fn kinds(&self) -> [Kind<'_>; 5] {
        [
            (
                "link",
                Box::new(|name| symlink(&self.victim, name).unwrap()),
            ),
            (
                "dangling link",
                Box::new(|name| symlink("nowhere", name).unwrap()),
            ),
            (
                "hard link",
                Box::new(|name| fs::hard_link(&self.victim, name).unwrap()),
            ),
            (
                "directory",
                Box::new(|name| {
                    fs::create_dir(name).unwrap();
                    fs::set_permissions(name, Permissions::from_mode(0o755)).unwrap();
                }),
            ),
            (
                "pipe",
                Box::new(|name| {
                    let made = std::process::Command::new("mkfifo").arg(name).status();
                    assert!(made.unwrap().success());
                }),
            ),
        ]
    }

    /// All files, those in directories too; pipes are not opened.
    fn state(&self) -> Vec<State> {
        let mut states = Vec::new();
        look(self.directory.path(), &mut states);
        states
    }

    /// Neither resumed nor begun again, it is refused with the name and the way out, and nothing changes.
    pub(super) async fn refuses(
        &self,
        service: &Service,
        export: &Export,
        name: &Path,
        context: &str,
    ) {
        for resume in [false, true] {
            let export = Export {
                resume: export.resume && resume,
                ..export.clone()
            };
            let before = self.state();
            let error = run(&export, &service.client).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Io, "{context}: {error}");
            let shown = name.display().to_string();
            for words in [&*shown, "move it", "another output path"] {
                assert!(
                    error.message().contains(words),
                    "{context}: {words} in {error}"
                );
            }
            assert_eq!(self.state(), before, "{context}: {error}");
        }
    }

    pub(super) fn remove(&self, name: &Path) {
        let removed = match fs::symlink_metadata(name).unwrap().is_dir() {
            true => fs::remove_dir_all(name),
            false => fs::remove_file(name),
        };
        removed.unwrap();
        assert_eq!(fs::read_to_string(&self.victim).unwrap(), "precious");
    }
}

/// In the largest pages, so that several groups of Parquet, of 8,192 records each, are soon through.
pub(super) fn large(path: &Path, format: Format) -> Export {
    let mut export = export(path);
    export.format = format;
    export.resume = format != Format::Arrow;
    export.scan.page_size = Some(100);
    export
}

/// One of each way in which unfinished data are stored.
pub(super) fn formats() -> [Format; 3] {
    [Format::Jsonl, Format::Parquet, Format::Arrow]
}
