//! Exports whose columns are given: the same in every run, and with a word about what differs.

use super::{Service, export, names, run, run_pages};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;
use talentdata_columns::arrow::{Columns, OnNew, TableSchema};
use talentdata_columns::export::{Export, Format};
use talentdata_core::ErrorKind;

/// An export with the schema of the list, or of part of it.
async fn pinned(service: &Service, path: &Path, without: &[&str]) -> Export {
    let mut schema = TableSchema::of_list(&service.client.contacts(), Columns::Typed)
        .await
        .unwrap();
    schema
        .fields
        .retain(|field| !without.contains(&field.name.as_str()));
    let mut export = export(path);
    export.format = Format::Parquet;
    export.scan.page_size = Some(100);
    export.table.schema = Some(Arc::new(schema));
    export
}

fn schema(path: &Path) -> arrow_schema::SchemaRef {
    let file = File::open(path).unwrap();
    Arc::clone(
        ParquetRecordBatchReaderBuilder::try_new(file)
            .unwrap()
            .schema(),
    )
}

#[tokio::test]
async fn a_pinned_schema_stays_and_differences_are_counted_over_all_runs() {
    let service = Service::start(9_000);
    let directory = tempfile::tempdir().unwrap();
    let alone = directory.path().join("alone.parquet");
    let export = pinned(&service, &alone, &["tags"]).await;
    let expected = Arc::clone(export.table.schema.as_ref().unwrap());
    let receipt = run(&export, &service.client).await.unwrap();
    assert_eq!(schema(&alone), expected.to_arrow());
    let differences = receipt.schema.unwrap();
    assert_eq!(differences.new_fields["/tags"].count, 9_000);
    let merged = &differences.new_fields["/mergedFrom"];
    assert!(merged.count > 1000 && merged.example.pointer == "/mergedFrom");
    assert_eq!(merged.example.found, "array");
    assert!(differences.other_types.is_empty(), "{differences:?}");

    let path = directory.path().join("out.parquet");
    let export = pinned(&service, &path, &["tags"]).await;
    let error = run_pages(&export, &service.client, 84).await.unwrap_err();
    assert!(error.message().contains("8317 records are kept"), "{error}");
    let mut other = export.clone();
    other.table.on_new = OnNew::Freeze;
    let refused = run(&other, &service.client).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
    assert!(refused.message().starts_with("on_new_field: "), "{refused}");
    let resumed = run(&export, &service.client).await.unwrap();
    assert_eq!((resumed.resumed, resumed.records), (1, 9_000));
    assert_eq!(resumed.schema.unwrap(), differences);
    assert!(fs::read(&path).unwrap() == fs::read(&alone).unwrap());
}

#[tokio::test]
async fn a_new_field_is_no_news_or_an_error_where_that_is_asked_for() {
    let service = Service::start(50);
    let directory = tempfile::tempdir().unwrap();
    let mut frozen = pinned(&service, &directory.path().join("out.parquet"), &["tags"]).await;
    frozen.table.on_new = OnNew::Freeze;
    let receipt = run(&frozen, &service.client).await.unwrap();
    assert!(receipt.schema.unwrap().new_fields.is_empty());
    frozen.table.schema = None;
    let receipt = run(&frozen, &service.client).await.unwrap();
    assert_eq!(receipt.schema, None);
    for format in Format::ALL {
        let directory = tempfile::tempdir().unwrap();
        let mut export = pinned(&service, &directory.path().join("out"), &["tags"]).await;
        export.format = format;
        export.table.on_new = OnNew::Fail;
        let error = run(&export, &service.client).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Schema, "{format}");
        let told = "record 0 of the list: /tags: the schema has no such field";
        assert!(error.message().starts_with(told), "{error}");
        assert!(names(directory.path()).is_empty(), "{format}");
    }
}

#[tokio::test]
async fn a_schema_of_another_list_is_refused_before_anything_is_sent() {
    let service = Service::start(3);
    let directory = tempfile::tempdir().unwrap();
    let mut export = export(&directory.path().join("out.parquet"));
    let pools = TableSchema::infer(talentdata_core::types::Resource::Pools, &[], Columns::Typed);
    export.table.schema = Some(Arc::new(pools));
    let error = run(&export, &service.client).await.unwrap_err();
    assert!(
        error
            .message()
            .contains("made for pools, and the list is contacts"),
        "{error}"
    );
}
