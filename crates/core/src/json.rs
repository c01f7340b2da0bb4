//! JSON as a bulk scan needs it: cut into records and fields, checked, but not read into values.

mod key_trie;
mod reader;
mod structural_index;

pub(crate) use structural_index::{
    Fields, Item, Layout, MOST_FIELDS, MOST_ITEMS, Member, Span, StructuralIndex, structural_index,
};

use reader::Text;
use std::borrow::Cow;

/// The members of a JSON object, as raw name (without quotes, escapes as they are) and raw value.
pub struct Members<'a>(Walk<'a>);

/// Walks through the members of `object`, to its end or to where it is not JSON.
pub fn members(object: &[u8]) -> Members<'_> {
    Members(Walk::into(object, b'{', b'}'))
}

impl<'a> Iterator for Members<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let text = self.0.text;
        let (name, value) = text.name(self.0.next?)?;
        Some((text.0.get(name)?, self.0.value(value)?))
    }
}

/// Whether a raw name (without quotes, escapes as they are) reads `name`.
pub fn is_named(raw: &[u8], name: &str) -> bool {
    raw == name.as_bytes() || raw.contains(&b'\\') && text(raw).is_some_and(|text| text == name)
}

/// The raw value of the member called `name`; of a name that occurs twice, the last.
pub fn member<'a>(object: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let named = members(object).filter(|(raw, _)| is_named(raw, name));
    named.last().map(|(_, value)| value)
}

/// The items of a JSON array, raw.
pub struct Items<'a>(Walk<'a>);

/// Walks through the items of `array`, to its end or to where it is not JSON.
pub fn items(array: &[u8]) -> Items<'_> {
    Items(Walk::into(array, b'[', b']'))
}

impl<'a> Iterator for Items<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        self.0.value(self.0.next?)
    }
}

/// On the way through an object or array.
struct Walk<'a> {
    text: Text<'a>,
    close: u8,
    /// Where the next member or item is.
    next: Option<usize>,
}

impl<'a> Walk<'a> {
    fn into(text: &'a [u8], open: u8, close: u8) -> Self {
        let text = Text(text);
        let (at, more) = text.open(text.space(0), open, close).unwrap_or_default();
        let next = more.then_some(at);
        Walk { text, close, next }
    }

    /// The value at this place; goes on behind it.
    fn value(&mut self, at: usize) -> Option<&'a [u8]> {
        self.next = None;
        let end = self.text.value(at, 1)?;
        let (next, more) = self.text.more(end, self.close).unwrap_or_default();
        self.next = more.then_some(next);
        self.text.0.get(at..end)
    }
}

/// On the way through a value token by token, so that each byte is read once however deep it stands. Where the
/// text turns out not to be JSON, it is at its end.
pub(crate) struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    /// At the first byte of a value.
    pub(crate) fn new(text: &'a str) -> Self {
        Cursor { text, at: 0 }
    }

    /// The byte at hand.
    pub(crate) fn byte(&self) -> Option<u8> {
        self.json().byte(self.at)
    }

    /// Where it is in the text.
    pub(crate) fn place(&self) -> usize {
        self.at
    }

    /// Goes to the first member or item of an object or array; behind it where there is none.
    pub(crate) fn open(&mut self, open: u8, close: u8) -> bool {
        let next = self.json().open(self.at, open, close);
        self.step(next)
    }

    /// Goes from behind a member or item to the next one; behind the object or array where there is none.
    pub(crate) fn more(&mut self, close: u8) -> bool {
        let next = self.json().more(self.at, close);
        self.step(next)
    }

    /// Passes over a member's name, which is returned raw, to its value.
    pub(crate) fn name(&mut self) -> &'a [u8] {
        let found = self.json().name(self.at);
        let (name, value) = found.unwrap_or((0..0, self.text.len()));
        self.at = value;
        self.text.as_bytes().get(name).unwrap_or_default()
    }

    /// Passes over a value, which is returned raw.
    pub(crate) fn value(&mut self) -> &'a str {
        let begin = self.at;
        let end = self.json().value(begin, 1);
        self.at = end.unwrap_or(self.text.len());
        self.text.get(begin..self.at).unwrap_or_default()
    }

    fn step(&mut self, next: Option<(usize, bool)>) -> bool {
        let (at, more) = next.unwrap_or((self.text.len(), false));
        self.at = at;
        more
    }

    fn json(&self) -> Text<'a> {
        Text(self.text.as_bytes())
    }
}

/// Whether `text` is one JSON object, nested no deeper than a page may be.
pub fn is_object(text: &str) -> bool {
    let text = Text(text.as_bytes());
    let begin = text.space(0);
    let end = text.value(begin, 0);
    text.byte(begin) == Some(b'{') && end.is_some_and(|end| text.ends(end))
}

/// The text of a raw string (without quotes), its escapes resolved.
pub fn text(raw: &[u8]) -> Option<Cow<'_, str>> {
    let text = std::str::from_utf8(raw).ok()?;
    if !text.contains('\\') {
        return Some(Cow::Borrowed(text));
    }
    serde_json::from_str::<String>(&format!("\"{text}\""))
        .ok()
        .map(Cow::Owned)
}

/// The length of the string at the beginning, with its quotes.
pub(crate) fn string_length(text: &[u8]) -> Option<usize> {
    Text(text.strip_prefix(b"\"")?).string(0).map(|end| end + 1)
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
