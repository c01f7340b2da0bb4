//! Successful commands: their output, and the files that they write.

use crate::support::{Trial, code, names, program, requests, run, trial};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::io::Read;
use talentdata_core::ErrorKind;
use talentdata_core::types::{CategoryName, ListName};
use talentdata_sandbox::Options;

fn rows(text: &str) -> Vec<Vec<&str>> {
    let lines = text.lines();
    lines
        .map(|line| line.split_whitespace().collect())
        .collect()
}

#[test]
fn resources_are_those_of_the_spec() {
    let ended = run(&mut program("resources"));
    let rows = rows(ended.quiet());
    assert_eq!(rows[0], ["NAME", "PATH", "GROUP"]);
    assert_eq!(rows.len(), 1 + ListName::ALL.len());
    for (row, resource) in rows[1..].iter().zip(ListName::ALL) {
        assert_eq!(row[0].replace('-', "_"), resource.name());
        assert_eq!(row[1], resource.shape().operation.path);
    }
}

#[test]
fn version_needs_no_credentials_and_check_names_categories() {
    let trial = trial(&[]);
    let url = trial.sandbox.base_url();
    let without = run(&mut program(&format!("--base-url {url} version"))).json();
    assert_eq!(without, trial.run("version").json());
    assert!(without["endpoints"]["taxonomy"]["model_version"].is_string());
    assert_eq!(trial.sandbox.stats().token_posts, 0);
    let mut known = CategoryName::KNOWN.to_vec();
    known.sort_unstable();
    for (named, wanted) in [("", &known[..]), ("matching", &["matching"])] {
        let checked = trial.run(&format!("check --client-version 1.8.2 {named}"));
        let checked = checked.json();
        let entries = checked["endpointCompatibility"].as_object().unwrap();
        let mut entries: Vec<&str> = entries.keys().map(String::as_str).collect();
        entries.sort_unstable();
        assert_eq!(entries, wanted);
    }
    let permissions = trial.run("permissions").json();
    let permissions = permissions["permissions"].as_array().unwrap();
    assert!(permissions.contains(&json!("read:contacts")));
}

#[test]
fn a_manifest_of_the_driver_names_the_library() {
    let directory = tempfile::tempdir().unwrap();
    let library = directory.path().join("a \"b\".so");
    std::fs::write(&library, "").unwrap();
    let install = |library: &std::path::Path| {
        let mut command = program("adbc install --library");
        run(command
            .arg(library)
            .env("XDG_CONFIG_HOME", directory.path()))
    };
    let path = directory.path().join("adbc/drivers/talentdata.toml");
    assert_eq!(install(&library).quiet(), format!("{}\n", path.display()));
    let manifest = std::fs::read_to_string(path).unwrap();
    let escaped = library.display().to_string().replace('"', "\\\"");
    assert!(
        manifest.contains("entrypoint = \"AdbcTalentdataInit\"\n"),
        "{manifest}"
    );
    assert!(
        manifest.ends_with(&format!(" = \"{escaped}\"\n")),
        "{manifest}"
    );
    let missing = install(&directory.path().join("none.so"));
    missing.error(code(ErrorKind::Path), "none.so");
}

#[test]
fn a_page_is_printed_byte_for_byte_and_its_size_is_left_to_the_service() {
    let trial = trial(&[("contacts", 40), ("ja_skills", 400)]);
    for name in ["ja-skills", "ja_skills"] {
        let page = trial.run(&format!("page {name}")).json();
        let records = page["records"].as_array().unwrap().len();
        assert_eq!(page["pagination"]["limit"], records);
        assert!((20..=50).contains(&records), "{records}");
    }
    let record = r#"{ "id":"a",  "n": 1.50e3, "big": 123456789012345678901 }"#;
    let page = format!(
        r#"{{"success":true,"contacts":[{record}],"pagination":{{"total":41,"limit":1,"offset":40,"hasMore":false,"new":7}}}}"#
    );
    trial.fault(json!({"path": "/v1/contacts"}), json!({"body": page}));
    let ended = trial.run("page contacts --limit 1 --offset 40");
    assert!(ended.quiet().contains(record), "{ended:?}");
    assert_eq!(ended.json()["pagination"]["new"], 7);
    let query = requests(&trial.sandbox).last().unwrap()["query"].to_string();
    assert!(query.contains("limit") && query.contains("40"), "{query}");
}

#[test]
fn a_plan_counts_the_pages_that_an_export_takes() {
    // With 30 records per page, the overlap of one record matters: 30 + 29 * 3 = 117. The end of several pages is read
    // again.
    for (size, max, pages) in [(117, 30, 6), (118, 30, 7), (30, 30, 2), (0, 30, 2)] {
        let options = Options {
            max_limit: Some(max),
            ..Options::default()
        };
        let trial = Trial::new(&[("contacts", size), ("pools", 3)], options);
        let ended = trial.run("plan contacts pools");
        let rows = rows(ended.quiet());
        let [records, all, pages] = [size, size + 3, pages].map(|number| number.to_string());
        assert_eq!(rows[1][..3], ["contacts", &records, &pages]);
        assert_eq!((rows.len(), rows[3][1]), (4, &*all));
        trial.run("export contacts --out - --receipt r");
        assert_eq!(trial.receipt("r")["pages"].to_string(), pages, "{size}");
    }
    // The sum of the largest totals must not overflow.
    let trial = trial(&[]);
    let pagination = json!({"total": i64::MAX, "limit": 1, "offset": 0, "hasMore": false});
    let page = json!({"contacts": [{"id": "a"}], "pagination": pagination});
    trial.fault(
        json!({"method": "GET"}),
        json!({"status": 200, "body": page}),
    );
    let ended = trial.run("plan contacts vacancies pools");
    let sum = ended.quiet().lines().last().unwrap_or_default();
    assert!(sum.contains(&u64::MAX.to_string()), "{sum}");
}

#[test]
fn a_schema_can_be_printed_edited_and_used() {
    let trial = trial(&[("contacts", 120)]);
    let json = trial.run("schema contacts --columns json");
    assert!(!json.quiet().contains("struct") && !json.stdout.contains("timestamp"));
    let mut schema = trial.run("schema contacts").json();
    let about = (&schema["resource"], &schema["sampled_records"]);
    assert_eq!(about, (&"contacts".into(), &120.into()));
    let fields = schema["fields"].as_array_mut().unwrap();
    let location = fields.iter().find(|field| field["name"] == "location");
    assert_eq!(location.unwrap()["fields"][0]["name"], "city");
    fields.retain(|field| field["name"] != "tags");
    trial.write("s.json", &schema.to_string());

    let given = "export contacts --out out.csv --schema s.json --receipt r.json";
    let differs = "differ from their columns: /tags is new in 120 places";
    trial.run(given).says(0, differs);
    let header = trial.read("out.csv");
    assert!(!header.lines().next().unwrap().contains("tags"));
    let new = &trial.receipt("r.json")["schema"]["new_fields"]["/tags"];
    let found = (&new["count"], &new["example"]["found"]);
    assert_eq!(found, (&120.into(), &"array".into()));
    trial.run(&format!("{given} --on-new-field freeze")).quiet();
    std::fs::remove_file(trial.path("out.csv")).unwrap();
    let failed = trial.run(&format!("{given} --on-new-field fail"));
    failed.says(
        code(ErrorKind::Schema),
        ": /tags: the schema has no such field",
    );
    assert_eq!(trial.names(), ["r.json", "s.json"]);
}

#[test]
fn a_file_matches_until_a_record_is_altered() {
    let trial = trial(&[("contacts", 25), ("pools", 10)]);
    trial
        .run("export contacts pools --out lists --receipt r.json")
        .quiet();
    for (list, count) in [("contacts", 25), ("pools", 10)] {
        let file = format!("lists/{list}.jsonl");
        let verify = format!("verify {file} r.json");
        let report = trial.run(&verify).json();
        let found = (&report["matches"], &report["written"]["records"]);
        assert_eq!(found, (&true.into(), &count.into()));
        trial.write(&file, &trial.read(&file).replacen("\"id\"", "\"iD\"", 1));
        let ended = trial.run(&verify);
        let said = ended.says(36, "does not match its receipt: its BLAKE3 is");
        assert_eq!(said.lines().count(), 1);
        let report: Value = serde_json::from_str(&ended.stdout).unwrap();
        assert_eq!(report["matches"], false);
    }
    std::fs::rename(trial.path("lists/pools.jsonl"), trial.path("others.jsonl")).unwrap();
    let other = trial.run("verify others.jsonl r.json");
    other.error(2, "only of contacts.jsonl, pools.jsonl");
    for format in ["jsonl", "csv", "parquet", "arrow"] {
        let mut export = trial.command("export pools --out - --receipt r.json --format");
        let piped = export.arg(format).output().unwrap();
        std::fs::write(trial.path("piped"), piped.stdout).unwrap();
        let written = &trial.run("verify piped r.json").json()["written"];
        let of = (&written["file"], &written["format"]);
        assert_eq!(of, (&Value::Null, &format.into()));
    }
}

#[test]
fn the_first_command_of_a_newcomer_works() {
    let trial = trial(&[]);
    let mut command = program("export contacts --sandbox --out contacts.jsonl");
    let ended = run(command.current_dir(trial.directory.path()));
    assert_eq!(
        (ended.quiet(), trial.names()),
        ("", vec!["contacts.jsonl".into()])
    );
    let text = trial.read("contacts.jsonl");
    let id = |line| serde_json::from_str::<Value>(line).unwrap()["id"].to_string();
    let ids: HashSet<String> = text.lines().map(id).collect();
    assert!(ids.len() > 1000 && ids.len() == text.lines().count());
}

#[test]
fn nine_lists_in_one_run_share_one_token() {
    let trial = trial(&[]);
    let lists = ListName::ALL.map(ListName::name).join(" ");
    trial
        .run(&format!("export {lists} --out new/lists --receipt r.json"))
        .quiet();
    assert_eq!(trial.sandbox.stats().token_posts, 1);
    let receipts = trial.json("r.json");
    for (resource, receipt) in ListName::ALL.into_iter().zip(receipts.as_array().unwrap()) {
        let text = trial.read(&format!("new/lists/{resource}.jsonl"));
        assert_eq!(receipt["resource"], resource.name());
        assert_eq!(receipt["completeness"], "proven");
        assert_eq!(receipt["records"], text.lines().count());
        assert_eq!(receipt["total_last"], receipt["records"]);
    }
    assert_eq!(names(&trial.path("new/lists")).len(), ListName::ALL.len());
}

#[test]
fn a_pipe_gets_the_receipt_and_remains_a_pipe() {
    let trial = trial(&[("pools", 5)]);
    let mut pipe = trial.stalled_pipe("pipe");
    trial
        .run("export pools --out new.jsonl --receipt pipe")
        .quiet();
    assert_eq!(trial.names(), ["new.jsonl", "pipe"]);
    assert!(!trial.path("pipe").metadata().unwrap().is_file());
    let mut receipt = [0; 4096];
    let length = pipe.read(&mut receipt).unwrap();
    let receipts: Value = serde_json::from_slice(&receipt[..length]).unwrap();
    assert_eq!(receipts[0]["records"], 5);
}

/// Compares the JSON schema of all results with docs/results.schema.json. TALENTDATA_WRITE=1 writes that file.
#[test]
fn the_published_schema_is_that_of_the_results() {
    let mut generator = schemars::generate::SchemaSettings::draft2020_12().into_generator();
    let scan = generator.subschema_for::<talentdata_core::scan::Receipt>();
    generator.subschema_for::<talentdata_core::Plan>();
    generator.subschema_for::<talentdata_core::types::BudgetState>();
    generator.subschema_for::<talentdata_columns::verify::Verification>();
    let sync = generator.subschema_for::<talentdata_mirror::SyncReceipt>();
    let rows = generator.subschema_for::<talentdata_mirror::RowsReceipt>();
    let mut error = schemars::schema_for!(talentdata_core::types::ErrorReport);
    error.remove("$schema");
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Results of talentdata: receipts (also the progress of a job), plans, outcomes of syncs and checks, budgets",
        "description": "The form of the files that the command line writes (--receipt): an array of receipts, also for one list.",
        "type": "array",
        "items": {
            "anyOf": [scan, sync, rows],
            "required": ["error"],
            "properties": {"error": {"anyOf": [error, {"type": "null"}],
                "description": "The error that ended the work on the list; null while it runs and after success."}},
        },
        "$defs": generator.take_definitions(true),
    });
    let text = format!("{schema:#}\n");
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/results.schema.json"
    );
    if std::env::var_os("TALENTDATA_WRITE").is_some() {
        std::fs::write(path, &text).unwrap();
    }
    let published = std::fs::read_to_string(path).unwrap_or_default();
    assert_eq!(published, text, "{path}");
}
