//! Writes JSON straight into a buffer; sample texts are JSON string content as they stand, with their escapes.

use serde_json::Value;

use super::Rng;
use super::moment::Moment;

/// An object that is being written.
pub(crate) struct Object<'a> {
    out: &'a mut Vec<u8>,
    comma: bool,
}

impl<'a> Object<'a> {
    pub(crate) fn new(out: &'a mut Vec<u8>) -> Self {
        out.push(b'{');
        Self { out, comma: false }
    }

    pub(crate) fn end(self) {
        self.out.push(b'}');
    }

    /// A member whose value `write` writes.
    pub(crate) fn value(&mut self, key: &str, write: impl FnOnce(&mut Vec<u8>)) {
        if self.comma {
            self.out.push(b',');
        }
        self.comma = true;
        string(self.out, key);
        self.out.push(b':');
        write(self.out);
    }

    /// A member whose name and value may hold anything.
    pub(crate) fn json(&mut self, key: &str, value: &Value) {
        let key = Value::from(key).to_string();
        self.value(&key[1..key.len() - 1], |out| {
            out.extend_from_slice(value.to_string().as_bytes());
        });
    }

    pub(crate) fn text(&mut self, key: &str, text: &str) {
        self.value(key, |out| string(out, text));
    }

    /// A number, `true`, `false` or `null`, as it is spelt.
    pub(crate) fn literal(&mut self, key: &str, literal: &str) {
        self.value(key, |out| out.extend_from_slice(literal.as_bytes()));
    }

    pub(crate) fn number(&mut self, key: &str, number: u64) {
        self.value(key, |out| integer(out, number));
    }

    /// A number below 1: mostly of four digits, now and then of 17, more than a double tells apart.
    pub(crate) fn fraction(&mut self, key: &str, rng: &mut Rng) {
        self.value(key, |out| {
            out.extend_from_slice(b"0.");
            let digits = rng.below(100_000_000_000_000_000);
            if digits.is_multiple_of(50) {
                padded(out, digits, 17);
            } else {
                padded(out, digits / 9 % 1000, 3);
                integer(out, 1 + digits % 9);
            }
        });
    }

    /// A time between 2019 and 2025, in UTC.
    pub(crate) fn time(&mut self, key: &str, rng: &mut Rng) {
        let moment = Moment::random(rng);
        self.value(key, |out| moment.write(out));
    }

    pub(crate) fn object(&mut self, key: &str, write: impl FnOnce(&mut Object<'_>)) {
        self.value(key, |out| {
            let mut object = Object::new(out);
            write(&mut object);
            object.end();
        });
    }

    /// An array of `count` elements, each written by `write`, which is told its number.
    pub(crate) fn array(
        &mut self,
        key: &str,
        count: u64,
        mut write: impl FnMut(&mut Vec<u8>, u64),
    ) {
        self.value(key, |out| {
            out.push(b'[');
            for number in 0..count {
                if number > 0 {
                    out.push(b',');
                }
                write(out, number);
            }
            out.push(b']');
        });
    }
}

pub(crate) fn string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    out.extend_from_slice(text.as_bytes());
    out.push(b'"');
}

pub(crate) fn integer(out: &mut Vec<u8>, number: u64) {
    let digits = number.checked_ilog10().unwrap_or(0) + 1;
    padded(out, number, digits as usize);
}

/// The last `width` digits of `number`; at most 20.
pub(crate) fn padded(out: &mut Vec<u8>, mut number: u64, width: usize) {
    let mut digits = [b'0'; 20];
    for digit in digits.iter_mut().rev().take(width) {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
    out.extend_from_slice(&digits[20 - width..]);
}

/// 16 digits.
pub(crate) fn hexadecimal(out: &mut Vec<u8>, number: u64) {
    let digits: [u8; 16] =
        std::array::from_fn(|at| b"0123456789abcdef"[(number >> (60 - 4 * at)) as usize & 15]);
    out.extend_from_slice(&digits);
}
