//! What an ordinary user may not do: files and directories without permission.

#![cfg(target_os = "linux")]

use super::child::{act_as_child, ended, go_on, ordinary_child, wait_until_stopped};
use super::disk::Disk;
use super::{Service, export, names, work};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[tokio::test]
async fn what_is_not_permitted_is_an_error_and_then_resumed() {
    act_as_child().await;
    let test = "ordinary_user::what_is_not_permitted_is_an_error_and_then_resumed";
    let service = Service::start(60);
    let root = tempfile::tempdir().unwrap();
    // The library and the program must be readable.
    set_mode(root.path(), 0o755);
    let disk = Disk::new(root.path());
    set_mode(&root.path().join("notes"), 0o777);
    let path = disk.directory.join("out");
    let export = export(&path);
    let start = |limits: &str| ordinary_child(test, limits, &service, &export, &disk.directory);
    let refused = |child| {
        let (code, said) = ended(child);
        assert_eq!(code, Some(32), "{said}");
        assert!(said.contains("Permission denied"), "{said}");
        assert!(said.contains(&*disk.directory.to_string_lossy()), "{said}");
        said
    };
    // Nothing can be created.
    set_mode(&disk.directory, 0o555);
    refused(start(""));
    assert!(names(&disk.directory).is_empty());
    // Permission is withdrawn after the first page has been saved.
    set_mode(&disk.directory, 0o755);
    let mut child = start(&disk.setting(
        "TALENTDATA_TEST_CALL=rename TALENTDATA_TEST_NAME=/data TALENTDATA_TEST_EVENT=stop",
    ));
    wait_until_stopped(&mut child);
    set_mode(&disk.directory, 0o555);
    go_on(&child);
    let said = refused(child);
    assert!(said.contains("records are kept"), "{said}");
    set_mode(&disk.directory, 0o755);
    // A work file cannot be read.
    for name in ["data", "checkpoint", "ids"] {
        let file = work(&path, name);
        let before = fs::read(&file).unwrap();
        set_mode(&file, 0);
        let said = refused(start(""));
        assert!(said.contains(&*file.to_string_lossy()), "{said}");
        set_mode(&file, 0o600);
        assert_eq!(fs::read(&file).unwrap(), before);
    }
    let (code, said) = ended(start(""));
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("\"resumed\":1"), "{said}");
    assert_eq!(fs::read_to_string(&path).unwrap(), service.lines());
    assert_eq!(names(&disk.directory), ["out"]);
}
