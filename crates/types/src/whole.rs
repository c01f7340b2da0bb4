//! Reads integers however they are written. JSON Schema counts `1.0` and `1e2` as integers, and services whose language has
//! one type of number write them.

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

/// Below this, every whole number is a double of its own.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Reads an integer, or what integers are in.
pub(crate) fn read<'de, D: Deserializer<'de>, T: Whole>(from: D) -> Result<T, D::Error> {
    T::Read::deserialize(from).map(T::of)
}

/// A type of integers, or one that holds some.
pub(crate) trait Whole: Sized {
    /// The type that is read for it.
    type Read: for<'de> Deserialize<'de>;
    /// Takes the value out of what was read.
    fn of(read: Self::Read) -> Self;
}

/// An integer that was read, however it was written.
pub(crate) struct Integer<T>(T);

impl<'de, T: TryFrom<i128>> Deserialize<'de> for Integer<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_i64(IntegerVisitor(PhantomData))
            .map(Integer)
    }
}

struct IntegerVisitor<T>(PhantomData<T>);

impl<T: TryFrom<i128>> Visitor<'_> for IntegerVisitor<T> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("i64")
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        let wrong = |_| E::invalid_value(Unexpected::Signed(number), &self);
        T::try_from(number.into()).map_err(wrong)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        let wrong = |_| E::invalid_value(Unexpected::Unsigned(number), &self);
        T::try_from(number.into()).map_err(wrong)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
        let whole = Some(number as i128).filter(|_| number.fract() == 0.0 && number.abs() < EXACT);
        let wrong = || E::invalid_type(Unexpected::Float(number), &self);
        whole
            .and_then(|whole| T::try_from(whole).ok())
            .ok_or_else(wrong)
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
    fn integers_are_read_however_they_are_written() {
        for (written, one) in [
            ("1", 1),
            ("1.0", 1),
            ("1e2", 100),
            ("-0.0", 0),
            ("-9223372036854775808", i64::MIN),
            ("9007199254740991.0", 9_007_199_254_740_991),
        ] {
            let read: Counts = serde_json::from_str(&format!("{{\"one\":{written}}}")).unwrap();
            assert_eq!(read.one, one, "{written}");
        }
        // A digit may have been lost in the last one.
        for wrong in [
            "1.5",
            "9223372036854775808",
            "1e30",
            "\"1\"",
            "null",
            "9007199254740993.0",
        ] {
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
