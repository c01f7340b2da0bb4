//! Exports leave other files alone: unfinished exports with other settings, damaged ones, and other people's files.

#![cfg(unix)]

use super::service::client;
use super::{Service, export, large, names, run, run_pages, work};
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use talentdata_columns::export::{Export, Format};
use talentdata_core::scan::Receipt;
use talentdata_core::types::Resource;
use talentdata_core::{Client, ErrorKind};
use tokio::sync::Notify;

/// One of each way in which unfinished data are stored.
const FORMATS: [Format; 3] = [Format::Jsonl, Format::Parquet, Format::Arrow];

/// What can be seen of a file: name, inode, links, mode, time of change, and content.
type State = (PathBuf, [u64; 3], (i64, i64), Option<Vec<u8>>);

/// What is planted, and what plants it.
type Plant<'a> = (&'static str, Box<dyn Fn(&Path) + 'a>);

/// A directory with an output path, and a file that must not be harmed.
struct Place {
    directory: tempfile::TempDir,
    path: PathBuf,
    victim: PathBuf,
}

impl Place {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let [path, victim] = ["out", "victim"].map(|name| directory.path().join(name));
        fs::write(&victim, "precious").unwrap();
        Place {
            directory,
            path,
            victim,
        }
    }

    /// With an export in it that was stopped.
    async fn stopped(service: &Service) -> (Self, Export) {
        let place = Place::new();
        let export = export(&place.path);
        run_pages(&export, &service.client, 4).await.unwrap_err();
        (place, export)
    }

    /// Everything that can be at the name of a work directory, or of a file in one, and is not ours.
    fn kinds(&self) -> Vec<Plant<'_>> {
        vec![
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
            ("directory", Box::new(|name| directory(name, 0o755))),
            ("pipe", Box::new(pipe)),
        ]
    }

    /// All files, those in directories too; pipes are not opened.
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

    /// It is refused with this kind and in words that hold these, and nothing changes.
    async fn refuses(&self, client: &Client, export: &Export, kind: ErrorKind, words: &[&str]) {
        let before = self.state();
        let error = run(export, client).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{words:?}: {error}");
        let missing = words.iter().find(|word| !error.message().contains(**word));
        assert_eq!(missing, None, "{error}");
        assert_eq!(self.state(), before, "{words:?}: {error}");
    }

    /// Neither resumed nor begun again, it is refused with the name, the way out and this reason.
    async fn refuses_foreign(&self, service: &Service, export: &Export, name: &Path, why: &str) {
        let shown = name.display().to_string();
        let words = [
            shown.trim_end_matches('/'),
            "move it away",
            "another output path",
            why,
        ];
        for resume in [false, true] {
            let export = Export {
                resume,
                ..export.clone()
            };
            self.refuses(&service.client, &export, ErrorKind::Io, &words)
                .await;
        }
    }

    /// The same, over and over, for each kind of thing at a name, which are removed again.
    async fn refuses_all<'a>(
        &'a self,
        service: &Service,
        export: &Export,
        name: &Path,
        more: Vec<Plant<'a>>,
    ) {
        for (kind, plant) in self.kinds().into_iter().chain(more) {
            println!("{} {name:?}: {kind}", export.format);
            plant(name);
            self.refuses_foreign(service, export, name, "").await;
            let removed = match fs::symlink_metadata(name).unwrap().is_dir() {
                true => fs::remove_dir_all(name),
                false => fs::remove_file(name),
            };
            removed.unwrap();
            assert_eq!(fs::read_to_string(&self.victim).unwrap(), "precious");
        }
    }
}

fn directory(path: &Path, mode: u32) {
    fs::create_dir(path).unwrap();
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// A directory as an export makes it, with one file.
fn directory_with(name: &'static str, content: &'static str) -> Plant<'static> {
    let plant = move |part: &Path| {
        directory(part, 0o700);
        fs::write(part.join(name), content).unwrap();
    };
    (name, Box::new(plant))
}

#[tokio::test]
async fn another_key_is_refused_and_the_message_says_what_differs() {
    let service = Service::start(100);
    let (place, export) = Place::stopped(&service).await;
    let with = |change: fn(&mut Export)| {
        let mut other = export.clone();
        change(&mut other);
        other
    };
    let stranger = client(
        service.sandbox.base_url(),
        "another-company",
        "secret-of-another",
    );
    let (ours, id) = (&service.client, service.sandbox.client_id());
    for (client, other, words) in [
        (
            ours,
            with(|other| other.resource = Resource::Pools),
            ["resource: ", "contacts", "pools"],
        ),
        (
            ours,
            with(|other| other.scan.page_size = Some(20)),
            ["page_size: ", "10", "20"],
        ),
        (
            ours,
            with(|other| other.scan.page_size = None),
            ["page_size: ", "10", "100"],
        ),
        (
            ours,
            with(|other| other.scan.limit = Some(50)),
            ["limit: ", "none", "50"],
        ),
        (
            &stranger,
            export.clone(),
            ["client_id: ", id, "another-company"],
        ),
        (
            &client("http://127.0.0.1:9", id, "secret"),
            export.clone(),
            ["base_url: ", "127.0.0.1", ":9"],
        ),
    ] {
        let way_out = ["out.part", "without resume"];
        let words: Vec<&str> = words.into_iter().chain(way_out).collect();
        place
            .refuses(client, &other, ErrorKind::InvalidArgument, &words)
            .await;
    }
    let receipt = run(&with(|other| other.resume = false), ours)
        .await
        .unwrap();
    assert_eq!(receipt.resumed, 0);
    assert_eq!(fs::read_to_string(&place.path).unwrap(), service.lines());
    assert_eq!(names(place.directory.path()), ["out", "victim"]);
}

#[tokio::test]
async fn what_was_damaged_is_refused() {
    let service = Service::start(100);
    let (place, export) = Place::stopped(&service).await;
    let path = work(&place.path, "checkpoint");
    let whole = fs::read(&path).unwrap();
    let cut = [0, 1, 10, whole.len() / 2, whole.len() - 1].map(|length| whole[..length].to_vec());
    let others =
        ["[]\n", "talentdata export checkpoint 10\n{}", "\0\u{fffd}"].map(|text| text.into());
    for damaged in cut.into_iter().chain(others) {
        fs::write(&path, damaged).unwrap();
        place
            .refuses_foreign(&service, &export, &path, "damaged")
            .await;
    }
    let text = String::from_utf8_lossy(&whole);
    fs::write(&path, text.replacen("checkpoint 10", "checkpoint 9", 1)).unwrap();
    place
        .refuses_foreign(&service, &export, &path, "another version")
        .await;
    fs::write(&path, whole).unwrap();
    let path = work(&place.path, "data");
    let whole = fs::read(&path).unwrap();
    let mut edited = whole.clone();
    edited[whole.len() - 9] ^= 1;
    for damaged in [&whole[..whole.len() - 1], &edited] {
        fs::write(&path, damaged).unwrap();
        let words = ["was changed", "out.part", "without resume"];
        place
            .refuses(&service.client, &export, ErrorKind::Io, &words)
            .await;
    }
    fs::write(&path, &whole).unwrap();
    run(&export, &service.client).await.unwrap();
    assert_eq!(fs::read_to_string(&place.path).unwrap(), service.lines());
}

#[tokio::test]
async fn what_others_have_put_at_the_name_is_refused_and_stays() {
    let service = Service::start(30);
    let place = Place::new();
    let part = work(&place.path, "");
    let part = Path::new(part.to_str().unwrap().trim_end_matches('/'));
    directory(&place.directory.path().join("elsewhere"), 0o700);
    for format in FORMATS {
        let more: Vec<Plant<'_>> = vec![
            ("file", Box::new(|name| fs::write(name, "my own").unwrap())),
            ("empty file", Box::new(|name| fs::write(name, "").unwrap())),
            (
                "link to a directory",
                Box::new(|name| symlink("elsewhere", name).unwrap()),
            ),
            ("open directory", Box::new(|name| directory(name, 0o770))),
            directory_with("data", "my own"),
            directory_with("notes.txt", "my own"),
            directory_with("lock", "my own"),
            directory_with("output", ""),
            directory_with("checkpoint.next", "my"),
            directory_with("checkpoint", ""),
        ];
        let export = large(format, &place.path);
        place.refuses_all(&service, &export, part, more).await;
    }
    assert_eq!(names(place.directory.path()), ["elsewhere", "victim"]);
    assert_eq!(service.sandbox.stats().requests, 0);
}

#[tokio::test]
async fn what_a_kill_leaves_before_the_first_checkpoint_is_used() {
    let service = Service::start(30);
    let left: [&[(&str, &str)]; 4] = [
        &[],
        &[("lock", "")],
        &[("lock", ""), ("checkpoint.next", "")],
        &[("lock", ""), ("checkpoint.next", "talentdata ex")],
    ];
    for (files, resume) in left
        .into_iter()
        .flat_map(|left| [(left, false), (left, true)])
    {
        let place = Place::new();
        directory(&work(&place.path, ""), 0o700);
        for (name, content) in files {
            fs::write(work(&place.path, name), content).unwrap();
        }
        let mut export = export(&place.path);
        export.resume = resume;
        let receipt = run(&export, &service.client).await.unwrap();
        assert_eq!((receipt.resumed, receipt.records), (0, 30));
        assert_eq!(names(place.directory.path()), ["out", "victim"]);
    }
}

#[tokio::test]
async fn what_is_not_ours_within_the_work_directory_is_refused_and_stays() {
    let service = Service::start(2_500);
    for format in FORMATS {
        let place = Place::new();
        let export = large(format, &place.path);
        run_pages(&export, &service.client, 20).await.unwrap_err();
        let elsewhere = place.directory.path().join("elsewhere");
        for name in [
            "data",
            "ids",
            "checkpoint",
            "lock",
            "output",
            "checkpoint.next",
            "mine",
        ] {
            let name = work(&place.path, name);
            let ours = name.exists();
            if ours {
                // A second name of the file itself.
                fs::hard_link(&name, &elsewhere).unwrap();
                place.refuses_foreign(&service, &export, &name, "").await;
                fs::remove_file(&elsewhere).unwrap();
                fs::rename(&name, &elsewhere).unwrap();
                symlink(&elsewhere, &name).unwrap();
                place.refuses_foreign(&service, &export, &name, "").await;
                fs::remove_file(&name).unwrap();
            }
            place
                .refuses_all(&service, &export, &name, Vec::new())
                .await;
            if ours {
                fs::rename(&elsewhere, &name).unwrap();
            }
        }
        for alike in ["01", "+1x", "1.bak", "data.old", ".x"] {
            let name = work(&place.path, alike);
            fs::write(&name, "my own").unwrap();
            place.refuses_foreign(&service, &export, &name, "").await;
            fs::remove_file(name).unwrap();
        }
        let receipt = run(&export, &service.client).await.unwrap();
        assert_eq!(receipt.resumed, 1, "{format}");
        assert_eq!(names(place.directory.path()), ["out", "victim"]);
    }
}

#[tokio::test]
async fn a_checkpoint_without_its_data_is_stale() {
    let service = Service::start(2_500);
    for (format, resume) in FORMATS
        .into_iter()
        .flat_map(|format| [(format, true), (format, false)])
    {
        let place = Place::new();
        let mut export = large(format, &place.path);
        run_pages(&export, &service.client, 20).await.unwrap_err();
        fs::remove_file(work(&place.path, "data")).unwrap();
        assert!(work(&place.path, "checkpoint").exists());
        export.resume = resume;
        let receipt = run(&export, &service.client).await.unwrap();
        assert_eq!((receipt.resumed, receipt.records), (0, 2_500), "{format}");
        assert_eq!(names(place.directory.path()), ["out", "victim"], "{format}");
    }
}

#[tokio::test]
async fn links_that_come_while_an_export_runs_are_not_followed() {
    let service = Service::start(2_500);
    for format in FORMATS {
        let place = Place::new();
        let is_plain = format == Format::Jsonl;
        let name = work(&place.path, if is_plain { "data" } else { "output" });
        let plant = |_: &Receipt| {
            if fs::symlink_metadata(&name).is_ok_and(|found| found.is_file()) {
                fs::remove_file(&name).unwrap();
                symlink(&place.victim, &name).unwrap();
            }
        };
        let export = large(format, &place.path);
        let forever = std::future::pending();
        let error = export.run(&service.client, forever, plant).await;
        let error = error.unwrap_err();
        assert_eq!(fs::read_to_string(&place.victim).unwrap(), "precious");
        let shown = name.display().to_string();
        assert!(error.message().contains(&shown), "{error}");
        let _ = fs::remove_file(&name);
        let receipt = run(&export, &service.client).await.unwrap();
        let resumed = u64::from(!is_plain);
        assert_eq!((receipt.resumed, receipt.records), (resumed, 2_500));
    }
}

#[tokio::test]
async fn one_whose_work_directory_was_taken_away_harms_nobody() {
    let service = Service::start(300);
    let place = Place::new();
    let another = work(&place.path, "data");
    let take_away = |_: &Receipt| {
        if another.exists() && fs::read(&another).unwrap() != b"another" {
            fs::remove_dir_all(work(&place.path, "")).unwrap();
            fs::create_dir(work(&place.path, "")).unwrap();
            fs::write(&another, "another").unwrap();
        }
    };
    let export = export(&place.path);
    let error = export
        .run(&service.client, std::future::pending(), take_away)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    for words in [
        "out.part",
        "was removed or replaced",
        "nothing can be resumed",
    ] {
        assert!(error.message().contains(words), "{words}: {error}");
    }
    assert_eq!(fs::read(another).unwrap(), b"another");
    assert_eq!(names(&work(&place.path, "")), ["data"]);
}

#[tokio::test]
async fn the_second_of_two_exports_to_one_file_is_refused() {
    let service = Service::start(5_000);
    let place = Place::new();
    let (first, begun) = (export(&place.path), Notify::new());
    let running = first.run(&service.client, std::future::pending(), |_| {
        begun.notify_one()
    });
    let refused = async {
        begun.notified().await;
        for resume in [true, false] {
            let mut second = export(&place.path);
            second.resume = resume;
            let error = run(&second, &service.client).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Io);
            let words = format!("another export is writing to {}", place.path.display());
            assert!(error.message().contains(&words), "{error}");
        }
    };
    let (outcome, ()) = tokio::join!(running, refused);
    assert_eq!(outcome.unwrap().resumed, 0);
    assert_eq!(fs::read_to_string(&place.path).unwrap(), service.lines());
    run(&first, &service.client).await.unwrap();
}

#[tokio::test]
async fn impossible_places_are_refused_by_name() {
    let service = Service::start(20);
    let place = Place::new();
    let within = |name: &str| place.directory.path().join(name);
    fs::create_dir(within("directory")).unwrap();
    symlink("round", within("round")).unwrap();
    let (long, longer) = ("x".repeat(251), "x".repeat(256));
    for (path, why) in [
        (within("directory"), "is a directory"),
        (within("none/out"), "No such file"),
        (within("victim/out"), "Not a directory"),
        (within(&long), "File name too long"),
        (within(&longer), "File name too long"),
        (within("round"), "symbolic links"),
        (PathBuf::from("/proc/out"), ""),
        #[cfg(target_os = "linux")]
        (PathBuf::from("/dev/full"), "No space left"),
    ] {
        let shown = path.display().to_string();
        place
            .refuses(
                &service.client,
                &export(&path),
                ErrorKind::Io,
                &[&shown, why],
            )
            .await;
    }
    let nothing = export(Path::new(""));
    place
        .refuses(
            &service.client,
            &nothing,
            ErrorKind::InvalidArgument,
            &["no file name"],
        )
        .await;
    #[cfg(target_os = "linux")]
    {
        run(&export(Path::new("/dev/null")), &service.client)
            .await
            .unwrap();
        assert!(!Path::new("/dev/full.part").exists());
    }
}

#[tokio::test]
async fn a_link_stays_and_what_it_points_at_is_written() {
    let service = Service::start(40);
    let place = Place::new();
    let within = |name: &str| place.directory.path().join(name);
    fs::create_dir(within("data")).unwrap();
    let (link, data) = (within("link"), within("data/out.jsonl"));
    symlink("second", &link).unwrap();
    symlink("data/out.jsonl", within("second")).unwrap();
    run_pages(&export(&link), &service.client, 2)
        .await
        .unwrap_err();
    assert!(work(&data, "data").exists() && !data.exists());
    run(&export(&link), &service.client).await.unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(&data).unwrap(), service.lines());
    assert_eq!(
        names(place.directory.path()),
        ["data", "link", "second", "victim"]
    );
}

/// An export whose output blocks for ever is stopped all the same; were it not, the test would not come to its end.
#[tokio::test]
async fn a_pipe_that_nobody_reads_does_not_keep_an_export_from_being_stopped() {
    let service = Service::start(5_000);
    let place = Place::new();
    pipe(&place.path);
    for has_reader in [false, true] {
        let mut options = fs::File::options();
        let _stalled =
            has_reader.then(|| options.read(true).write(true).open(&place.path).unwrap());
        let stop = tokio::time::sleep(std::time::Duration::from_millis(300));
        let error = export(&place.path)
            .run(&service.client, stop, |_| {})
            .await
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
        assert!(error.message().contains("incomplete"), "{error}");
    }
}
