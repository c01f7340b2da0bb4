//! What is at the name of the work directory, or in it, and is not ours: it is refused and stays as it is.

#![cfg(unix)]

use super::planted::{Planted, formats, large};
use super::{Service, export, names, run, run_pages, work};
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use talentdata_columns::export::{Export, Format};
use talentdata_core::scan::Receipt;

/// What is planted, and what plants it.
type Plant<'a> = (&'static str, &'a dyn Fn(&Path));

/// A directory as an export makes it.
fn private(path: &Path) {
    fs::create_dir(path).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o700)).unwrap();
}

#[tokio::test]
async fn what_others_have_put_at_the_name_is_refused_and_stays() {
    let service = Service::start(30);
    let planted = Planted::new();
    let part = work(&planted.path, "");
    let part = Path::new(part.to_str().unwrap().trim_end_matches('/'));
    let elsewhere = planted.directory.path().join("elsewhere");
    private(&elsewhere);
    let with = |name: &'static str, content: &'static str| {
        move |part: &Path| {
            private(part);
            fs::write(part.join(name), content).unwrap();
        }
    };
    let (data, own) = (with("data", "my own"), with("notes.txt", "my own"));
    let (lock, empty) = (with("lock", "my own"), with("joined", ""));
    let (next, damaged) = (with("checkpoint.next", "my"), with("checkpoint", ""));
    let planting = planted.kinds();
    let more: [Plant<'_>; 10] = [
        ("file", &|name| fs::write(name, "my own").unwrap()),
        ("empty file", &|name| fs::write(name, "").unwrap()),
        ("link to a directory", &|name| {
            symlink("elsewhere", name).unwrap()
        }),
        ("open directory", &|name| {
            private(name);
            fs::set_permissions(name, Permissions::from_mode(0o770)).unwrap();
        }),
        ("data", &data),
        ("other files", &own),
        ("a lock", &lock),
        ("a row group", &empty),
        ("an unfinished checkpoint", &next),
        ("a damaged checkpoint", &damaged),
    ];
    for format in formats() {
        let export = large(&planted.path, format);
        let planting = planting.iter().map(|(kind, plant)| (*kind, &**plant));
        for (kind, plant) in planting.chain(more) {
            plant(part);
            let context = format!("{format} {kind}");
            planted.refuses(&service, &export, part, &context).await;
            planted.remove(part);
        }
    }
    assert_eq!(names(planted.directory.path()), ["elsewhere", "victim"]);
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
    for files in left {
        for resume in [false, true] {
            let planted = Planted::new();
            let part = work(&planted.path, "");
            private(&part);
            for (name, content) in files {
                fs::write(part.join(name), content).unwrap();
            }
            let mut export = export(&planted.path);
            export.resume = resume;
            let receipt = run(&export, &service.client).await.unwrap();
            assert_eq!((receipt.resumed, receipt.records), (0, 30));
            assert_eq!(names(planted.directory.path()), ["out", "victim"]);
        }
    }
}

#[tokio::test]
async fn what_is_not_ours_within_the_work_directory_is_refused_and_stays() {
    let service = Service::start(8_500);
    for format in formats() {
        let planted = Planted::new();
        let export = large(&planted.path, format);
        leave(&service, &export, &planted.path).await;
        let elsewhere = planted.directory.path().join("elsewhere");
        for name in [
            "data",
            "ids",
            "checkpoint",
            "lock",
            "joined",
            "checkpoint.next",
            "mine",
        ] {
            let name = work(&planted.path, name);
            let ours = name.exists();
            if ours {
                // A second name of the file itself.
                fs::hard_link(&name, &elsewhere).unwrap();
                let context = format!("{format} {name:?} with two names");
                planted.refuses(&service, &export, &name, &context).await;
                fs::remove_file(&elsewhere).unwrap();
                fs::rename(&name, &elsewhere).unwrap();
                symlink(&elsewhere, &name).unwrap();
                let context = format!("{format} {name:?} behind a link");
                planted.refuses(&service, &export, &name, &context).await;
                fs::remove_file(&name).unwrap();
            }
            for (kind, plant) in planted.kinds() {
                plant(&name);
                let context = format!("{format} {name:?} {kind}");
                planted.refuses(&service, &export, &name, &context).await;
                planted.remove(&name);
            }
            if ours {
                fs::rename(&elsewhere, &name).unwrap();
            }
        }
        for alike in ["01", "+1", "1.bak", "data.old", "."] {
            let name = work(&planted.path, &format!("{alike}x"));
            fs::write(&name, "my own").unwrap();
            planted.refuses(&service, &export, &name, alike).await;
            fs::remove_file(name).unwrap();
        }
        let receipt = run(&export, &service.client).await.unwrap();
        let resumed = u64::from(format != Format::Arrow);
        assert_eq!(receipt.resumed, resumed, "{format}");
        assert_eq!(names(planted.directory.path()), ["out", "victim"]);
    }
}

/// Leaves the files of an interrupted export. One to an Arrow file is dropped, which is as if it had been
/// killed, since it keeps nothing otherwise.
async fn leave(service: &Service, export: &Export, path: &Path) {
    let data = work(path, "data");
    let written = || fs::metadata(&data).is_ok_and(|found| found.len() > 0);
    if export.format != Format::Arrow {
        run_pages(export, &service.client, 84).await.unwrap_err();
        return;
    }
    let some = async {
        while !written() {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        biased;
        () = some => {}
        _ = run(export, &service.client) => panic!("it came to its end"),
    }
}

#[tokio::test]
async fn the_work_directory_is_open_to_nobody_else() {
    let service = Service::start(8_500);
    for format in formats() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out");
        let mut seen = 0;
        let look = |_: &Receipt| {
            assert_eq!(names(directory.path()), ["out.part"], "{format}");
            let found = fs::metadata(work(&path, "")).unwrap();
            assert_eq!(found.mode() & 0o777, 0o700, "{format}");
            seen += 1;
        };
        let forever = std::future::pending();
        let export = large(&path, format);
        export.run(&service.client, forever, look).await.unwrap();
        assert!(seen > 50, "{format}");
    }
}

#[tokio::test]
async fn names_that_only_look_alike_are_left_alone() {
    let service = Service::start(30);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out");
    let alike = [
        "part",
        ".part.1",
        ".part.",
        ".parts",
        ".checkpoint",
        ".partial",
    ];
    let alike = alike.map(|ending| format!("{}{ending}", path.display()));
    for name in &alike {
        fs::write(name, "my own").unwrap();
    }
    for resume in [false, true] {
        let unfinished = Export {
            resume,
            ..export(&path)
        };
        let stopped = run_pages(&unfinished, &service.client, 2).await;
        stopped.unwrap_err();
        run(&unfinished, &service.client).await.unwrap();
    }
    for name in &alike {
        assert_eq!(fs::read(name).unwrap(), b"my own");
    }
}

#[tokio::test]
async fn links_that_come_while_an_export_runs_are_not_followed() {
    let service = Service::start(20_000);
    for format in formats() {
        let planted = Planted::new();
        let path = &planted.path;
        let name = work(
            path,
            if format == Format::Parquet {
                "joined"
            } else {
                "data"
            },
        );
        let plant = |_: &Receipt| {
            // When the first files are there; a second time is refused.
            if work(path, "data").exists() {
                if format != Format::Parquet && !name.is_symlink() {
                    fs::remove_file(&name).unwrap();
                }
                let _ = symlink(&planted.victim, &name);
            }
        };
        let export = large(path, format);
        let forever = std::future::pending();
        let error = export.run(&service.client, forever, plant).await;
        let error = error.unwrap_err();
        assert_eq!(fs::read_to_string(&planted.victim).unwrap(), "precious");
        let shown = name.display().to_string();
        assert!(error.message().contains(&shown), "{error}");
        let _ = fs::remove_file(&name);
        let receipt = run(&export, &service.client).await.unwrap();
        let resumed = u64::from(format == Format::Parquet);
        assert_eq!((receipt.resumed, receipt.records), (resumed, 20_000));
    }
}
