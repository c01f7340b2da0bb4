//! The key of a record, and one form for every spelling of the same JSON: records that are equal in it are no update.
//!
//! Members are sorted by name, and of a name that occurs twice the last counts; escapes are resolved, numbers have their
//! exact decimal value, arrays keep their order, and white space has no meaning.

use serde_json::Value;
use talentdata_core::{RawRecord, json};

/// A whole number is written out with up to this many zeros at its end.
const MAX_ZEROS: usize = 20;

/// 128 bits of BLAKE3.
pub(crate) type Hash = [u8; 16];

/// The key of a record, and whether it is the record's `id`. Without one it is a digest of the record's bytes.
pub(crate) fn key(record: &RawRecord) -> (String, bool) {
    match record.id() {
        None => (hex(hash(record.as_bytes())), false),
        Some(id) if !id.starts_with('"') => (decimal(id), true),
        Some(id) => (json::decoded(id).map_or(id.into(), Into::into), true),
    }
}

/// The hash of a record's canonical form.
pub(crate) fn canonical(text: &str) -> Hash {
    let Ok(mut value) = serde_json::from_str(text) else {
        // It holds what no string can, such as half of a surrogate pair: its bytes stand for themselves.
        return hash(text.as_bytes());
    };
    simplify(&mut value);
    value.sort_all_objects();
    hash(value.to_string().as_bytes())
}

/// The first 128 bits of a BLAKE3 hash.
pub(crate) fn hash(bytes: &[u8]) -> Hash {
    let mut first = Hash::default();
    first.copy_from_slice(&blake3::hash(bytes).as_bytes()[..16]);
    first
}

/// A hash as hexadecimal digits.
pub(crate) fn hex(hash: Hash) -> String {
    format!("{:032x}", u128::from_be_bytes(hash))
}

/// Gives every number one spelling.
fn simplify(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let Ok(simple) = decimal(number.as_str()).parse() {
                *number = simple;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(simplify),
        Value::Object(members) => members.values_mut().for_each(simplify),
        _ => {}
    }
}

/// The one spelling of a JSON number; a number whose exponent is out of all bounds stays as it is written.
fn decimal(raw: &str) -> String {
    let number = raw.trim_start_matches('-');
    let sign = &raw[..raw.len() - number.len()];
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{fraction}");
    let all = all.trim_start_matches('0');
    let digits = all.trim_end_matches('0');
    if digits.is_empty() {
        // Zero has no sign, and its exponent has no meaning.
        return "0".to_owned();
    }
    let shift = (all.len() - digits.len()) as i64 - fraction.len() as i64;
    let exponent = exponent.parse::<i64>().ok();
    match exponent.and_then(|exponent| exponent.checked_add(shift)) {
        None => raw.to_owned(),
        Some(zeros @ 0..) if zeros as usize <= MAX_ZEROS => {
            format!("{sign}{digits}{}", "0".repeat(zeros as usize))
        }
        Some(exponent) => format!("{sign}{digits}e{exponent}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(json: &str) -> Hash {
        canonical(json)
    }

    #[test]
    fn another_way_of_writing_is_the_same() {
        for (one, other) in [
            (r#"{"a":1,"b":2}"#, r#"{ "b" : 2 , "a" : 1 }"#),
            (r#"{"a":1.0}"#, r#"{"a":1}"#),
            (r#"{"a":1e3}"#, r#"{"a":1000}"#),
            (r#"{"a":0.00120}"#, r#"{"a":12E-4}"#),
            (r#"{"a":-0.0e9}"#, r#"{"a":0}"#),
            (r#"{"a":-1.50}"#, r#"{"a":-15e-1}"#),
            (r#"{"a":1e+05}"#, r#"{"a":100000}"#),
            (r#"{"a":0e99999999999999999999}"#, r#"{"a":0}"#),
            (r#"{"a":"é\n/"}"#, r#"{"a":"\u00e9\u000a\/"}"#),
            (r#"{"a":"\ud83d\ude00"}"#, r#"{"a":"😀"}"#),
            (
                r#"{"\u0061":[1,{"x":1,"y":2}]}"#,
                r#"{"a":[1.0,{"y":2,"x":1}]}"#,
            ),
            (r#"{"a":1,"a":2}"#, r#"{"a":2}"#),
        ] {
            assert_eq!(form(one), form(other), "{one} {other}");
        }
    }

    #[test]
    fn another_value_differs() {
        let all = [
            r#"{}"#,
            r#"{"a":null}"#,
            r#"{"a":1}"#,
            r#"{"a":"1"}"#,
            r#"{"a":-1}"#,
            r#"{"a":10}"#,
            r#"{"a":true}"#,
            r#"{"a":"true"}"#,
            r#"{"a":[]}"#,
            r#"{"a":{}}"#,
            r#"{"a":[1,2]}"#,
            r#"{"a":[2,1]}"#,
            r#"{"a":[12]}"#,
            r#"{"a":[[1],2]}"#,
            r#"{"a":9007199254740993}"#,
            r#"{"a":9007199254740992}"#,
            r#"{"a":0.1}"#,
            r#"{"a":0.1000000000000000055}"#,
            r#"{"a":"\ud800"}"#,
            r#"{"a":"\ud801"}"#,
            r#"{"a":"\\ud800"}"#,
            r#"{"a":1e99999999999999999999}"#,
            r#"{"a":"b","c":""}"#,
            r#"{"a":"","b":"c"}"#,
        ];
        for (index, one) in all.iter().enumerate() {
            for other in &all[index + 1..] {
                assert_ne!(form(one), form(other), "{one} {other}");
            }
        }
    }

    #[test]
    fn a_key_is_the_text_of_the_id() {
        for (id, text) in [
            (r#""c-1""#, "c-1"),
            (r#""\u0063-1""#, "c-1"),
            ("7", "7"),
            ("7.0", "7"),
            ("-70e-1", "-7"),
            ("7e2", "700"),
            ("0.5", "5e-1"),
            ("-0", "0"),
        ] {
            let record = RawRecord::parse(&format!("{{\"id\":{id}}}")).unwrap();
            assert_eq!(key(&record), (text.to_owned(), true));
        }
        let (key, by_id) = key(&RawRecord::parse(r#"{"name":"x"}"#).unwrap());
        assert!(!by_id && key.len() == 32);
    }
}
