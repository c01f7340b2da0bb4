//! `sync`, `changes`, `history`, `forget`, `export --from` and `verify FILE.db`: mirrors as users use them.

use crate::support::{Ended, Signal, Trial, code, program, run, send, trial};
use serde_json::{Value, json};
use std::fs;
use talentdata_core::ErrorKind;
use talentdata_sandbox::{Change, ListOrder, Options};

const SYNC: &str = "sync contacts pools --to m.db";

/// Runs a command that needs no service.
fn alone(trial: &Trial, words: &str) -> Ended {
    run(program(words).current_dir(trial.directory.path()))
}

/// Returns the output of a command that reads a mirror, and the bookmark in its last line on standard error.
fn noted(ended: &Ended) -> (&str, &str) {
    assert_eq!(
        (ended.code, ended.stderr.lines().count()),
        (Some(0), 1),
        "{ended:?}"
    );
    let (_, bookmark) = ended.stderr.trim_end().split_once(": bookmark ").unwrap();
    (&ended.stdout, bookmark)
}

#[test]
fn a_mirror_reports_changes_and_earlier_states() {
    let trial = trial(&[("contacts", 250), ("pools", 20)]);
    let sandbox = &trial.sandbox;
    assert_eq!(trial.run(&format!("{SYNC} --receipt r.json")).quiet(), "");
    let receipts = trial.json("r.json");
    assert_eq!(receipts[0]["generation"], 1);
    assert_eq!(receipts[0]["changes"]["insert"], 250);
    // Records in the overlap of pages, and in pages that are read again, are not duplicates.
    assert_eq!(receipts[0]["scan"]["duplicates_dropped"], 0);
    assert_eq!(receipts[1]["scan"]["completeness"], "proven");
    trial.run("export contacts --out archive.jsonl").quiet();
    sandbox.change("contacts", Change::DeleteFirst(2)).unwrap();
    sandbox.change("contacts", Change::Update(3)).unwrap();
    trial.run(SYNC).quiet();

    let alone = |words: &str| alone(&trial, words);
    let changes = alone("changes contacts --since 1 --from m.db");
    let (lines, last) = noted(&changes);
    let lines = lines.lines();
    let lines = lines.map(|line| serde_json::from_str::<Value>(line).unwrap());
    let deleted: Vec<Value> = lines.filter(|line| line["op"] == "delete").collect();
    assert_eq!(deleted.len(), 2);
    assert_eq!(deleted[0]["key"], deleted[0]["record"]["id"]);
    assert!(deleted[0]["last_seen"].as_str() < deleted[0]["seen"].as_str());
    for format in ["jsonl", "csv", "parquet", "arrow"] {
        let was = format!("--as-of 1 --out was.{format} --receipt r.json");
        let was = alone(&format!("export contacts --from m.db {was}"));
        let (_, first) = noted(&was);
        assert_eq!(trial.receipt("r.json")["bookmark"], first);
        assert_eq!(receipts[0]["bookmark"], first);
        alone(&format!("verify was.{format} r.json")).json();
        let changes =
            format!("changes contacts --from m.db --out changes.{format} --receipt c.json");
        let changes = alone(&changes);
        assert_eq!(trial.receipt("c.json")["bookmark"], noted(&changes).1);
        assert_eq!(trial.receipt("c.json")["generation"], 2);
        alone(&format!("verify changes.{format} c.json")).json();
        let written = trial.path(&format!("changes.{format}"));
        assert!(fs::metadata(written).unwrap().len() > 250);
    }
    assert!(trial.read("was.jsonl") == trial.read("archive.jsonl"));
    let now = alone("export contacts --out - --from m.db");
    assert_eq!(noted(&now).0.lines().count(), 248);
    // The bookmark is also printed if nothing changed.
    let nothing = alone(&format!("changes contacts --from m.db --since {last}"));
    assert_eq!(noted(&nothing), ("", last));
    let history = alone("history contacts --from m.db").quiet().to_owned();
    let rows: Vec<&str> = history.lines().collect();
    assert!(
        rows[0].starts_with("SYNC  ENDED ") && rows.len() == 3,
        "{history}"
    );
    let second: Vec<&str> = rows[2].split_whitespace().collect();
    assert_eq!(second[..1], ["2"]);
    // A record may be updated more than once.
    assert_eq!(second[2..4], ["248", "0"]);
    assert_eq!(second[5..10], ["2", "0", "0", "-", "proven"]);
    let lines = alone("history contacts --from m.db --json")
        .quiet()
        .to_owned();
    let last_sync: Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
    assert_eq!(
        (&last_sync["deletes"], &last_sync["bookmark"]),
        (&2.into(), &last.into())
    );
    alone("changes contacts --since yesterday --from m.db --out since.jsonl").says(0, last);
    let since = trial.read("since.jsonl").lines().count();
    let updates: usize = second[4].parse().unwrap();
    assert_eq!(since, 252 + updates);
    alone("verify m.db").json();
    let other = "sync contacts --to m.db --sandbox";
    for (code, words, word) in [
        (
            2,
            "changes contacts --since 3 --from m.db",
            "since: there is no sync 3",
        ),
        (2, "changes vacancies --from m.db", "vacancies"),
        (
            2,
            "export contacts --as-of 3 --from m.db --out -",
            "as_of: there is no such sync",
        ),
        (36, other, "sync into another file"),
    ] {
        alone(words).error(code, word);
    }
    alone("forget contacts --from m.db").quiet();
    alone("changes contacts --from m.db").error(2, "does not have contacts");
    let folder = trial.run("sync pools --to .");
    folder.error(39, "a mirror is one file");
    // Names that SQLite interprets as something other than files.
    for name in [":memory:", "file:x?mode=memory"] {
        trial.run(&format!("sync pools --to {name}")).quiet();
        alone(&format!("verify {name}")).json();
    }
}

#[test]
fn single_records_are_forgotten() {
    let trial = trial(&[("contacts", 20)]);
    trial.run("sync contacts --to m.db").quiet();
    let alone = |words: &str| alone(&trial, words);
    let ids: Vec<String> = noted(&alone("export contacts --from m.db --out -"))
        .0
        .lines()
        .map(|line| {
            serde_json::from_str::<Value>(line).unwrap()["id"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    let forget = "forget contacts --from m.db";
    alone(&format!("{forget} --record {} --record nobody", ids[0]))
        .error(2, "1 of the 2 ids|nobody|nothing was erased");
    alone(&format!("{forget} --unannounced")).error(2, "--unannounced|--record");
    trial.write("none.txt", "\n");
    alone(&format!("{forget} --records-from none.txt")).error(2, "no ids were given");
    fs::write(trial.directory.path().join("latin.txt"), b"c-1\nc-\xe9\n").unwrap();
    alone(&format!("{forget} --records-from latin.txt"))
        .error(2, "line 2 of latin.txt is not UTF-8");
    alone(&format!("{forget} --records-from absent.txt"))
        .error(code(ErrorKind::Path), "--records-from|absent.txt");
    trial.write("ids.txt", &format!("\u{feff}{}\r\n\n {}\n", ids[1], ids[2]));
    let erased = alone(&format!(
        "{forget} --record {} --records-from ids.txt",
        ids[0]
    ));
    erased.says(
        0,
        "contacts: erased 3 records with 3 versions and 3 changes, bookmark ",
    );
    let changes = alone("changes contacts --from m.db --since 1");
    let (lines, bookmark) = noted(&changes);
    assert_eq!(lines.matches("\"op\":\"erased\"").count(), 3);
    assert!(erased.stderr.trim_end().ends_with(bookmark));
    alone(&format!("{forget} --acknowledged {bookmark}")).quiet();
    assert_eq!(
        noted(&alone("changes contacts --from m.db --since 1")).0,
        ""
    );
    alone("export contacts --from m.db --as-of 1 --out was.jsonl --receipt r.json");
    assert_eq!(trial.receipt("r.json")["erased_since"], 3);
    assert_eq!(trial.read("was.jsonl").lines().count(), 17);
    alone("verify m.db").json();
}

#[test]
fn a_type_that_changes_is_a_warning_or_ends_the_command() {
    let trial = trial(&[]);
    let serve = |score: Value| {
        let pagination = json!({"total": 1, "limit": 100, "offset": 0, "hasMore": false});
        let page = json!({"contacts": [{"id": "c-1", "score": score}], "pagination": pagination});
        let matched = json!({"path": "/v1/contacts"});
        trial.fault(matched, json!({"status": 200, "body": page}));
    };
    let sync = "sync contacts --to m.db --receipt r.json";
    serve(json!(1));
    trial.run(sync).quiet();
    let schema = trial.run("schema contacts").stdout.replace("int64", "json");
    trial.write("s.json", &schema);
    serve(json!("secret"));
    let schema_error = code(ErrorKind::Schema);
    let failed = trial.run(&format!("{sync} --on-new-field fail"));
    failed.error(
        schema_error,
        "record 0 of the list (id c-1): /score: |string|int64|keeps contacts as it was after sync 1",
    );
    let told = "warning: contacts: the records differ from their columns: /score has the type int64, but string in 1 \
                values, first in record 0 (id c-1)\n";
    assert_eq!(trial.run(sync).says(0, "warning"), told);
    let found = &trial.receipt("r.json")["scan"]["schema"]["other_types"]["/score"];
    assert_eq!(
        (&found["column"], &found["found"]["string"]),
        (&"int64".into(), &1.into())
    );
    assert!(!trial.read("r.json").contains("secret"));
    let changes = "changes contacts --from m.db --since 1 --out c.csv --receipt c.json";
    let ended = alone(&trial, changes);
    let stderr = ended.says(0, "contacts: bookmark ");
    assert!(stderr.starts_with(told) && stderr.lines().count() == 2);
    let found = &trial.receipt("c.json")["schema"]["other_types"]["/score"];
    assert_eq!(found["example"]["id"], "c-1");
    alone(&trial, "export contacts --from m.db --out e.csv").says(0, told);
    for words in [changes, "export contacts --from m.db --out e.csv"] {
        let silent = alone(&trial, &format!("{words} --on-new-field freeze"));
        assert!(
            silent
                .says(0, "bookmark")
                .starts_with("contacts: bookmark ")
        );
        let failed = alone(&trial, &format!("{words} --on-new-field fail"));
        failed.error(schema_error, "record 0 of the list (id c-1): /score: ");
    }
    alone(
        &trial,
        &format!("{changes} --on-new-field fail --schema s.json"),
    )
    .says(0, "bookmark");
    let last = trial.read("c.csv").lines().last().map(str::to_owned);
    assert!(
        last.unwrap().ends_with(",\"\"\"secret\"\"\","),
        "{}",
        trial.read("c.csv")
    );
}

#[test]
fn a_suspicious_number_of_deletes_is_withheld_until_accepted() {
    let trial = trial(&[("contacts", 250), ("pools", 5)]);
    trial.run(SYNC).quiet();
    trial
        .sandbox
        .change("contacts", Change::DeleteFirst(100))
        .unwrap();
    let withheld = trial.run(&format!("{SYNC} --confirm"));
    withheld.says(31, "100 of the 250 records|set --max-deletes to 100");
    trial.run(&format!("{SYNC} --max-deletes 40%")).quiet();
    let changes = alone(&trial, "changes contacts --from m.db");
    assert_eq!(noted(&changes).0.matches("\"op\":\"delete\"").count(), 100);
}

#[test]
fn ctrl_c_does_not_change_the_mirror() {
    let trial = trial(&[("contacts", 1_000_000_000), ("pools", 5)]);
    let child = trial.start_and_wait("sync contacts --to m.db", 30);
    send(&child, Signal::INT);
    Ended::wait(child).error(130, "the mirror has no contacts yet");
    assert!(!trial.path("m.db").exists(), "a mirror without lists");
    trial.run("sync pools --to m.db").quiet();
    let before = fs::read(trial.path("m.db")).unwrap();
    let child = trial.start_and_wait("sync contacts --to m.db", 30);
    trial.run("sync pools --to m.db").says(38, "another sync");
    send(&child, Signal::INT);
    Ended::wait(child).error(130, "the mirror has no contacts yet");
    assert_eq!(fs::read(trial.path("m.db")).unwrap(), before);
}

#[test]
fn an_export_of_a_mirror_that_never_had_the_whole_list_says_so() {
    let order = ListOrder::Random;
    let options = Options {
        order,
        ..Options::default()
    };
    let trial = Trial::new(&[("contacts", 600)], options);
    let incomplete = code(ErrorKind::Incomplete);
    trial
        .run("sync contacts --to m.db")
        .says(incomplete, "not proven");
    let export = "export contacts --from m.db --out part.csv --receipt r.json";
    let why = "error: no sync of this mirror is proven to have read the whole list";
    alone(&trial, export).says(incomplete, why);
    assert!(trial.path("part.csv").exists());
    assert_eq!(trial.json("r.json")[0]["error"]["kind"], "Incomplete");
}

#[test]
fn several_lists_need_a_directory_or_a_format() {
    let trial = trial(&[("contacts", 3), ("pools", 2)]);
    let wrong = "export contacts pools --out lists.parquet";
    let why = "error: --out: with several lists, PATH is a directory";
    trial.run(wrong).says(code(ErrorKind::InvalidArgument), why);
    trial
        .run("export contacts pools --out lists --format parquet")
        .says(0, "");
    assert!(trial.path("lists/pools.parquet").exists());
}
