//! The place where a text stops being JSON, and what is there: in names and numbers, without any value.

use super::{member, text};

/// The words that other languages write for values that JSON does not have. Any other word may be somebody's data.
const FOREIGN: [&str; 14] = [
    "NaN",
    "-NaN",
    "nan",
    "-nan",
    "Infinity",
    "-Infinity",
    "inf",
    "-inf",
    "Inf",
    "-Inf",
    "None",
    "True",
    "False",
    "undefined",
];
/// Limits the levels that the path names.
const MAX_LEVELS: usize = 16;
/// A place at which a text is not JSON.
pub(crate) struct JsonFault {
    /// The names and numbers that lead to the place: `contacts[17].score`.
    pub(crate) path: String,
    /// The index of the item with the fault, if it is in an array of the outermost object, and the item's `id`, if that
    /// comes before the fault.
    pub(crate) item: Option<(usize, Option<String>)>,
    /// A description of what is at the place.
    pub(crate) what: String,
}

/// An object or an array that contains the fault.
struct Level<'a> {
    /// The index at which it begins.
    start: usize,
    is_array: bool,
    /// True if the next string is the name of a member.
    expects_name: bool,
    name: &'a str,
    /// The number of items before the current one.
    index: usize,
}

/// Describes the fault at this line and column, both counted from 1, at which a JSON reader stopped.
pub(crate) fn find(whole: &str, line: usize, column: usize) -> JsonFault {
    let lines = whole.split_inclusive('\n').take(line.saturating_sub(1));
    let before: usize = lines.map(str::len).sum();
    let at = (before + column.saturating_sub(1)).min(whole.len());
    let (mut levels, mut value) = (Vec::<Level<'_>>::new(), 0);
    let (mut string, mut is_escaped) = (None, false);
    for (index, byte) in whole.bytes().enumerate().take(at) {
        let level = levels.last_mut();
        match (string, byte) {
            (Some(_), _) if is_escaped => is_escaped = false,
            (Some(_), b'\\') => is_escaped = true,
            (Some(start), b'"') => {
                string = None;
                if let Some(level) = level.filter(|level| level.expects_name) {
                    level.name = whole.get(start..index).unwrap_or_default();
                }
            }
            (Some(_), _) => {}
            (None, b'"') => string = Some(index + 1),
            (None, b'{' | b'[') => {
                value = index + 1;
                levels.push(Level {
                    start: index,
                    is_array: byte == b'[',
                    expects_name: byte == b'{',
                    name: "",
                    index: 0,
                });
            }
            (None, b'}' | b']') => drop(levels.pop()),
            (None, b':' | b',') => {
                value = index + 1;
                if let Some(level) = level {
                    level.index += usize::from(byte == b',');
                    level.expects_name = byte == b',' && !level.is_array;
                }
            }
            _ => {}
        }
    }
    let item = match &levels[..] {
        [whole_object, array, record, ..] if !whole_object.is_array && array.is_array => {
            let id = whole
                .get(record.start..)
                .and_then(|record| member(record, "id"));
            Some((array.index, id.map(str::to_owned)))
        }
        [whole_object, array] if !whole_object.is_array && array.is_array => {
            Some((array.index, None))
        }
        _ => None,
    };
    let mut path = String::new();
    for level in levels.iter().take(MAX_LEVELS) {
        let dot = if path.is_empty() { "" } else { "." };
        let name = text(level.name).unwrap_or(level.name.into());
        if level.is_array {
            path += &format!("[{}]", level.index);
        } else if !name.is_empty() {
            path += &format!("{dot}{name}");
        }
    }
    // For some characters the reader reports the position before them, and for others the position after them.
    let mut here = whole[at..].chars();
    let control = here.clone().take(2).find(|one| one.is_control());
    let what = match (control.filter(|_| string.is_some()).or(here.next()), string) {
        (None, _) => "the text ends".to_owned(),
        (Some(one), Some(_)) if one.is_control() => {
            format!(
                "found the control character U+{:04X} within a string",
                u32::from(one)
            )
        }
        (Some(_), Some(_)) => "a string has an escape that JSON does not have".to_owned(),
        (Some(one), None) => match word(&whole[value.min(at)..]) {
            word if FOREIGN.contains(&word) => format!("found {word}"),
            _ if one.is_ascii_punctuation() => format!("found '{one}'"),
            _ => "found something that JSON does not have".to_owned(),
        },
    };
    JsonFault { path, item, what }
}

/// Returns the word that a text begins with.
fn word(text: &str) -> &str {
    let text = text.trim_start();
    let is_end = |one: char| !one.is_ascii_alphanumeric() && one != '-';
    &text[..text.find(is_end).unwrap_or(text.len())]
}

#[cfg(test)]
mod tests {
    use crate::json::read_object;

    #[test]
    fn a_json_fault_is_named_by_list_index_field_and_id() {
        for (record, path, id, what) in [
            (r#"{"id":"b","score":NaN}"#, ".score", r#""b""#, "found NaN"),
            (
                r#"{"id":7,"score": -Infinity}"#,
                ".score",
                "7",
                "found -Infinity",
            ),
            (r#"{"id":"b","on":True}"#, ".on", r#""b""#, "found True"),
            (
                r#"{"id":"b","x":{"y":[1,None]}}"#,
                ".x.y[1]",
                r#""b""#,
                "found None",
            ),
            (
                "{\"id\":\"b\",\"note\":\"a\tb\"}",
                ".note",
                r#""b""#,
                "found the control character U+0009 within a string",
            ),
            (
                r#"{"id":"b","note":"\x"}"#,
                ".note",
                r#""b""#,
                "a string has an escape that JSON does not have",
            ),
            (
                r#"{"id":"b","name":'CANARY'}"#,
                ".name",
                r#""b""#,
                "found '\\''",
            ),
            (r#"{"id":"b","a":1,}"#, ".a", r#""b""#, "found '}'"),
            (
                r#"{"id":"b","name":CANARY}"#,
                ".name",
                r#""b""#,
                "found something that JSON does not have",
            ),
            (r#"{"score":NaN,"id":"b"}"#, ".score", "", "found NaN"),
            ("NaN", "", "", "found NaN"),
        ] {
            let whole = format!("{{\"ok\":true,\n\"rows\":[{{\"id\":\"a\"}},\r\n{record}]}}");
            let error = read_object(&whole, |_, _| ()).unwrap_err();
            let fault = super::find(&whole, error.line(), error.column());
            assert_eq!(fault.path, format!("rows[1]{path}"), "{record}");
            let id = (!id.is_empty()).then(|| id.to_owned());
            assert_eq!(fault.item, Some((1, id)), "{record}");
            assert_eq!(fault.what, what.replace("\\'", "'"), "{record}");
        }
    }
}
