//! JSON as a bulk scan needs it: cut into records and fields, checked, but not read into values.

mod outline;
mod reader;

pub(crate) use outline::{Item, Member, Outline, outline};

use reader::Reader;
use std::borrow::Cow;

/// The members of a JSON object, as raw name (without quotes, escapes as they are) and raw value.
pub(crate) struct Members<'a> {
    reader: Reader<'a>,
    more: bool,
}

/// Walks through the members of `object`, to its end or to where it is not JSON.
pub(crate) fn members(object: &[u8]) -> Members<'_> {
    let mut reader = Reader::new(object);
    reader.space();
    let more = reader.open(b'{', b'}') == Some(true);
    Members { reader, more }
}

impl<'a> Iterator for Members<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        if !std::mem::take(&mut self.more) {
            return None;
        }
        let name = self.reader.name()?;
        let start = self.reader.position();
        self.reader.value(1)?;
        let value = self.reader.since(start);
        self.more = self.reader.more(b'}') == Some(true);
        Some((name, value))
    }
}

/// The text of a raw string (without quotes), its escapes resolved.
pub(crate) fn text(raw: &[u8]) -> Option<Cow<'_, str>> {
    let text = std::str::from_utf8(raw).ok()?;
    if !text.contains('\\') {
        return Some(Cow::Borrowed(text));
    }
    serde_json::from_str::<String>(&format!("\"{text}\""))
        .ok()
        .map(Cow::Owned)
}

/// The text of a raw string value (with its quotes), its escapes resolved; none for a lone surrogate.
#[cfg(feature = "arrow")]
pub(crate) fn unquote(value: &[u8]) -> Option<Cow<'_, str>> {
    text(value.strip_prefix(b"\"")?.strip_suffix(b"\"")?)
}

/// The length of the string at the beginning, with its quotes.
pub(crate) fn string_length(text: &[u8]) -> Option<usize> {
    let mut reader = Reader::new(text);
    reader.string()?;
    Some(reader.position())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Map, Value};

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f32>().prop_map(Value::from),
            "[\\PC\"\\\\{}\\[\\],:]{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::vec(("[\\PC\"\\\\:]{0,6}", inner), 0..6)
                    .prop_map(|members| Value::from(members.into_iter().collect::<Map<_, _>>())),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_walk_finds_what_the_library_finds(value in json(), pretty: bool) {
            let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
            let parse = |raw: &[u8]| serde_json::from_slice::<Value>(raw).unwrap();
            let walked = match &value {
                Value::Object(_) => members(text.as_bytes())
                    .map(|(name, raw)| (super::text(name).unwrap().into_owned(), parse(raw)))
                    .collect::<Map<_, _>>()
                    .into(),
                _ => value.clone(),
            };
            prop_assert_eq!(walked, value);
        }

        #[test]
        fn a_walk_over_anything_ends(bytes in prop::collection::vec(any::<u8>(), 0..64), text in "[{\\[\\]}\",:\\\\a1 ]{0,40}") {
            for input in [bytes.as_slice(), text.as_bytes()] {
                prop_assert!(members(input).count() <= input.len());
            }
        }
    }
}
