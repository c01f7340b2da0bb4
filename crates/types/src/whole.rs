//! Numbers as they are written, and integers in any notation. JSON Schema counts `1.0` and `1e2` as integers, and
//! services write them if their language has only one type of number.

use serde::de::{Error, Unexpected};
use serde::{Deserialize, Deserializer};
use serde_json::Number;
use std::collections::BTreeMap;

/// Returns the exact value of a JSON number: whether it is negative, its digits without zeros at either end (none for
/// zero), and its exponent; `None` if the exponent is out of range.
pub fn decimal(text: &str) -> Option<(bool, String, i64)> {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let fraction = mantissa
        .split_once('.')
        .map_or(0, |(_, digits)| digits.len());
    let digits = mantissa.replace(['-', '.'], "");
    let short = digits.trim_end_matches('0');
    let zeros = digits.len() - short.len();
    match short.trim_start_matches('0') {
        "" => Some((false, String::new(), 0)),
        digits => {
            let exponent: i64 = exponent.parse().ok()?;
            let exponent = exponent
                .checked_add(zeros as i64)?
                .checked_sub(fraction as i64)?;
            Some((text.starts_with('-'), digits.to_owned(), exponent))
        }
    }
}

/// Returns the integer value of a raw number, if it is one. JSON Schema counts `1.0` and `1e2` as integers, and
/// services whose language has one type of number (JavaScript, Lua, PHP after a division) write them.
pub fn whole(number: &str) -> Option<i128> {
    if let Ok(plain) = number.parse::<i64>() {
        return (!number.starts_with('+')).then(|| plain.into());
    }
    serde_json::from_str::<Number>(number).ok()?;
    let (is_negative, digits, exponent) = decimal(number)?;
    if digits.is_empty() {
        return Some(0);
    }
    let power = 10_i128.checked_pow(u32::try_from(exponent).ok()?)?;
    let value = digits.parse::<i128>().ok()?.checked_mul(power)?;
    Some(if is_negative { -value } else { value })
}

/// Reads an integer, or a container of integers.
pub(crate) fn read<'de, D: Deserializer<'de>, T: Whole>(from: D) -> Result<T, D::Error> {
    T::Read::deserialize(from).map(T::of)
}

/// An integer type, or a container of integers.
pub(crate) trait Whole: Sized {
    /// The type that is read.
    type Read: for<'de> Deserialize<'de>;
    /// Converts the value that was read.
    fn of(read: Self::Read) -> Self;
}

/// An integer that was read from any notation.
pub(crate) struct Integer<T>(T);

impl<'de, T: TryFrom<i128>> Deserialize<'de> for Integer<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let number = Number::deserialize(from)?;
        let whole = whole(number.as_str()).and_then(|whole| T::try_from(whole).ok());
        let wrong = || D::Error::invalid_type(Unexpected::Other("number"), &"a 64-bit integer");
        whole.map(Integer).ok_or_else(wrong)
    }
}

macro_rules! integers {
    ($($integer:ty),*) => {$(
        impl Whole for $integer {
            type Read = Integer<$integer>;
            fn of(read: Self::Read) -> Self {
                read.0
            }
        }
    )*};
}

integers!(i64, u64);

impl<T: Whole> Whole for Option<T> {
    type Read = Option<T::Read>;
    fn of(read: Self::Read) -> Self {
        read.map(T::of)
    }
}

impl<T: Whole> Whole for Vec<T> {
    type Read = Vec<T::Read>;
    fn of(read: Self::Read) -> Self {
        read.into_iter().map(T::of).collect()
    }
}

impl<T: Whole> Whole for BTreeMap<String, T> {
    type Read = BTreeMap<String, T::Read>;
    fn of(read: Self::Read) -> Self {
        let read = read.into_iter();
        read.map(|(name, value)| (name, T::of(value))).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use std::collections::BTreeMap;

    #[derive(Debug, Deserialize, PartialEq)]
    struct Counts {
        #[serde(deserialize_with = "crate::whole::read")]
        one: i64,
        #[serde(default, deserialize_with = "crate::whole::read")]
        few: Vec<Option<u64>>,
        #[serde(default, deserialize_with = "crate::whole::read")]
        named: Option<BTreeMap<String, i64>>,
    }

    #[test]
    fn integers_are_read_in_every_notation() {
        for (written, one) in [
            ("1", 1),
            ("1.0", 1),
            ("1e2", 100),
            ("-0.0", 0),
            ("-9223372036854775808", i64::MIN),
            ("9007199254740993.0", 9_007_199_254_740_993),
        ] {
            let read: Counts = serde_json::from_str(&format!("{{\"one\":{written}}}")).unwrap();
            assert_eq!(read.one, one, "{written}");
        }
        for wrong in ["1.5", "9223372036854775808", "1e30", "\"1\"", "null"] {
            let read = serde_json::from_str::<Counts>(&format!("{{\"one\":{wrong}}}"));
            assert!(read.is_err(), "{wrong}");
        }
        let text = r#"{"one":0,"few":[1.0,null,18446744073709551615],"named":{"a":2.0}}"#;
        let read: Counts = serde_json::from_str(text).unwrap();
        let named = Some([("a".to_owned(), 2)].into());
        let few = vec![Some(1), None, Some(u64::MAX)];
        assert_eq!(read, Counts { one: 0, few, named });
    }
}
