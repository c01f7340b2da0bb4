//! Fields that change their type between syncs. By the policy, this is reported, silent or an error, in syncs and in
//! changes.

use super::*;
use talentdata_columns::arrow::{NewFieldPolicy, RecordBatch, TableOptions, TableSchema};
use talentdata_core::scan::SchemaDifferences;

/// A field of a record before and after the change, and the report: the pointer, the type of the column, and the found
/// type.
const CHANGES: [(&str, &str, &str); 12] = [
    (r#","x":1"#, r#","x":"a""#, "/x int64 string"),
    (r#","x":"a""#, r#","x":1"#, "/x string number"),
    (r#","x":1"#, r#","x":1.5"#, "/x int64 number"),
    (r#","x":1.5"#, r#","x":1"#, ""),
    (r#","x":1"#, r#","x":[1]"#, "/x int64 array"),
    (r#","x":[1]"#, r#","x":1"#, "/x list number"),
    (r#","x":[1]"#, r#","x":[1,"a"]"#, "/x/* int64 string"),
    (
        r#","x":{"a":1}"#,
        r#","x":{"a":1,"b":2}"#,
        "/x/b new number",
    ),
    (r#","x":{"a":1}"#, r#","x":{"a":"t"}"#, "/x/a int64 string"),
    (r#","x":"2026-01-01""#, r#","x":"soon""#, "/x date string"),
    // A JSON column holds everything, and so does a column that never had a value.
    (r#","x":null"#, r#","x":"a""#, ""),
    ("", r#","x":1"#, "/x new number"),
];

fn of(field: &str) -> Vec<String> {
    let record = |id, field| format!("{{\"id\":\"c-{id}\"{field}}}");
    vec![record(0, ""), record(1, field)]
}

fn trial(before: &str, on_new: NewFieldPolicy) -> Trial {
    let mut trial = Trial::new();
    trial.sync.on_new = on_new;
    let first = trial.sync(&of(before), COUNTED);
    assert_eq!(first.scan.schema, Some(SchemaDifferences::default()));
    trial
}

/// Returns the differences as [`CHANGES`] has them.
fn told(differences: &SchemaDifferences) -> String {
    let fields = differences
        .new_fields
        .iter()
        .chain(&differences.other_types);
    let told = fields.map(|(name, field)| {
        assert_eq!((field.count, field.example.id.as_deref()), (1, Some("c-1")));
        let column = field.column.as_deref().unwrap_or("new");
        format!("{name} {column} {}", field.example.found)
    });
    told.collect::<Vec<_>>().join(", ")
}

/// Reads the changes after a sync as batches. Returns the batches and the reported differences.
fn read(
    trial: &Trial,
    since: u64,
    table: TableOptions,
) -> Result<(Vec<RecordBatch>, SchemaDifferences)> {
    let changes = trial.mirror().changes(CONTACTS, &SyncPoint::Sync(since))?;
    let mut batches = changes.into_batches(table)?;
    let read = batches.by_ref().collect::<Result<Vec<_>>>()?;
    Ok((read, batches.differences()))
}

fn policy(on_new: NewFieldPolicy) -> TableOptions {
    TableOptions::default().with_on_new(on_new)
}

#[test]
fn a_type_that_changes_is_reported_by_the_sync_and_by_the_changes() {
    for (before, after, expected) in CHANGES {
        let trial = trial(before, NewFieldPolicy::Keep);
        let receipt = trial.sync(&of(after), COUNTED);
        assert_eq!(told(&receipt.scan.schema.unwrap()), expected, "{after}");
        let stored = trial.mirror().syncs(CONTACTS).unwrap().pop().unwrap();
        assert_eq!(told(&stored.scan.schema.unwrap()), expected, "{after}");
        // A new field is a column now, unless it is nested.
        let left = if expected.starts_with("/x new") {
            ""
        } else {
            expected
        };
        let (_, differences) = read(&trial, 1, policy(NewFieldPolicy::Keep)).unwrap();
        assert_eq!(told(&differences), left, "{after}");
        // The next sync does not report the record once more.
        let receipt = trial.sync(&of(after), COUNTED);
        assert_eq!(told(&receipt.scan.schema.unwrap()), "", "{after}");
        assert!(trial.mirror().verify().unwrap().matches);
    }
}

#[test]
fn frozen_columns_stay_and_nothing_is_reported() {
    for (before, after, _) in CHANGES {
        let trial = trial(before, NewFieldPolicy::Freeze);
        let columns =
            |trial: &Trial| read(trial, 0, policy(NewFieldPolicy::Freeze)).unwrap().0[0].schema();
        let known = columns(&trial);
        let receipt = trial.sync(&of(after), COUNTED);
        assert_eq!(receipt.changes.update, 1);
        assert_eq!(told(&receipt.scan.schema.unwrap()), "", "{after}");
        assert_eq!(columns(&trial), known, "{after}");
        let (_, differences) = read(&trial, 0, policy(NewFieldPolicy::Freeze)).unwrap();
        assert_eq!(told(&differences), "", "{after}");
    }
}

#[test]
fn a_sync_with_the_policy_fail_commits_nothing() {
    for (before, after, expected) in CHANGES {
        let trial = trial(before, NewFieldPolicy::Fail);
        let ended = trial.sync_late(&[], &of(after), COUNTED);
        if expected.is_empty() {
            assert_eq!(ended.unwrap().generation, 2, "{after}");
            continue;
        }
        let error = ended.unwrap_err();
        let pointer = expected.split(' ').next().unwrap().replace('*', "1");
        let told = format!("record 1 of the list (id c-1): {pointer}: ");
        assert!(error.message().starts_with(&told), "{error}");
        assert_eq!(error.kind(), ErrorKind::Schema);
        assert_eq!(trial.current(), of(before));
        assert!(trial.mirror().verify().unwrap().matches);
    }
}

#[test]
fn changes_with_the_policy_fail_end_at_the_record_and_a_schema_helps() {
    let trial = trial(r#","x":1"#, NewFieldPolicy::Keep);
    trial.sync(&of(r#","x":"a""#), COUNTED);
    let error = read(&trial, 0, policy(NewFieldPolicy::Fail)).unwrap_err();
    let told =
        "record 2 of the list (id c-1): /x: its type is string, and its column has the type int64;";
    assert!(error.message().starts_with(told), "{error}");
    let mut schema = TableSchema::infer(CONTACTS, &records(&of(r#","x":1"#)), Default::default());
    let json = schema.to_json().replace("\"int64\"", "\"json\"");
    schema = TableSchema::from_json(&json).unwrap();
    let table = policy(NewFieldPolicy::Fail).with_schema(schema);
    let (batches, _) = read(&trial, 0, table).unwrap();
    let names = batches[0].schema();
    let first: Vec<&String> = names
        .fields()
        .iter()
        .take(2)
        .map(|field| field.name())
        .collect();
    assert_eq!(first, ["_generation", "_op"]);
    assert_eq!(extras(&batches), 0);
}

/// Rows that have something in `_extra`.
fn extras(batches: &[RecordBatch]) -> usize {
    let of = |batch: &RecordBatch| {
        let extra = batch.column_by_name("_extra").unwrap();
        extra.len() - extra.null_count()
    };
    batches.iter().map(of).sum()
}

#[test]
fn changes_of_every_kind_have_only_unknown_fields_in_extra() {
    let trial = Trial::of(0..20);
    // Seen, missing, reappeared, updated and deleted.
    trial.sync(&contacts(1..20), None);
    let mut changed = contacts(0..19);
    changed[3] = contact(3, 1);
    trial.sync(&changed, COUNTED);
    let (batches, _) = read(&trial, 0, TableOptions::default()).unwrap();
    let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
    assert_eq!((rows, extras(&batches)), (20 + 1 + 3, 0));
    let target = trial.path.with_extension("csv");
    let changes = trial
        .mirror()
        .changes(CONTACTS, &SyncPoint::Sync(0))
        .unwrap();
    let written = changes.write(
        talentdata_columns::export::Format::Csv,
        &talentdata_columns::export::Target::File(target.clone()),
        TableOptions::default(),
    );
    assert_eq!(written.unwrap().export.written.unwrap().records, 24);
    let text = std::fs::read_to_string(target).unwrap();
    assert!(
        text.lines().skip(1).all(|line| line.ends_with(',')),
        "{text}"
    );
}
