//! What a record is known by, and one form for all ways of writing the same JSON: what is equal in it is no update.
//!
//! Members are sorted by name, and of a name that occurs twice the last counts; strings are compared with their escapes
//! resolved, numbers by their exact decimal value, arrays in their order. White space has no meaning.

use serde_json::{Map, Value};
use talentdata_core::RawRecord;

/// A number with an exponent of more digits is compared as it is written.
const MAX_EXPONENT_DIGITS: usize = 17;

/// The key of a whole number is written out with up to so many zeros at its end.
const MAX_ZEROS: i64 = 20;

/// 128 bits of BLAKE3.
pub(crate) type Hash = [u8; 16];

/// The key of a record, and whether it is the record's `id`. Without one it is a digest of the record's bytes.
pub(crate) fn key(record: &RawRecord) -> (String, bool) {
    let Some(id) = record.id() else {
        return (hex(hash(record.as_bytes())), false);
    };
    let key = match serde_json::from_str(id) {
        Ok(Value::String(text)) => text,
        Ok(Value::Number(number)) => match Decimal::read(number.as_str()) {
            Some(decimal) => decimal.to_text(),
            None => id.to_owned(),
        },
        _ => id.to_owned(),
    };
    (key, true)
}

/// The hash of a record's canonical form; `field` is called with the name of each of its fields.
pub(crate) fn canonical(text: &str, mut field: impl FnMut(&str)) -> Hash {
    let mut form = Vec::with_capacity(text.len() * 2);
    match serde_json::from_str(text) {
        Ok(Value::Object(members)) => {
            members.keys().for_each(|name| field(name));
            object(&members, &mut form);
        }
        // It holds what no string can, such as half of a surrogate pair: its bytes stand for themselves.
        _ => piece(b'=', text.as_bytes(), &mut form),
    }
    hash(&form)
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

/// Appends a piece with its length, so that no two forms run together.
pub(crate) fn piece(kind: u8, piece: &[u8], form: &mut Vec<u8>) {
    form.push(kind);
    form.extend_from_slice(&(piece.len() as u64).to_le_bytes());
    form.extend_from_slice(piece);
}

fn object(members: &Map<String, Value>, form: &mut Vec<u8>) {
    let mut sorted: Vec<(&String, &Value)> = members.iter().collect();
    sorted.sort_unstable_by_key(|(name, _)| *name);
    form.push(b'{');
    for (name, member) in sorted {
        piece(b'"', name.as_bytes(), form);
        value(member, form);
    }
    form.push(b'}');
}

fn value(value_: &Value, form: &mut Vec<u8>) {
    match value_ {
        Value::Null => form.push(b'n'),
        Value::Bool(true) => form.push(b't'),
        Value::Bool(false) => form.push(b'f'),
        Value::String(text) => piece(b'"', text.as_bytes(), form),
        Value::Number(number) => match Decimal::read(number.as_str()) {
            Some(decimal) => decimal.write(form),
            None => piece(b'#', number.as_str().as_bytes(), form),
        },
        Value::Array(items) => {
            form.push(b'[');
            items.iter().for_each(|item| value(item, form));
            form.push(b']');
        }
        Value::Object(members) => object(members, form),
    }
}

/// An exact decimal number: its digits, without zeros at either end, times a power of ten.
struct Decimal {
    negative: bool,
    digits: String,
    exponent: i64,
}

impl Decimal {
    /// Reads a JSON number; none where its exponent is out of all bounds.
    fn read(raw: &str) -> Option<Self> {
        let (negative, number) = match raw.strip_prefix('-') {
            Some(number) => (true, number),
            None => (false, raw),
        };
        let (mantissa, shift) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
        let (before, behind) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = format!("{before}{behind}");
        let digits = all.trim_end_matches('0');
        let zeros = all.len() - digits.len();
        let digits = digits.trim_start_matches('0').to_owned();
        if digits.is_empty() {
            // Zero has no sign, and its exponent has no meaning.
            return Some(Decimal {
                negative: false,
                digits,
                exponent: 0,
            });
        }
        if shift.trim_start_matches(['+', '-', '0']).len() > MAX_EXPONENT_DIGITS {
            return None;
        }
        let shift: i64 = shift.parse().ok()?;
        let exponent = shift + i64::try_from(zeros).ok()? - i64::try_from(behind.len()).ok()?;
        Some(Decimal {
            negative,
            digits,
            exponent,
        })
    }

    fn write(&self, form: &mut Vec<u8>) {
        form.push(if self.negative { b'-' } else { b'+' });
        form.extend_from_slice(&self.exponent.to_le_bytes());
        piece(b'.', self.digits.as_bytes(), form);
    }

    /// The number as people write it.
    fn to_text(&self) -> String {
        let sign = if self.negative { "-" } else { "" };
        let digits = &self.digits;
        match self.exponent {
            _ if digits.is_empty() => "0".into(),
            zeros @ 0..=MAX_ZEROS => format!("{sign}{digits}{}", "0".repeat(zeros as usize)),
            exponent => format!("{sign}{digits}e{exponent}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(json: &str) -> Hash {
        canonical(json, |_| {})
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
