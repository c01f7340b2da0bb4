//! The text of a record for views, if SQLite's JSON functions do not read the record's own text correctly.
//! These functions take the first of two members with the same name. Before 3.45 they find a name only in the notation
//! of the record. They cut a string at U+0000, and round integers beyond 64 bits. They turn half of a surrogate pair
//! into invalid bytes, and in 3.26 a whole pair as well.

use std::borrow::Cow;
use talentdata_core::internal::json;

/// The character that replaces characters without a notation in a path.
const REPLACEMENT: char = '\u{f8ff}';

/// Returns the path of a field in the text of a record that views read.
pub(crate) fn path(name: &str) -> String {
    format!("$.\"{}\"", spelled(name))
}

/// Returns the record with each name once, as [`path`] spells it, and with the name's last value. Integers beyond 64
/// bits are strings. In strings, U+0000 and half of a surrogate pair are spelled as JSON escapes them. `None` if views
/// can read the record's own text.
pub(crate) fn plain(text: &str) -> Option<String> {
    let members = json::members(text);
    let named = json::by_name(members.clone());
    let is_plain = named.len() == members.len()
        && members.iter().all(|(name, value)| {
            matches!(spelled(name), Cow::Borrowed(_)) && !is_long(value) && !is_misread(value)
        });
    if is_plain {
        return None;
    }
    let mut plain = String::with_capacity(text.len() + 64);
    for (name, value) in named {
        let value = match value {
            long if is_long(long) => Cow::from(format!("\"{long}\"")),
            cut if is_misread(cut) => escaped(cut).into(),
            other => other.into(),
        };
        plain.push(if plain.is_empty() { '{' } else { ',' });
        plain += &format!("\"{}\":{value}", spelled(&name));
    }
    plain.push('}');
    Some(plain)
}

/// Returns a name without characters that JSON escapes. No two names are spelled alike.
fn spelled(name: &str) -> Cow<'_, str> {
    // This fast path covers almost all names.
    if !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return name.into();
    }
    let is_special = |letter: char| letter < ' ' || ['"', '\\', REPLACEMENT].contains(&letter);
    if !name.is_empty() && !name.contains(is_special) {
        return name.into();
    }
    let mut spelled = REPLACEMENT.to_string();
    for letter in name.chars() {
        if is_special(letter) {
            spelled += &format!("{REPLACEMENT}{:x}{REPLACEMENT}", u32::from(letter));
        } else {
            spelled.push(letter);
        }
    }
    spelled.into()
}

/// Returns whether a raw value is an integer beyond 64 bits.
fn is_long(value: &str) -> bool {
    let is_number = value.starts_with(|first: char| first == '-' || first.is_ascii_digit());
    is_number
        && value.len() > 18
        && !value.contains(['.', 'e', 'E'])
        && value.parse::<i64>().is_err()
}

/// Returns whether a raw value is a string with escapes that are no text, or that some SQLite does not read.
fn is_misread(value: &str) -> bool {
    let is_escaped = value.starts_with('"') && value.contains("\\u");
    let is_wrong = |letter: char| letter == '\0' || letter > '\u{ffff}';
    is_escaped && json::decoded(value).is_none_or(|text| text.contains(is_wrong))
}

/// Returns a raw string without escapes of surrogate pairs. Escapes of U+0000 and of half of a pair become text.
fn escaped(string: &str) -> String {
    let unit = |rest: &str| u16::from_str_radix(rest.strip_prefix("\\u")?.get(..4)?, 16).ok();
    let (mut escaped, mut rest) = (String::with_capacity(string.len() + 8), string);
    while let Some(at) = rest.find('\\') {
        let (before, found) = rest.split_at(at);
        escaped += before;
        let pair = unit(found).zip(found.get(6..).and_then(unit));
        let pair = pair.and_then(|(high, low)| String::from_utf16(&[high, low]).ok());
        let length = match (unit(found), pair) {
            (Some(0xd800..=0xdbff), Some(letter)) => {
                escaped += &letter;
                rest = &found[12..];
                continue;
            }
            (Some(0 | 0xd800..=0xdfff), _) => {
                escaped.push('\\');
                6
            }
            _ => 2,
        };
        escaped += &found[..length];
        rest = &found[length..];
    }
    escaped + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_that_every_sqlite_reads_needs_no_other_text() {
        for text in [
            r#"{"id":"c-1","a.b":1,"a[0]":"\u00e9 \"\\u0000","n":-9223372036854775808}"#,
            r#"{"Größe":1.5e300,"😀":"😀","x":{"a":1,"a":"\u0000"},"y":[12345678901234567890],"z":null}"#,
        ] {
            assert_eq!(plain(text), None, "{text}");
        }
    }

    #[test]
    fn other_records_are_spelled_as_every_sqlite_reads_them() {
        for (text, expected) in [
            (r#"{"Gr\u00f6\u00dfe":1}"#, r#"{"Größe":1}"#),
            (r#"{"a":1,"b":2,"a":3}"#, r#"{"a":3,"b":2}"#),
            (r#"{"a":"x\u0000y"}"#, r#"{"a":"x\\u0000y"}"#),
            (r#"{"a":"\\\u0000\\u0000"}"#, r#"{"a":"\\\\u0000\\u0000"}"#),
            (
                r#"{"a":"\ud83d\ud83d\ude00\uDE00"}"#,
                r#"{"a":"\\ud83d😀\\uDE00"}"#,
            ),
            (
                r#"{"a":9223372036854775808}"#,
                r#"{"a":"9223372036854775808"}"#,
            ),
            (
                r#"{"\"":1,"":2}"#,
                "{\"\u{f8ff}\u{f8ff}22\u{f8ff}\":1,\"\u{f8ff}\":2}",
            ),
        ] {
            assert_eq!(plain(text).as_deref(), Some(expected), "{text}");
        }
    }
}
