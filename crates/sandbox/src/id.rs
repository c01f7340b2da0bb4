//! Ids of records: one-to-one with their numbers, in a form that the document allows.

use serde_json::Value;

use crate::rng::{scramble, unscramble};
use crate::samples::put;
use crate::schema::{Schemas, Way, whole_bounds};

/// What an id looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IdForm {
    /// 16 hexadecimal digits.
    Hexadecimal,
    Uuid,
    /// An integer, counted from this one.
    Integer(u64),
    /// A string of decimal digits.
    Digits,
}

impl IdForm {
    /// This form if the document allows it, or else the first one that it allows.
    pub(crate) fn allowed(self, schemas: &Schemas, schema: &Value) -> Self {
        let shape = schemas.shape(schema);
        if shape.values("format").any(|format| format == "uuid") {
            return IdForm::Uuid;
        }
        let [first, _] = whole_bounds(&shape);
        let first = IdForm::Integer(first.unwrap_or_default().max(1.0) as u64);
        let allowed = |form: &IdForm| {
            let id = serde_json::from_slice(&form.written(0, 0)).unwrap_or_default();
            schemas.accepts(schema, &id, Way::Response)
        };
        let mut forms = [self, IdForm::Hexadecimal, first, IdForm::Digits].into_iter();
        forms.find(allowed).unwrap_or(self)
    }

    /// Writes the id of record `number` as a JSON value; lists differ in `key`.
    pub(crate) fn write(self, key: u64, number: u64, out: &mut Vec<u8>) {
        // Scrambling is one-to-one, so different numbers cannot meet.
        let scrambled = scramble(number.wrapping_add(key));
        match self {
            IdForm::Integer(first) => put(out, first.wrapping_add(number)),
            IdForm::Hexadecimal => put(out, format_args!("\"{}\"", hexadecimal(scrambled))),
            IdForm::Uuid => put(out, format_args!("\"{}\"", uuid(scrambled))),
            IdForm::Digits => put(out, format_args!("\"{}\"", number.wrapping_add(1))),
        }
    }

    fn written(self, key: u64, number: u64) -> Vec<u8> {
        let mut out = Vec::new();
        self.write(key, number, &mut out);
        out
    }

    /// The number of the record with this id, if it is an id at all.
    pub(crate) fn number(self, key: u64, id: &str) -> Option<u64> {
        let scrambled = |digits: &str| {
            let scrambled = u64::from_str_radix(digits, 16).ok()?;
            Some(unscramble(scrambled).wrapping_sub(key))
        };
        match self {
            IdForm::Integer(first) => Some(id.parse::<u64>().ok()?.wrapping_sub(first)),
            IdForm::Digits => Some(id.parse::<u64>().ok()?.wrapping_sub(1)),
            IdForm::Hexadecimal => scrambled(id),
            IdForm::Uuid => {
                let digits: String = id.split('-').collect();
                let parts = [digits.get(..12)?, digits.get(13..16)?, digits.get(17..18)?];
                scrambled(&parts.concat())
            }
        }
    }
}

/// 16 digits.
pub(crate) fn hexadecimal(number: u64) -> String {
    format!("{number:016x}")
}

/// A UUID of version 4 that holds all bits of `number`.
pub(crate) fn uuid(number: u64) -> String {
    let digits = hexadecimal(number);
    let (first, rest) = digits.split_at(8);
    let (second, rest) = rest.split_at(4);
    let (third, fourth) = rest.split_at(3);
    let last = scramble(number) >> 16;
    format!("{first}-{second}-4{third}-8{fourth}00-{last:012x}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ids_lead_back_to_their_numbers() {
        let forms = [
            IdForm::Hexadecimal,
            IdForm::Uuid,
            IdForm::Integer(7),
            IdForm::Digits,
        ];
        for form in forms {
            for number in [0, 1, 41, 1 << 40, u64::MAX - 9] {
                let id: Value = serde_json::from_slice(&form.written(99, number)).unwrap();
                let text = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
                assert_eq!(form.number(99, &text), Some(number), "{form:?} {text}");
            }
            for text in ["", "x", "é-é", "0x", "-1"] {
                let number = form.number(99, text);
                let same = number.is_some_and(|number| {
                    form.written(99, number) == json!(text).to_string().as_bytes()
                });
                assert!(!same, "{form:?} {text}");
            }
        }
    }

    #[test]
    fn the_form_follows_the_document() {
        for (schema, form) in [
            (json!({"type": "string"}), IdForm::Hexadecimal),
            (json!({"type": "string", "format": "uuid"}), IdForm::Uuid),
            (json!({"type": "integer"}), IdForm::Integer(1)),
            (
                json!({"type": "integer", "minimum": 1000}),
                IdForm::Integer(1000),
            ),
            (json!({"type": "string", "maxLength": 6}), IdForm::Digits),
            (json!({"enum": ["a"]}), IdForm::Hexadecimal),
            (json!({}), IdForm::Hexadecimal),
        ] {
            let allowed = IdForm::Hexadecimal.allowed(&Schemas::default(), &schema);
            assert_eq!(allowed, form, "{schema}");
        }
    }
}
