//! Exports with given columns, which are the same in every run, and the reported differences.

use super::{Service, export, fails, names, place, run, run_pages};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;
use talentdata_columns::arrow::{ColumnTypes, NewFieldPolicy, TableSchema};
use talentdata_columns::export::{Export, Format, KeptWork};
use talentdata_core::ErrorKind;
use talentdata_core::scan::SchemaDifferences;
use talentdata_core::types::ListName;

/// Returns an export with the schema of the list without its field `tags`.
async fn pinned(service: &Service, format: Format, path: &Path) -> Export {
    let schema = TableSchema::of_list(&service.client.contacts(), ColumnTypes::Typed).await;
    let mut schema = schema.unwrap();
    schema.fields.retain(|field| field.name != "tags");
    let mut export = export(format, path);
    export.table.schema = Some(Arc::new(schema));
    export
}

#[tokio::test]
async fn a_pinned_schema_stays_and_differences_are_counted_over_all_runs() {
    let service = Service::start(9_000);
    let (directory, path) = place();
    let alone = directory.path().join("alone");
    let export = pinned(&service, Format::Parquet, &alone).await;
    let expected = export.table.schema.as_ref().unwrap().to_arrow();
    let receipt = run(&export, &service.client).await.unwrap();
    let file = ParquetRecordBatchReaderBuilder::try_new(File::open(&alone).unwrap());
    assert_eq!(file.unwrap().schema(), &expected);
    let differences = receipt.schema.unwrap();
    assert_eq!(differences.new_fields["/tags"].count, 9_000);
    let merged = &differences.new_fields["/mergedFrom"];
    assert!(merged.count > 1000 && merged.example.pointer == "/mergedFrom");
    assert_eq!(merged.example.found, "array");
    assert!(differences.other_types.is_empty(), "{differences:?}");

    let export = pinned(&service, Format::Parquet, &path).await;
    let error = run_pages(&export, &service.client, 84).await.unwrap_err();
    assert!(error.message().contains("8317 records are kept"), "{error}");
    let resumed = run(&export, &service.client).await.unwrap();
    assert_eq!((resumed.resumed, resumed.records), (1, 9_000));
    assert_eq!(resumed.schema.unwrap(), differences);
    assert!(fs::read(&path).unwrap() == fs::read(&alone).unwrap());
}

#[tokio::test]
async fn columns_that_were_not_given_meet_later_fields_by_the_same_policy() {
    let service = Service::start(9_000);
    let (directory, path) = place();
    let mut export = export(Format::Parquet, &path);
    run_pages(&export, &service.client, 84).await.unwrap_err();
    let resumed = run(&export, &service.client).await.unwrap();
    assert_eq!((resumed.resumed, resumed.records), (1, 9_000));
    for format in [Format::Parquet, Format::Csv, Format::Arrow] {
        (export.format, export.kept) = (format, KeptWork::Restart);
        export.table.on_new = NewFieldPolicy::Keep;
        let differences = run(&export, &service.client).await.unwrap().schema.unwrap();
        let merged = &differences.new_fields["/mergedFrom"];
        assert!(merged.count > 1000 && merged.example.offset >= 1000);
        assert!(differences.missing_fields.is_empty() && merged.example.id.is_some());
        if format != Format::Csv {
            assert_eq!(resumed.schema.as_ref(), Some(&differences));
        }
        export.table.on_new = NewFieldPolicy::Fail;
        fs::remove_file(&path).unwrap();
        let error = run(&export, &service.client).await.unwrap_err();
        let told = format!(
            "(id {}): /mergedFrom: it has no column",
            merged.example.id.as_deref().unwrap()
        );
        assert!(error.message().contains(&told), "{error}");
        assert!(!path.exists(), "{:?}", names(directory.path()));
    }
    export.format = Format::Jsonl;
    fails(
        run(&export, &service.client).await,
        ErrorKind::InvalidArgument,
        "on_new_field: JSON Lines has no columns",
    );
}

#[tokio::test]
async fn a_new_field_is_ignored_or_an_error_as_the_option_says() {
    let service = Service::start(50);
    for format in Format::ALL {
        let (directory, path) = place();
        let mut export = pinned(&service, format, &path).await;
        export.table.on_new = NewFieldPolicy::Fail;
        let error = run(&export, &service.client).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Schema, "{format}");
        let told = ": /tags: the schema has no such field; add it to the schema, or choose on_new_field keep";
        assert!(
            error.message().starts_with("record 0 of the list (id "),
            "{error}"
        );
        assert!(error.message().contains(told), "{error}");
        let mut other = export.clone();
        let pools = TableSchema::infer(ListName::Pools, &[], ColumnTypes::Typed);
        other.table.schema = Some(Arc::new(pools));
        let refused = run(&other, &service.client).await;
        let told = "made for pools, and the list is contacts";
        fails(refused, ErrorKind::InvalidArgument, told);
        assert!(names(directory.path()).is_empty(), "{format}");
        export.table.on_new = NewFieldPolicy::Freeze;
        let receipt = run(&export, &service.client).await.unwrap();
        assert!(receipt.schema.unwrap().new_fields.is_empty());
        export.table.schema = None;
        let receipt = run(&export, &service.client).await.unwrap();
        let silent = (format != Format::Jsonl).then(SchemaDifferences::default);
        assert_eq!(receipt.schema, silent);
    }
}
