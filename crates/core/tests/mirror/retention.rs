//! Old generations are folded together, and everything that is kept reads as before.

use super::{CONTACTS, List, as_of, changes, files, list::contact, run, sync, told};
use std::time::Duration;
use talentdata_core::ErrorKind;
use talentdata_core::mirror::{AsOf, Mirror, Sync};

#[tokio::test]
async fn what_is_kept_reads_as_before() {
    let directory = tempfile::tempdir().unwrap();
    let mirror = directory.path();
    let list = List::with_ids(0..600);
    let mut archives = Vec::new();
    for round in 0..6 {
        // Some come and go, some change, some are written otherwise, and now and then some are missing.
        list.overstate(u64::from(round % 3 == 1));
        list.set(
            (0..600)
                .filter(|id| (id + round) % 50 != 3)
                .map(|id| match (id + round) % 7 {
                    0 => contact(id).replace("A", &format!("{round}")),
                    1 => contact(id).replace(':', ": "),
                    _ => contact(id),
                }),
        );
        sync(&list.client, mirror).await.unwrap();
        archives.push(list.lines());
    }
    let known: Vec<_> = changes(mirror, 5);
    let keep = |age| Sync {
        keep: Some(Duration::from_secs(age)),
        ..Sync::new(CONTACTS, mirror)
    };
    // Nothing is as old as that.
    run(&keep(3600), &list.client).await.unwrap();
    archives.push(list.lines());
    assert_eq!(as_of(mirror, 1), archives[0]);

    run(&keep(0), &list.client).await.unwrap();
    archives.push(list.lines());
    let opened = Mirror::open(mirror).unwrap();
    let kept: Vec<u64> = (opened.generations(CONTACTS).unwrap().iter())
        .map(|one| one.generation)
        .collect();
    assert_eq!(kept, [7, 8]);
    for generation in kept {
        let archive = &archives[generation as usize - 1];
        assert_eq!(&as_of(mirror, generation), archive, "{generation}");
    }
    let error = opened.changes(CONTACTS, 6).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.message().contains("no longer kept"), "{error}");
    assert!(opened.as_of(CONTACTS, AsOf::Generation(6)).is_err());
    assert!(!known.is_empty() && changes(mirror, 7).is_empty());
    let names: Vec<String> = files(mirror).into_keys().collect();
    let expected = [
        ".talentdata-lock",
        "contacts/base/000007.parquet",
        "contacts/changes/000008.parquet",
        "contacts/current.parquet",
        "contacts/order/000007-000007.parquet",
        "contacts/order/000008-000007.parquet",
        "contacts/state/000008.bin",
        "manifest.json",
    ];
    assert_eq!(names, expected);

    // The next syncs are compared with the same records, and fold again.
    list.overstate(0);
    list.set((1..600).map(contact));
    let next = run(&keep(0), &list.client).await.unwrap();
    assert!(next.changes.update > 0);
    list.set((2..600).map(contact));
    run(&keep(0), &list.client).await.unwrap();
    let last = changes(mirror, 9);
    assert_eq!(told(&last).len(), 1);
    assert_eq!(as_of(mirror, 10), list.lines());
}
