//! One form for all ways of writing the same JSON: what is the same in it is no update.
//!
//! Members are sorted by name, and of a name that occurs twice the last counts; texts are compared with
//! their escapes resolved, numbers by their exact decimal value, arrays in their order. White space says nothing.

use crate::json;
use crate::record::RawRecord;
use std::borrow::Cow;

/// A number with an exponent of more digits is compared as it is written.
const MOST_EXPONENT_DIGITS: usize = 17;

/// A number is written out with up to so many zeros at an end.
const MOST_ZEROS: i64 = 20;

/// Appends the canonical form of a record.
pub(super) fn of_record(record: &RawRecord, form: &mut Vec<u8>) {
    let members = record.members();
    object(members, form);
}

/// The text that stands for an `id`: a text is itself, a number its decimal value.
pub(super) fn key(id: &str) -> Cow<'_, str> {
    match id.strip_prefix('"').and_then(|id| id.strip_suffix('"')) {
        Some(text) => json::text(text).unwrap_or(Cow::Borrowed(text)),
        None => match decimal(id.as_bytes()) {
            Some(decimal) => decimal.to_text().into(),
            None => Cow::Borrowed(id),
        },
    }
}

fn object<'a>(members: Vec<(&'a str, &'a str)>, form: &mut Vec<u8>) {
    let mut named: Vec<(Cow<'_, [u8]>, &str)> = members
        .into_iter()
        .map(|(name, value)| (resolved(name), value))
        .collect();
    // Stable, so that of equal names the last one stays last.
    named.sort_by(|one, other| one.0.cmp(&other.0));
    form.push(b'{');
    for (index, (name, value)) in named.iter().enumerate() {
        let again = named.get(index + 1).is_some_and(|next| next.0 == *name);
        if !again {
            text(name, form);
            self::value(value, form);
        }
    }
    form.push(b'}');
}

fn value(raw: &str, form: &mut Vec<u8>) {
    match raw.as_bytes().first() {
        Some(b'{') => object(json::members(raw), form),
        Some(b'[') => {
            form.push(b'[');
            json::each_item(raw, |item| value(item, form));
            form.push(b']');
        }
        Some(b'"') => {
            let inner = raw.get(1..raw.len() - 1).unwrap_or_default();
            text(&resolved(inner), form);
        }
        Some(b'-' | b'0'..=b'9') => match decimal(raw.as_bytes()) {
            Some(decimal) => decimal.write(form),
            None => written(b'#', raw.as_bytes(), form),
        },
        _ => written(b'=', raw.as_bytes(), form),
    }
}

/// A text without its escapes; as it is written where they stand for no text, such as half a surrogate pair.
fn resolved(raw: &str) -> Cow<'_, [u8]> {
    match json::text(raw) {
        Some(Cow::Borrowed(text)) => Cow::Borrowed(text.as_bytes()),
        Some(Cow::Owned(text)) => Cow::Owned(text.into_bytes()),
        None => Cow::Owned([b"\\", raw.as_bytes()].concat()),
    }
}

fn text(text: &[u8], form: &mut Vec<u8>) {
    written(b'"', text, form);
}

/// A piece with its length, so that no two forms run together.
fn written(kind: u8, piece: &[u8], form: &mut Vec<u8>) {
    form.push(kind);
    form.extend_from_slice(&(piece.len() as u64).to_le_bytes());
    form.extend_from_slice(piece);
}

/// An exact decimal number: the digits, without zeros at either end, times a power of ten.
struct Decimal<'a> {
    negative: bool,
    before: &'a [u8],
    behind: &'a [u8],
    exponent: i64,
}

/// Reads a JSON number; none where its exponent is out of all bounds.
fn decimal(raw: &[u8]) -> Option<Decimal<'_>> {
    let (negative, number) = match raw.strip_prefix(b"-") {
        Some(number) => (true, number),
        None => (false, raw),
    };
    let is_e = |byte: &u8| matches!(byte, b'e' | b'E');
    let end = number.iter().position(is_e);
    let (mantissa, exponent) = number.split_at(end.unwrap_or(number.len()));
    let exponent = match exponent.get(1..) {
        Some(text) => std::str::from_utf8(text).ok()?,
        None => "0",
    };
    let point = mantissa.iter().position(|byte| *byte == b'.');
    let (before, behind) = mantissa.split_at(point.unwrap_or(mantissa.len()));
    let behind = behind.get(1..).unwrap_or_default();
    let mut decimal = Decimal {
        negative,
        before,
        behind,
        exponent: 0,
    };
    if decimal.digits().next().is_none() {
        // Zero has no sign, and its exponent says nothing.
        return Some(Decimal {
            negative: false,
            before: b"",
            behind: b"",
            exponent: 0,
        });
    }
    let digits = exponent.trim_start_matches(['+', '-', '0']);
    if digits.len() > MOST_EXPONENT_DIGITS {
        return None;
    }
    let shift: i64 = exponent.parse().ok()?;
    decimal.exponent = shift - i64::try_from(behind.len()).ok()? + decimal.zeros();
    Some(decimal)
}

impl Decimal<'_> {
    fn all(&self) -> impl DoubleEndedIterator<Item = u8> {
        self.before.iter().chain(self.behind).copied()
    }

    /// How many zeros stand at the end.
    fn zeros(&self) -> i64 {
        self.all().rev().take_while(|digit| *digit == b'0').count() as i64
    }

    /// The digits, without zeros at either end.
    fn digits(&self) -> impl Iterator<Item = u8> {
        let length = self.before.len() + self.behind.len();
        let kept = length - self.zeros() as usize;
        self.all().take(kept).skip_while(|digit| *digit == b'0')
    }

    fn write(&self, form: &mut Vec<u8>) {
        form.push(if self.negative { b'-' } else { b'+' });
        form.extend_from_slice(&self.exponent.to_le_bytes());
        form.extend(self.digits());
        form.push(b';');
    }

    /// The number as people write it.
    fn to_text(&self) -> String {
        let mut digits: String = self.digits().map(char::from).collect();
        let sign = if self.negative { "-" } else { "" };
        if digits.is_empty() {
            return "0".into();
        }
        match self.exponent {
            0..=MOST_ZEROS => digits.extend((0..self.exponent).map(|_| '0')),
            _ => digits += &format!("e{}", self.exponent),
        }
        format!("{sign}{digits}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn form(json: &str) -> Vec<u8> {
        let mut form = Vec::new();
        of_record(&RawRecord::of_json(json.to_owned()), &mut form);
        form
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
    fn what_says_something_else_differs() {
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
            assert_eq!(key(id), text);
        }
    }

    proptest! {
        #[test]
        fn numbers_are_the_same_where_their_values_are(
            one in "-?(0|[1-9][0-9]{0,5})(\\.[0-9]{1,4})?([eE][+-]?[0-3])?",
            other in "-?(0|[1-9][0-9]{0,5})(\\.[0-9]{1,4})?([eE][+-]?[0-3])?",
            zeros in 0usize..4,
        ) {
            let value = |text: &str| -> i128 {
                // So scaled, all of them are whole.
                let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
                let (before, behind) = mantissa.split_once('.').unwrap_or((mantissa, ""));
                let digits: i128 = format!("{before}{behind}").parse().unwrap();
                let shift = exponent.parse::<i32>().unwrap() - behind.len() as i32 + 12;
                digits * 10i128.pow(shift as u32)
            };
            let of = |text: &str| form(&format!("{{\"a\":{text}}}"));
            prop_assert_eq!(of(&one) == of(&other), value(&one) == value(&other));
            let longer = match one.find(['e', 'E']) {
                None if one.contains('.') => format!("{one}{}", "0".repeat(zeros)),
                _ => one.clone(),
            };
            prop_assert_eq!(of(&one), of(&longer));
        }
    }
}
