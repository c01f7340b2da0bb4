//! An export that begins while another one to the same path ends, or after its files have been taken away.

#![cfg(target_os = "linux")]

use super::child::{act_as_child, child, ended, go_on, in_format, wait_until_stopped};
use super::disk::Disk;
use super::{Service, export, names, run, run_pages, work};
use std::fs;
use talentdata_columns::export::Format;
use talentdata_core::ErrorKind;
use talentdata_core::scan::Receipt;

#[tokio::test]
async fn it_is_refused_until_the_other_has_cleaned_up() {
    act_as_child().await;
    let test = "successors::it_is_refused_until_the_other_has_cleaned_up";
    let service = Service::start(1_500);
    for format in [Format::Jsonl, Format::Parquet] {
        let root = tempfile::tempdir().unwrap();
        let disk = Disk::new(root.path());
        let path = disk.directory.join("out");
        let export = in_format(format, &path);
        let stop = "TALENTDATA_TEST_CALL=unlink TALENTDATA_TEST_NAME=out.part/checkpoint TALENTDATA_TEST_EVENT=stop";
        let mut first = child(test, &disk.setting(stop), &service, &export);
        wait_until_stopped(&mut first);
        assert!(path.exists() && !work(&path, "data").exists());
        let before = names(&disk.directory);
        let error = run(&export, &service.client).await.unwrap_err();
        assert!(error.message().contains("another export"), "{error}");
        assert_eq!(names(&disk.directory), before);
        go_on(&first);
        let (code, said) = ended(first);
        assert_eq!(code, Some(0), "{said}");
        assert_eq!(names(&disk.directory), ["out"]);
        run(&export, &service.client).await.unwrap();
    }
}

#[tokio::test]
async fn one_whose_lock_was_taken_away_harms_nobody() {
    let service = Service::start(300);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out");
    let another = work(&path, "data");
    let take_away = |_: &Receipt| {
        if another.exists() && fs::read(&another).unwrap() != b"another" {
            fs::remove_dir_all(work(&path, "")).unwrap();
            fs::create_dir(work(&path, "")).unwrap();
            fs::write(&another, "another").unwrap();
        }
    };
    let forever = std::future::pending();
    let outcome = export(&path).run(&service.client, forever, take_away).await;
    let error = outcome.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    for words in [
        "out.part",
        "was removed or replaced",
        "nothing can be resumed",
    ] {
        assert!(error.message().contains(words), "{words}: {error}");
    }
    assert_eq!(fs::read(another).unwrap(), b"another");
    assert_eq!(names(&work(&path, "")), ["data"]);
}

#[tokio::test]
async fn a_checkpoint_without_its_data_is_stale() {
    let service = Service::start(1_500);
    for format in Format::ALL {
        for resume in [true, false] {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("out");
            let mut export = in_format(format, &path);
            export.resume &= resume;
            // Dropped in the middle, it is as if it had been killed.
            let dropped = async {
                let _ = run_pages(&export, &service.client, usize::MAX).await;
            };
            let part = work(&path, "data");
            tokio::select! {
                biased;
                () = until_exists(&part) => {}
                () = dropped => panic!("{format}: it came to its end"),
            }
            fs::remove_file(part).unwrap();
            assert!(work(&path, "checkpoint").exists());
            let receipt = run(&export, &service.client).await.unwrap();
            assert_eq!((receipt.resumed, receipt.records), (0, 1_500), "{format}");
            assert_eq!(names(directory.path()), ["out"], "{format}");
        }
    }
}

async fn until_exists(path: &std::path::Path) {
    while !path.exists() {
        tokio::task::yield_now().await;
    }
}
