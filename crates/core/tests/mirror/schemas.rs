//! Lists whose records change their fields, the types of these, or their identity.

use super::{CONTACTS, List, applied, as_of, changes, list::contact, sync, told};
use arrow_schema::Schema;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::fs::File;
use std::path::Path;
use talentdata_core::arrow::TableOptions;
use talentdata_core::mirror::Operation::{Delete, Insert, Update};
use talentdata_core::mirror::{Mirror, SchemaChangeKind};

fn columns(mirror: &Path) -> Vec<String> {
    let mirror = Mirror::open(mirror).unwrap();
    let schema = mirror.schema(CONTACTS).unwrap();
    schema.iter().map(|column| column.name.clone()).collect()
}

/// Columns of the list now, as the library and as any reader of `current.parquet` sees them.
fn current_columns(mirror: &Path) -> Vec<String> {
    let names = |schema: &Schema| -> Vec<String> {
        let fields = schema.fields().iter();
        fields.map(|field| field.name().clone()).collect()
    };
    let opened = Mirror::open(mirror).unwrap();
    let file = File::open(opened.current_path(CONTACTS).unwrap()).unwrap();
    let file = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    let current = opened.current(CONTACTS).unwrap();
    let batches = current.into_batches(100, &TableOptions::default()).unwrap();
    assert_eq!(names(&batches.schema()), names(file.schema()));
    let rows: usize = batches.map(|batch| batch.unwrap().num_rows()).sum();
    assert_eq!(rows as i64, file.metadata().file_metadata().num_rows());
    names(file.schema())
}

/// What the manifest says of fields: generation, field and kind.
fn noted(mirror: &Path) -> Vec<(u64, String, SchemaChangeKind)> {
    let mirror = Mirror::open(mirror).unwrap();
    let changes = mirror.schema_changes(CONTACTS).unwrap().iter();
    let changes = changes.map(|one| (one.generation, one.field.clone(), one.change));
    changes.collect()
}

/// Contacts, of which the last has one more field.
fn with_field(count: u64, field: &str) -> Vec<String> {
    let mut records: Vec<String> = (0..count).map(contact).collect();
    let last = records.last_mut().unwrap();
    *last = last.replace('}', &format!(",{field}}}"));
    records
}

#[tokio::test]
async fn a_new_field_gets_a_column_behind_the_others() {
    let directory = tempfile::tempdir().unwrap();
    let mirror = directory.path();
    let list = List::with_ids(0..10);
    sync(&list.client, mirror).await.unwrap();
    let first = columns(mirror);
    list.set(with_field(10, "\"age\":7"));
    sync(&list.client, mirror).await.unwrap();
    let second = columns(mirror);
    assert_eq!(second[..first.len()], first);
    assert_eq!(second[first.len()..], ["age"]);
    assert_eq!(
        noted(mirror),
        [(2, "/age".into(), SchemaChangeKind::NewColumn)]
    );

    // One that comes behind the records on which columns are decided gets its column with the next sync.
    let mut records: Vec<String> = (0..1199).map(contact).collect();
    records.push(contact(1199).replace('}', ",\"late\":true}"));
    list.set(records);
    sync(&list.client, mirror).await.unwrap();
    let late = (3, "/late".to_owned(), SchemaChangeKind::NewField);
    assert!(noted(mirror).contains(&late), "{:?}", noted(mirror));
    assert_eq!(columns(mirror).last().unwrap(), "late");
    assert!(!current_columns(mirror).contains(&"late".to_owned()));
    assert_eq!(as_of(mirror, 3), list.lines());
    sync(&list.client, mirror).await.unwrap();
    assert!(current_columns(mirror).contains(&"late".to_owned()));
    assert_eq!(noted(mirror).len(), 2);
    assert_eq!(as_of(mirror, 4), list.lines());
}

#[tokio::test]
async fn a_field_of_another_type_keeps_its_column() {
    let directory = tempfile::tempdir().unwrap();
    let mirror = directory.path();
    let list = List::of(with_field(3, "\"age\":7"));
    sync(&list.client, mirror).await.unwrap();
    let before = columns(mirror);
    list.set(with_field(3, "\"age\":\"seven\""));
    sync(&list.client, mirror).await.unwrap();
    assert_eq!(told(&changes(mirror, 1)), [(Update, "c-2")]);
    assert_eq!(columns(mirror), before);
    assert_eq!(
        noted(mirror),
        [(2, "/age".into(), SchemaChangeKind::OtherType)]
    );
    assert_eq!(as_of(mirror, 2), list.lines());
    // It is noted once.
    sync(&list.client, mirror).await.unwrap();
    assert_eq!(noted(mirror).len(), 1);
}

#[tokio::test]
async fn ids_that_become_numbers_are_the_same_ids() {
    let directory = tempfile::tempdir().unwrap();
    let mirror = directory.path();
    let texts = (0..120).map(|id| format!("{{\"id\":\"{id}\",\"x\":1}}"));
    let list = List::of(texts);
    sync(&list.client, mirror).await.unwrap();
    list.set((0..120).map(|id| format!("{{\"id\":{id},\"x\":1}}")));
    let second = sync(&list.client, mirror).await.unwrap();
    assert_eq!((second.changes.update, second.changes.sum()), (120, 120));
    assert_eq!(
        noted(mirror),
        [(2, "/id".into(), SchemaChangeKind::OtherType)]
    );
    assert_eq!(applied(mirror).len(), 120);
    assert_eq!(as_of(mirror, 2), list.lines());
}

#[tokio::test]
async fn ids_that_disappear_leave_records_told_by_what_they_say() {
    let directory = tempfile::tempdir().unwrap();
    let mirror = directory.path();
    let list = List::of((0..3).map(|id| format!("{{\"id\":\"{id}\",\"x\":{id}}}")));
    sync(&list.client, mirror).await.unwrap();
    list.set((0..3).map(|id| format!("{{\"x\":{id}}}")));
    sync(&list.client, mirror).await.unwrap();
    let changes = changes(mirror, 1);
    let operations: Vec<_> = changes.iter().map(|one| one.operation).collect();
    assert_eq!(operations, [Insert, Insert, Insert, Delete, Delete, Delete]);
    assert_eq!(applied(mirror).len(), 3);
    assert_eq!(as_of(mirror, 2), list.lines());
}

#[tokio::test]
async fn fields_with_the_names_of_our_columns_are_kept_beside_them() {
    let directory = tempfile::tempdir().unwrap();
    let mirror = directory.path();
    let list = List::of([r#"{"id":"a","_op":"x","_key":1,"_record":null,"_extra":[]}"#]);
    sync(&list.client, mirror).await.unwrap();
    assert_eq!(as_of(mirror, 1), list.lines());
    assert!(!columns(mirror).iter().any(|name| name.starts_with('_')));
}
