//! The key of a record, whether two texts have the same values, and digests by which a changed byte of the file is noticed.

use rusqlite::functions::{Aggregate, Context, FunctionFlags};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Result};
use serde_json::Value;
use talentdata_columns::arrow::decimal;
use talentdata_core::{RawRecord, json};

/// A whole number is written out with up to this many zeros at its end.
const MAX_ZEROS: usize = 20;

/// 128 bits of BLAKE3, or the sum of such hashes without carry.
pub(crate) type Hash = [u8; 16];

/// The key of a record, and whether it is the record's `id`. Without one it is a digest of the record's bytes.
pub(crate) fn key(record: &RawRecord) -> (String, bool) {
    match record.id() {
        None => {
            let hash = u128::from_be_bytes(hash(record.as_bytes()));
            (format!("{hash:032x}"), false)
        }
        Some(id) if !id.starts_with('"') => (number(id), true),
        Some(id) => (json::decoded(id).map_or(id.into(), Into::into), true),
    }
}

/// Whether two records have different values, however these are written. Of a name that occurs twice the last counts.
/// A text that holds what no string can, such as half of a surrogate pair, is compared byte by byte.
fn differ(one: &str, other: &str) -> bool {
    let value = |text| {
        let mut value = serde_json::from_str(text).ok()?;
        simplify(&mut value);
        Some(value)
    };
    one != other
        && match (value(one), value(other)) {
            (Some(one), Some(other)) => one != other,
            _ => true,
        }
}

/// Gives every number one spelling.
fn simplify(value: &mut Value) {
    match value {
        Value::Number(found) => {
            if let Ok(simple) = number(found.as_str()).parse() {
                *found = simple;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(simplify),
        Value::Object(members) => members.values_mut().for_each(simplify),
        _ => {}
    }
}

/// The one spelling of a JSON number; a number whose exponent is out of all bounds stays as it is written.
fn number(raw: &str) -> String {
    let Some((is_negative, digits, exponent)) = decimal(raw) else {
        return raw.to_owned();
    };
    let sign = if is_negative { "-" } else { "" };
    match usize::try_from(exponent) {
        _ if digits.is_empty() => "0".to_owned(),
        Ok(zeros @ ..=MAX_ZEROS) => format!("{sign}{digits}{}", "0".repeat(zeros)),
        _ => format!("{sign}{digits}e{exponent}"),
    }
}

/// The first 128 bits of a BLAKE3 hash.
fn hash(bytes: &[u8]) -> Hash {
    let mut first = Hash::default();
    first.copy_from_slice(&blake3::hash(bytes).as_bytes()[..16]);
    first
}

/// The digest of a row: of all its values, each with its type and length, so that no two rows run together.
fn seal(row: &Context<'_>) -> Hash {
    let mut form = Vec::with_capacity(512);
    for index in 0..row.len() {
        let value = row.get_raw(index);
        let number;
        let bytes = match value {
            ValueRef::Integer(integer) => {
                number = integer.to_le_bytes();
                &number
            }
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes,
            ValueRef::Null | ValueRef::Real(_) => &[],
        };
        form.push(value.data_type() as u8);
        form.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        form.extend_from_slice(bytes);
    }
    hash(&form)
}

/// Adds a digest to others, or takes it away from them.
pub(crate) fn add(sum: &mut Hash, other: Hash) {
    sum.iter_mut()
        .zip(other)
        .for_each(|(one, other)| *one ^= other);
}

/// Makes known to a connection: `seal(...)`, the digest of a row; `digest(...)`, the sum of those of many; and
/// `differ(one, other)`, whether two records have different values.
pub(crate) fn register(connection: &Connection) -> Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    connection.create_scalar_function("seal", -1, flags, |row| Ok(seal(row)))?;
    connection.create_scalar_function("differ", 2, flags, |row| {
        Ok(differ(row.get_raw(0).as_str()?, row.get_raw(1).as_str()?))
    })?;
    connection.create_aggregate_function("digest", -1, flags, Sum)
}

/// The order of the rows does not matter.
struct Sum;

impl Aggregate<Hash, Hash> for Sum {
    fn init(&self, _: &mut Context<'_>) -> Result<Hash> {
        Ok(Hash::default())
    }

    fn step(&self, row: &mut Context<'_>, sum: &mut Hash) -> Result<()> {
        add(sum, seal(row));
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, sum: Option<Hash>) -> Result<Hash> {
        Ok(sum.unwrap_or_default())
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
            assert!(!differ(one, other), "{one} {other}");
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
                assert!(differ(one, other), "{one} {other}");
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
