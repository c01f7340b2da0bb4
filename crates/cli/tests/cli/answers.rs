//! The verbs that print one response.

use crate::support::{against, fault, program, records, requests, run, sandbox};
use serde_json::json;
use talentdata_core::ErrorKind;
use talentdata_core::types::{CategoryName, Resource};
use talentdata_sandbox::Options;

#[test]
fn resources_are_those_of_the_spec() {
    let ended = run(&mut program(&["resources"]));
    let lines: Vec<Vec<&str>> = ended
        .stdout
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(lines[0], ["NAME", "PATH", "GROUP"]);
    assert_eq!(lines.len(), 1 + Resource::ALL.len());
    for (line, resource) in lines[1..].iter().zip(Resource::ALL) {
        assert_eq!(line[0].replace('-', "_"), resource.name());
        assert_eq!(line[1], resource.shape().operation.path);
    }
}

#[test]
fn version_needs_no_credentials_and_asks_for_no_token() {
    let sandbox = sandbox(Options::default());
    let url = sandbox.base_url();
    let without = run(&mut program(&["--base-url", url, "version"])).json();
    let with = run(&mut against(&sandbox, &["version"])).json();
    assert_eq!(without, with);
    assert!(with["endpoints"]["taxonomy"]["model_version"].is_string());
    assert_eq!(sandbox.stats().token_posts, 0);
}

#[test]
fn check_asks_for_all_known_categories_or_those_named() {
    let sandbox = sandbox(Options::default());
    let asked = |categories: &[&str]| {
        let verb = [&["check", "--client-version", "1.8.2"], categories].concat();
        let answer = run(&mut against(&sandbox, &verb)).json();
        let entries = answer["endpointCompatibility"].as_object().unwrap();
        entries.keys().cloned().collect::<Vec<_>>()
    };
    let mut all = asked(&[]);
    let mut known = CategoryName::KNOWN.to_vec();
    all.sort();
    known.sort_unstable();
    assert_eq!(all, known);
    assert_eq!(asked(&["matching"]), ["matching"]);
}

#[test]
fn permissions_are_those_of_the_token() {
    let sandbox = sandbox(Options::default());
    let answer = run(&mut against(&sandbox, &["permissions"])).json();
    assert!(
        answer["permissions"]
            .as_array()
            .unwrap()
            .contains(&json!("read:contacts"))
    );
}

#[test]
fn list_prints_one_page_byte_for_byte() {
    let sandbox = sandbox(records(&[("contacts", 40)]));
    let record = r#"{ "id":"a",  "n": 1.50e3, "big": 123456789012345678901 }"#;
    let page = format!(
        r#"{{"success":true,"contacts":[{record}],"pagination":{{"total":41,"limit":1,"offset":40,"hasMore":false,"new":7}}}}"#
    );
    fault(&sandbox, "/v1/contacts", json!({"body": page}));
    let verb = ["page", "contacts", "--limit", "1", "--offset", "40"];
    let ended = run(&mut against(&sandbox, &verb));
    assert!(ended.stdout.contains(record), "{ended:?}");
    assert_eq!(ended.json()["pagination"]["new"], 7);
    let query = requests(&sandbox).last().unwrap()["query"].to_string();
    assert!(query.contains("limit") && query.contains("40"), "{query}");
}

#[test]
fn list_leaves_the_page_size_to_the_service() {
    let sandbox = sandbox(records(&[("ja_skills", 400)]));
    for name in ["ja-skills", "ja_skills"] {
        let page = run(&mut against(&sandbox, &["page", name])).json();
        let records = page["records"].as_array().unwrap().len();
        assert_eq!(page["pagination"]["limit"], records);
        assert!((20..=50).contains(&records), "{records}");
    }
}

#[test]
fn plan_counts_the_pages_that_an_export_takes() {
    // At 30 a page the overlap of one matters: 30 + 29 * 3 = 117. The end of several pages is looked at again.
    for (size, most, pages) in [
        (117, 30, 6),
        (118, 30, 7),
        (7, 1, 9),
        (30, 30, 2),
        (0, 30, 2),
    ] {
        let sandbox = sandbox(Options {
            max_limit: Some(most),
            ..records(&[("contacts", size), ("pools", 3)])
        });
        let ended = run(&mut against(&sandbox, &["plan", "contacts", "pools"]));
        let rows: Vec<Vec<&str>> = ended
            .stdout
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert_eq!(rows.len(), 4, "{ended:?}");
        assert_eq!(
            rows[1][..3],
            ["contacts", &size.to_string(), &pages.to_string()]
        );
        assert_eq!(rows[3][1], (size + 3).to_string());
        let receipt = tempfile::NamedTempFile::new().unwrap();
        let path = receipt.path().to_str().unwrap();
        run(&mut against(
            &sandbox,
            &["export", "contacts", "--out", "-", "--receipt", path],
        ));
        let receipt: serde_json::Value =
            serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        assert_eq!(receipt["pages"], pages, "{size} records, {most} a page");
    }
}

#[test]
fn totals_without_bounds_are_added_up_without_an_overflow() {
    let sandbox = sandbox(Options::default());
    let lists = ["contacts", "vacancies", "pools"];
    let total = i64::MAX;
    let rules = lists.map(|list| {
        let body = format!(
            r#"{{"{list}":[{{"id":"a"}}],"pagination":{{"total":{total},"limit":1,"offset":0,"hasMore":false}}}}"#
        );
        json!({"match": {"path": format!("/v1/{list}")}, "reply": {"body": body}})
    });
    let script = json!({"rules": rules}).to_string();
    crate::support::request(&sandbox, "POST", "/__faults", &script);
    let plan = run(&mut against(&sandbox, &[&["plan"][..], &lists].concat()));
    let sum = plan.stdout.lines().last().unwrap_or_default();
    let shown = sum.contains(&u64::MAX.to_string());
    assert!(plan.code == Some(0) && shown, "{plan:?}");

    let directory = tempfile::tempdir().unwrap();
    let out = ["--out", directory.path().to_str().unwrap()];
    let verb = [&["export"][..], &lists, &out].concat();
    let export = run(&mut against(&sandbox, &verb));
    // Each was read, and says twice that it ends before what it claims to have.
    let code = ErrorKind::Incomplete.exit_code().into();
    assert_eq!(export.code, Some(code), "{export:?}");
    assert_eq!(
        export.stderr.matches("before the total").count(),
        3,
        "{export:?}"
    );
}
