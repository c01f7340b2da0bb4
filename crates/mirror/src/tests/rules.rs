//! The rules for changes: inserts, updates, deletes, missing records and those that reappear.

use super::*;
use crate::Removed;
use talentdata_columns::arrow::TableOptions;
use talentdata_core::internal::sink::Sink;
use talentdata_core::internal::utc;

#[test]
fn each_change_is_reported_once_and_each_sync_can_be_read_again() {
    let trial = Trial::of(0..20);
    let mut second = contacts((0..20).filter(|id| *id != 5));
    second[3] = contact(3, 1);
    second.insert(2, contact(77, 0));
    let changes = "insert c-77, update c-3, delete c-5";
    assert_eq!(trial.step(&second, COUNTED), changes);
    assert_eq!(trial.step(&second, COUNTED), "");
    // A record that comes back after its delete is an insert.
    second.push(contact(5, 0));
    assert_eq!(trial.step(&second, COUNTED), "insert c-5");
    // Another notation is a new version but not an update.
    second[1] = "{\"score\":0.0, \"firstName\":\"\\u00410\",\"id\":\"c-1\"}".into();
    assert_eq!(trial.step(&second, COUNTED), "");
    assert_eq!(trial.current(), second);
    assert_eq!(trial.as_of(1), contacts(0..20));
    assert_eq!(trial.changes(1).len(), 4);
}

#[test]
fn another_order_reports_nothing_and_the_list_keeps_that_order() {
    let trial = Trial::of(0..60);
    let mut random = fastrand::Rng::with_seed(3);
    let mut order: Vec<u64> = (0..60).collect();
    for round in 1..12 {
        match round % 3 {
            0 => order.reverse(),
            1 => order.rotate_left(1),
            _ => random.shuffle(&mut order),
        }
        let list = contacts(order.iter().copied());
        assert_eq!(trial.step(&list, COUNTED), "");
    }
    assert!(trial.mirror().verify().unwrap().matches);
}

#[test]
fn a_joined_scan_deletes_records_that_the_previous_one_lacked_too() {
    let trial = Trial::of(0..20);
    let fewer = contacts((0..20).filter(|id| ![4, 9].contains(id)));
    let missing = trial.step(&fewer, JOINED);
    assert_eq!(missing, "missing c-4, missing c-9");
    // The mirror keeps them at their positions, although the sync did not see them.
    assert_eq!(trial.current(), contacts(0..20));
    // One of them had only moved, and has a new version.
    let mut moved = fewer;
    moved.push(contact(9, 1));
    let changes = trial.step(&moved, JOINED);
    assert_eq!(changes, "reappeared c-9, delete c-4");
    assert_eq!(trial.current(), moved);
}

#[test]
fn a_doubtful_scan_between_two_proven_ones_deletes_nothing() {
    let trial = Trial::of(0..20);
    for (proof, changes) in [
        (None, "missing c-19"),
        (JOINED, ""),
        (None, ""),
        (JOINED, ""),
        (JOINED, "delete c-19"),
    ] {
        assert_eq!(trial.step(&contacts(0..19), proof), changes);
    }
    let syncs = trial.mirror().syncs(CONTACTS).unwrap();
    let lacking = syncs.iter().map(|sync| sync.shortfall.is_some());
    let doubts = [false, true, false, true, false, false];
    assert!(lacking.eq(doubts));
    // A counted scan deletes missing records immediately.
    trial.step(&contacts(0..18), None);
    assert_eq!(trial.step(&contacts(0..18), COUNTED), "delete c-18");
}

#[test]
fn an_empty_list_deletes_nothing_until_the_caller_accepts_it() {
    let mut trial = Trial::of(0..3000);
    for _ in 0..3 {
        let receipt = trial.sync(&[], COUNTED);
        assert_eq!((receipt.changes.delete, receipt.missing), (0, 3000));
        let refused = receipt.require_proven();
        let words = "3000 of the 3000|set max_deletes to 3000";
        fails(refused, ErrorKind::Incomplete, words);
    }
    assert_eq!(trial.current().len(), 3000);
    // The list was empty only once.
    let back = trial.sync(&contacts(0..3000), COUNTED);
    assert_eq!((back.changes.reappeared, back.missing), (3000, 0));
    for (max, deletes) in [("20%", 0), ("2999", 0), ("100%", 3000)] {
        trial.sync.max_deletes = max.parse().unwrap();
        let receipt = trial.sync(&[], COUNTED);
        assert_eq!(receipt.changes.delete, deletes);
        assert_eq!(receipt.withheld.is_some(), deletes == 0);
    }
    assert!(trial.current().is_empty());
}

#[test]
fn a_half_loaded_list_withholds_deletes_even_if_confirmed() {
    let trial = Trial::of(0..100);
    trial.sync(&contacts(0..70), JOINED);
    let receipt = trial.sync(&contacts(0..70), JOINED);
    let withheld = receipt.withheld.unwrap();
    assert_eq!((withheld.deletes, withheld.records), (30, 100));
    // Twenty deletes of a hundred records are within the limit.
    let receipt = trial.sync(&contacts(0..80), COUNTED);
    let counts = receipt.changes;
    assert_eq!((counts.delete, counts.reappeared), (20, 10));
}

#[test]
fn a_short_list_that_loses_most_withholds_deletes_too() {
    for (before, after, is_withheld) in [(12, 2, true), (12, 9, false), (3, 0, true), (2, 0, false)]
    {
        let trial = Trial::of(0..before);
        let receipt = trial.sync(&contacts(0..after), COUNTED);
        assert_eq!(receipt.withheld.is_some(), is_withheld, "{before} {after}");
        assert_eq!(receipt.changes.delete == 0, is_withheld);
    }
}

#[test]
fn late_records_are_not_missing_and_the_next_scan_delivers_them() {
    let trial = Trial::of(0..20);
    let without = |id| contacts((0..20).filter(|one| *one != id));
    let sync = |late: &[String], texts: &[String]| {
        let receipt = trial.sync_late(late, texts, JOINED).unwrap();
        trial.reported(&receipt)
    };
    let late = [contact(3, 1), contact(90, 0), contact(90, 0)];
    assert_eq!(sync(&late, &without(3)), "");
    assert_eq!(trial.as_of(2), contacts(0..20));
    // Records that are reported as late and delivered afterwards count as delivered.
    let mut all = contacts((0..20).chain([90]));
    all[3] = contact(3, 1);
    assert_eq!(sync(&late, &all), "update c-3, insert c-90");
    assert_eq!(trial.current(), all);
    // A missing record that came late is not gone. Two consecutive scans must lack it again.
    assert_eq!(
        sync(&[], &without(7)),
        "update c-3, missing c-7, missing c-90"
    );
    assert_eq!(sync(&[contact(7, 0)], &without(7)), "delete c-90");
    for changes in ["", "delete c-7"] {
        assert_eq!(sync(&[], &without(7)), changes);
    }
}

#[test]
fn two_records_with_one_id_leave_a_doubt() {
    let trial = Trial::of(0..20);
    let mut twice = contacts(0..18);
    twice.push("{\"id\":\"c-1\",\"other\":true}".into());
    let receipt = trial.sync(&twice, COUNTED);
    assert_eq!(receipt.scan.completeness, Completeness::NotProven);
    assert_eq!((receipt.changes.delete, receipt.missing), (0, 2));
    // 6 and "6" are one record.
    let trial = Trial::new();
    let six = || "{\"id\":6}".to_owned();
    trial.sync(&[six(), "{\"id\":\"6\"}".into()], COUNTED);
    assert_eq!(trial.step(&[six()], COUNTED), "");
    assert_eq!(trial.current(), [six()]);
}

#[test]
fn records_without_an_id_have_inserts_and_deletes() {
    let trial = Trial::new();
    let of = |names: [&str; 3]| names.map(|name| format!("{{\"name\":\"{name}\"}}"));
    for (names, inserted, deleted) in [
        (["a", "b", "b"], 3, 0),
        (["a", "b", "c"], 1, 1),
        (["b", "b", "c"], 1, 1),
    ] {
        let counts = trial.sync(&of(names), COUNTED).changes;
        assert_eq!((counts.insert, counts.delete), (inserted, deleted));
        assert_eq!((counts.update, trial.current()), (0, of(names).to_vec()));
    }
}

#[test]
fn old_history_is_removed_and_requesting_it_is_an_error() {
    let mut trial = Trial::new();
    let day = |day: u64| Duration::from_secs(1_700_000_000 + day * 86_400);
    for number in 0..11 {
        trial.ended = Some(SystemTime::UNIX_EPOCH + day(number));
        // An age longer than the whole history, and one beyond all representable times, remove nothing.
        let days = [u64::MAX / 86_400, 300_000_000_000, 3][number.saturating_sub(8) as usize];
        trial.sync.keep = Some(Duration::from_secs(days * 86_400));
        let mut texts = contacts(0..20);
        texts[4] = contact(4, number % 10);
        let removed = trial.sync(&texts, COUNTED).removed;
        let expected = Removed {
            syncs: 7,
            changes: 27,
            versions: 7,
            records: 0,
        };
        assert_eq!(removed, (number == 10).then_some(expected));
    }
    let (mirror, list) = (trial.mirror(), CONTACTS);
    // Sync 8 ended on day 7.
    assert_eq!(trial.changes(8).len(), 3);
    for since in [0, 7] {
        let early = mirror.changes(list, &SyncPoint::Sync(since));
        fails(early, ErrorKind::Mismatch, "only those after sync 8");
    }
    let missing = mirror.records(list, Some(&SyncPoint::Sync(7)));
    fails(missing, ErrorKind::InvalidArgument, "that of sync 8 (");
    assert_eq!(trial.as_of(8)[4], contact(4, 7));
    let syncs = mirror.syncs(list).unwrap();
    assert_eq!(syncs.len(), 4);
    assert!(mirror.verify().unwrap().matches);
    let rows: i64 = trial.ask("SELECT count(*) FROM record");
    // The current versions remain, and the versions that the kept changes refer to.
    assert_eq!(rows, 20 + 3);
    let then = mirror.records(list, Some(&syncs[1].ended.parse().unwrap()));
    assert_eq!(texts(then.unwrap())[4], contact(4, 8));
}

#[test]
fn a_wrong_clock_removes_no_history_and_the_changes_of_a_sync_outlast_it() {
    let mut trial = Trial::new();
    let day = |day: u64| SystemTime::UNIX_EPOCH + Duration::from_secs(day * 86_400);
    trial.sync.keep = Some(Duration::from_secs(3 * 86_400));
    for (number, at) in [20_000, 20_001, 20_002, 20_403, 0, 20_005]
        .into_iter()
        .enumerate()
    {
        trial.ended = Some(day(at));
        let receipt = trial.sync(&contacts(0..20 + number as u64), COUNTED);
        assert_eq!(receipt.removed, None, "{at}");
    }
    assert_eq!(trial.changes(0).len(), 25);
    // Even with `keep` 0, a reader that loads the changes after each sync gets all of them.
    trial.sync.keep = Some(Duration::ZERO);
    trial.ended = Some(day(20_006));
    let receipt = trial.sync(&contacts(0..26), COUNTED);
    assert_eq!(receipt.removed.unwrap().syncs, 5);
    assert_eq!(trial.changes(6), [("insert".into(), "c-25".into())]);
    assert!(trial.mirror().verify().unwrap().matches);
}

#[test]
fn an_ambiguous_time_omits_no_change() {
    let mut trial = Trial::new();
    let hour = |hour: u64| SystemTime::UNIX_EPOCH + Duration::from_secs(hour * 3600);
    // The third reading is of a clock without a battery, and the fifth one is ahead.
    for (number, at) in [100, 110, 0, 120, 999, 130, 130].into_iter().enumerate() {
        trial.ended = Some(hour(at));
        trial.sync(&contacts(0..20 + number as u64), COUNTED);
    }
    let mirror = trial.mirror();
    let time = |at: u64| SyncPoint::Time(utc(hour(at)));
    for (since, changes) in [
        (99, 26),
        (100, 6),
        (105, 6),
        (110, 5),
        (125, 3),
        (130, 3),
        (999, 2),
    ] {
        let found = mirror.changes(CONTACTS, &time(since)).unwrap();
        assert_eq!(found.count(), changes, "{since}");
    }
    for (at, records) in [(100, 20), (120, 23), (0, 22), (999, 24), (1_000, 26)] {
        let found = mirror.records(CONTACTS, Some(&time(at))).unwrap();
        assert_eq!(found.count(), records, "{at}");
    }
    for at in [105, 130] {
        let unclear = mirror.records(CONTACTS, Some(&time(at)));
        fails(unclear, ErrorKind::InvalidArgument, "as_of|the clock");
    }
}

#[test]
fn a_change_never_has_a_time_that_is_before_it_was_last_seen() {
    let mut trial = Trial::of(0..20);
    trial.ended = Some(SystemTime::UNIX_EPOCH);
    let mut second = contacts(1..20);
    second[0] = contact(1, 1);
    trial.sync(&second, COUNTED);
    let known = "SELECT count(last_seen) FROM change WHERE sync = 2";
    assert_eq!(trial.ask::<i64>(known), 0);
    // If the clock is set back during a scan, the end is computed from the start.
    let claim = Claim::acquire(&trial.path).unwrap();
    let mut staging = Staging::begin(&claim, &trial.sync, &config("c")).unwrap();
    staging.started += Duration::from_secs(86_400);
    let receipt = staging.finish(receipt(0, None)).unwrap();
    assert!(receipt.ended > receipt.started, "{}", receipt.ended);
}

#[test]
fn new_fields_become_columns_of_the_views() {
    // A field that only a late record of a long list has becomes a column, too.
    let trial = Trial::new();
    let mut first = contacts(0..1_200);
    first.push("{\"id\":\"c-late\",\"late\":5}".into());
    trial.sync(&first, COUNTED);
    let mut wider = first;
    wider[1] = "{\"id\":\"c-1\",\"nick's name\":\"x\",\"tags\":[1,2],\"Id\":9}".into();
    trial.sync(&wider, COUNTED);
    let column = "SELECT _key || \"nick's name\" || tags FROM contacts WHERE tags IS NOT NULL";
    assert_eq!(trial.ask::<String>(column), "c-1x[1,2]");
    let changes = "SELECT group_concat(_op || id, ' ') FROM contacts_changes WHERE _generation = 2";
    assert_eq!(trial.ask::<String>(changes), "updatec-1");
    let records = trial.mirror().records(CONTACTS, None).unwrap();
    let batches = records
        .into_batches(TableOptions::default().with_batch_rows(10))
        .unwrap();
    let schema = batches.schema();
    let fields = schema.fields().iter();
    let names: Vec<&str> = fields.map(|field| &**field.name()).collect();
    assert!(
        names.ends_with(&[
            "score",
            "late",
            "nick's name",
            "tags",
            "Id",
            "_missing_since",
            "_extra"
        ]),
        "{names:?}"
    );
}

#[test]
fn a_forgotten_list_leaves_no_trace() {
    let trial = Trial::new();
    let canary = "{\"id\":\"c-1\",\"email\":\"canary@example.com\"}";
    trial.sync(&[canary.into()], COUNTED);
    let has_canary = || {
        let bytes = std::fs::read(&trial.path).unwrap();
        bytes.windows(6).any(|window| window == b"canary")
    };
    assert!(has_canary());
    crate::forget(&trial.path, CONTACTS).unwrap();
    assert!(!has_canary());
    let forgotten = trial.mirror().records(CONTACTS, None);
    let words = "does not have contacts";
    fails(forgotten, ErrorKind::InvalidArgument, words);
    assert!(crate::forget(&trial.path, ListName::Pools).is_err());
    // No sync number is used twice.
    assert_eq!(trial.sync(&contacts(0..2), COUNTED).generation, 2);
}
