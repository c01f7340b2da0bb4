//! The published schema of results, `schema`, and exports whose columns are given.

use crate::support::{against, names, records, run, sandbox};
use serde_json::Value;
use std::fs;
use talentdata_core::ErrorKind;

#[test]
fn a_schema_is_printed_edited_and_given_back() {
    let sandbox = sandbox(records(&[("contacts", 120)]));
    let printed = run(&mut against(&sandbox, &["schema", "contacts"]));
    assert_eq!((printed.code, printed.stderr.as_str()), (Some(0), ""));
    let mut schema: Value = serde_json::from_str(&printed.stdout).unwrap();
    assert_eq!(
        (&schema["resource"], &schema["sampled_records"]),
        (&"contacts".into(), &120.into())
    );
    let fields = schema["fields"].as_array_mut().unwrap();
    let location = fields
        .iter()
        .find(|field| field["name"] == "location")
        .unwrap();
    assert_eq!(
        (&location["type"], &location["fields"][0]["name"]),
        (&"struct".into(), &"city".into())
    );
    fields.retain(|field| field["name"] != "tags");

    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    fs::write(at("s.json"), schema.to_string()).unwrap();
    let (out, file, receipt) = (at("out.csv"), at("s.json"), at("r.json"));
    let given = [
        "export",
        "contacts",
        "--out",
        &out,
        "--schema",
        &file,
        "--receipt",
        &receipt,
    ];
    let kept = run(&mut against(&sandbox, &given));
    assert_eq!(kept.code, Some(0), "{kept:?}");
    assert!(
        kept.stderr
            .contains("differ from the schema (not in the schema: /tags)"),
        "{kept:?}"
    );
    let header = fs::read_to_string(&out).unwrap();
    assert!(!header.lines().next().unwrap().contains("tags"));
    let told: Value = serde_json::from_str(&fs::read_to_string(&receipt).unwrap()).unwrap();
    let new = &told["schema"]["new_fields"]["/tags"];
    assert_eq!(
        (&new["count"], &new["example"]["found"]),
        (&120.into(), &"array".into())
    );

    let frozen = run(&mut against(
        &sandbox,
        &[&given[..], &["--on-new-field", "freeze"]].concat(),
    ));
    assert_eq!((frozen.code, frozen.stderr.as_str()), (Some(0), ""));
    fs::remove_file(&out).unwrap();
    let failed = run(&mut against(
        &sandbox,
        &[&given[..], &["--on-new-field", "fail"]].concat(),
    ));
    assert_eq!(failed.code, Some(i32::from(ErrorKind::Schema.exit_code())));
    assert!(
        failed.stderr.contains("record 0 of the list: /tags"),
        "{failed:?}"
    );
    assert_eq!(names(directory.path()), ["r.json", "s.json"]);
}

#[test]
fn columns_of_json_have_no_types_of_their_own() {
    let sandbox = sandbox(records(&[("contacts", 10)]));
    let printed = run(&mut against(
        &sandbox,
        &["schema", "contacts", "--columns", "json"],
    ));
    assert!(!printed.stdout.contains("struct") && !printed.stdout.contains("timestamp"));
}

#[test]
fn a_schema_that_cannot_be_used_is_a_usage_error() {
    let sandbox = sandbox(records(&[("contacts", 10)]));
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s.json");
    fs::write(&path, "{}").unwrap();
    let (file, out) = (path.to_str().unwrap(), directory.path().join("out"));
    let out = out.to_str().unwrap();
    let cases: [(&[&str], &str); 4] = [
        (
            &["contacts", "--schema", file],
            "not a schema of talentdata",
        ),
        (
            &["contacts", "pools", "--schema", file],
            "a schema is of one list",
        ),
        (&["contacts", "--on-new-field", "keep"], "--schema"),
        (
            &["contacts", "--schema", file, "--columns", "json"],
            "--columns",
        ),
    ];
    for (arguments, why) in cases {
        let ended = run(&mut against(
            &sandbox,
            &[&["export", "--out", out], arguments].concat(),
        ));
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.stderr.contains(why), "{ended:?}");
    }
}

/// What is printed and written as JSON, as docs/results.schema.json describes it; TALENTDATA_WRITE=1 writes that file.
#[test]
fn the_published_schema_is_that_of_the_results() {
    let mut generator = schemars::generate::SchemaSettings::draft2020_12().into_generator();
    generator.subschema_for::<talentdata_core::scan::Receipt>();
    generator.subschema_for::<talentdata_core::Plan>();
    generator.subschema_for::<talentdata_core::budget::BudgetState>();
    generator.subschema_for::<talentdata_columns::verify::Verification>();
    generator.subschema_for::<talentdata_mirror::SyncReceipt>();
    let schema = serde_json::json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Results of talentdata: receipts (also the progress of a job), plans, outcomes of syncs and checks, budgets",
        "$defs": generator.take_definitions(true),
    });
    let text = format!("{schema:#}\n");
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/results.schema.json"
    );
    if std::env::var_os("TALENTDATA_WRITE").is_some() {
        fs::write(path, &text).unwrap();
    }
    assert_eq!(fs::read_to_string(path).unwrap_or_default(), text, "{path}");
}
