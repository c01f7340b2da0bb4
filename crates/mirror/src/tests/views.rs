//! What any SQLite shows of records that its functions read in different ways.

use super::*;
use std::path::PathBuf;

/// Records with what SQLite's versions read in different ways, and what the column `value` shows of them.
pub(super) const ODD: [(&str, &str); 16] = [
    (
        r#"{"id":"1","value":"\u00e9\ud83d\ude00\n\\u0000"}"#,
        "'é😀\n\\u0000'",
    ),
    (r#"{"id":"2","value":"a\u0000b"}"#, r"'a\u0000b'"),
    (r#"{"id":"3","value":"\ud83d"}"#, r"'\ud83d'"),
    (
        "{\"id\":\"4\",\"value\":\"\u{fffd}\\uDE00\"}",
        "'\u{fffd}\\uDE00'",
    ),
    (r#"{"id":"5","value":"\ud7ff"}"#, "'\u{d7ff}'"),
    (
        r#"{"id":"6","value":9223372036854775807}"#,
        "9223372036854775807",
    ),
    (
        r#"{"id":"7","value":-9223372036854775808}"#,
        "-9223372036854775808",
    ),
    (
        r#"{"id":"8","value":9223372036854775808}"#,
        "'9223372036854775808'",
    ),
    (r#"{"id":"9","value":1.5e3}"#, "1500.0"),
    (r#"{"id":"10","value":true}"#, "1"),
    (r#"{"id":"11","value":1,"x":2,"value":"last"}"#, "'last'"),
    (r#"{"id":"12","v\u0061lue":"escaped"}"#, "'escaped'"),
    (
        r#"{"id":"13","value":{"a":["\u0000",12345678901234567890]}}"#,
        r#"'{"a":["\u0000",12345678901234567890]}'"#,
    ),
    (r#"{"id":"14","value":null}"#, "NULL"),
    (r#"{"id":"15","value":""}"#, "''"),
    (r#"{"id":"16"}"#, "NULL"),
];

/// Names of fields that a path cannot spell as they are, or only with care. A value of each is the name's place.
pub(super) const NAMES: [&str; 14] = [
    "Größe",
    "a.b",
    "a[0]",
    "it's",
    "say \"hi\"",
    "back\\slash",
    "$",
    "",
    "tab\tbed",
    "\u{f8ff}",
    "#-1",
    "%s",
    "日本",
    "x'--",
];

/// A mirror of [`ODD`] and of a record with [`NAMES`], plain and as Python spells them.
pub(super) fn odd() -> Trial {
    let trial = Trial::new();
    let mut texts: Vec<String> = ODD.iter().map(|(text, _)| (*text).to_owned()).collect();
    for (id, is_ascii) in [("plain", false), ("ascii", true)] {
        let member = |(place, name): (usize, &&str)| {
            let mut name = serde_json::to_string(name).unwrap();
            if is_ascii {
                let unit = |letter: char| {
                    letter
                        .encode_utf16(&mut [0; 2])
                        .iter()
                        .map(|unit| format!("\\u{unit:04x}"))
                        .collect()
                };
                name = name
                    .chars()
                    .map(|letter| {
                        if letter.is_ascii() {
                            letter.to_string()
                        } else {
                            unit(letter)
                        }
                    })
                    .collect();
            }
            format!(",{name}:{place}")
        };
        let members: String = NAMES.iter().enumerate().map(member).collect();
        texts.push(format!("{{\"id\":\"{id}\"{members},\"nul\\u0000\":1}}"));
    }
    trial.sync(&texts, COUNTED);
    // More than a first look at a list: these come as updates.
    let swapped = texts
        .iter()
        .map(|text| text.replace("\"id\":", "\"seen\":1,\"id\":"));
    trial.sync(&swapped.collect::<Vec<_>>(), COUNTED);
    trial
}

/// The queries that show all of [`odd`], each with its answer.
pub(super) fn questions() -> Vec<(String, String)> {
    let one = |view: &str, what: &str, id: &str| {
        format!("SELECT {what} FROM {view} WHERE _key = '{id}' ORDER BY 1 LIMIT 1")
    };
    let mut all = Vec::new();
    for view in ["contacts", "contacts_changes"] {
        for (number, (text, shown)) in ODD.iter().enumerate() {
            let id = (number + 1).to_string();
            all.push((one(view, "quote(value)", &id), (*shown).to_owned()));
            if view == "contacts" {
                let text = text.replace("\"id\":", "\"seen\":1,\"id\":");
                all.push((one(view, "_record", &id), text));
            }
        }
        for (place, name) in NAMES.iter().enumerate() {
            let column = format!("\"{}\"", name.replace('"', "\"\""));
            all.push((one(view, &column, "plain"), place.to_string()));
            all.push((one(view, &column, "ascii"), place.to_string()));
        }
    }
    all
}

/// As the child of `cargo xtask test sqlites`: a mirror, and beside it queries with their answers as JSON.
#[test]
fn child() {
    let Ok(path) = std::env::var(PATH) else {
        return;
    };
    let trial = odd();
    let path = PathBuf::from(path);
    std::fs::copy(&trial.path, &path).unwrap();
    let questions = serde_json::to_string(&questions()).unwrap();
    std::fs::write(path.with_extension("json"), questions).unwrap();
}

#[test]
fn views_show_every_value_of_records_that_are_spelled_oddly() {
    let trial = odd();
    for (question, answer) in questions() {
        let shown = format!("SELECT CAST(({question}) AS TEXT)");
        assert_eq!(trial.ask::<String>(&shown), answer, "{question}");
    }
    assert!(trial.mirror().verify().unwrap().matches);
}
