//! Plants files at the names of work files, and holds against each other what is there before and after.

use super::{Service, export, names, run};
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use talentdata_core::ErrorKind;
use talentdata_core::export::{Export, Format};

/// What can be at a name, and what puts it there.
type Kind<'a> = (&'static str, &'a dyn Fn(&Path));

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

    /// Everything that can be at the name of a work file and is not ours.
    pub(super) fn kinds(&self) -> [Kind<'_>; 7] {
        [
            ("file", &|name| fs::write(name, "my own").unwrap()),
            ("empty file", &|name| {
                fs::write(name, "").unwrap();
                fs::set_permissions(name, Permissions::from_mode(0o666)).unwrap();
            }),
            ("link", &|name| symlink("victim", name).unwrap()),
            ("dangling link", &|name| symlink("nowhere", name).unwrap()),
            ("hard link", &|name| {
                let victim = name.parent().unwrap().join("victim");
                fs::hard_link(victim, name).unwrap();
            }),
            ("directory", &|name| fs::create_dir(name).unwrap()),
            ("pipe", &|name| {
                let made = std::process::Command::new("mkfifo").arg(name).status();
                assert!(made.unwrap().success());
            }),
        ]
    }

    /// All files; pipes are not opened.
    fn state(&self) -> Vec<State> {
        let look = |name: String| {
            let path = self.directory.path().join(&name);
            let found = fs::symlink_metadata(&path).unwrap();
            let content = found.is_file().then(|| fs::read(&path).unwrap());
            State {
                name,
                inode: found.ino(),
                links: found.nlink(),
                mode: found.mode(),
                changed: (found.mtime(), found.mtime_nsec()),
                content,
            }
        };
        names(self.directory.path()).into_iter().map(look).collect()
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
            true => fs::remove_dir(name),
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
