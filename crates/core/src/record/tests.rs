//! The content of a record, and its identity.

use super::{IdentityKey, RawRecord};
use crate::error::ErrorKind;
use crate::json;
use crate::page::Page;
use crate::request::stats::Hides;
use crate::request::transport::Response;
use serde_json::Value;
use talentdata_types::Contact;

#[test]
fn the_last_duplicate_of_a_field_wins() {
    let json = r#"{"id":"a","firstName":"A","lastName":"B","email":"c","x":1,"id":"z","x":2}"#;
    let contact: Contact = RawRecord::parse(json).unwrap().to().unwrap();
    assert_eq!((contact.id.as_str(), &contact.extra["x"]), ("z", &2.into()));
}

#[test]
fn a_record_is_identified_by_its_id_or_else_by_its_text() {
    let rows = r#"{"id":"a","x":1},{"x":1,"id":2},{"x":{"id":3}},{"x":1,"id":"b","id":"c"},{"id":"d","i\u0064":"e"},{"id":null,"x":1},{"id":""},{"id":{}},{"id":"2"},{"id":"\u0061"}"#;
    let pagination = r#"{"total":10,"limit":10,"offset":0,"hasMore":false}"#;
    let body = format!("\u{feff}{{\"rows\":[{rows}],\"pagination\":{pagination}}}");
    let page = Page::read(&Response::of_json(body), None, 0, Hides::default()).unwrap();
    let key = IdentityKey::random();
    let records = page.records.iter();
    let found: Vec<_> = records.map(|record| record.identity(&key)).collect();
    assert_eq!(
        found,
        [
            key.identify(b"a", true),
            key.identify(b"2", true),
            key.identify(br#"{"x":{"id":3}}"#, false),
            // The last duplicate of a name wins.
            key.identify(b"c", true),
            key.identify(b"e", true),
            key.identify(br#"{"id":null,"x":1}"#, false),
            key.identify(br#"{"id":""}"#, false),
            key.identify(br#"{"id":{}}"#, false),
            // An escape does not change the identity.
            key.identify(b"2", true),
            key.identify(b"a", true),
        ]
    );
}

#[test]
fn one_record_is_one_json_object() {
    assert_eq!(
        RawRecord::parse(" {\"a\" :1}\n").unwrap().as_str(),
        "{\"a\" :1}"
    );
    for (json, kind) in [
        ("", ErrorKind::Decode),
        ("{\"a\":1", ErrorKind::Decode),
        ("{} {}", ErrorKind::Decode),
        ("{},{}", ErrorKind::Decode),
        ("[{}]", ErrorKind::Schema),
        ("7", ErrorKind::Schema),
    ] {
        assert_eq!(RawRecord::parse(json).unwrap_err().kind(), kind, "{json}");
        assert!(!json::is_object(json), "{json}");
    }
    let nested = |levels: usize| format!("{{\"a\":{}{}}}", "[".repeat(levels), "]".repeat(levels));
    assert!(json::is_object(&nested(json::MAX_JSON_DEPTH - 1)));
    assert!(serde_json::from_str::<Value>(&nested(json::MAX_JSON_DEPTH - 1)).is_ok());
    assert!(!json::is_object(&nested(json::MAX_JSON_DEPTH)));
    assert!(serde_json::from_str::<Value>(&nested(json::MAX_JSON_DEPTH)).is_err());
}

#[test]
fn strings_that_are_not_valid_text_are_kept_as_written() {
    let json = r#"{"\ud800":1,"\ud800":2,"a":"\udc00","b":"\ud83d\ude00"}"#;
    let record = RawRecord::parse(json).unwrap();
    let members = record.members();
    let names: Vec<_> = json::by_name(members);
    assert_eq!(names[0], (r"\ud800".into(), "2"));
    assert_eq!(json::decoded(names[1].1), None);
    assert_eq!(json::decoded(names[2].1).unwrap(), "😀");
}

#[test]
fn a_record_that_is_not_as_documented_is_named() {
    let record = |json: &str| {
        let texts = ["{}", json];
        RawRecord::parse_page(&texts, 40).unwrap().pop().unwrap()
    };
    for (json, said) in [
        (
            r#"{"id":"b","firstName":7,"lastName":"","email":""}"#,
            "record 1 of the page (offset 41, id \"b\").firstName: found integer, expected a string",
        ),
        (
            r#"{"id":"b","firstName":"\ud800","lastName":"","email":""}"#,
            "record 1 of the page (offset 41, id \"b\").firstName: the string has half of a surrogate pair, which is not valid text",
        ),
        (
            r#"{"id":"b"}"#,
            "record 1 of the page (offset 41, id \"b\"): firstName is missing",
        ),
        (
            r#"{"firstName":null}"#,
            "record 1 of the page (offset 41).firstName: found null, expected a string",
        ),
    ] {
        let error = record(json).to::<Contact>().unwrap_err();
        assert_eq!(
            (error.kind(), error.message()),
            (ErrorKind::Schema, said),
            "{json}"
        );
    }
    let half = record(r#"{"id":7,"note":"\udc00"}"#);
    let error = half
        .value()
        .at("note")
        .unwrap()
        .unwrap()
        .text()
        .unwrap_err();
    let said = "record 1 of the page (offset 41, id 7): /note: the string has half of a surrogate pair, which is not valid text";
    assert_eq!(error.message(), said);
}

#[test]
fn whole_numbers_are_integers_in_every_notation() {
    for (written, read) in [
        ("1.0", Some(1)),
        ("1e2", Some(100)),
        ("-0.0", Some(0)),
        ("9007199254740993.0", Some(9_007_199_254_740_993)),
        ("1.5", None),
        ("1e30", None),
        ("\"1\"", None),
    ] {
        let record = RawRecord::parse(&format!("{{\"n\":{written}}}")).unwrap();
        let value = record.value().at("n").unwrap().unwrap();
        assert_eq!(value.to::<i64>().ok(), read, "{written}");
        assert_eq!(value.as_str(), written);
    }
}

#[test]
fn names_of_the_service_in_an_error_are_harmless_and_bounded() {
    type Counts = std::collections::BTreeMap<String, u64>;
    for name in ["\\u001b[2Jevil", "\\u202eevil", &"evil".repeat(100_000)] {
        let json = format!(r#"{{"counts":{{"{name}":"x"}}}}"#);
        let record = RawRecord::parse(&json).unwrap();
        let counts = record.value().at("counts").unwrap().unwrap();
        let whole = record.to::<std::collections::BTreeMap<String, Counts>>();
        for error in [counts.to::<Counts>().unwrap_err(), whole.unwrap_err()] {
            let shown = format!("{error} {error:?}").replace('\n', "");
            assert!(error.message().contains("evil"), "{shown}");
            let drives = shown.contains(crate::error::is_terminal_control);
            assert!(shown.len() < 1500 && !drives, "{shown:?}");
        }
    }
}

#[test]
fn the_index_of_a_page_holds_the_members_of_each_record() {
    let texts = [
        "{}",
        r#" {"a":1,"é\n":"ü", "a" : [ {"b":2} ] ,"\ud800":null}"#,
        "{ }",
        "{\n\"id\"\t:\t-1e5\n,\"\":{\"id\":\"}\"}}",
    ];
    let records = RawRecord::parse_page(&texts, 7).unwrap();
    let counts: Vec<_> = records.iter().map(|one| one.members().len()).collect();
    assert_eq!(counts, [0, 4, 0, 2]);
    for record in &records {
        assert_eq!(record.members(), json::members(record.as_str()));
    }
}
