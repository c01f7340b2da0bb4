//! The history of a list with a row for each kept sync, and the list without its missing records.

use super::*;
use crate::{MaxDeletes, SyncSummary, history_table};
use talentdata_columns::arrow::TableOptions;
use talentdata_columns::export::{Format, Target};

#[test]
fn the_history_has_the_numbers_of_each_kept_sync() {
    let mut trial = Trial::of(0..20);
    let mut second = contacts((0..20).filter(|id| *id != 5));
    second[3] = contact(3, 1);
    second.insert(2, contact(77, 0));
    let receipts = [
        trial.mirror().syncs(CONTACTS).unwrap().remove(0),
        trial.sync(&second, COUNTED),
        trial.sync(&contacts(0..2), COUNTED),
    ];
    let history = trial.mirror().history(CONTACTS).unwrap();
    let numbers = |sync: &SyncSummary| {
        let changes = [sync.inserts, sync.updates, sync.deletes, sync.missing];
        (sync.generation, sync.records, changes, sync.withheld)
    };
    let known: Vec<_> = history.iter().map(numbers).collect();
    assert_eq!(
        known,
        [
            (1, 20, [20, 0, 0, 0], None),
            (2, 20, [1, 1, 1, 0], None),
            (3, 2, [0, 0, 0, 18], Some(18)),
        ]
    );
    for (sync, receipt) in history.iter().zip(&receipts) {
        assert_eq!(
            (&sync.bookmark, &sync.ended),
            (&receipt.bookmark, &receipt.ended)
        );
    }
    // The numbers of a sync are known while the sync is kept, even if its changes are not.
    trial.sync.keep = Some(Duration::ZERO);
    trial.sync.max_deletes = MaxDeletes::Records(100);
    trial.sync(&contacts(0..2), COUNTED);
    let kept = trial.mirror().history(CONTACTS).unwrap();
    assert_eq!((kept.len(), &kept[0]), (2, &history[2]));
}

#[test]
fn the_table_of_a_history_has_a_row_for_each_sync_and_no_column_for_extras() {
    let trial = Trial::of(0..20);
    trial.sync(&contacts(0..19), COUNTED);
    let history = trial.mirror().history(CONTACTS).unwrap();
    let table = history_table(CONTACTS, &history).unwrap();
    assert_eq!((table.num_rows(), table.num_columns()), (2, 15));
    let schema = table.schema();
    let types = ["generation", "ended", "withheld", "completeness", "seconds"].map(|name| {
        let field = schema.field_with_name(name).unwrap();
        format!("{}", field.data_type())
    });
    assert_eq!(types[0], "Int64");
    assert!(types[1].starts_with("Timestamp"), "{types:?}");
    assert_eq!(types[3..], ["Utf8", "Float64"]);
    let of_none = history_table(CONTACTS, &[]).unwrap();
    assert_eq!((of_none.num_rows(), of_none.schema()), (0, schema));
}

#[test]
fn the_present_records_are_those_that_the_last_sync_read() {
    let trial = Trial::of(0..20);
    trial.sync(&contacts(0..18), JOINED);
    assert_eq!(trial.current(), contacts(0..20));
    let present = trial.mirror().present(CONTACTS).unwrap();
    assert_eq!(texts(present), contacts(0..18));
}

#[test]
fn an_update_names_its_changed_fields() {
    let trial = Trial::of(0..5);
    let other = r#"{"id":"c-2","lastName":"x","\u0066irstName":"A0"}"#.to_owned();
    // If two records change places, at least one gets another position.
    let second = vec![
        contact(0, 0),
        contact(1, 1),
        other,
        contact(4, 1),
        contact(3, 1),
        contact(9, 0),
    ];
    trial.sync(&second, COUNTED);
    let changes = trial.mirror().changes(CONTACTS, &SyncPoint::Sync(1));
    let changes = changes.unwrap().map(|change| {
        let change: serde_json::Value = change.unwrap().to().unwrap();
        format!("{} {}", change["key"].as_str().unwrap(), change["changed"])
    });
    let both = r#"["firstName","score"]"#;
    let known = [
        format!("c-1 {both}"),
        r#"c-2 ["lastName","score"]"#.to_owned(),
        format!("c-4 {both}"),
        format!("c-3 {both}"),
        "c-9 null".to_owned(),
    ];
    assert_eq!(changes.collect::<Vec<_>>(), known);
}

#[test]
fn changes_as_a_table_have_the_changed_fields_as_json() {
    let trial = Trial::of(0..300);
    let second: Vec<String> = (0..300).rev().map(|id| contact(id, 1)).collect();
    trial.sync(&second, COUNTED);
    let changes = trial
        .mirror()
        .changes(CONTACTS, &SyncPoint::Sync(1))
        .unwrap();
    let path = trial.path.with_extension("csv");
    let target = Target::File(path.clone());
    changes
        .write(Format::Csv, &target, TableOptions::default())
        .unwrap();
    let written = std::fs::read_to_string(path).unwrap();
    let rows = written.matches(r#","[""firstName"",""score""]","#).count();
    assert_eq!(rows, 300, "{written}");
}

#[test]
fn changes_have_the_version_before_an_update_if_requested() {
    let trial = Trial::of(0..3);
    let second = vec![contact(1, 1), contact(0, 0), contact(9, 0)];
    trial.sync(&second, COUNTED);
    let since = SyncPoint::Sync(1);
    let changes = || trial.mirror().changes(CONTACTS, &since).unwrap();
    let before = |change: Result<RawRecord>| {
        let change: serde_json::Value = change.unwrap().to().unwrap();
        let key = change["key"].as_str().unwrap().to_owned();
        (key, change["before"].to_string())
    };
    let found: Vec<_> = changes().with_before(true).unwrap().map(before).collect();
    let old: serde_json::Value = serde_json::from_str(&contact(1, 0)).unwrap();
    for (key, before) in &found {
        let expected = if key == "c-1" {
            old.to_string()
        } else {
            "null".to_owned()
        };
        assert_eq!(before, &expected, "{key}");
    }
    assert_eq!(found.len(), 3);
    let table = changes().with_before(true).unwrap();
    let table = table.into_batches(TableOptions::default()).unwrap();
    assert_eq!(table.schema().field(6).name(), "_before");
    let records = trial.mirror().records(CONTACTS, None).unwrap();
    let error = records.with_before(true).unwrap_err();
    assert!(
        error.message().starts_with("before: only changes"),
        "{error}"
    );
}

#[test]
fn current_records_as_a_table_and_as_a_view_mark_missing_ones() {
    let trial = Trial::of(0..20);
    trial.sync(&contacts(0..18), JOINED);
    let path = trial.path.with_extension("csv");
    let records = trial.mirror().records(CONTACTS, None).unwrap();
    let target = Target::File(path.clone());
    records
        .write(Format::Csv, &target, TableOptions::default())
        .unwrap();
    let written = std::fs::read_to_string(path).unwrap();
    let last_seen = &trial.mirror().syncs(CONTACTS).unwrap()[0].started;
    let marked = written
        .lines()
        .filter(|line| line.contains(last_seen.as_str()));
    let marked: Vec<&str> = marked.map(|line| &line[..4]).collect();
    assert_eq!(marked, ["c-18", "c-19"], "{written}");
    let view = "SELECT group_concat(_key) FROM contacts WHERE _missing_since IS NOT NULL";
    assert_eq!(trial.ask::<String>(view), "c-18,c-19");
}
