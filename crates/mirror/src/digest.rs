//! The key of a record, the comparison of two records, and the digests that reveal a changed byte of the file.

use crate::plain::plain;
use rusqlite::functions::{Aggregate, Context, FunctionFlags};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Result};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use talentdata_core::RawRecord;
use talentdata_core::internal::json;
use talentdata_core::internal::json::decimal;

/// The first 128 bits of a BLAKE3 hash, or such hashes combined by exclusive or.
pub(crate) type Hash = i128;

/// Returns the key of a record, and whether it is the record's `id`. The key of a record without one is a digest of its
/// bytes.
pub(crate) fn key(record: &RawRecord) -> (String, bool) {
    match record.id() {
        None => (format!("{:032x}", hash(record.as_bytes())), false),
        Some(id) if !id.starts_with('"') => (number(id), true),
        Some(id) => {
            // Many programs cut a text at U+0000.
            let text = json::decoded(id).filter(|text| !text.contains('\0'));
            (text.map_or(id.into(), Into::into), true)
        }
    }
}

/// Returns whether two records have different values, regardless of their notation. The last duplicate of a name wins.
/// A text that is not valid Unicode, for example with half of a surrogate pair, is compared byte by byte.
fn values_differ(one: &str, other: &str) -> bool {
    let value = |text: &str| serde_json::from_str(text).map(simple).ok();
    one != other && value(one).is_none_or(|one| value(other) != Some(one))
}

/// Returns the names of the fields that differ between two versions of a record, as a JSON array.
fn changed_fields(old: &str, new: &str) -> String {
    let [old, new] = [old, new].map(|text| json::by_name(json::members(text)));
    let before: HashMap<&str, &str> = old.iter().map(|(name, value)| (&**name, *value)).collect();
    let after: HashSet<&str> = new.iter().map(|(name, _)| &**name).collect();
    let is_same = |name: &str, value: &str| {
        before
            .get(name)
            .is_some_and(|before| !values_differ(before, value))
    };
    let changed = new.iter().filter(|(name, value)| !is_same(name, value));
    let gone = old.iter().filter(|(name, _)| !after.contains(&**name));
    let names = changed.chain(gone).map(|(name, _)| Value::from(&**name));
    Value::Array(names.collect()).to_string()
}

/// Returns a value with normalized numbers.
fn simple(value: Value) -> Value {
    match value {
        Value::Number(found) => number(found.as_str()).parse().unwrap_or(found).into(),
        Value::Array(items) => items.into_iter().map(simple).collect(),
        Value::Object(members) => {
            let members = members.into_iter();
            members
                .map(|(name, member)| (name, simple(member)))
                .collect()
        }
        other => other,
    }
}

/// Returns the normalized notation of a JSON number. A number whose exponent is out of bounds is not changed.
fn number(raw: &str) -> String {
    let Some((is_negative, digits, exponent)) = decimal(raw) else {
        return raw.to_owned();
    };
    let sign = if is_negative { "-" } else { "" };
    match usize::try_from(exponent) {
        _ if digits.is_empty() => "0".to_owned(),
        Ok(zeros @ ..=20) => format!("{sign}{digits}{}", "0".repeat(zeros)),
        _ => format!("{sign}{digits}e{exponent}"),
    }
}

/// The first 128 bits of a BLAKE3 hash.
fn hash(bytes: &[u8]) -> Hash {
    let hash = blake3::hash(bytes);
    Hash::from_be_bytes(hash.as_bytes().first_chunk().copied().unwrap_or_default())
}

/// Returns the digest of all values of a row, each with its type and length, so that different rows have different
/// bytes.
fn row_digest(row: &Context<'_>) -> Hash {
    let mut form = Vec::with_capacity(512);
    for value in (0..row.len()).map(|index| row.get_raw(index)) {
        form.push(value.data_type() as u8);
        match value {
            ValueRef::Integer(integer) => form.extend(integer.to_le_bytes()),
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                form.extend((bytes.len() as u64).to_le_bytes());
                form.extend(bytes);
            }
            ValueRef::Null | ValueRef::Real(_) => {}
        }
    }
    hash(&form)
}

/// Returns the digest of the key of a record that must not be stored again. Without the secret of the mirror, nobody
/// can find the key by guessing.
pub(crate) fn keyed_digest(secret: &str, key: &str) -> String {
    let secret = blake3::derive_key(
        "talentdata mirror: records that are kept out",
        secret.as_bytes(),
    );
    let digest = blake3::keyed_hash(&secret, key.as_bytes()).to_hex();
    format!("h1:{}", &digest[..32])
}

/// Registers the functions of our statements with a connection: `row_digest(...)` of a row, `digest(...)` of many rows,
/// `values_differ(one, other)` and `changed_fields(old, new)` of two records, `keyed_digest(secret, key)` of an erased
/// record that is kept out, and `plain(text)`, the text of a record for views.
pub(crate) fn register(connection: &Connection) -> Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    connection.create_scalar_function("row_digest", -1, flags, |row| Ok(row_digest(row)))?;
    connection
        .create_scalar_function("plain", 1, flags, |row| Ok(plain(row.get_raw(0).as_str()?)))?;
    connection.create_scalar_function("values_differ", 2, flags, |row| {
        Ok(values_differ(
            row.get_raw(0).as_str()?,
            row.get_raw(1).as_str()?,
        ))
    })?;
    connection.create_scalar_function("changed_fields", 2, flags, |row| {
        let texts = [row.get_raw(0), row.get_raw(1)].map(|text| text.as_str_or_null());
        Ok(match texts {
            [Ok(Some(old)), Ok(Some(new))] => Some(changed_fields(old, new)),
            _ => None,
        })
    })?;
    connection.create_scalar_function("keyed_digest", 2, flags, |row| {
        let [secret, key] = [row.get_raw(0), row.get_raw(1)];
        Ok(keyed_digest(secret.as_str()?, key.as_str()?))
    })?;
    connection.create_aggregate_function("digest", -1, flags, Sum)
}

/// The aggregate function `digest(...)`. The order of the rows does not matter.
struct Sum;

impl Aggregate<Hash, Hash> for Sum {
    fn init(&self, _: &mut Context<'_>) -> Result<Hash> {
        Ok(0)
    }

    fn step(&self, row: &mut Context<'_>, sum: &mut Hash) -> Result<()> {
        *sum ^= row_digest(row);
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
    fn another_notation_is_the_same_value() {
        for (one, other) in [
            (r#"{"a":1,"b":2}"#, r#"{ "b" : 2 , "a" : 1 }"#),
            (r#"[1.0,1e3,0.00120]"#, r#"[1,1000,12E-4]"#),
            (r#"[-0.0e9,-1.50,1e+05]"#, r#"[0,-15e-1,100000]"#),
            (r#"[0e99999999999999999999]"#, r#"[0]"#),
            (r#"["é\n/","😀"]"#, r#"["\u00e9\u000a\/","\ud83d\ude00"]"#),
            (r#"{"\u0061":[{"x":1,"y":2}]}"#, r#"{"a":[{"y":2,"x":1}]}"#),
            (r#"{"a":1,"a":2}"#, r#"{"a":2}"#),
        ] {
            assert!(!values_differ(one, other), "{one} {other}");
        }
    }

    #[test]
    fn another_value_differs() {
        let all = r#"{} {"a":null} {"a":"b","c":""} {"a":"","b":"c"} null 1 "1" -1 10 true "true" [] [1,2] [2,1] [12]
            [[1],2] 9007199254740993 9007199254740992 0.1 0.1000000000000000055 "\ud800" "\ud801" "\\ud800"
            1e99999999999999999999"#;
        let all: Vec<&str> = all.split_whitespace().collect();
        for (index, one) in all.iter().enumerate() {
            for other in &all[index + 1..] {
                assert!(values_differ(one, other), "{one} {other}");
            }
        }
    }

    #[test]
    fn a_key_is_the_text_of_the_id() {
        let ids = r#""c-1" "\u0063-1" 7 7.0 -70e-1 7e2 0.5 -0"#.split(' ');
        for (id, text) in ids.zip("c-1 c-1 7 7 -7 700 5e-1 0".split(' ')) {
            let record = RawRecord::parse(&format!("{{\"id\":{id}}}")).unwrap();
            assert_eq!(key(&record), (text.to_owned(), true));
        }
        let (key, by_id) = key(&RawRecord::parse(r#"{"name":"x"}"#).unwrap());
        assert!(!by_id && key.len() == 32);
    }
}
