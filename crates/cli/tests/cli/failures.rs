//! Failures: what is said, the exit code, and what is left behind.

use crate::support::{Ended, against, fault, names, program, records, run, sandbox};
use serde_json::json;
use talentdata_core::ErrorKind;
use talentdata_core::types::Resource;
use talentdata_sandbox::Options;

fn code(kind: ErrorKind) -> i32 {
    kind.exit_code().into()
}

#[test]
fn wrong_answers_are_told_apart_and_leave_nothing() {
    let page = |members: &str| {
        format!(r#"{{{members},"pagination":{{"total":1,"limit":1,"offset":0,"hasMore":false}}}}"#)
    };
    let json_type = json!({"content-type": "application/json"});
    let html =
        json!({"headers": {"content-type": "text/html"}, "body": "<html>Please log in</html>"});
    for (reply, kind, word) in [
        (html, ErrorKind::Decode, "HTML"),
        (json!({"body": ""}), ErrorKind::Decode, "empty"),
        (
            json!({"headers": json_type, "body": page(r#""success":false,"vacancies":[]"#)}),
            ErrorKind::Api,
            "success: false",
        ),
        (
            json!({"body": page(r#""one":[{"id":1}],"two":[{"id":2}]"#)}),
            ErrorKind::Schema,
            "one, two",
        ),
        (
            json!({"body": page(r#""names":["a"]"#)}),
            ErrorKind::Schema,
            "names",
        ),
        (
            json!({"body": r#"{"vacancies":[{"id":"1"#}),
            ErrorKind::Decode,
            "JSON",
        ),
        (
            json!({"status": 404, "body": "{}"}),
            ErrorKind::NotFound,
            "404",
        ),
        (
            json!({"status": 302, "headers": {"location": "https://elsewhere.example"}}),
            ErrorKind::Redirect,
            "redirect",
        ),
    ] {
        let sandbox = sandbox(records(&[("vacancies", 300)]));
        fault(&sandbox, "/v1/vacancies", reply.clone());
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("v.jsonl");
        let verb = ["export", "vacancies", "--out", path.to_str().unwrap()];
        let ended = run(&mut against(&sandbox, &verb));
        let said = ended.error(code(kind));
        assert!(
            said.contains(word) && said.contains("listVacancies"),
            "{reply}: {said}"
        );
        assert_eq!(names(directory.path()), [""; 0], "{reply}");
    }
}

#[test]
fn verbs_that_ask_no_service_take_no_connection() {
    for (verb, option) in [
        (&["sandbox"][..], "--base-url=http://127.0.0.1:1"),
        (&["sandbox"], "--sandbox"),
        (&["resources"], "--profile=staging"),
        (&["resources"], "--share=0.5"),
        (&["completions", "bash"], "--proxy=none"),
    ] {
        let ended = run(&mut program(&[verb, &[option]].concat()));
        let name = option.split('=').next().unwrap();
        let refused = ended.stderr.contains(&format!("{name} has no effect here"));
        assert!(ended.code == Some(2) && refused, "{ended:?}");
    }
}

#[test]
fn a_failure_in_the_middle_leaves_an_older_file_as_it_was() {
    let sandbox = sandbox(records(&[("contacts", 1000)]));
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("c.jsonl");
    std::fs::write(&path, "older\n").unwrap();
    let script = r#"{"rules":[{"match":{"path":"/v1/contacts","from":4},"reply":{"status":404}}]}"#;
    crate::support::request(&sandbox, "POST", "/__faults", script);
    let verb = ["export", "contacts", "--out", path.to_str().unwrap()];
    run(&mut against(&sandbox, &verb)).error(code(ErrorKind::NotFound));
    assert_eq!(std::fs::read_to_string(path).unwrap(), "older\n");
}

#[test]
fn wrong_credentials_are_said_once_for_all_lists() {
    let sandbox = sandbox(Options::default());
    let directory = tempfile::tempdir().unwrap();
    let mut verb = vec!["export", "--out", directory.path().to_str().unwrap()];
    verb.extend(Resource::ALL.map(Resource::name));
    let mut command = against(&sandbox, &verb);
    let ended = run(command.env("TALENTDATA_CLIENT_SECRET", "CANARY-wrong"));
    let said = ended.error(code(ErrorKind::Auth));
    let last = Resource::ALL
        .map(Resource::name)
        .last()
        .unwrap()
        .replace('_', "-");
    assert!(
        said.contains(&format!("{last}: ")) && !said.contains("CANARY"),
        "{said}"
    );
    assert_eq!(sandbox.stats().token_posts, 1);
    assert_eq!(names(directory.path()), [""; 0]);
}

#[test]
fn settings_are_checked_before_anything_is_sent() {
    for (arguments, words) in [
        ("version", "base_url|TALENTDATA_BASE_URL|profiles.toml"),
        ("version --base-url http://talent.example", "base_url|https"),
        (
            "version --sandbox --base-url https://a.example",
            "--sandbox|--base-url",
        ),
        ("--sandbox version --profile a", "--sandbox|--profile"),
        ("export contcts --out -", "contcts|contacts|ja-skills"),
        ("export contacts", "--out"),
        (
            "export contacts pools --sandbox --out -",
            "one list|directory",
        ),
        (
            "export pools --sandbox --resume --out x.arrow",
            "resume: |Arrow|parquet",
        ),
        ("plan pools pools --sandbox", "pools|twice"),
        ("export pools pools --sandbox --out x", "pools|twice"),
        (
            "export pools --sandbox --out - --page-size 101",
            "--page-size|between 1 and 100",
        ),
        (
            "export pools --sandbox --out x --receipt x",
            "--receipt|--out|same file",
        ),
        ("export pools --sandbox --out - --format xml", "xml|jsonl"),
        (
            "page contacts --sandbox --limit 0",
            "limit|between 1 and 100",
        ),
        (
            "check --sandbox --client-version EMPTY",
            "--client-version|a value is required",
        ),
        ("check --sandbox --client-version BLANK", "client_version"),
    ] {
        let arguments = arguments.split(' ').map(|word| match word {
            "EMPTY" => "",
            "BLANK" => " ",
            word => word,
        });
        let ended = run(&mut program(&arguments.collect::<Vec<_>>()));
        assert_eq!((ended.code, &*ended.stdout), (Some(2), ""), "{ended:?}");
        for word in words.split('|') {
            assert!(ended.stderr.contains(word), "{word}: {ended:?}");
        }
    }
}

#[test]
fn a_receipt_without_a_directory_is_refused_before_anything_is_read() {
    let sandbox = sandbox(Options::default());
    let verb = [
        "export",
        "pools",
        "--out",
        "-",
        "--receipt",
        "/nonexistent/receipt.json",
    ];
    let ended = run(&mut against(&sandbox, &verb));
    let said = ended.error(code(ErrorKind::Io));
    assert!(
        said.contains("--receipt") && said.contains("/nonexistent/"),
        "{said}"
    );
    assert_eq!(sandbox.stats().requests, 0);
}

#[test]
fn no_service_is_a_connection_error() {
    // A port that was free a moment ago and that nobody listens on.
    let url = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    let ended = run(&mut program(&["version", "--base-url", &url]));
    ended.error(code(ErrorKind::Connect));
}

#[test]
fn verbose_gives_the_whole_report_with_harmless_text() {
    let sandbox = sandbox(Options::default());
    let reply = json!({"status": 400, "body": "bad \u{1b}[31m \u{202e}thing"});
    fault(&sandbox, "/v1/version", reply);
    let ended: Ended = run(&mut against(&sandbox, &["version", "-v"]));
    assert_eq!(ended.code, Some(code(ErrorKind::BadRequest)));
    assert!(
        ended.stderr.contains("the response began: bad "),
        "{ended:?}"
    );
    assert!(!ended.stderr.contains(['\u{1b}', '\u{202e}']), "{ended:?}");
}
