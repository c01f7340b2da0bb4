//! Scans that are not proven complete: nothing is deleted, and what comes back is told.

use super::{List, applied, as_of, changes, list::contact, sync, told};
use talentdata_core::mirror::Operation::{Delete, Missing, Return, Update};
use talentdata_core::scan::Completeness;

#[tokio::test]
async fn what_is_not_delivered_is_missing_until_a_proven_scan() {
    let directory = tempfile::tempdir().unwrap();
    let mirror = directory.path().join("mirror");
    let list = List::with_ids(0..300);
    sync(&list.client, &mirror).await.unwrap();

    // 5, 6 and 299 are not delivered, and nobody can say why.
    list.overstate(2);
    let few: Vec<u64> = (0..299).filter(|id| ![5, 6].contains(id)).collect();
    list.set(few.iter().copied().map(contact));
    let second = sync(&list.client, &mirror).await.unwrap();
    assert_eq!(second.scan.completeness, Completeness::NotProven);
    assert_eq!((second.changes.delete, second.missing), (0, 3));
    let missing = [(Missing, "c-5"), (Missing, "c-6"), (Missing, "c-299")];
    assert_eq!(told(&changes(&mirror, 1)), missing);
    assert_eq!(as_of(&mirror, 2), list.lines());
    assert_eq!(applied(&mirror).len(), 300);

    // It is said once.
    let third = sync(&list.client, &mirror).await.unwrap();
    assert_eq!((third.changes.sum(), third.missing), (0, 3));

    // 5 is there again, 6 too and changed, 299 is gone for good.
    list.overstate(0);
    list.set((0..299).map(|id| match id {
        6 => contact(6).replace("A6", "Z"),
        id => contact(id),
    }));
    let fourth = sync(&list.client, &mirror).await.unwrap();
    assert_eq!(fourth.scan.completeness, Completeness::Proven);
    let changes = changes(&mirror, 3);
    assert_eq!(
        told(&changes),
        [(Return, "c-5"), (Update, "c-6"), (Delete, "c-299")]
    );
    // They were last seen in the first scan.
    let first: Vec<_> = changes.iter().map(|change| change.last_seen).collect();
    assert_eq!(first, [first[0]; 3]);
    assert!(first[0].is_some());
    assert_eq!(applied(&mirror).len(), 299);
    assert_eq!(as_of(&mirror, 4), list.lines());
}
