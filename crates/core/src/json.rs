//! Walks through JSON that is known to be valid, without reading what is not asked for.
//!
//! A page is checked once as a whole by the JSON library; cutting it into records, and those into
//! fields, needs no second check and no values. On text that is not JSON the walks end early.

use memchr::memchr2;
use std::borrow::Cow;

/// The members of a JSON object, as raw name (without quotes, escapes as they are) and raw value.
pub(crate) struct Members<'a> {
    rest: &'a [u8],
}

/// Walks through the members of `object`.
pub(crate) fn members(object: &[u8]) -> Members<'_> {
    Members {
        rest: object.trim_ascii().strip_prefix(b"{").unwrap_or_default(),
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = after_separator(self.rest);
        let name_length = string_length(rest)?;
        let name = rest.get(1..name_length - 1)?;
        let value = rest
            .get(name_length..)?
            .trim_ascii_start()
            .strip_prefix(b":")?
            .trim_ascii_start();
        let length = value_length(value)?;
        let (value, rest) = value.split_at_checked(length)?;
        self.rest = rest;
        Some((name, value))
    }
}

/// The items of a JSON array, raw.
pub(crate) struct Items<'a> {
    rest: &'a [u8],
}

/// Walks through the items of `array`.
pub(crate) fn items(array: &[u8]) -> Items<'_> {
    Items {
        rest: array.trim_ascii().strip_prefix(b"[").unwrap_or_default(),
    }
}

impl<'a> Iterator for Items<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = after_separator(self.rest);
        if rest.first() == Some(&b']') {
            return None;
        }
        let (item, rest) = rest.split_at_checked(value_length(rest)?)?;
        self.rest = rest;
        Some(item)
    }
}

/// The text of a raw string (without quotes), its escapes resolved.
#[cfg(any(feature = "arrow", test))]
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
    let raw = value.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    match memchr::memchr(b'\\', raw) {
        None => std::str::from_utf8(raw).ok().map(Cow::Borrowed),
        Some(_) => serde_json::from_slice::<String>(value).ok().map(Cow::Owned),
    }
}

fn after_separator(rest: &[u8]) -> &[u8] {
    let rest = rest.trim_ascii_start();
    rest.strip_prefix(b",")
        .map_or(rest, <[u8]>::trim_ascii_start)
}

/// The length of the string at the beginning, with its quotes.
pub(crate) fn string_length(text: &[u8]) -> Option<usize> {
    if text.first() != Some(&b'"') {
        return None;
    }
    let mut at = 1;
    loop {
        at += memchr2(b'"', b'\\', text.get(at..)?)?;
        if text[at] == b'"' {
            return Some(at + 1);
        }
        at += 2;
    }
}

/// The length of the value at the beginning.
fn value_length(text: &[u8]) -> Option<usize> {
    match text.first()? {
        b'"' => string_length(text),
        b'{' | b'[' => {
            let (mut at, mut depth) = (0, 0_usize);
            loop {
                match text.get(at)? {
                    b'"' => {
                        at += string_length(&text[at..])?;
                        continue;
                    }
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' => depth -= 1,
                    _ => {}
                }
                at += 1;
                if depth == 0 {
                    return Some(at);
                }
            }
        }
        _ => {
            let ends = |byte: &u8| matches!(byte, b',' | b'}' | b']') || byte.is_ascii_whitespace();
            Some(text.iter().position(ends).unwrap_or(text.len())).filter(|length| *length > 0)
        }
    }
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
                Value::Array(_) => items(text.as_bytes()).map(parse).collect::<Vec<_>>().into(),
                _ => value.clone(),
            };
            prop_assert_eq!(walked, value);
        }

        #[test]
        fn a_walk_over_anything_ends(bytes in prop::collection::vec(any::<u8>(), 0..64), text in "[{\\[\\]}\",:\\\\a1 ]{0,40}") {
            for input in [bytes.as_slice(), text.as_bytes()] {
                prop_assert!(members(input).count() <= input.len());
                prop_assert!(items(input).count() <= input.len());
            }
        }
    }
}
