//! Fields and values that the API description does not show are kept by the generated types.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::{Value, json};
use talentdata_types::{
    ApiStatus, Contact, KnownApiStatus, ListName, Open, Secret, TokenRequest, TokenResponse,
    VersionResponse,
};

#[test]
fn unknown_fields_and_exact_numbers_are_kept() {
    let text = r#"{"id":"1","firstName":"Ada","lastName":"L","email":"a@example.com","big":123456789012345678901234567890,"digits":0.10000000000000000001,"nested":{"deep":[1,null,"x"]}}"#;
    let contact: Contact = serde_json::from_str(text).unwrap();
    assert_eq!(contact.first_name, "Ada");
    assert_eq!(
        contact.extra["big"].to_string(),
        "123456789012345678901234567890"
    );
    let back: Value = serde_json::to_value(&contact).unwrap();
    assert_eq!(back, serde_json::from_str::<Value>(text).unwrap());
}

#[test]
fn unknown_statuses_and_categories_are_kept() {
    let report = json!({
        "version": "1.8.2", "apiStatus": "sleeping", "endpoints": {
            "payroll": {"status": "beta", "version": "0.1", "owner": "hr"}}
    });
    let version: VersionResponse = serde_json::from_value(report.clone()).unwrap();
    assert_eq!(version.api_status, ApiStatus::Other("sleeping".into()));
    assert_eq!(
        ApiStatus::from("degraded"),
        Open::Known(KnownApiStatus::Degraded)
    );
    assert_eq!(ApiStatus::from("degraded").to_string(), "degraded");
    assert_eq!(version.endpoints["payroll"].extra["owner"], "hr");
    assert_eq!(serde_json::to_value(&version).unwrap(), report);
}

#[test]
fn secrets_do_not_print() {
    let request = TokenRequest {
        client_id: "me".into(),
        client_secret: Secret::new("CANARY"),
    };
    assert!(!format!("{request:?}").contains("CANARY"));
    assert!(serde_json::to_string(&request).unwrap().contains("CANARY"));
    let token: TokenResponse = serde_json::from_value(
        json!({"access_token": "CANARY", "token_type": "Bearer", "expires_in": 5}),
    )
    .unwrap();
    assert!(!format!("{token:?}").contains("CANARY"));
}

#[test]
fn lists_are_found_by_any_spelling() {
    let spellings =
        "ja-skills ja_skills ja/skills /v1/ja/skills v1/ja/skills JA_SKILLS JaSkills ja.skills";
    for spelling in spellings.split(' ') {
        assert_eq!(spelling.parse(), Ok(ListName::JaSkills), "{spelling}");
    }
}

#[test]
fn a_name_that_is_no_list_is_answered_with_near_ones() {
    for (wrong, near) in [
        ("contact", "did you mean contacts? "),
        ("cnotacts", "did you mean contacts? "),
        ("skills", "did you mean ja_skills or taxonomy_skills? "),
        ("ja-skill", "did you mean ja_skills? "),
        ("", ""),
        ("nothing", ""),
    ] {
        let error = wrong.parse::<ListName>().unwrap_err();
        let start = format!("no list is named {wrong:?}; {near}the lists are contacts, ");
        assert!(error.starts_with(&start), "{error}");
    }
}
