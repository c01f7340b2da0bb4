//! The structural index against the JSON library: what both accept, and what is found.

mod memory;

use super::*;
use proptest::prelude::*;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

fn accepts(text: &str) -> bool {
    structural_index(text).is_some()
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
    for (open, close) in [("[", "]"), ("{\"a\":", "}"), ("[{\"a\":", "}]")] {
        for times in 1..200 {
            let text = format!("{{\"k\":{}1{}}}", open.repeat(times), close.repeat(times));
            let library = serde_json::from_str::<Value>(&text).is_ok();
            assert_eq!(accepts(&text), library, "{times} times {open}");
        }
    }
    assert!(!accepts(&"[".repeat(1_000_000)));
    assert!(!accepts(&format!(
        "{{\"k\":{}",
        "[{\"a\":".repeat(1_000_000)
    )));
}

/// The raw fields of a record; none of what is no object.
fn fields<'a>(
    text: &'a str,
    structure: &StructuralIndex,
    item: &Item,
) -> Option<Vec<(&'a str, &'a str)>> {
    let piece = |span: &Span| &text[span.range()];
    let fields = item.fields?;
    let names = structure.layouts[fields.layout as usize].iter().map(piece);
    let values = structure.values[fields.values as usize..].iter().map(piece);
    Some(names.zip(values).collect())
}

#[test]
fn records_with_the_same_fields_share_a_layout() {
    let text = r#"{"n":1,"rows":[{"id":"a","x":1},{"id":2,"x":[{"id":9}]},{"x":1,"id":null},{"id":"d"},{},{"id":"e","x":0,"y":0},7]}"#;
    let structure = structural_index(text).unwrap();
    let items = structure.members[1].items.as_ref().unwrap();
    let found: Vec<_> = items
        .iter()
        .map(|item| fields(text, &structure, item))
        .collect();
    assert_eq!(found[0], Some(vec![("id", "\"a\""), ("x", "1")]));
    assert_eq!(found[1], Some(vec![("id", "2"), ("x", "[{\"id\":9}]")]));
    assert_eq!(found[2], Some(vec![("x", "1"), ("id", "null")]));
    assert_eq!(found[3], Some(vec![("id", "\"d\"")]));
    assert_eq!(found[4], Some(vec![]));
    assert_eq!(
        found[5],
        Some(vec![("id", "\"e\""), ("x", "0"), ("y", "0")])
    );
    assert_eq!(found[6], None);
    let layouts: Vec<_> = items.iter().flat_map(|item| item.fields).collect();
    assert_eq!(layouts[0].layout, layouts[1].layout);
    assert_eq!(structure.layouts.len(), 5);
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

#[test]
fn names_may_be_data() {
    let records: Vec<String> = (0..10_000)
        .map(|index| format!("{{\"id\":{index},\"k{index}\":{{\"of\":{index}}},\"z\":1}}"))
        .collect();
    let text = format!("{{\"rows\":[{}]}}", records.join(","));
    let structure = structural_index(&text).expect("it is JSON");
    let items = structure.members[0].items.as_ref().expect("an array");
    for (index, item) in items.iter().enumerate() {
        let found = fields(&text, &structure, item).expect("a record");
        let (number, name) = (index.to_string(), format!("k{index}"));
        let value = format!("{{\"of\":{index}}}");
        assert_eq!(found, [("id", &*number), (&*name, &*value), ("z", "1")]);
    }
}

#[test]
fn records_may_differ_in_white_space() {
    let alike = [
        "{\"id\":1,\"b\":[2]}",
        "{\"id\":\t1,\"b\": [2]}",
        "{ \"id\" : 1 , \"b\" : [2] }",
        "{\"id\": 1,\n\"b\":\r\n[2]\n}",
    ];
    for first in alike {
        for second in alike {
            let text = format!("{{\"rows\": [{first}, {second}]}}");
            let structure = structural_index(&text).expect("it is JSON");
            let items = structure.members[0].items.as_ref().expect("an array");
            for item in items {
                let found = fields(&text, &structure, item).expect("a record");
                assert_eq!(found, [("id", "1"), ("b", "[2]")], "{text}");
            }
        }
    }
}

/// Writes JSON with these pieces of white space between its tokens.
fn write<'a>(value: &Value, gaps: &mut impl Iterator<Item = &'a String>, text: &mut String) {
    let mut gap = |text: &mut String| text.push_str(gaps.next().unwrap());
    gap(text);
    match value {
        Value::Object(members) => {
            text.push('{');
            for (index, (name, value)) in members.iter().enumerate() {
                text.push_str(if index > 0 { "," } else { "" });
                write(&Value::from(name.as_str()), gaps, text);
                text.push(':');
                write(value, gaps, text);
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                text.push_str(if index > 0 { "," } else { "" });
                write(item, gaps, text);
            }
            text.push(']');
        }
        scalar => text.push_str(&scalar.to_string()),
    }
    text.push_str(gaps.next().unwrap());
}

proptest! {
    #[test]
    fn what_is_noted_is_what_the_library_reads(members in prop::collection::vec(("[a-z\"]{0,9}", value()), 0..5), alike in prop::collection::vec((value(), value()), 0..5), gaps in prop::collection::vec("[ \t\r\n]{0,2}|", 1..20)) {
        let alike: Vec<Value> = alike.into_iter().map(|(a, b)| json!({"id": a, "b": b})).collect();
        let more = ("rows".to_owned(), Value::from(alike));
        let object: Map<String, Value> = members.into_iter().chain([more]).collect();
        let mut text = String::new();
        write(&Value::Object(object.clone()), &mut gaps.iter().cycle(), &mut text);
        let structure = structural_index(&text).unwrap();
        let parse = |raw: &[u8]| serde_json::from_slice::<Value>(raw).unwrap();
        prop_assert_eq!(structure.members.len(), object.len());
        for (member, (name, value)) in structure.members.iter().zip(&object) {
            let parse = |span: Span| parse(span.of(text.as_bytes()));
            prop_assert_eq!(crate::json::text(member.name.of(text.as_bytes())).unwrap(), name.as_str());
            prop_assert_eq!(&parse(member.value), value);
            let items = member.items.as_ref().map(|items| items.iter().map(|item| parse(item.json)).collect::<Vec<_>>());
            prop_assert_eq!(items.map(Value::from), value.is_array().then(|| value.clone()));
            for (item, read) in member.items.iter().flatten().zip(value.as_array().into_iter().flatten()) {
                let found = fields(&text, &structure, item).map(|fields| {
                    let name = |raw: &str| crate::json::text(raw.as_bytes()).unwrap().into_owned();
                    let read = |(raw, value)| (name(raw), serde_json::from_str(value).unwrap());
                    fields.into_iter().map(read).collect::<Vec<(String, Value)>>()
                });
                let wanted = read.as_object().map(|fields| fields.clone().into_iter().collect());
                prop_assert_eq!(found, wanted);
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
