//! The outline against the JSON library: what both accept, and what is found.

use super::*;
use proptest::prelude::*;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

fn accepts(text: &str) -> bool {
    outline(text).is_some()
}

/// What the library makes of it: an object whose values are kept raw, so that nothing but grammar counts.
fn library_accepts(text: &str) -> bool {
    serde_json::from_str::<BTreeMap<String, &RawValue>>(text).is_ok()
        || serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
            && text.trim_start().starts_with('{')
}

#[test]
fn numbers_literals_and_strings_are_strict() {
    for value in [
        "0",
        "-0",
        "1.5",
        "1e9",
        "1E+9",
        "1e-9",
        "123456789012345678901234567890",
        "true",
        "false",
        "null",
        "\"\"",
        "\"\\u12aF\"",
        "\"\\ud800\"",
        "\"\\\\\\\"\\/\\b\\f\\n\\r\\t\"",
        "\"äöü€😀\"",
        "[]",
        "{}",
        "[[]]",
        " [ 1 , 2 ] ",
        "01",
        "-",
        "1.",
        ".5",
        "1e",
        "+1",
        "0x1",
        "NaN",
        "tru",
        "nulll",
        "\"\\x\"",
        "\"\\u12g4\"",
        "\"\\u12\"",
        "\"\t\"",
        "\"\n\"",
        "\"",
        "[1,]",
        "[,1]",
        "[1 2]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{a:1}",
        "{'a':1}",
        "[1",
        "{\"a\":1",
        "1 1",
        "",
        "/**/1",
        "\u{feff}1",
    ] {
        for text in [
            format!("{{\"k\":{value}}}"),
            format!("{{\"k\":[{{\"r\":{value}}}]}}"),
            format!("{{\"k\":1}}{value}"),
        ] {
            assert_eq!(accepts(&text), library_accepts(&text), "{text}");
        }
    }
}

#[test]
fn nesting_is_bounded() {
    let nested = |depth: usize| format!("{{\"k\":{}1{}}}", "[".repeat(depth), "]".repeat(depth));
    assert!(accepts(&nested(100)));
    assert!(!accepts(&nested(200)));
    assert!(!accepts(&"[".repeat(1_000_000)));
    assert!(!accepts(&format!(
        "{{\"k\":{}",
        "[{\"a\":".repeat(1_000_000)
    )));
}

#[test]
fn records_share_layouts_and_show_their_ids() {
    let text = r#"{"n":1,"rows":[{"id":"a","x":1},{"id":2,"x":[{"id":9}]},{"x":1,"id":null},{"id":"d"},{},{"id":"e","x":0,"y":0},7]}"#;
    let outline = outline(text).unwrap();
    let items = outline.members[1].items.as_ref().unwrap();
    let ids: Vec<_> = items
        .iter()
        .map(|item| item.id.map(|id| std::str::from_utf8(id).unwrap()))
        .collect();
    assert_eq!(
        ids,
        [
            Some("\"a\""),
            Some("2"),
            Some("null"),
            Some("\"d\""),
            None,
            Some("\"e\""),
            None
        ]
    );
    let layouts: Vec<Vec<&[u8]>> = items
        .iter()
        .filter_map(|item| Some(outline.layouts[item.layout?].clone()))
        .collect();
    assert_eq!(layouts[0], layouts[1]);
    assert_eq!(layouts[2], [b"x".as_slice(), b"id"]);
    assert_eq!(layouts[3], [b"id".as_slice()]);
    assert!(layouts[4].is_empty());
    assert_eq!(layouts[5], [b"id".as_slice(), b"x", b"y"]);
    assert_eq!(items[6].layout, None);
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

proptest! {
    #[test]
    fn what_is_noted_is_what_the_library_reads(members in prop::collection::vec(("[a-z\"]{0,9}", value()), 0..5), pretty: bool) {
        let object: Map<String, Value> = members.into_iter().collect();
        let text = if pretty { serde_json::to_string_pretty(&object) } else { serde_json::to_string(&object) }.unwrap();
        let outline = outline(&text).unwrap();
        let parse = |raw: &[u8]| serde_json::from_slice::<Value>(raw).unwrap();
        prop_assert_eq!(outline.members.len(), object.len());
        for (member, (name, value)) in outline.members.iter().zip(&object) {
            prop_assert_eq!(crate::json::text(member.name).unwrap(), name.as_str());
            prop_assert_eq!(&parse(member.value), value);
            let items = member.items.as_ref().map(|items| items.iter().map(|item| parse(item.json)).collect::<Vec<_>>());
            prop_assert_eq!(items.map(Value::from), value.is_array().then(|| value.clone()));
            for (item, read) in member.items.iter().flatten().zip(value.as_array().into_iter().flatten()) {
                prop_assert_eq!(item.id.map(parse), read.get("id").cloned());
                if let (Some(layout), Some(fields)) = (item.layout, read.as_object()) {
                    let names: Vec<String> = outline.layouts[layout].iter().map(|name| crate::json::text(name).unwrap().into_owned()).collect();
                    prop_assert_eq!(names, fields.keys().cloned().collect::<Vec<_>>());
                }
            }
        }
    }

    #[test]
    fn damaged_text_is_accepted_only_where_the_library_accepts_it(value in value(), at: prop::sample::Index, with in "[\\PC\"\\\\{}\\[\\],:0-9eE.+\\- ]{0,3}", cut in 0_usize..4) {
        let text = json!({"rows": [value]}).to_string();
        let mut letters: Vec<char> = text.chars().collect();
        let at = at.index(letters.len());
        let to = (at + cut).min(letters.len());
        letters.splice(at..to, with.chars());
        let damaged: String = letters.into_iter().collect();
        prop_assert_eq!(accepts(&damaged), library_accepts(&damaged), "{}", damaged);
    }
}
