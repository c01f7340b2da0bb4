//! What a record contains, compared with serde_json, and what tells it from others.

use super::{IdentityKey, RawRecord};
use crate::error::ErrorKind;
use crate::json;
use crate::page::Page;
use crate::request::transport::Response;
use proptest::prelude::*;
use serde_json::{Map, Value};
use talentdata_types::Contact;

#[test]
fn of_a_name_that_occurs_twice_the_last_counts() {
    let json = r#"{"id":"a","firstName":"A","lastName":"B","email":"c","x":1,"id":"z","x":2}"#;
    let contact: Contact = RawRecord::of_json(json).to().unwrap();
    assert_eq!((contact.id.as_str(), &contact.extra["x"]), ("z", &2.into()));
}

#[test]
fn a_record_is_told_by_its_id_else_by_all_of_it() {
    let rows = r#"{"id":"a","x":1},{"x":1,"id":2},{"x":{"id":3}},{"x":1,"id":"b","id":"c"},{"id":"d","i\u0064":"e"},{"id":null,"x":1},{"id":""},{"id":{}},{"id":"2"},{"id":"\u0061"}"#;
    let pagination = r#"{"total":10,"limit":10,"offset":0,"hasMore":false}"#;
    let body = format!("\u{feff}{{\"rows\":[{rows}],\"pagination\":{pagination}}}");
    let page = Page::read(&Response::of_json(body), None, 0).unwrap();
    let key = IdentityKey::random();
    let records = page.records.iter();
    let found: Vec<_> = records.map(|record| record.identity(&key)).collect();
    assert_eq!(
        found,
        [
            key.identify(b"a", true),
            key.identify(b"2", true),
            key.identify(br#"{"x":{"id":3}}"#, false),
            // Of a name that occurs twice the last counts.
            key.identify(b"c", true),
            key.identify(b"e", true),
            key.identify(br#"{"id":null,"x":1}"#, false),
            key.identify(br#"{"id":""}"#, false),
            key.identify(br#"{"id":{}}"#, false),
            // However it is written.
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
    assert!(json::is_object(&nested(json::MAX_DEPTH - 1)));
    assert!(serde_json::from_str::<Value>(&nested(json::MAX_DEPTH - 1)).is_ok());
    assert!(!json::is_object(&nested(json::MAX_DEPTH)));
    assert!(serde_json::from_str::<Value>(&nested(json::MAX_DEPTH)).is_err());
}

#[test]
fn names_and_texts_without_a_meaning_stay_as_they_are_written() {
    let record = RawRecord::of_json(r#"{"\ud800":1,"\ud800":2,"a":"\udc00","b":"\ud83d\ude00"}"#);
    let members = record.members();
    let names: Vec<_> = json::by_name(&members).into_iter().collect();
    assert_eq!(names[0], (r"\ud800".into(), "2"));
    assert_eq!(json::decoded(names[1].1), None);
    assert_eq!(json::decoded(names[2].1).unwrap(), "😀");
}

#[test]
fn names_of_the_service_in_an_error_are_harmless_and_bounded() {
    type Counts = std::collections::BTreeMap<String, u64>;
    for name in ["\\u001b[2Jevil", "\\u202eevil", &"evil".repeat(100_000)] {
        let record = RawRecord::of_json(format!(r#"{{"counts":{{"{name}":"x"}}}}"#));
        let counts = record.value().at("counts").unwrap().unwrap();
        let whole = record.to::<std::collections::BTreeMap<String, Counts>>();
        for error in [counts.to::<Counts>().unwrap_err(), whole.unwrap_err()] {
            let shown = format!("{error} {error:?}").replace('\n', "");
            assert!(error.message().contains("evil"), "{shown}");
            let drives = shown.contains(crate::drives_terminal);
            assert!(shown.len() < 1500 && !drives, "{shown:?}");
        }
    }
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[\\PC\"\\\\{}\\[\\],:]{0,20}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        let member = ("[a-d\"\\\\ä]{0,9}", inner.clone());
        prop_oneof![
            prop::collection::vec(inner, 0..6).prop_map(Value::from),
            prop::collection::vec(member, 0..6)
                .prop_map(|members| Value::from(members.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Writes an object, in which names may occur twice, with these pieces of white space between its tokens.
fn object<'a>(
    members: &[(String, Value)],
    gaps: &mut impl Iterator<Item = &'a String>,
    escaped: bool,
) -> String {
    let mut gap = || gaps.next().unwrap().as_str();
    let mut text = String::from("{");
    for (index, (name, value)) in members.iter().enumerate() {
        text += if index > 0 { "," } else { "" };
        let name = match escaped {
            true => name
                .encode_utf16()
                .map(|unit| format!("\\u{unit:04x}"))
                .collect(),
            false => Value::from(name.as_str())
                .to_string()
                .trim_matches('"')
                .to_owned(),
        };
        text.extend([gap(), "\"", &name, "\"", gap(), ":", gap()]);
        text.extend([&value.to_string(), gap()]);
    }
    text + "}"
}

proptest! {
    #[test]
    fn a_record_contains_what_serde_json_reads(
        members in prop::collection::vec(("[a-c~/\\\\ä😀]{0,2}", value()), 0..8),
        gaps in prop::collection::vec("[ \t\r\n]{0,2}", 1..20),
        escaped: bool,
    ) {
        let text = object(&members, &mut gaps.iter().cycle(), escaped);
        let read: Map<String, Value> = serde_json::from_str(&text).unwrap();
        let parse = |raw: &str| serde_json::from_str::<Value>(raw).unwrap();
        let record = RawRecord::parse(&text).unwrap();
        prop_assert_eq!(record.as_str(), &text);
        let found: Vec<_> = record.members().into_iter().map(|(name, raw)| (json::text(name).unwrap().into_owned(), parse(raw))).collect();
        prop_assert_eq!(&found, &members);
        for (name, value) in &read {
            let pointer = format!("/{}", name.replace('~', "~0").replace('/', "~1"));
            prop_assert_eq!(&parse(record.value().at(&pointer).unwrap().unwrap().as_str()), value);
        }
        let children = record.value().children().unwrap();
        let children: Map<String, Value> = children.into_iter().map(|(name, value)| (name.unwrap(), parse(value.as_str()))).collect();
        prop_assert_eq!(children, read);
    }

    #[test]
    fn the_items_of_an_array_are_what_serde_json_reads(items in prop::collection::vec(value(), 0..8), pretty: bool) {
        let value = Value::from(items.clone());
        let text = if pretty { format!("{value:#}") } else { value.to_string() };
        let found: Vec<Value> = json::items(&text).into_iter().map(|raw| serde_json::from_str(raw).unwrap()).collect();
        prop_assert_eq!(found, items);
    }

    #[test]
    fn nothing_but_one_object_is_one(text in "[{\\[\\]}\",:\\\\a1 ]{0,40}") {
        prop_assert_eq!(json::is_object(&text), serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok() && text.trim_start().starts_with('{'));
    }
}
