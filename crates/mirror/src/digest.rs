//! The key of a record, the one form of all its spellings, and digests by which a changed byte of the file is noticed.
//!
//! In the one form, members are sorted by name, and of a name that occurs twice the last counts; escapes are resolved,
//! numbers have their exact decimal value, arrays keep their order, and white space has no meaning.

use rusqlite::Connection;
use rusqlite::functions::{Aggregate, Context, FunctionFlags};
use rusqlite::types::ValueRef;
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

/// The one form of all spellings of a record. One that holds what no string can, such as half of a surrogate pair, stays
/// as it is.
pub(crate) fn canonical(text: &str) -> String {
    let Ok(mut value) = serde_json::from_str(text) else {
        return text.to_owned();
    };
    simplify(&mut value);
    value.sort_all_objects();
    value.to_string()
}

/// The first 128 bits of a BLAKE3 hash.
fn hash(bytes: &[u8]) -> Hash {
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

/// The digest of a row: of all its values, each with its type and length, so that no two rows run together.
pub(crate) fn seal<'a>(values: impl Iterator<Item = ValueRef<'a>>) -> u128 {
    let mut form = Vec::with_capacity(512);
    for value in values {
        let mut piece = |kind: u8, bytes: &[u8]| {
            form.push(kind);
            form.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
            form.extend_from_slice(bytes);
        };
        match value {
            ValueRef::Null => piece(0, b""),
            ValueRef::Integer(number) => piece(1, &number.to_le_bytes()),
            ValueRef::Real(number) => piece(2, &number.to_le_bytes()),
            ValueRef::Text(text) => piece(3, text),
            ValueRef::Blob(bytes) => piece(4, bytes),
        }
    }
    u128::from_le_bytes(hash(&form))
}

/// Makes `seal(...)`, the digest of a row, and `digest(...)`, the sum of those of many, known to a connection.
pub(crate) fn register(connection: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    connection.create_scalar_function("seal", -1, flags, |row| Ok(of(row).to_le_bytes()))?;
    connection.create_aggregate_function("digest", -1, flags, Sum)
}

fn of(row: &Context<'_>) -> u128 {
    seal((0..row.len()).map(|index| row.get_raw(index)))
}

/// Sums up the digests of rows, so that their order does not matter.
struct Sum;

impl Aggregate<u128, Hash> for Sum {
    fn init(&self, _: &mut Context<'_>) -> rusqlite::Result<u128> {
        Ok(0)
    }

    fn step(&self, row: &mut Context<'_>, sum: &mut u128) -> rusqlite::Result<()> {
        *sum = sum.wrapping_add(of(row));
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, sum: Option<u128>) -> rusqlite::Result<Hash> {
        Ok(sum.unwrap_or_default().to_le_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert_eq!(canonical(one), canonical(other), "{one} {other}");
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
                assert_ne!(canonical(one), canonical(other), "{one} {other}");
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
