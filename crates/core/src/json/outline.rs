//! One strict pass over an answer: checks that it is JSON, and notes where members, records and ids are.
//!
//! A bulk scan reads gigabytes of which it needs hardly more than where records begin and end. General
//! parsers check and cut in separate passes, which together cost several times what reading the
//! bytes costs; this pass does both at once. What it accepts is what `serde_json` accepts, down to a
//! nesting of 128.

use super::reader::Reader;

/// The members of an answer's object.
pub(crate) struct Outline<'a> {
    pub(crate) members: Vec<Member<'a>>,
    /// The field names of records, raw; most records of a page share one.
    pub(crate) layouts: Vec<Layout<'a>>,
}

/// Raw field names (without quotes, escapes as they are) in the order of the text.
pub(crate) type Layout<'a> = Vec<&'a [u8]>;

/// A member of the answer's object.
pub(crate) struct Member<'a> {
    /// The raw name.
    pub(crate) name: &'a [u8],
    /// The raw value.
    pub(crate) value: &'a [u8],
    /// Its items, if it is an array.
    pub(crate) items: Option<Vec<Item<'a>>>,
}

/// An item of an array.
pub(crate) struct Item<'a> {
    pub(crate) json: &'a [u8],
    /// Index of its layout, if it is an object.
    pub(crate) layout: Option<usize>,
    /// The raw value of its member `id`.
    pub(crate) id: Option<&'a [u8]>,
}

/// Outlines a text that is a JSON object; `None` when it is anything else.
pub(crate) fn outline(text: &str) -> Option<Outline<'_>> {
    let mut reader = Reader::new(text.as_bytes());
    let mut outline = Outline {
        members: Vec::new(),
        layouts: Vec::new(),
    };
    reader.space();
    let mut more = reader.open(b'{', b'}')?;
    while more {
        let name = reader.name()?;
        let start = reader.position();
        let items = match reader.peek()? {
            b'[' => Some(items(&mut reader, &mut outline.layouts)?),
            _ => {
                reader.value(1)?;
                None
            }
        };
        outline.members.push(Member {
            name,
            value: reader.since(start),
            items,
        });
        more = reader.more(b'}')?;
    }
    reader.end().then_some(outline)
}

fn items<'a>(reader: &mut Reader<'a>, layouts: &mut Vec<Layout<'a>>) -> Option<Vec<Item<'a>>> {
    let mut items = Vec::new();
    let mut guess = 0;
    let mut more = reader.open(b'[', b']')?;
    while more {
        let item = match reader.peek()? {
            b'{' => record(reader, layouts, guess)?,
            _ => {
                let start = reader.position();
                reader.value(2)?;
                Item {
                    json: reader.since(start),
                    layout: None,
                    id: None,
                }
            }
        };
        guess = item.layout.unwrap_or(guess);
        items.push(item);
        more = reader.more(b']')?;
    }
    Some(items)
}

/// Reads a record; `guess` is the layout that it most likely has.
fn record<'a>(
    reader: &mut Reader<'a>,
    layouts: &mut Vec<Layout<'a>>,
    guess: usize,
) -> Option<Item<'a>> {
    let start = reader.position();
    let mut id = None;
    // The guess holds for so many fields; after that the names are collected.
    let mut alike = 0;
    let mut other: Option<Layout<'a>> = None;
    let mut more = reader.open(b'{', b'}')?;
    while more {
        let expected = layouts.get(guess).and_then(|names| names.get(alike));
        let name = match expected {
            Some(expected) if other.is_none() => reader.name_like(expected)?,
            _ => reader.name()?,
        };
        let value = reader.position();
        reader.value(3)?;
        if name == b"id" && id.is_none() {
            id = Some(reader.since(value));
        }
        let guessed = layouts.get(guess);
        match &mut other {
            Some(names) => names.push(name),
            None if guessed.and_then(|names| names.get(alike)) == Some(&name) => alike += 1,
            None => {
                let known = guessed
                    .and_then(|names| names.get(..alike))
                    .unwrap_or_default();
                other = Some(known.iter().copied().chain([name]).collect());
            }
        }
        more = reader.more(b'}')?;
    }
    let shorter = layouts.get(guess).is_none_or(|names| names.len() != alike);
    if other.is_none() && shorter {
        other = Some(
            layouts
                .get(guess)
                .and_then(|names| names.get(..alike))
                .unwrap_or_default()
                .to_vec(),
        );
    }
    let layout = match other {
        None => guess,
        Some(names) => layouts
            .iter()
            .position(|known| *known == names)
            .unwrap_or_else(|| {
                layouts.push(names);
                layouts.len() - 1
            }),
    };
    Some(Item {
        json: reader.since(start),
        layout: Some(layout),
        id,
    })
}

#[cfg(test)]
mod tests {
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
        let nested =
            |depth: usize| format!("{{\"k\":{}1{}}}", "[".repeat(depth), "]".repeat(depth));
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
                prop_assert_eq!(super::super::text(member.name).unwrap(), name.as_str());
                prop_assert_eq!(&parse(member.value), value);
                let items = member.items.as_ref().map(|items| items.iter().map(|item| parse(item.json)).collect::<Vec<_>>());
                prop_assert_eq!(items.map(Value::from), value.is_array().then(|| value.clone()));
                for (item, read) in member.items.iter().flatten().zip(value.as_array().into_iter().flatten()) {
                    prop_assert_eq!(item.id.map(parse), read.get("id").cloned());
                    if let (Some(layout), Some(fields)) = (item.layout, read.as_object()) {
                        let names: Vec<String> = outline.layouts[layout].iter().map(|name| super::super::text(name).unwrap().into_owned()).collect();
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
}
