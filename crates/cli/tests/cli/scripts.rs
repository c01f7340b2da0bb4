//! The output that scripts depend on: kinds of errors, receipts of failures, the last line, and the same form for one
//! list and for many.

use crate::support::{Ended, Trial, code, program, run, trial};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::process::Stdio;
use talentdata_core::ErrorKind;
use talentdata_sandbox::{Change, Options};

#[test]
fn busy_files_full_disks_and_wrong_paths_have_their_own_exit_codes() {
    let trial = trial(&[("contacts", 2_000), ("pools", 5)]);
    let lock = File::create(trial.path("m.db.lock")).unwrap();
    lock.lock().unwrap();
    let sync = trial.run("sync pools --to m.db --receipt r.json");
    sync.error(code(ErrorKind::Busy), "another sync is writing");
    let error = &trial.receipt("r.json")["error"];
    assert_eq!(
        (&error["kind"], &error["retryable"]),
        (&json!("Busy"), &json!(true))
    );
    drop(lock);
    fs::create_dir(trial.path("folder")).unwrap();
    let (full, path) = (code(ErrorKind::StorageFull), code(ErrorKind::Path));
    trial
        .run("export contacts --out /dev/full")
        .error(full, "No space left");
    for format in ["jsonl", "csv", "parquet", "arrow"] {
        let words = format!("export contacts --out - --format {format}");
        let mut command = trial.command(&words);
        let to_full = command.stdout(File::options().write(true).open("/dev/full").unwrap());
        run(to_full).says(full, "No space left");
    }
    let io = code(ErrorKind::Io);
    for words in [
        "--help",
        "--version",
        "help Auth",
        "page pools",
        "export pools --out -",
    ] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        run(trial.command(words).stdout(full)).says(
            code(ErrorKind::StorageFull),
            "standard output: No space left on device",
        );
        // Not open for writing, and closed.
        let unwritable = File::open("/dev/null").unwrap();
        run(trial.command(words).stdout(unwritable))
            .says(io, "standard output: it is closed, or not open for writing");
        closed_stdout(&trial, words)
            .says(io, "standard output: it is closed, or not open for writing");
    }
    closed_stdout(&trial, "export pools --out /dev/stdout").says(io, "it is closed");
    for words in [
        "sync pools --to nowhere/m.db",
        "export pools --out nowhere/p.csv",
        "export pools contacts --out m.db.lock/lists",
        "export pools --out folder",
        "changes pools --from nowhere.db",
        "export pools --schema nowhere.json --out p.csv",
        "check --body nowhere.json",
    ] {
        trial.run(words).says(path, "");
    }
    let port = trial.sandbox.base_url().rsplit_once(':').unwrap().1;
    let port = port.trim_end_matches('/');
    let taken = run(&mut program(&format!("sandbox --port {port}")));
    taken.error(code(ErrorKind::Busy), "sandbox could not be started");
}

/// Runs the program with standard output closed.
fn closed_stdout(trial: &Trial, words: &str) -> Ended {
    let program = trial.command(words);
    let mut command = std::process::Command::new("sh");
    command
        .args(["-c", "exec \"$@\" >&-", "sh"])
        .arg(program.get_program())
        .args(program.get_args());
    command
        .current_dir(trial.directory.path())
        .stderr(Stdio::piped())
        .stdin(Stdio::null());
    command.env_clear().envs(
        program
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    run(&mut command)
}

/// Returns the error in the receipt of each list.
fn errors(trial: &Trial) -> Vec<Value> {
    let receipts = trial.json("r.json");
    let receipts = receipts.as_array().unwrap().iter();
    receipts.map(|receipt| receipt["error"].clone()).collect()
}

#[test]
fn the_receipt_of_a_failure_has_its_kind_code_and_reason() {
    let trial = trial(&[("contacts", 300), ("pools", 5)]);
    for work in [
        "export contacts pools --out lists",
        "sync contacts pools --to m.db",
    ] {
        let words = format!("{work} --receipt r.json");
        trial.fault(
            json!({"path": "/v1/pools"}),
            json!({"status": 403, "body": "no"}),
        );
        let ended = trial.run(&words);
        ended.error(code(ErrorKind::Forbidden), "pools: ");
        let [contacts, pools] = errors(&trial).try_into().unwrap();
        assert_eq!(contacts, Value::Null);
        assert_eq!(
            (&pools["kind"], &pools["exit_code"]),
            (&json!("Forbidden"), &json!(23))
        );
        assert_eq!(
            (&pools["retryable"], &pools["retry_after"]),
            (&json!(false), &Value::Null)
        );
        let reason = pools["reason"].as_str().unwrap();
        assert!(ended.stderr.contains(reason), "{reason}: {ended:?}");
        trial.sandbox.set_faults(r#"{"rules":[]}"#).unwrap();
        trial.run(&words).quiet();
        assert_eq!(errors(&trial), [Value::Null, Value::Null]);
    }
    let missing = "changes contacts vacancies --from m.db --out lists --receipt r.json";
    let ended = run(program(missing).current_dir(trial.directory.path()));
    ended.says(2, "error: vacancies: |does not have vacancies");
    let [contacts, vacancies] = errors(&trial).try_into().unwrap();
    assert_eq!(
        (contacts, &vacancies["kind"]),
        (Value::Null, &json!("InvalidArgument"))
    );
}

#[test]
fn an_unproven_list_has_an_error_in_its_receipt() {
    let options = Options {
        max_limit: Some(1),
        ..Options::default()
    };
    let trial = Trial::new(&[("contacts", 3)], options);
    trial
        .run("export contacts --out c.jsonl --receipt r.json")
        .says(31, "not proven");
    let [error] = errors(&trial).try_into().unwrap();
    assert_eq!(
        (&error["kind"], &error["exit_code"]),
        (&json!("Incomplete"), &json!(31))
    );
}

#[test]
fn a_success_is_one_line_for_each_list_even_without_a_terminal() {
    let trial = trial(&[("contacts", 300), ("pools", 5)]);
    let one = trial.run("export contacts --out c.csv");
    assert_eq!((one.quiet(), one.summary.lines().count()), ("", 1));
    let words = "contacts: 300 records in |completeness proven (counted): c.csv";
    assert!(
        words.split('|').all(|word| one.summary.contains(word)),
        "{one:?}"
    );
    let synced = trial.run("sync contacts pools --to m.db");
    let lines: Vec<&str> = synced.summary.lines().collect();
    assert!(
        lines[0].starts_with("contacts: sync 1: 300 records, 300 inserted"),
        "{lines:?}"
    );
    assert!(
        lines[1].starts_with("pools: sync 1: 5 records"),
        "{lines:?}"
    );
}

#[test]
fn a_sync_that_fails_for_one_list_reports_the_state_of_each() {
    let trial = trial(&[("contacts", 300), ("pools", 5)]);
    let sync = "sync pools contacts --to m.db";
    trial.run(sync).quiet();
    trial.fault(json!({"path": "/v1/contacts"}), json!({"status": 404}));
    let ended = trial.run(sync);
    ended.error(
        code(ErrorKind::NotFound),
        "contacts: |the mirror keeps contacts as it was after sync 1",
    );
    assert!(ended.summary.starts_with("pools: sync 2: "), "{ended:?}");
}

#[test]
fn receipts_are_an_array_for_one_list_too() {
    let trial = trial(&[("contacts", 30)]);
    trial
        .run("export contacts --out c.csv --receipt e.json")
        .quiet();
    trial
        .run("sync contacts --to m.db --receipt s.json")
        .quiet();
    trial
        .run("changes contacts --from m.db --receipt c.json")
        .says(0, "bookmark");
    for name in ["e.json", "s.json", "c.json"] {
        assert_eq!(trial.json(name).as_array().unwrap().len(), 1, "{name}");
    }
    trial.run("verify c.csv e.json").json();
    // Earlier versions wrote an object.
    let object = trial.receipt("e.json").to_string();
    trial.write("e.json", &object);
    trial.run("verify c.csv e.json").json();
}

#[test]
fn a_plan_of_all_lists_has_figures_for_disk_and_memory() {
    let trial = trial(&[("contacts", 2_000), ("pools", 5)]);
    let plans = trial.run("plan all --json").json();
    let plans = plans.as_array().unwrap();
    assert_eq!(plans.len(), 9);
    trial.run("export contacts --out c.jsonl").quiet();
    let size = fs::metadata(trial.path("c.jsonl")).unwrap().len() as f64;
    let number = |name: &str| plans[0][name].as_f64().unwrap();
    assert_eq!(plans[0]["resource"], "contacts");
    assert!(
        (number("bytes") / size - 1.0).abs() < 0.1,
        "{} for {size}",
        number("bytes")
    );
    assert!(number("disk_bytes") > size * 2.0 && number("disk_bytes") < size * 3.0);
    assert!(number("memory_bytes") > 1e7 && number("memory_bytes") < 1e8);
    let one = trial.run("plan contacts --json").json();
    assert_eq!(one.as_array().unwrap().len(), 1);
    let table = trial.run("plan all");
    assert!(
        table
            .quiet()
            .lines()
            .all(|line| line.contains("MB") || line.contains("MEMORY"))
    );
}

#[test]
fn every_spelling_of_a_list_is_taken() {
    let trial = trial(&[("ja_skills", 30)]);
    for name in [
        "ja-skills",
        "ja_skills",
        "ja/skills",
        "/v1/ja/skills",
        "JA_SKILLS",
        "jaSkills",
    ] {
        trial.run(&format!("export {name} --out x.csv")).quiet();
    }
    trial.run("export ja/skills ja-tasks --out lists").quiet();
    assert_eq!(
        crate::support::names(&trial.path("lists")),
        ["ja_skills.jsonl", "ja_tasks.jsonl"]
    );
}

#[test]
fn changes_of_several_lists_take_a_bookmark_for_each() {
    let trial = trial(&[("contacts", 30), ("pools", 5)]);
    trial.run("sync all --to m.db --receipt r.json").quiet();
    let receipts = trial.json("r.json");
    assert_eq!(receipts.as_array().unwrap().len(), 9);
    let bookmark = |list: &str| {
        let mut all = receipts.as_array().unwrap().iter();
        let of = all
            .find(|receipt| receipt["scan"]["resource"] == list)
            .unwrap();
        of["bookmark"].as_str().unwrap()
    };
    let since = format!(
        "--since contacts={} --since pools={}",
        bookmark("contacts"),
        bookmark("pools")
    );
    trial
        .sandbox
        .change("pools", Change::DeleteFirst(1))
        .unwrap();
    trial.run("sync pools contacts --to m.db").quiet();
    let words = format!("changes contacts pools --from m.db --out since {since}");
    trial
        .run(&words)
        .says(0, "contacts: bookmark |pools: bookmark ");
    let lines = |path: &str| trial.read(path).lines().count();
    assert_eq!(
        [lines("since/contacts.jsonl"), lines("since/pools.jsonl")],
        [0, 1]
    );
    trial
        .run("changes all --from m.db --out all")
        .says(0, "taxonomy-roles: bookmark");
    assert_eq!(
        [lines("all/contacts.jsonl"), lines("all/pools.jsonl")],
        [30, 6]
    );
    // A bookmark of another list is refused before it does harm.
    let wrong = format!(
        "changes all --from m.db --out all --since {}",
        bookmark("pools")
    );
    trial
        .run(&wrong)
        .says(code(ErrorKind::Mismatch), "contacts: since: the bookmark");
}

#[test]
fn unavailable_changes_are_distinguished_from_a_typo() {
    let trial = trial(&[("contacts", 30), ("pools", 5)]);
    for _ in 0..4 {
        trial.run("sync contacts --to m.db --keep 0s").quiet();
    }
    let changes = |since: &str| trial.run(&format!("changes contacts --from m.db --since {since}"));
    let reload = "load the list as of its last sync";
    let old = changes("1");
    old.error(
        code(ErrorKind::Mismatch),
        &format!("after sync 1 are kept|after sync 3|{reload}"),
    );
    changes("9").error(
        2,
        "there is no sync 9 of contacts yet|the last one is sync 4|give the bookmark",
    );
    changes("9c41d0-51d2a7-5f2a03b8c6e1:2").error(36, "another mirror");
    let at = |sync: &str| {
        trial.run(&format!(
            "export contacts --from m.db --out - --as-of {sync}"
        ))
    };
    at("1").error(
        2,
        "is not kept|the earliest state that can be read is that of sync 3 (",
    );
    at("9").error(
        2,
        "there is no such sync of contacts yet|the last one is sync 4 (|without as_of",
    );
}

/// Runs a sync through another address of the sandbox.
fn elsewhere(trial: &Trial, words: &str) -> Ended {
    let other = trial.sandbox.base_url().replace("127.0.0.1", "localhost");
    let mut command = trial.command(words);
    run(command.env("TALENTDATA_BASE_URL", other))
}

#[test]
fn a_mirror_moves_to_another_address_with_same_service() {
    let trial = trial(&[("contacts", 30), ("pools", 5)]);
    let sync = "sync contacts pools --to m.db --receipt r.json";
    trial.run(sync).quiet();
    let bookmark = trial.receipt("r.json")["bookmark"]
        .as_str()
        .unwrap()
        .to_owned();
    trial
        .sandbox
        .change("contacts", Change::DeleteFirst(1))
        .unwrap();
    let refused = elsewhere(&trial, sync);
    refused.error(
        code(ErrorKind::Mismatch),
        "base_url: |http://127.0.0.1:|http://localhost:|set --same-service",
    );
    // A sync that fails leaves the old address.
    trial.fault(json!({"path": "/v1/contacts"}), json!({"status": 404}));
    elsewhere(&trial, "sync contacts --to m.db --same-service").says(24, "");
    trial.sandbox.set_faults(r#"{"rules":[]}"#).unwrap();
    trial.run("sync pools --to m.db").quiet();
    elsewhere(&trial, "sync contacts --to m.db --same-service").quiet();
    // All lists moved, and later syncs need no flag.
    elsewhere(&trial, sync).quiet();
    trial
        .run(sync)
        .says(code(ErrorKind::Mismatch), "http://127.0.0.1:");
    let changes = trial.run(&format!("changes contacts --from m.db --since {bookmark}"));
    assert_eq!(
        changes.stdout.matches("\"op\":\"delete\"").count(),
        1,
        "{changes:?}"
    );
    trial.run("verify m.db").json();
    // The mirror moves back.
    trial.run("sync pools --to m.db --same-service").quiet();
    trial.run(sync).quiet();
}

#[test]
fn a_mirror_does_not_move_to_another_client() {
    let trial = trial(&[("pools", 5)]);
    trial.run("sync pools --to m.db").quiet();
    let mut other = trial.command("sync pools --to m.db --same-service");
    let ended = run(other.env("TALENTDATA_CLIENT_ID", "somebody-else"));
    ended.error(
        code(ErrorKind::Mismatch),
        "client_id: |another client may see other records",
    );
}

#[test]
fn all_missing_settings_are_named_at_once_and_the_sandbox_is_offered() {
    for (words, known, missing) in [
        (
            "page contacts",
            &[][..],
            "base_url, client_id, client_secret are not set",
        ),
        (
            "export contacts --out -",
            &["BASE_URL"][..],
            "client_id, client_secret are not set",
        ),
        (
            "sync pools --to m.db",
            &["BASE_URL", "CLIENT_ID"][..],
            "client_secret is not set",
        ),
    ] {
        let mut command = program(words);
        command.stdin(Stdio::null());
        for name in known {
            command.env(format!("TALENTDATA_{name}"), "http://127.0.0.1:1");
        }
        let ended = run(&mut command);
        let said = ended.error(2, missing);
        assert!(ended.stderr.contains("add --sandbox (Config)"), "{said}");
    }
}
