//! JSON for bulk reads: objects and arrays in raw pieces of their text, cut by serde_json. Errors say what is wrong
//! with a text without showing its values.

pub(crate) mod fault;

use crate::error::{Error, ErrorKind, Result};
use serde::Deserializer;
use serde::de::{DeserializeOwned, MapAccess, SeqAccess, Visitor};
use serde_json::error::Category;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

pub use talentdata_types::{decimal, whole};

/// Limits the nesting of records. serde_json builds no value from deeper ones, and code that walks through a record may
/// recurse.
pub const MAX_JSON_DEPTH: usize = 127;

/// Returns a name as a step of a JSON pointer.
pub fn pointer_step(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// Passes the members of the object `text` to `take`: the raw name (without quotes, escapes as they are) and the raw
/// value. A duplicate name is passed each time.
///
/// # Errors
/// An error if `text` is not one JSON object. The members before the fault are passed first.
pub(crate) fn read_object<'a>(
    text: &'a str,
    take: impl FnMut(&'a str, &'a str),
) -> serde_json::Result<()> {
    let mut reader = serde_json::Deserializer::from_str(text);
    reader.deserialize_map(ObjectVisitor(take))?;
    reader.end()
}

/// Passes the members of an object that was checked on arrival to `take`. If the text is not an object, only the
/// members before the fault are passed.
pub fn each_member<'a>(object: &'a str, take: impl FnMut(&'a str, &'a str)) {
    let _ = read_object(object, take);
}

/// Passes the raw items of an array that was checked on arrival to `take`. If the text is not an array, only the items
/// before the fault are passed.
pub fn each_item<'a>(array: &'a str, take: impl FnMut(&'a str)) {
    let _ = serde_json::Deserializer::from_str(array).deserialize_seq(ArrayVisitor(take));
}

/// Returns the members of an object: raw names (without quotes, escapes as they are) and raw values.
pub fn members(object: &str) -> Vec<(&str, &str)> {
    let mut members = Vec::new();
    each_member(object, |name, value| members.push((name, value)));
    members
}

/// Returns the raw items of an array.
pub fn items(array: &str) -> Vec<&str> {
    let mut items = Vec::new();
    each_item(array, |item| items.push(item));
    items
}

/// Returns the raw value of the member called `name`. The last duplicate wins.
pub fn member<'a>(object: &'a str, name: &str) -> Option<&'a str> {
    let mut found = None;
    each_member(object, |raw, value| {
        if is_named(raw, name) {
            found = Some(value);
        }
    });
    found
}

/// Returns the members by name, in the order in which the names first occur. The last duplicate of a name wins. A name
/// with half a surrogate pair is not valid text, and is returned as written.
pub fn by_name<'a, V>(members: Vec<(&'a str, V)>) -> Vec<(Cow<'a, str>, V)> {
    let mut places = HashMap::with_capacity(members.len());
    let mut named: Vec<(Cow<'a, str>, V)> = Vec::with_capacity(members.len());
    for (raw, value) in members {
        let name = text(raw).unwrap_or(Cow::Borrowed(raw));
        let place = *places.entry(name.clone()).or_insert(named.len());
        match named.get_mut(place) {
            Some(member) => member.1 = value,
            None => named.push((name, value)),
        }
    }
    named
}

/// Returns whether a raw name (without quotes) equals `name` once its escapes are resolved.
pub fn is_named(raw: &str, name: &str) -> bool {
    let begin = raw.as_bytes().first();
    // Most names differ in their first byte.
    if begin != name.as_bytes().first() && begin != Some(&b'\\') {
        return false;
    }
    if is_escaped(raw) {
        text(raw).is_some_and(|text| text == name)
    } else {
        raw == name
    }
}

/// Returns the text of a raw string (without quotes), its escapes resolved; `None` if it has half a surrogate pair.
pub fn text(raw: &str) -> Option<Cow<'_, str>> {
    if !is_escaped(raw) {
        return Some(Cow::Borrowed(raw));
    }
    let text = serde_json::from_str::<String>(&format!("\"{raw}\""));
    text.ok().map(Cow::Owned)
}

/// Returns whether a raw string has escapes.
pub fn is_escaped(raw: &str) -> bool {
    raw.as_bytes().contains(&b'\\')
}

/// Returns the text of a raw value, its escapes resolved; `None` if it is not a string.
pub fn decoded(raw: &str) -> Option<Cow<'_, str>> {
    text(raw.strip_prefix('"')?.strip_suffix('"')?)
}

/// Returns whether `text` is one JSON object, nested no deeper than a record may be.
pub fn is_object(text: &str) -> bool {
    read_object(text, |_, _| ()).is_ok() && !is_too_deep(text, 0)
}

/// Returns whether a JSON value that is within `outer` levels is nested deeper than a record may be.
pub(crate) fn is_too_deep(json: &str, outer: usize) -> bool {
    // Each level takes two bytes.
    if !json.starts_with(['[', '{']) || outer + json.len() / 2 <= MAX_JSON_DEPTH {
        return false;
    }
    let opens = json.bytes().filter(|byte| matches!(byte, b'[' | b'{'));
    // Hardly any value has enough brackets, so the exact count, which must skip strings, is seldom needed.
    if outer + opens.count() <= MAX_JSON_DEPTH {
        return false;
    }
    let (mut depth, mut quoted, mut escaped) = (outer, false, false);
    json.bytes().any(|byte| {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => quoted = !quoted,
            b'[' | b'{' if !quoted => depth += 1,
            b']' | b'}' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > MAX_JSON_DEPTH
    })
}

/// Checks that a text is JSON that can be read as `T`.
#[allow(dead_code, reason = "a spec may have no bodies")]
pub(crate) fn fits<T: DeserializeOwned>(text: &str) -> Result<()> {
    from_json::<T>(text, "").map(drop)
}

/// Reads JSON. `place` is the path of this text within the response.
pub(crate) fn from_json<T: DeserializeOwned>(text: &str, place: &str) -> Result<T> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path().to_string();
        // A dot alone means the place itself, and a question mark a place without a name.
        let path = format!("{place}.{path}");
        match error.inner() {
            // The path has a step for each level.
            nested if is_nested(nested) => json_error(nested, place),
            inner => json_error(inner, path.trim_matches(['.', '?'])),
        }
    })?;
    reader.end().map_err(|error| json_error(&error, place))?;
    Ok(value)
}

/// Returns an error that says what is wrong without the offending value, which the library's own message would quote.
pub(crate) fn json_error(error: &serde_json::Error, place: &str) -> Error {
    let at = match place {
        "" => String::new(),
        place => format!("{place}: "),
    };
    let what = match error.classify() {
        Category::Data => {
            let message = format!("{at}{}", without_value(error));
            return Error::schema(message);
        }
        // Such a text is valid JSON, so a repeat would return the same.
        Category::Syntax if error.to_string().contains("hex escape") => {
            let message =
                format!("{at}the string has half of a surrogate pair, which is not valid text");
            return Error::schema(message);
        }
        Category::Syntax if is_nested(error) => {
            let message = format!("{at}the JSON is nested deeper than {MAX_JSON_DEPTH} levels");
            return Error::schema(message);
        }
        Category::Eof => "the JSON ends too early",
        Category::Syntax | Category::Io => "this is not JSON",
    };
    let (line, column) = (error.line(), error.column());
    let message = format!("{at}{what}, at line {line} column {column}");
    Error::new(ErrorKind::Decode, message).with_max_attempts(attempts(error))
}

/// Returns whether a reader stopped at a text because it is nested too deeply.
pub(crate) fn is_nested(error: &serde_json::Error) -> bool {
    error.to_string().starts_with("recursion limit")
}

/// Returns the maximum number of attempts if a text is not JSON. If it ends too early, it may have been cut in transit.
/// Otherwise a repeat is the same unless the text was damaged, so one more attempt is enough.
pub(crate) fn attempts(error: &serde_json::Error) -> u32 {
    if error.is_eof() { u32::MAX } else { 2 }
}

/// Rewrites ``invalid type: integer `5`, expected a string at line 1 column 2`` as `found integer, expected a string`.
///
/// The value may contain these words itself. The type that was found is before the first quote, and the type that was
/// expected is after the last `expected`. The value is in between. Nothing is known about any other message, so no part
/// of it is shown.
fn without_value(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let text = text.strip_suffix(&place).unwrap_or(&text);
    // These messages quote only the names of our own types.
    for (begin, what) in [
        ("missing field `", "missing"),
        ("duplicate field `", "there twice"),
    ] {
        if let Some(name) = text.strip_prefix(begin) {
            return format!("{} is {what}", name.trim_end_matches('`'));
        }
    }
    let said = text
        .strip_prefix("invalid type: ")
        .or_else(|| text.strip_prefix("invalid value: "));
    match said.and_then(|said| said.rsplit_once(", expected ")) {
        Some((found, expected)) => {
            let mut words = found.split(['`', '"']);
            let kind = words.next().unwrap_or_default().trim();
            // The reader reports an integer above 64 bits as a floating-point number.
            let number = words.next().and_then(|text| text.parse::<f64>().ok());
            let is_whole = number.is_some_and(|number| number.fract() == 0.0);
            let is_integer = matches!(expected, "i64" | "u64" | "a 64-bit integer");
            // Translate Rust's names of types, which mean nothing to users of other languages.
            let found = match kind {
                "map" => "object",
                "sequence" => "array",
                "integer" if is_integer => "an integer out of range",
                "floating point" if is_integer && is_whole => "an integer out of range",
                "floating point" if is_integer => "a number with a fraction",
                "floating point" => "number",
                words => words,
            };
            let expected = match expected {
                "i64" => "a 64-bit integer",
                "u64" => "a 64-bit integer that is not negative",
                ours if ours.starts_with("struct ") => "an object",
                "a sequence" => "an array",
                "a map" => "an object",
                words => words,
            };
            format!("found {found}, expected {expected}")
        }
        None => "the value does not have the expected form".to_owned(),
    }
}

/// Returns the range of `piece` in `text`. It must be a slice of `text`.
pub(crate) fn place(piece: &str, text: &[u8]) -> Range<usize> {
    let start = piece.as_ptr().addr() - text.as_ptr().addr();
    start..start + piece.len()
}

/// Returns a raw name without its quotes.
pub(crate) fn unquoted(name: &RawValue) -> &str {
    let name = name.get();
    &name[1..name.len() - 1]
}

struct ObjectVisitor<F>(F);

impl<'de, F: FnMut(&'de str, &'de str)> Visitor<'de> for ObjectVisitor<F> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> std::result::Result<(), A::Error> {
        while let Some((name, value)) = map.next_entry::<&RawValue, &RawValue>()? {
            (self.0)(unquoted(name), value.get());
        }
        Ok(())
    }
}

struct ArrayVisitor<F>(F);

impl<'de, F: FnMut(&'de str)> Visitor<'de> for ArrayVisitor<F> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> std::result::Result<(), A::Error> {
        while let Some(item) = items.next_element::<&RawValue>()? {
            (self.0)(item.get());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::IpAddr;
    use talentdata_types::Contact;

    #[derive(Debug, serde::Deserialize)]
    enum One {
        #[serde(rename = "one")]
        _One,
    }

    #[test]
    fn an_error_names_the_fault_and_shows_no_value() {
        fn refuses<T: DeserializeOwned>(text: &str, message: &str) {
            let error = from_json::<T>(text, "contacts[3]").err().unwrap();
            let message = format!("contacts[3]{message}");
            assert_eq!(
                (error.kind(), error.message()),
                (ErrorKind::Schema, &*message)
            );
        }
        let wrong_name = r#"{"id":"1","firstName":7,"lastName":"b","email":"c"}"#;
        let wrong_id = r#"{"id":{"CANARY":1},"email":"CANARY"}"#;
        refuses::<Contact>(wrong_name, ".firstName: found integer, expected a string");
        refuses::<Contact>(wrong_id, ".id: found object, expected a string");
        refuses::<Contact>(r#"{"id":1}"#, ".id: found integer, expected a string");
        refuses::<Contact>(r#"{"id":"1"}"#, ": firstName is missing");
        refuses::<Vec<u8>>("7", ": found integer, expected an array");
        let deep = "[".repeat(130) + &"]".repeat(130);
        let nested = ": the JSON is nested deeper than 127 levels";
        refuses::<serde_json::Value>(&deep, nested);
        refuses::<Contact>("7", ": found integer, expected an object");
        let range = ": found an integer out of range, expected a 64-bit integer";
        refuses::<i64>("18446744073709551616", range);
        refuses::<i64>("9223372036854775808", range);
        refuses::<u64>("-1", &format!("{range} that is not negative"));
        let fraction = ": found a number with a fraction, expected a 64-bit integer";
        refuses::<i64>("1.5", fraction);
        // A value may imitate the message.
        for text in [
            r#""x, expected CANARY""#,
            r#""CANARY at line 9""#,
            r#""CANARY at line 1 column 9""#,
            r#""CANARY: x`, expected `CANARY""#,
            r#""\", expected CANARY""#,
        ] {
            refuses::<u64>(
                text,
                ": found string, expected a 64-bit integer that is not negative",
            );
        }
        // Nothing is shown of an unknown message.
        let foreign = r#""a: CANARY, expected CANARY""#;
        refuses::<One>(foreign, ": the value does not have the expected form");
        refuses::<IpAddr>(foreign, ": the value does not have the expected form");
    }
}
