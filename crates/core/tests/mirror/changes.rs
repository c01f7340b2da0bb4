//! What a sync tells of lists that change between two syncs, and what its files hold.

use super::{CONTACTS, List, applied, as_of, changes, list::contact, sync, told};
use arrow_array::cast::AsArray;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::fs::File;
use std::path::Path;
use talentdata_core::arrow::RecordBatch;
use talentdata_core::export::{Format, Target};
use talentdata_core::mirror::Operation::{Delete, Insert, Update};
use talentdata_core::mirror::{AsOf, CHANGE_COLUMNS, Mirror, RECORD};

/// All rows of a Parquet file, as any reader sees them.
fn parquet(path: &Path) -> Vec<RecordBatch> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap());
    let batches = reader.unwrap().build().unwrap();
    batches.map(Result::unwrap).collect()
}

fn texts(batches: &[RecordBatch], column: &str) -> Vec<String> {
    let columns = batches
        .iter()
        .map(|batch| batch.column_by_name(column).unwrap());
    let texts = columns.flat_map(|column| column.as_string::<i32>().iter());
    texts
        .map(|text| text.unwrap_or_default().to_owned())
        .collect()
}

#[tokio::test]
async fn a_sync_tells_what_has_changed_since_the_one_before() {
    let directory = tempfile::tempdir().unwrap();
    let mirror = directory.path().join("mirror");
    let list = List::with_ids(0..250);
    let first = sync(&list.client, &mirror).await.unwrap();
    assert_eq!((first.generation, first.changes.insert), (1, 250));
    let archive_1 = list.lines();

    let nothing = sync(&list.client, &mirror).await.unwrap();
    assert_eq!((nothing.generation, nothing.changes.sum()), (2, 0));

    // 7 goes, 100 changes, 1000 comes in the middle, 249 moves to the front.
    let changed = contact(100).replace("A100", "Z");
    let mut records: Vec<String> = (0..249).filter(|id| *id != 7).map(contact).collect();
    records[99] = changed;
    records.insert(50, contact(1000));
    records.insert(0, contact(249));
    list.set(records);
    let third = sync(&list.client, &mirror).await.unwrap();
    assert_eq!(third.generation, 3);
    let changes = changes(&mirror, 2);
    let expected = [(Insert, "c-1000"), (Update, "c-100"), (Delete, "c-7")];
    assert_eq!(told(&changes), expected);
    assert_eq!(changes[1].record.field("firstName"), Some("\"Z\""));
    assert_eq!(changes[2].record.as_str(), contact(7));
    let second = Mirror::open(&mirror)
        .unwrap()
        .generations(CONTACTS)
        .unwrap()[1]
        .clone();
    assert_eq!(changes[0].last_seen, None);
    let time = |change: &talentdata_core::mirror::Change| {
        let at: AsOf = second.started.parse().unwrap();
        AsOf::Time(change.last_seen.unwrap()) == at
    };
    assert!(time(&changes[1]) && time(&changes[2]));

    // Every generation can be read back, byte for byte.
    assert_eq!(as_of(&mirror, 1), archive_1);
    assert_eq!(as_of(&mirror, 2), archive_1);
    assert_eq!(as_of(&mirror, 3), list.lines());
    let copy = applied(&mirror);
    let mut lines: Vec<String> = list.lines().lines().map(str::to_owned).collect();
    lines.sort();
    let mut values: Vec<String> = copy.into_values().collect();
    values.sort();
    assert_eq!(values, lines);
}

#[tokio::test]
async fn any_parquet_reader_reads_the_list_and_the_changes() {
    let directory = tempfile::tempdir().unwrap();
    let mirror = directory.path().join("mirror");
    let list = List::with_ids(0..20);
    sync(&list.client, &mirror).await.unwrap();
    list.set(
        (1..20)
            .map(contact)
            .chain([contact(3).replace("c-3", "c-99")]),
    );
    sync(&list.client, &mirror).await.unwrap();

    let current = parquet(&mirror.join("contacts/current.parquet"));
    let ids: Vec<String> = (1..20).chain([99]).map(|id| format!("c-{id}")).collect();
    assert_eq!(texts(&current, "id"), ids);
    let changes = parquet(&mirror.join("contacts/changes/000002.parquet"));
    let names: Vec<String> = (changes[0].schema().fields().iter())
        .map(|field| field.name().clone())
        .collect();
    assert_eq!(names[..5], CHANGE_COLUMNS);
    assert_eq!(names.last().unwrap(), RECORD);
    assert_eq!(texts(&changes, "_op"), ["insert", "delete"]);
    assert_eq!(texts(&changes, "_key"), ["c-99", "c-0"]);
    assert_eq!(texts(&changes, "firstName"), ["A3", "A0"]);
    assert_eq!(texts(&changes, RECORD)[1], contact(0));
}

#[tokio::test]
async fn another_way_of_writing_is_no_update_and_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let mirror = directory.path().join("mirror");
    let before = [
        r#"{"id":"a","firstName":"é","lastName":"/","email":"x","n":1.0,"o":{"p":1,"q":[1e3]}}"#,
        r#"{"id":"b","firstName":"1","lastName":"2","email":"x","n":100}"#,
    ];
    let after = [
        r#"{ "o":{"q":[1000], "p":1}, "n":1,"email":"x","lastName":"\/","firstName":"\u00e9","id":"\u0061"}"#,
        r#"{"id":"b","firstName":"1","lastName":"2","email":"x","n":"100"}"#,
    ];
    let list = List::of(before);
    sync(&list.client, &mirror).await.unwrap();
    let archive = list.lines();
    list.set(after);
    sync(&list.client, &mirror).await.unwrap();
    // A text is not a number.
    assert_eq!(told(&changes(&mirror, 1)), [(Update, "b")]);
    assert_eq!(as_of(&mirror, 1), archive);
    assert_eq!(as_of(&mirror, 2), list.lines());
    // It is compared with what was last, however that was written.
    sync(&list.client, &mirror).await.unwrap();
    list.set(before);
    sync(&list.client, &mirror).await.unwrap();
    assert_eq!(told(&changes(&mirror, 2)), [(Update, "b")]);
    assert_eq!(as_of(&mirror, 3), as_of(&mirror, 2));
    assert_eq!(as_of(&mirror, 4), archive);
}

#[tokio::test]
async fn records_without_an_id_come_and_go() {
    let directory = tempfile::tempdir().unwrap();
    let mirror = directory.path().join("mirror");
    let list = List::of([r#"{"a":1,"b":"x"}"#, r#"{"a":2}"#]);
    sync(&list.client, &mirror).await.unwrap();
    list.set([r#"{"b":"x","a":1.0}"#, r#"{"a":3}"#]);
    sync(&list.client, &mirror).await.unwrap();
    let changes = changes(&mirror, 1);
    let operations: Vec<_> = changes.iter().map(|one| one.operation).collect();
    assert_eq!(operations, [Insert, Delete]);
    assert_ne!(changes[0].key, changes[1].key);
    assert_eq!(changes[1].record.as_str(), r#"{"a":2}"#);
    assert_eq!(as_of(&mirror, 2), list.lines());
    assert_eq!(applied(&mirror).len(), 2);
}

#[tokio::test]
async fn changes_are_written_in_every_format() {
    let directory = tempfile::tempdir().unwrap();
    let mirror = directory.path().join("mirror");
    let list = List::with_ids(0..3);
    sync(&list.client, &mirror).await.unwrap();
    list.set([contact(0), contact(2).replace("B", "C\u{7f}"), contact(3)]);
    sync(&list.client, &mirror).await.unwrap();
    let write = |format: Format| {
        let path = directory.path().join(format!("changes.{format}"));
        let changes = Mirror::open(&mirror).unwrap().changes(CONTACTS, 1).unwrap();
        let target = Target::File(path.clone());
        assert_eq!(changes.write(format, &target).unwrap(), 3);
        path
    };
    let lines = std::fs::read_to_string(write(Format::Jsonl)).unwrap();
    let update: serde_json::Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!(update["op"], "update");
    assert_eq!(
        (&update["generation"], &update["key"]),
        (&2.into(), &"c-2".into())
    );
    assert_eq!(update["record"]["lastName"], "C\u{7f}");
    let batches = parquet(&write(Format::Parquet));
    assert_eq!(texts(&batches, "_op"), ["update", "insert", "delete"]);
    assert_eq!(texts(&batches, "id"), ["c-2", "c-3", "c-1"]);
    let csv = std::fs::read_to_string(write(Format::Csv)).unwrap();
    assert!(
        csv.starts_with("_generation,_op,_key,_last_seen,_seen,id,"),
        "{csv}"
    );
    write(Format::Arrow);
    let changes = Mirror::open(&mirror).unwrap().changes(CONTACTS, 0).unwrap();
    let rows: usize = changes
        .into_batches(2)
        .map(|batch| batch.unwrap().num_rows())
        .sum();
    assert_eq!(rows, 6);
}

#[tokio::test]
async fn an_emptied_list_is_looked_at_twice() {
    let directory = tempfile::tempdir().unwrap();
    let mirror = directory.path().join("mirror");
    let list = List::with_ids(0..150);
    sync(&list.client, &mirror).await.unwrap();
    list.set(Vec::<String>::new());
    let emptied = sync(&list.client, &mirror).await.unwrap();
    assert_eq!(emptied.changes.delete, 150);
    assert_eq!(emptied.second_look.unwrap().requests, 1);
    assert_eq!(as_of(&mirror, 2), "");
    list.set([contact(3)]);
    let back = sync(&list.client, &mirror).await.unwrap();
    assert_eq!((back.changes.insert, back.changes.sum()), (1, 1));
}

#[tokio::test]
async fn a_list_that_is_sorted_otherwise_at_each_sync_can_be_read_as_of_any() {
    let directory = tempfile::tempdir().unwrap();
    let mirror = directory.path();
    let mut random = fastrand::Rng::with_seed(3);
    let mut ids: Vec<u64> = (0..20_000).collect();
    let list = List::with_ids(ids.clone());
    let mut archives = Vec::new();
    for generation in 1..=3 {
        archives.push(list.lines());
        sync(&list.client, mirror).await.unwrap();
        random.shuffle(&mut ids);
        list.set(ids.iter().map(|id| match id % 5 {
            0 => contact(*id).replace("\"B\"", &format!("\"{generation}\"")),
            _ => contact(*id),
        }));
    }
    for (archive, generation) in archives.iter().zip(1..) {
        assert_eq!(&as_of(mirror, generation), archive, "{generation}");
    }
}
