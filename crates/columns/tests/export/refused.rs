//! Exports do not change foreign files, or those of another running export.

use super::service::ended;
use super::{
    EVERY_CHOICE, PLAIN_AND_ENCODED, Service, export, fails, make_pipe, names, place, run,
};
use super::{run_pages, watch, work};
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use talentdata_columns::export::{Export, Format};
use talentdata_core::{Client, ErrorKind};
use tempfile::TempDir;
use tokio::sync::Notify;

/// Foreign things that may have the name of a work directory or of a file in one.
const FOREIGN: [&str; 5] = ["link", "dangling link", "hard link", "755", "pipe"];

/// Further things that may have the name of a work directory. The text before a slash is the name of a file in it, and
/// the rest its contents.
const NO_WORK_DIRECTORY: [&str; 10] = [
    "file",
    "empty file",
    "link to a directory",
    "770",
    "data/my own",
    "notes.txt/my own",
    "lock/my own",
    "output/",
    "checkpoint.next/my",
    "checkpoint/",
];

/// The observable state of a file: name, inode, links, mode, time of change, and content.
type State = (PathBuf, [u64; 3], (i64, i64), Option<Vec<u8>>);

/// A directory with an output path, a file that must not be harmed, and another directory.
struct Place {
    directory: TempDir,
    path: PathBuf,
    victim: PathBuf,
}

impl Place {
    fn new() -> Self {
        let (directory, path) = place();
        let victim = directory.path().join("victim");
        fs::write(&victim, "precious").unwrap();
        make_directory(&directory.path().join("elsewhere"), 0o700);
        Place {
            directory,
            path,
            victim,
        }
    }

    fn plant(&self, what: &str, at: &Path) {
        match what {
            "link" => symlink(&self.victim, at).unwrap(),
            "dangling link" => symlink("nowhere", at).unwrap(),
            "link to a directory" => symlink("elsewhere", at).unwrap(),
            "hard link" => fs::hard_link(&self.victim, at).unwrap(),
            "file" => fs::write(at, "my own").unwrap(),
            "empty file" => fs::write(at, "").unwrap(),
            "pipe" => make_pipe(at),
            mode if mode.parse::<u32>().is_ok() => {
                make_directory(at, u32::from_str_radix(mode, 8).unwrap());
            }
            holding => {
                let (name, content) = holding.split_once('/').unwrap();
                make_directory(at, 0o700);
                fs::write(at.join(name), content).unwrap();
            }
        }
    }

    /// Returns the state of all files, also in directories. Pipes are not opened.
    fn state(&self) -> Vec<State> {
        let (mut states, mut left) = (Vec::new(), vec![self.directory.path().to_owned()]);
        while let Some(directory) = left.pop() {
            for name in names(&directory) {
                let path = directory.join(name);
                let found = fs::symlink_metadata(&path).unwrap();
                if found.is_dir() {
                    left.push(path.clone());
                }
                let content = found.is_file().then(|| fs::read(&path).unwrap());
                let facts = [found.ino(), found.nlink(), found.mode().into()];
                states.push((path, facts, (found.mtime(), found.mtime_nsec()), content));
            }
        }
        states
    }

    /// Asserts that the export is refused with this kind and these words, which `|` separates, and that nothing
    /// changes.
    async fn refuses(&self, client: &Client, export: &Export, kind: ErrorKind, words: &str) {
        let before = self.state();
        fails(run(export, client).await, kind, words);
        assert_eq!(self.state(), before, "{words}");
    }

    /// Asserts that the export is refused with the name and advice, regardless of the choice about kept work.
    async fn refuses_foreign(&self, service: &Service, export: &Export, name: &Path) {
        let words = format!("{}|move it away|another output path", name.display());
        let mut export = export.clone();
        for kept in EVERY_CHOICE {
            export.kept = kept;
            let client = &service.client;
            self.refuses(client, &export, ErrorKind::Path, &words).await;
        }
    }

    /// Asserts that the export is refused with each of these things at a name, and removes them again.
    async fn refuses_all(&self, service: &Service, export: &Export, name: &Path, all: &[&str]) {
        for what in all {
            println!("{} {name:?}: {what}", export.format);
            self.plant(what, name);
            self.refuses_foreign(service, export, name).await;
            let removed = fs::remove_file(name).or_else(|_| fs::remove_dir_all(name));
            removed.unwrap();
            assert_eq!(fs::read_to_string(&self.victim).unwrap(), "precious");
        }
    }

    /// Asserts that the export left only its file.
    fn is_tidy(&self) {
        let left = names(self.directory.path());
        assert_eq!(left, ["elsewhere", "out", "victim"]);
    }
}

fn make_directory(path: &Path, mode: u32) {
    fs::create_dir(path).unwrap();
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[tokio::test]
async fn foreign_files_at_the_name_are_refused_and_stay() {
    let (service, place) = (Service::start(30), Place::new());
    let part = place.path.with_extension("part");
    for format in PLAIN_AND_ENCODED {
        let export = export(format, &place.path);
        for kinds in [&FOREIGN[..], &NO_WORK_DIRECTORY] {
            place.refuses_all(&service, &export, &part, kinds).await;
        }
    }
    assert_eq!(names(place.directory.path()), ["elsewhere", "victim"]);
    assert_eq!(service.sandbox.stats().requests, 0);
}

#[tokio::test]
async fn foreign_files_within_the_work_directory_are_refused_and_stay() {
    let service = Service::start(2_500);
    let names = "data ids checkpoint lock output checkpoint.next mine";
    for format in PLAIN_AND_ENCODED {
        let place = Place::new();
        let export = export(format, &place.path);
        run_pages(&export, &service.client, 20).await.unwrap_err();
        let aside = place.directory.path().join("aside");
        for name in names.split(' ').map(|name| work(&place.path, name)) {
            let ours = name.exists();
            if ours {
                // A second name of the file itself.
                fs::hard_link(&name, &aside).unwrap();
                place.refuses_foreign(&service, &export, &name).await;
                fs::remove_file(&aside).unwrap();
                fs::rename(&name, &aside).unwrap();
                symlink(&aside, &name).unwrap();
                place.refuses_foreign(&service, &export, &name).await;
                fs::remove_file(&name).unwrap();
            }
            place.refuses_all(&service, &export, &name, &FOREIGN).await;
            if ours {
                fs::rename(&aside, &name).unwrap();
            }
        }
        for alike in ["01", "+1x", "1.bak", "data.old", ".x"] {
            let name = work(&place.path, alike);
            place.refuses_all(&service, &export, &name, &["file"]).await;
        }
        let receipt = run(&export, &service.client).await.unwrap();
        assert_eq!(receipt.resumed, 1, "{format}");
        place.is_tidy();
    }
}

#[tokio::test]
async fn links_created_while_an_export_runs_are_not_followed() {
    let service = Service::start(2_500);
    for (format, name, resumed) in [(Format::Jsonl, "data", 0), (Format::Arrow, "output", 1)] {
        let place = Place::new();
        let name = work(&place.path, name);
        let export = export(format, &place.path);
        let outcome = watch(&export, &service.client, |_| {
            if fs::symlink_metadata(&name).is_ok_and(|found| found.is_file()) {
                fs::remove_file(&name).unwrap();
                symlink(&place.victim, &name).unwrap();
            }
        });
        let error = outcome.await.unwrap_err();
        assert_eq!(fs::read_to_string(&place.victim).unwrap(), "precious");
        let shown = name.display().to_string();
        assert!(error.message().contains(&shown), "{error}");
        let _ = fs::remove_file(&name);
        let receipt = run(&export, &service.client).await.unwrap();
        assert_eq!((receipt.resumed, receipt.records), (resumed, 2_500));
    }
}

#[tokio::test]
async fn an_export_whose_work_directory_was_replaced_harms_no_file() {
    let (service, place) = (Service::start(300), Place::new());
    let (part, another) = (work(&place.path, ""), work(&place.path, "data"));
    let export = export(Format::Jsonl, &place.path);
    let outcome = watch(&export, &service.client, |_| {
        if another.exists() && fs::read(&another).unwrap() != b"another" {
            fs::remove_dir_all(&part).unwrap();
            fs::create_dir(&part).unwrap();
            fs::write(&another, "another").unwrap();
        }
    });
    let words = "out.part|removed or replaced|nothing can be resumed";
    fails(outcome.await, ErrorKind::Io, words);
    assert_eq!(fs::read(&another).unwrap(), b"another");
    assert_eq!(names(&part), ["data"]);
}

#[tokio::test]
async fn the_second_of_two_exports_to_one_file_is_refused() {
    let (service, place) = (Service::start(5_000), Place::new());
    let (first, begun) = (export(Format::Jsonl, &place.path), Notify::new());
    let running = watch(&first, &service.client, |_| begun.notify_one());
    let refused = async {
        begun.notified().await;
        let mut second = first.clone();
        for kept in EVERY_CHOICE {
            second.kept = kept;
            let words = format!("another export is writing to {}", place.path.display());
            fails(run(&second, &service.client).await, ErrorKind::Busy, &words);
        }
    };
    let (outcome, ()) = tokio::join!(running, refused);
    assert_eq!(outcome.unwrap().resumed, 0);
    assert_eq!(
        fs::read_to_string(&place.path).unwrap(),
        service.lines().await
    );
    run(&first, &service.client).await.unwrap();
}

#[tokio::test]
async fn impossible_places_are_refused_by_name() {
    let (service, place) = (Service::start(20), Place::new());
    symlink("round", place.directory.path().join("round")).unwrap();
    let (long, longer) = ("x".repeat(251), "x".repeat(256));
    for (path, why) in [
        ("elsewhere", "is a directory"),
        ("none/out", "No such file"),
        ("victim/out", "Not a directory"),
        (&long, "File name too long"),
        (&longer, "File name too long"),
        ("round", "symbolic links"),
        ("/proc/out", ""),
        #[cfg(target_os = "linux")]
        ("/dev/full", "No space left"),
    ] {
        let path = place.directory.path().join(path);
        let export = export(Format::Jsonl, &path);
        let (client, words) = (&service.client, format!("{}|{why}", path.display()));
        let kind = if path.ends_with("full") {
            ErrorKind::StorageFull
        } else {
            ErrorKind::Path
        };
        place.refuses(client, &export, kind, &words).await;
    }
    let nowhere = export(Format::Jsonl, Path::new(""));
    let refused = run(&nowhere, &service.client).await;
    fails(refused, ErrorKind::InvalidArgument, "no file name");
    #[cfg(target_os = "linux")]
    {
        let null = export(Format::Jsonl, Path::new("/dev/null"));
        run(&null, &service.client).await.unwrap();
        assert!(!Path::new("/dev/full.part").exists());
    }
}

#[tokio::test]
async fn a_link_stays_and_its_target_is_written() {
    let (service, place) = (Service::start(40), Place::new());
    let (link, file) = (&place.path, place.directory.path().join("elsewhere/file"));
    symlink("second", link).unwrap();
    symlink("elsewhere/file", link.with_file_name("second")).unwrap();
    let export = export(Format::Jsonl, link);
    run_pages(&export, &service.client, 2).await.unwrap_err();
    assert!(work(&file, "data").exists() && !file.exists());
    run(&export, &service.client).await.unwrap();
    assert!(fs::symlink_metadata(link).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(&file).unwrap(), service.lines().await);
    let left = names(place.directory.path());
    assert_eq!(left, ["elsewhere", "out", "second", "victim"]);
    assert_eq!(names(&link.with_file_name("elsewhere")), ["file"]);
}

/// Without the check, the rename would fail after all records were read.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_mount_point_is_refused_before_anything_is_sent() {
    let (service, place) = (Service::start(20), Place::new());
    let user = ["--map-root-user", "--mount"];
    let allowed = Command::new("unshare").args(user).arg("true").status();
    if !allowed.is_ok_and(|allowed| allowed.success()) {
        println!("NOT RUN: this user may not mount; `cargo xtask test inject` does, as root");
        return;
    }
    fs::write(&place.path, "older").unwrap();
    let [path, user] = [place.path.display().to_string(), user.join(" ")];
    let mount = r#"mount --bind "$1" "$1"; shift; exec "$@""#;
    let enter = format!(r#"exec unshare {user} sh -c '{mount}' sh '{path}' "$0" "$@";"#);
    let (_, said) = ended(service.child(&enter, &export(Format::Jsonl, &place.path)));
    assert!(said.contains("is a mount point"), "{said}");
    assert_eq!(service.sandbox.stats().requests, 0);
    assert_eq!(fs::read(&place.path).unwrap(), b"older");
    assert!(!work(&place.path, "").exists());
}
