//! Where an export can and cannot be written, and what it leaves there.

#![cfg(unix)]

use super::{Service, export, names, run, run_pages, work};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use talentdata_core::ErrorKind;

async fn refuses(service: &Service, path: &Path, words: &[&str]) {
    let error = run(&export(path), &service.client).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    for word in words {
        assert!(error.message().contains(word), "{word:?} in {error}");
    }
}

#[tokio::test]
async fn impossible_places_are_refused_by_name() {
    let service = Service::start(20);
    let directory = tempfile::tempdir().unwrap();
    let within = |name: &str| directory.path().join(name);
    fs::create_dir(within("directory")).unwrap();
    fs::write(within("file"), "").unwrap();
    let path = |name: &str| within(name).display().to_string();
    refuses(
        &service,
        &within("directory"),
        &[&path("directory"), "is a directory"],
    )
    .await;
    refuses(
        &service,
        &within("none/out"),
        &[&path("none/out"), "No such file"],
    )
    .await;
    refuses(
        &service,
        &within("file/out"),
        &[&path("file/out"), "Not a directory"],
    )
    .await;
    refuses(&service, Path::new("/proc/out"), &["/proc/out"]).await;
    for length in [251, 256] {
        let long = "x".repeat(length);
        refuses(&service, &within(&long), &["File name too long"]).await;
    }
    symlink("round", within("round")).unwrap();
    refuses(
        &service,
        &within("round"),
        &[&path("round"), "symbolic links"],
    )
    .await;
    fs::create_dir(within("out.part")).unwrap();
    fs::set_permissions(within("out.part"), fs::Permissions::from_mode(0o755)).unwrap();
    refuses(
        &service,
        &within("out"),
        &[&path("out.part"), "has the mode"],
    )
    .await;
    assert_eq!(
        names(directory.path()),
        ["directory", "file", "out.part", "round"]
    );
    let error = run(&export(Path::new("")), &service.client).await;
    assert_eq!(error.unwrap_err().kind(), ErrorKind::InvalidArgument);
}

#[tokio::test]
async fn a_link_stays_and_what_it_points_at_is_written() {
    let service = Service::start(40);
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("data")).unwrap();
    let link = directory.path().join("link");
    symlink("second", &link).unwrap();
    symlink("data/out.jsonl", directory.path().join("second")).unwrap();
    run_pages(&export(&link), &service.client, 2)
        .await
        .unwrap_err();
    let data = directory.path().join("data/out.jsonl");
    assert!(work(&data, "data").exists() && !data.exists());
    run(&export(&link), &service.client).await.unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(&data).unwrap(), service.lines());
    assert_eq!(names(directory.path()), ["data", "link", "second"]);
}

#[tokio::test]
async fn an_older_export_stays_until_the_new_one_is_whole() {
    let service = Service::start(40);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.jsonl");
    fs::write(&path, "older").unwrap();
    run_pages(&export(&path), &service.client, 2)
        .await
        .unwrap_err();
    assert_eq!(fs::read_to_string(&path).unwrap(), "older");
    run(&export(&path), &service.client).await.unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), service.lines());
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_device_is_written_to_and_a_full_one_is_an_error() {
    let service = Service::start(40);
    run(&export(Path::new("/dev/null")), &service.client)
        .await
        .unwrap();
    refuses(
        &service,
        Path::new("/dev/full"),
        &["/dev/full", "No space left"],
    )
    .await;
    assert!(!PathBuf::from("/dev/full.part").exists());
}

/// An export whose output blocks for ever is stopped all the same; were it not, the test would not come to its end.
#[tokio::test]
async fn a_pipe_that_nobody_reads_does_not_keep_an_export_from_being_stopped() {
    let service = Service::start(5_000);
    let directory = tempfile::tempdir().unwrap();
    let pipe = directory.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    for has_reader in [false, true] {
        let mut options = fs::File::options();
        let _stalled = has_reader.then(|| options.read(true).write(true).open(&pipe).unwrap());
        let stop = tokio::time::sleep(std::time::Duration::from_millis(300));
        let outcome = export(&pipe).run(&service.client, stop, |_| {}).await;
        let error = outcome.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
        assert!(error.message().contains("incomplete"), "{error}");
    }
}
