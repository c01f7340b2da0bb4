//! Whose directory a mirror is: foreign files are left alone, and two syncs do not meet.

use super::{CONTACTS, List, as_of, files, list::contact, run, sync};
use std::fs;
use std::path::Path;
use talentdata_core::mirror::{AsOf, Mirror, Sync};
use talentdata_core::scan::{Receipt, ScanOptions};
use talentdata_core::types::Resource;
use talentdata_core::{Client, Error, ErrorKind};
use tokio::sync::Notify;

async fn refused(client: &Client, mirror: &Path) -> Error {
    sync(client, mirror).await.unwrap_err()
}

#[tokio::test]
async fn a_directory_with_anything_else_in_it_is_refused_and_left_as_it_is() {
    let list = List::with_ids(0..5);
    for (name, text) in [
        ("thesis.txt", "all my work"),
        ("manifest.json", "{\"name\":\"an extension\"}"),
        ("manifest.json", "{\"talentdata_mirror\":99}"),
        (".manifest-0123456789abcdef", "not ours without a lock"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join(name), text).unwrap();
        let before = files(directory.path());
        let error = refused(&list.client, directory.path()).await;
        assert_eq!(error.kind(), ErrorKind::Io, "{error}");
        assert!(error.message().contains(name), "{error}");
        assert_eq!(files(directory.path()), before);
        let error = refused(&list.client, &directory.path().join(name)).await;
        assert!(error.message().contains("is a file"), "{error}");
    }
}

#[tokio::test]
async fn foreign_files_within_a_mirror_are_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let list = List::with_ids(0..5);
    sync(&list.client, directory.path()).await.unwrap();
    for name in [
        "notes.txt",
        "contacts/notes.txt",
        "contacts/changes/notes.parquet",
    ] {
        fs::write(directory.path().join(name), "mine").unwrap();
    }
    let taken = directory.path().join("contacts/changes/000002.parquet");
    fs::write(&taken, "mine, too").unwrap();
    let before = files(directory.path());
    let error = refused(&list.client, directory.path()).await;
    assert!(error.message().contains("000002.parquet"), "{error}");
    assert_eq!(files(directory.path()), before);
    fs::remove_file(&taken).unwrap();
    sync(&list.client, directory.path()).await.unwrap();
    let after = files(directory.path());
    assert_eq!(after["contacts/changes/notes.parquet"], b"mine");
    assert_eq!(after["notes.txt"], b"mine");
}

#[tokio::test]
async fn a_mirror_is_of_one_service_one_client_and_one_filter() {
    let directory = tempfile::tempdir().unwrap();
    let list = List::with_ids(0..5);
    sync(&list.client, directory.path()).await.unwrap();
    let before = files(directory.path());
    let other = List::with_ids(0..5);
    let error = refused(&other.client, directory.path()).await;
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.message().contains("base_url"), "{error}");
    let mut builder = Client::builder();
    builder.base_url(&list.base_url).client_id("somebody else");
    let somebody = builder.client_secret("CANARY-secret").build().unwrap();
    let error = refused(&somebody, directory.path()).await;
    assert!(error.message().contains("client_id"), "{error}");
    assert_eq!(files(directory.path()), before);
}

#[tokio::test]
async fn settings_that_prove_nothing_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let list = List::with_ids(0..5);
    for limit in [Some(0), Some(3)] {
        let scan = ScanOptions {
            limit,
            ..ScanOptions::default()
        };
        let sync = Sync {
            scan,
            ..Sync::new(CONTACTS, directory.path())
        };
        let error = run(&sync, &list.client).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    }
    assert!(files(directory.path()).is_empty());
}

#[tokio::test]
async fn two_syncs_at_once_exclude_each_other_and_readers_read_on() {
    let directory = tempfile::tempdir().unwrap();
    let list = List::with_ids(0..500);
    sync(&list.client, directory.path()).await.unwrap();
    let archive = list.lines();
    list.set((0..400).map(contact));
    let (begun, go_on) = (Notify::new(), Notify::new());
    let first = async {
        let stop = go_on.notified();
        let one = Sync::new(CONTACTS, directory.path());
        let note = |_: &Receipt| begun.notify_one();
        one.run(&list.client, stop, note).await
    };
    let meanwhile = async {
        begun.notified().await;
        let error = refused(&list.client, directory.path()).await;
        assert!(error.message().contains("another sync"), "{error}");
        assert_eq!(as_of(directory.path(), 1), archive);
        go_on.notify_one();
    };
    let (first, ()) = tokio::join!(first, meanwhile);
    // Whichever was faster, the end or the stop.
    if let Err(error) = first {
        assert_eq!(error.kind(), ErrorKind::Cancelled);
        sync(&list.client, directory.path()).await.unwrap();
    }
    assert_eq!(as_of(directory.path(), 2), list.lines());
}

#[tokio::test]
async fn a_sync_that_is_stopped_leaves_the_mirror_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let list = List::with_ids(0..500);
    sync(&list.client, directory.path()).await.unwrap();
    let before = files(directory.path());
    list.set((0..400).map(contact));
    let one = Sync::new(CONTACTS, directory.path());
    let stopped = one.run(&list.client, std::future::ready(()), |_| {}).await;
    assert_eq!(stopped.unwrap_err().kind(), ErrorKind::Cancelled);
    assert_eq!(files(directory.path()), before);
}

#[tokio::test]
async fn what_is_not_there_is_said_with_what_is() {
    let directory = tempfile::tempdir().unwrap();
    let error = Mirror::open(directory.path()).unwrap_err();
    assert!(error.message().contains("not a mirror"), "{error}");
    let list = List::with_ids(0..5);
    sync(&list.client, directory.path()).await.unwrap();
    let mirror = Mirror::open(directory.path()).unwrap();
    assert_eq!(mirror.resources(), [CONTACTS]);
    let wrong = [
        (mirror.changes(CONTACTS, 2).err(), "since"),
        (mirror.changes(Resource::Pools, 0).err(), "pools"),
        (mirror.as_of(CONTACTS, AsOf::Generation(2)).err(), "as_of"),
        (mirror.as_of(CONTACTS, AsOf::Time(0)).err(), "as_of"),
        ("yesterday".parse::<AsOf>().err(), "yesterday"),
    ];
    for (error, word) in wrong {
        let error = error.unwrap();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        assert!(error.message().contains(word), "{error}");
    }
    let now: AsOf = "2999-01-01T00:00:00Z".parse().unwrap();
    assert_eq!(mirror.as_of(CONTACTS, now).unwrap().count(), 5);
}

#[tokio::test]
async fn files_that_were_changed_are_noticed() {
    let list = List::with_ids(0..50);
    let read = |mirror: &Path| -> Result<usize, Error> {
        let mirror = Mirror::open(mirror)?;
        let changes = mirror.changes(CONTACTS, 0)?;
        let changes = changes.collect::<Result<Vec<_>, Error>>();
        let current = mirror.current(CONTACTS)?;
        let current = current.collect::<Result<Vec<_>, Error>>();
        assert_eq!(changes.is_err(), current.is_err());
        Ok(changes?.len() + current?.len())
    };
    for (file, is_read) in [
        ("state/000001.bin", false),
        ("order/000001.parquet", true),
        ("changes/000001.parquet", true),
    ] {
        let directory = tempfile::tempdir().unwrap();
        list.set((0..50).map(contact));
        sync(&list.client, directory.path()).await.unwrap();
        assert_eq!(read(directory.path()).unwrap(), 100);
        let path = directory.path().join("contacts").join(file);
        let mut bytes = fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(&path, bytes).unwrap();
        let error = read(directory.path()).err();
        assert_eq!(error.is_some(), is_read, "{file}: {error:?}");
        // The text of a record that was not delivered is taken from there.
        list.set((1..50).map(contact));
        let refused = refused(&list.client, directory.path()).await;
        for error in error.into_iter().chain([refused]) {
            assert!(error.message().contains("was changed"), "{error}");
            assert!(error.message().contains(file), "{error}");
        }
    }
}
