//! When a change is what: inserts, updates, deletes, missing records and those that come back.

use super::*;

#[test]
fn each_change_is_reported_once_and_each_sync_can_be_read_again() {
    let trial = Trial::new();
    let first = trial.sync(&contacts(0..20), Proof::Counted);
    assert_eq!(
        (first.generation, first.changes.insert, first.missing),
        (1, 20, 0)
    );
    let mut second = contacts((0..20).filter(|id| *id != 5));
    second[3] = contact(3, 1);
    second.insert(2, contact(77, 0));
    let receipt = trial.sync(&second, Proof::Counted);
    let counts = receipt.changes;
    assert_eq!(
        (counts.insert, counts.update, counts.delete, counts.missing),
        (1, 1, 1, 0)
    );
    assert_eq!(trial.changes(1).len(), 3);
    assert_eq!(ops(&trial.changes(1), "delete"), ["c-5"]);
    assert_eq!(ops(&trial.changes(1), "update"), ["c-3"]);
    assert_eq!(ops(&trial.changes(1), "insert"), ["c-77"]);
    assert_eq!(trial.as_of(1), contacts(0..20));
    assert_eq!(trial.as_of(2), second);
    assert_eq!(trial.current(), second);
    let nothing = trial.sync(&second, Proof::Counted);
    assert_eq!(nothing.changes, Default::default());
    assert!(trial.changes(2).is_empty());
    // A record that is there again after its delete is new.
    second.push(contact(5, 0));
    trial.sync(&second, Proof::Counted);
    assert_eq!(trial.changes(3), [("insert".to_owned(), "c-5".to_owned())]);
}

#[test]
fn another_spelling_is_a_new_version_and_no_update() {
    let trial = Trial::new();
    trial.sync(&contacts(0..3), Proof::Counted);
    let mut again = contacts(0..3);
    again[1] = "{\"score\":0.0, \"firstName\":\"\\u00410\",\"id\":\"c-1\"}".into();
    assert_eq!(
        trial.sync(&again, Proof::Counted).changes,
        Default::default()
    );
    assert_eq!((trial.as_of(1), trial.as_of(2)), (contacts(0..3), again));
}

#[test]
fn a_list_in_another_order_reports_nothing_and_is_given_back_in_its_order() {
    let trial = Trial::new();
    let mut random = fastrand::Rng::with_seed(3);
    let mut order: Vec<u64> = (0..60).collect();
    for sync in 1..12 {
        let receipt = trial.sync(&contacts(order.iter().copied()), Proof::Counted);
        assert_eq!(receipt.changes.update + receipt.changes.delete, 0, "{sync}");
        assert_eq!(trial.as_of(sync), contacts(order.iter().copied()));
        match sync % 3 {
            0 => order.reverse(),
            1 => order.rotate_left(1),
            _ => random.shuffle(&mut order),
        }
    }
    assert!(trial.mirror().verify().unwrap().matches);
}

#[test]
fn a_joined_scan_deletes_what_a_second_one_in_a_row_lacks_too() {
    let trial = Trial::new();
    trial.sync(&contacts(0..20), Proof::Counted);
    let fewer = contacts((0..20).filter(|id| ![4, 9].contains(id)));
    let missing = trial.sync(&fewer, Proof::Joined);
    assert_eq!(
        (
            missing.changes.missing,
            missing.changes.delete,
            missing.missing
        ),
        (2, 0, 2)
    );
    // They stay where they were; the sync itself has not seen them.
    assert_eq!(
        (trial.current(), trial.as_of(2)),
        (contacts(0..20), fewer.clone())
    );
    // One of them only had moved; another version of it is there.
    let mut moved = fewer.clone();
    moved.push(contact(9, 1));
    let receipt = trial.sync(&moved, Proof::Joined);
    assert_eq!(
        trial.changes(2),
        [
            ("reappeared".into(), "c-9".into()),
            ("delete".into(), "c-4".into())
        ]
    );
    assert_eq!((receipt.missing, trial.current()), (0, moved));
}

#[test]
fn doubts_between_two_proofs_break_the_row_and_delete_nothing() {
    let trial = Trial::new();
    trial.sync(&contacts(0..20), Proof::Counted);
    let fewer = contacts(0..19);
    for (proof, deleted) in [
        (Proof::None, 0),
        (Proof::Joined, 0),
        (Proof::None, 0),
        (Proof::Joined, 0),
        (Proof::Joined, 1),
    ] {
        let receipt = trial.sync(&fewer, proof);
        assert_eq!(receipt.changes.delete, deleted, "{proof:?}");
        assert_eq!(receipt.shortfall.is_some(), proof == Proof::None);
    }
    assert_eq!(ops(&trial.changes(0), "missing"), ["c-19"]);
}

#[test]
fn a_counted_scan_deletes_what_was_missing_at_once() {
    let trial = Trial::new();
    trial.sync(&contacts(0..20), Proof::Counted);
    trial.sync(&contacts(0..18), Proof::None);
    let receipt = trial.sync(&contacts(0..18), Proof::Counted);
    assert_eq!((receipt.changes.delete, receipt.missing), (2, 0));
    assert_eq!(trial.current(), contacts(0..18));
}

#[test]
fn an_emptied_list_is_not_believed_until_the_caller_accepts_it() {
    let mut trial = Trial::new();
    trial.sync(&contacts(0..3000), Proof::Counted);
    for _ in 0..3 {
        let receipt = trial.sync(&[], Proof::Counted);
        assert_eq!((receipt.changes.delete, receipt.missing), (0, 3000));
        let refused = receipt.require_proven().unwrap_err();
        assert_eq!(refused.kind().exit_code(), 31);
        let shortfall = refused.message();
        assert!(
            shortfall.contains("3000 of the 3000") && shortfall.contains("--max-deletes"),
            "{shortfall}"
        );
    }
    assert_eq!(trial.current().len(), 3000);
    // It was but a moment.
    let back = trial.sync(&contacts(0..3000), Proof::Counted);
    assert_eq!((back.changes.reappeared, back.missing), (3000, 0));
    trial.sync(&[], Proof::Counted);
    trial.max_deletes = "2999".parse().unwrap();
    assert_eq!(trial.sync(&[], Proof::Counted).changes.delete, 0);
    trial.max_deletes = "100%".parse().unwrap();
    let receipt = trial.sync(&[], Proof::Counted);
    assert_eq!(
        (receipt.changes.delete, receipt.missing, receipt.withheld),
        (3000, 0, None)
    );
    assert!(trial.current().is_empty());
}

#[test]
fn a_half_loaded_list_withholds_deletes_even_if_confirmed() {
    let trial = Trial::new();
    trial.sync(&contacts(0..100), Proof::Counted);
    for _ in 0..2 {
        let receipt = trial.sync(&contacts(0..70), Proof::Joined);
        assert_eq!(receipt.changes.delete, 0);
    }
    let receipt = trial.sync(&contacts(0..70), Proof::Joined);
    let withheld = receipt.withheld.unwrap();
    assert_eq!((withheld.deletes, withheld.records), (30, 100));
    // Twenty of a hundred are believed.
    let receipt = trial.sync(&contacts(0..80), Proof::Counted);
    assert_eq!(
        (receipt.changes.delete, receipt.changes.reappeared),
        (20, 10)
    );
}

#[test]
fn what_came_during_the_scan_is_seen_and_not_missing() {
    let trial = Trial::new();
    trial.sync(&contacts(0..20), Proof::Counted);
    let late = [contact(3, 1), contact(90, 0), contact(90, 0)];
    let delivered = contacts((0..20).filter(|id| *id != 3));
    let receipt = trial.sync_late(&late, &delivered, Proof::Joined).unwrap();
    let counts = receipt.changes;
    assert_eq!((counts.insert, counts.update, counts.missing), (1, 1, 0));
    let mut expected = delivered.clone();
    expected.insert(0, contact(90, 0));
    expected.insert(4, contact(3, 1));
    assert_eq!(trial.current(), expected);
    // A record that came late, and was delivered after that, is delivered.
    let receipt = trial.sync_late(
        &[contact(91, 0)],
        &contacts((0..20).chain([90, 91])),
        Proof::Counted,
    );
    let receipt = receipt.unwrap();
    assert_eq!((receipt.changes.insert, receipt.shortfall), (1, None));
    assert_eq!(trial.as_of(3), contacts((0..20).chain([90, 91])));
}

#[test]
fn two_records_with_one_id_leave_a_doubt() {
    let trial = Trial::new();
    trial.sync(&contacts(0..20), Proof::Counted);
    let mut twice = contacts(0..18);
    twice.push("{\"id\":\"c-1\",\"other\":true}".into());
    let receipt = trial.sync(&twice, Proof::Counted);
    assert_eq!(receipt.scan.completeness, Completeness::NotProven);
    assert_eq!((receipt.changes.delete, receipt.missing), (0, 2));
    // 6 and "6" are one record.
    let trial = Trial::new();
    trial.sync(
        &["{\"id\":6}".into(), "{\"id\":\"6\"}".into()],
        Proof::Counted,
    );
    let receipt = trial.sync(&["{\"id\":6}".into()], Proof::Counted);
    assert_eq!(receipt.changes.delete, 0);
    assert_eq!(trial.current(), ["{\"id\":6}"]);
}

#[test]
fn records_without_an_id_have_inserts_and_deletes() {
    let trial = Trial::new();
    let of = |names: &[&str]| -> Vec<String> {
        names
            .iter()
            .map(|name| format!("{{\"name\":\"{name}\"}}"))
            .collect()
    };
    trial.sync(&of(&["a", "b", "b"]), Proof::None);
    assert_eq!(trial.current(), of(&["a", "b", "b"]));
    let receipt = trial.sync(&of(&["a", "b", "c"]), Proof::Counted);
    let counts = receipt.changes;
    assert_eq!((counts.insert, counts.delete, counts.update), (1, 1, 0));
    assert_eq!(trial.current(), of(&["a", "b", "c"]));
}

#[test]
fn what_is_older_goes_and_asking_for_it_is_an_error() {
    let mut trial = Trial::new();
    let day =
        |day: u64| Some(SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 + day * 86_400));
    for number in 0..10 {
        trial.ended = day(number);
        let mut texts = contacts(0..20);
        texts[4] = contact(4, number);
        trial.sync(&texts, Proof::Counted);
    }
    trial.keep = Some(Duration::from_secs(3 * 86_400));
    trial.ended = day(10);
    trial.sync(&contacts(0..20), Proof::Counted);
    let mirror = trial.mirror();
    // Sync 8 ended on day 7.
    assert_eq!(trial.changes(8).len(), 3);
    let list = Resource::Contacts;
    let early = mirror.changes(list, &At::Sync(7)).err().unwrap();
    assert!(early.message().contains("from sync 8 on"), "{early}");
    assert!(mirror.changes(list, &At::Sync(0)).is_err());
    let missing = mirror.as_of(list, &At::Sync(7)).err().unwrap();
    assert!(missing.message().contains("as of sync 8"), "{missing}");
    assert_eq!(trial.as_of(8)[4], contact(4, 7));
    assert_eq!(mirror.syncs(list).unwrap().len(), 4);
    assert!(mirror.verify().unwrap().matches);
    let connection = rusqlite::Connection::open(&trial.path).unwrap();
    let rows: i64 = connection
        .query_row("SELECT count(*) FROM record", [], |row| row.get(0))
        .unwrap();
    // Those of now, and what the changes since then were made from.
    assert_eq!(rows, 20 + 3);
    let moment = mirror.syncs(list).unwrap()[1].ended.clone();
    let then = mirror.as_of(list, &moment.parse().unwrap()).unwrap();
    assert_eq!(texts(then)[4], contact(4, 8));
}

#[test]
fn new_fields_become_columns_of_the_views() {
    let trial = Trial::new();
    trial.sync(&contacts(0..3), Proof::Counted);
    let mut wider = contacts(0..3);
    wider[1] = "{\"id\":\"c-1\",\"nick's name\":\"x\",\"tags\":[1,2],\"Id\":9}".into();
    trial.sync(&wider, Proof::Counted);
    let connection = rusqlite::Connection::open(&trial.path).unwrap();
    let row: (String, String, String) = connection
        .query_row(
            "SELECT _key, \"nick's name\", tags FROM contacts WHERE tags IS NOT NULL",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )
        .unwrap();
    assert_eq!(row, ("c-1".into(), "x".into(), "[1,2]".into()));
    let sql = "SELECT group_concat(_generation || _op || id, ' ') FROM contacts_changes WHERE _generation = 2";
    let changes: String = connection.query_row(sql, [], |row| row.get(0)).unwrap();
    assert_eq!(changes, "2updatec-1");
    let schema = trial.mirror().schema(Resource::Contacts).unwrap();
    let names: Vec<&str> = schema.iter().map(|column| column.name.as_str()).collect();
    assert!(
        names.ends_with(&["score", "nick's name", "tags", "Id"]),
        "{names:?}"
    );
}

#[test]
fn a_list_that_is_forgotten_leaves_no_trace() {
    let trial = Trial::new();
    trial.sync(
        &["{\"id\":\"c-1\",\"email\":\"canary@example.com\"}".into()],
        Proof::Counted,
    );
    let has_canary = || {
        let bytes = std::fs::read(&trial.path).unwrap();
        bytes.windows(6).any(|window| window == b"canary")
    };
    assert!(has_canary());
    crate::forget(&trial.path, Resource::Contacts).unwrap();
    assert!(!has_canary());
    let error = trial.mirror().current(Resource::Contacts).err().unwrap();
    assert!(
        error.message().contains("does not have contacts"),
        "{error}"
    );
    assert!(crate::forget(&trial.path, Resource::Pools).is_err());
    assert_eq!(trial.sync(&contacts(0..2), Proof::Counted).generation, 1);
}

#[test]
fn a_time_is_read_with_its_offset() {
    for (text, time) in [
        ("2026-11-20T06:00:00Z", "2026-11-20T06:00:00.000000Z"),
        ("2026-11-20t06:00:00.5z", "2026-11-20T06:00:00.500000Z"),
        ("2026-11-20T06:00:00+01:30", "2026-11-20T04:30:00.000000Z"),
        (
            "2026-03-01T00:30:00.123456+01:00",
            "2026-02-28T23:30:00.123456Z",
        ),
    ] {
        assert_eq!(text.parse::<At>().unwrap(), At::Time(time.into()), "{text}");
    }
    assert_eq!("17".parse::<At>().unwrap(), At::Sync(17));
    for wrong in [
        "noon",
        "",
        "-1",
        "2026-11-20",
        "2026-11-20T06:00:00",
        "2026-13-20T06:00:00Z",
        "2026-11-20T06:00:00.xZ",
        "ü026-11-20T06:00:00Z",
    ] {
        assert!(wrong.parse::<At>().is_err(), "{wrong}");
    }
}
