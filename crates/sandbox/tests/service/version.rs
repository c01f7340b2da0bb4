//! The two version operations (sections 2, 3, 4 and 9).

use serde_json::{Value, json};
use talentdata_sandbox::Options;

use crate::support::{post, send, token, unlimited};

const CATEGORIES: [&str; 6] = [
    "authentication",
    "companies",
    "corecrm",
    "inference",
    "matching",
    "taxonomy",
];
const AI_POWERED: [&str; 3] = ["inference", "matching", "taxonomy"];

fn major(version: &Value) -> u32 {
    let text = version.as_str().unwrap();
    text.split('.').next().unwrap().parse().unwrap()
}

#[test]
fn the_report_has_six_categories_and_models_where_they_belong() {
    let sandbox = unlimited(Options::default());
    let reply = send(&sandbox, "GET", "/v1/version", &[], "");
    let body = reply.json();
    assert_eq!(body["version"], "1.8.2");
    assert_eq!(body["apiStatus"], "operational");
    let entries = body["endpoints"].as_object().unwrap();
    let mut names: Vec<&str> = entries.keys().map(String::as_str).collect();
    names.sort_unstable();
    assert_eq!(names, CATEGORIES);
    for (name, entry) in entries {
        let ai_powered = AI_POWERED.contains(&name.as_str());
        assert_eq!(entry.get("model_version").is_some(), ai_powered, "{name}");
        assert_eq!(entry.get("service_version").is_some(), ai_powered, "{name}");
        let status = if name == "companies" {
            "alpha"
        } else {
            "operational"
        };
        assert_eq!(entry["status"], status);
        let higher = major(&entry["version"]) < major(&entries["matching"]["version"]);
        assert_eq!(higher, name != "matching", "{name}");
    }
}

#[test]
fn a_check_answers_for_each_category_asked_for() {
    let sandbox = unlimited(Options::default());
    let asked =
        json!({"clientVersion": "1.8.2", "endpoints": ["matching", "corecrm", "astrology"]});
    let body = post(&sandbox, "/v1/version/check", &asked).json();
    assert_eq!(
        (&body["compatible"], &body["supported"]),
        (&json!(true), &json!(true))
    );
    let entries = body["endpointCompatibility"].as_object().unwrap();
    assert_eq!(entries.len(), 3);
    assert_eq!(entries["matching"]["compatible"], true);
    assert!(entries["matching"]["model_version"].is_string());
    let notes = entries["matching"]["notes"].as_str().unwrap();
    assert!(notes.contains("backwards compatible"));
    assert_eq!(entries["corecrm"].get("model_version"), None);
    assert_eq!(entries["astrology"]["compatible"], false);
    assert!(entries["astrology"]["notes"].is_string());
}

#[test]
fn old_and_strange_versions_are_told_so() {
    let sandbox = unlimited(Options::default());
    for (version, compatible, supported) in [
        ("1.4", true, true),
        ("1.3.9", true, false),
        ("2.0.0", false, false),
        ("new", false, false),
    ] {
        let asked = json!({"clientVersion": version, "endpoints": ["taxonomy"]});
        let body = post(&sandbox, "/v1/version/check", &asked).json();
        assert_eq!(body["compatible"], compatible, "{version}");
        assert_eq!(body["supported"], supported, "{version}");
        assert_eq!(
            body["endpointCompatibility"]["taxonomy"]["compatible"],
            compatible
        );
    }
}

#[test]
fn a_check_works_with_and_without_a_token_but_not_with_a_wrong_one_or_half_a_body() {
    let sandbox = unlimited(Options::default());
    let whole = r#"{"clientVersion":"1.8.2","endpoints":[]}"#;
    let half = r#"{"clientVersion":"1.8.2"}"#;
    let right = format!("Bearer {}", token(&sandbox));
    for (status, bearer, body) in [
        (200, None, whole),
        (200, Some(right.as_str()), whole),
        (401, Some("Bearer wrong"), whole),
        (400, None, half),
        (400, None, r#"{"clientVersion":"1.8.2","endpoints":[1]}"#),
    ] {
        let mut headers = vec![("content-type", "application/json")];
        headers.extend(bearer.map(|bearer| ("authorization", bearer)));
        let reply = send(&sandbox, "POST", "/v1/version/check", &headers, body);
        assert_eq!(reply.status, status, "{bearer:?} {body}");
    }
}
