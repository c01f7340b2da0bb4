//! Files at the names of work files that no checkpoint vouches for: they stay as they are.

#![cfg(unix)]

use super::planted::{Planted, formats, large};
use super::{Service, beside, export, names, run, run_pages};
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;
use talentdata_core::export::{Export, Format};
use talentdata_core::scan::Receipt;

const TAKEN: [&str; 5] = [".part", ".part.1", ".part.40", ".part.ids", ".checkpoint"];

#[tokio::test]
async fn without_a_checkpoint_they_are_refused_and_stay() {
    let service = Service::start(30);
    let planted = Planted::new();
    for format in formats() {
        let export = large(&planted.path, format);
        for ending in TAKEN {
            let name = beside(&planted.path, ending);
            for (kind, plant) in planted.kinds() {
                plant(&name);
                let context = format!("{format} {ending} {kind}");
                planted.refuses(&service, &export, &name, &context).await;
                planted.remove(&name);
            }
        }
    }
    assert_eq!(names(planted.directory.path()), ["victim"]);
    assert_eq!(service.sandbox.stats().requests, 0);
}

#[tokio::test]
async fn beside_a_valid_checkpoint_they_are_refused_and_stay() {
    let service = Service::start(8_500);
    for format in formats() {
        let planted = Planted::new();
        let export = large(&planted.path, format);
        leave(&service, &export, &planted.path).await;
        let elsewhere = planted.directory.path().join("elsewhere");
        let mut taken = vec![".part", ".checkpoint", ".part.7"];
        taken.extend((format == Format::Parquet).then_some(".part.1"));
        for ending in taken {
            let name = beside(&planted.path, ending);
            let ours = name.exists();
            if ours {
                // A second name of the file itself.
                fs::hard_link(&name, &elsewhere).unwrap();
                let context = format!("{format} {ending} with two names");
                planted.refuses(&service, &export, &name, &context).await;
                fs::remove_file(&elsewhere).unwrap();
                fs::rename(&name, &elsewhere).unwrap();
                symlink("elsewhere", &name).unwrap();
                let context = format!("{format} {ending} behind a link");
                planted.refuses(&service, &export, &name, &context).await;
                fs::remove_file(&name).unwrap();
            }
            for (kind, plant) in planted.kinds() {
                // An empty file is what an export leaves that is killed just after it has created it.
                let unwritten =
                    kind == "empty file" && format != Format::Jsonl && ending == ".part";
                if !unwritten {
                    plant(&name);
                    let context = format!("{format} {ending} {kind}");
                    planted.refuses(&service, &export, &name, &context).await;
                    planted.remove(&name);
                }
            }
            if ours {
                fs::rename(&elsewhere, &name).unwrap();
            }
        }
        let receipt = run(&export, &service.client).await.unwrap();
        assert_eq!(
            receipt.resumed,
            u64::from(format != Format::Arrow),
            "{format}"
        );
        assert_eq!(names(planted.directory.path()), ["out", "victim"]);
    }
}

/// Leaves the files of an interrupted export. One to an Arrow file is dropped, which is as if it had been
/// killed, since it keeps nothing otherwise.
async fn leave(service: &Service, export: &Export, path: &Path) {
    let part = beside(path, ".part");
    let written = || fs::metadata(&part).is_ok_and(|found| found.len() > 0);
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
async fn work_files_are_open_to_nobody_else() {
    let service = Service::start(8_500);
    for format in formats() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out");
        let mut seen = 0;
        let look = |_: &Receipt| {
            for name in names(directory.path()) {
                let found = fs::metadata(directory.path().join(&name)).unwrap();
                assert_eq!(found.mode() & 0o077, 0, "{format}: {name}");
                seen += 1;
            }
        };
        let forever = std::future::pending();
        let outcome = large(&path, format)
            .run(&service.client, forever, look)
            .await;
        outcome.unwrap();
        assert!(seen > 100, "{format}");
    }
}

#[tokio::test]
async fn first_checkpoints_that_were_never_used_do_not_stay() {
    let service = Service::start(30);
    let planted = Planted::new();
    let export = large(&planted.path, Format::Jsonl);
    run_pages(&export, &service.client, 1).await.unwrap_err();
    let checkpoint = beside(&planted.path, ".checkpoint");
    let text = fs::read_to_string(&checkpoint).unwrap();
    let id = serde_json::from_str::<serde_json::Value>(&text).unwrap()["id"].clone();
    let ours = beside(
        &planted.path,
        &format!(".checkpoint.{}", id.as_str().unwrap()),
    );
    fs::rename(&checkpoint, &ours).unwrap();
    fs::remove_file(beside(&planted.path, ".part")).unwrap();
    fs::remove_file(beside(&planted.path, ".part.ids")).unwrap();
    fs::write(beside(&planted.path, ".checkpoint.0123456789abcdef"), "").unwrap();
    // Of these, only the name is like ours.
    let alike = [
        ".checkpoint.fedcba9876543210",
        ".checkpoint.new",
        ".checkpoint.0",
    ];
    for (ending, content) in alike.into_iter().zip([&*text, "my own", ""]) {
        fs::write(beside(&planted.path, ending), content).unwrap();
    }
    run(&export, &service.client).await.unwrap();
    let left = [
        "out",
        "out.checkpoint.0",
        "out.checkpoint.fedcba9876543210",
        "out.checkpoint.new",
        "victim",
    ];
    assert_eq!(names(planted.directory.path()), left);
}

#[tokio::test]
async fn names_that_only_look_alike_are_left_alone() {
    let service = Service::start(30);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out");
    let alike = [
        ".part.01",
        ".part.1.bak",
        ".part.",
        ".part.+1",
        ".part.x",
        ".partial.1",
    ];
    for ending in alike {
        fs::write(beside(&path, ending), "my own").unwrap();
    }
    for resume in [false, true] {
        let unfinished = Export {
            resume,
            ..export(&path)
        };
        run_pages(&unfinished, &service.client, 2)
            .await
            .unwrap_err();
        run(&unfinished, &service.client).await.unwrap();
    }
    for ending in alike {
        assert_eq!(fs::read(beside(&path, ending)).unwrap(), b"my own");
    }
}

#[tokio::test]
async fn links_that_come_while_an_export_runs_are_not_followed() {
    let service = Service::start(20_000);
    for format in formats() {
        let planted = Planted::new();
        let path = &planted.path;
        let part = beside(path, ".part");
        let ending = match format {
            Format::Parquet => ".part.2",
            _ => ".part",
        };
        let plant = |_: &Receipt| {
            // When the first work files are there; a second time is refused.
            if part.exists() {
                if format != Format::Parquet && !part.is_symlink() {
                    fs::remove_file(&part).unwrap();
                }
                let _ = symlink("victim", beside(path, ending));
            }
        };
        let export = large(path, format);
        let forever = std::future::pending();
        let error = export.run(&service.client, forever, plant).await;
        let error = error.unwrap_err();
        assert_eq!(fs::read_to_string(&planted.victim).unwrap(), "precious");
        let shown = beside(path, ending).display().to_string();
        assert!(error.message().contains(&shown), "{error}");
        assert!(beside(path, ending).is_symlink(), "{error}");
        fs::remove_file(beside(path, ending)).unwrap();
        let receipt = run(&export, &service.client).await.unwrap();
        let resumed = u64::from(format == Format::Parquet);
        assert_eq!((receipt.resumed, receipt.records), (resumed, 20_000));
    }
}
