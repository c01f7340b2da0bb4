//! Reads JSON text token by token, strictly, sixteen bytes at a time where it can.
//!
//! Every method takes the place of a token and returns the place behind it, or `None` where the text
//! is not JSON.

use std::ops::Range;
use wide::u8x16;

/// Deeper nesting than this is refused, as the JSON library does.
pub(super) const DEEPEST: usize = 127;

/// A text that should be JSON.
#[derive(Clone, Copy)]
pub(super) struct Text<'a>(pub(super) &'a [u8]);

impl<'a> Text<'a> {
    #[inline]
    pub(super) fn byte(self, at: usize) -> Option<u8> {
        self.0.get(at).copied()
    }

    /// Passes over white space.
    #[inline]
    pub(super) fn space(self, at: usize) -> usize {
        // Most often there is none.
        match self.0.get(at) {
            Some(0..=b' ') => self.spaces(at),
            _ => at,
        }
    }

    #[cold]
    fn spaces(self, mut at: usize) -> usize {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.byte(at) {
            at += 1;
        }
        at
    }

    /// Whether nothing but white space is left.
    pub(super) fn ends(self, at: usize) -> bool {
        self.space(at) == self.0.len()
    }

    /// Enters an object or array: where its first member or item is, and whether there is one.
    #[inline]
    pub(super) fn open(self, at: usize, open: u8, close: u8) -> Option<(usize, bool)> {
        if self.byte(at)? != open {
            return None;
        }
        let at = self.space(at + 1);
        let empty = self.byte(at)? == close;
        Some((at + usize::from(empty), !empty))
    }

    /// After a member or item: where the next one is, or what follows, and whether there is one.
    #[inline]
    pub(super) fn more(self, at: usize, close: u8) -> Option<(usize, bool)> {
        let at = self.space(at);
        match self.byte(at)? {
            b',' => Some((self.space(at + 1), true)),
            byte if byte == close => Some((at + 1, false)),
            _ => None,
        }
    }

    /// Where a member's raw name is, and where its value.
    #[inline]
    pub(super) fn name(self, at: usize) -> Option<(Range<usize>, usize)> {
        if self.byte(at)? != b'"' {
            return None;
        }
        let end = self.string(at + 1)?;
        let colon = self.space(end);
        if self.byte(colon)? != b':' {
            return None;
        }
        Some((at + 1..end - 1, self.space(colon + 1)))
    }

    /// A value, at this depth of nesting.
    #[inline(always)]
    pub(super) fn value(self, at: usize, depth: usize) -> Option<usize> {
        match self.byte(at)? {
            b'"' => self.string(at + 1),
            b'{' | b'[' => self.nested(at, depth),
            first => self.scalar(at, first),
        }
    }

    /// A literal or a number.
    pub(super) fn scalar(self, at: usize, first: u8) -> Option<usize> {
        match first {
            b't' => self.literal(at, b"true"),
            b'f' => self.literal(at, b"false"),
            b'n' => self.literal(at, b"null"),
            _ => self.number(at, first),
        }
    }

    /// An object or array.
    fn nested(self, at: usize, depth: usize) -> Option<usize> {
        if depth >= DEEPEST {
            return None;
        }
        if self.byte(at)? == b'{' {
            let (mut at, mut more) = self.open(at, b'{', b'}')?;
            while more {
                let (_, value) = self.name(at)?;
                (at, more) = self.more(self.value(value, depth + 1)?, b'}')?;
            }
            Some(at)
        } else {
            let (mut at, mut more) = self.open(at, b'[', b']')?;
            while more {
                (at, more) = self.more(self.value(at, depth + 1)?, b']')?;
            }
            Some(at)
        }
    }

    #[inline]
    fn literal(self, at: usize, word: &[u8]) -> Option<usize> {
        self.0
            .get(at..)?
            .starts_with(word)
            .then_some(at + word.len())
    }

    /// Passes over digits.
    #[inline]
    fn digits(self, mut at: usize) -> usize {
        while let Some(chunk) = self.0.get(at..).and_then(<[u8]>::first_chunk::<16>) {
            let values = u8x16::new(*chunk) - u8x16::splat(b'0');
            let digits = values
                .min(u8x16::splat(9))
                .simd_eq(values)
                .to_bitmask()
                .trailing_ones();
            at += digits as usize;
            if digits < 16 {
                return at;
            }
        }
        while let Some(b'0'..=b'9') = self.byte(at) {
            at += 1;
        }
        at
    }

    /// Passes over at least one digit.
    #[inline]
    fn some_digits(self, at: usize) -> Option<usize> {
        let end = self.digits(at);
        (end > at).then_some(end)
    }

    #[inline]
    fn number(self, at: usize, first: u8) -> Option<usize> {
        let at = at + usize::from(first == b'-');
        let mut at = match self.byte(at)? {
            b'0' => at + 1,
            _ => self.some_digits(at)?,
        };
        if self.byte(at) == Some(b'.') {
            at = self.some_digits(at + 1)?;
        }
        match self.byte(at) {
            Some(b'e' | b'E') => self.exponent(at + 1),
            _ => Some(at),
        }
    }

    #[cold]
    fn exponent(self, at: usize) -> Option<usize> {
        let signed = matches!(self.byte(at), Some(b'+' | b'-'));
        self.some_digits(at + usize::from(signed))
    }

    /// The rest of a string, from behind its first quote to behind its last.
    #[inline(always)]
    pub(super) fn string(self, mut at: usize) -> Option<usize> {
        while let Some(chunk) = self.0.get(at..).and_then(<[u8]>::first_chunk::<16>) {
            let special = special_bytes(*chunk);
            if special == 0 {
                at += 16;
                continue;
            }
            at += special.trailing_zeros() as usize;
            if self.byte(at)? == b'"' {
                return Some(at + 1);
            }
            at = self.escape(at)?;
        }
        self.last_string(at)
    }

    #[cold]
    fn last_string(self, mut at: usize) -> Option<usize> {
        loop {
            at = match self.byte(at)? {
                b'"' => return Some(at + 1),
                b'\\' | 0..0x20 => self.escape(at)?,
                _ => at + 1,
            };
        }
    }

    /// What a backslash begins; control characters have to be escaped.
    #[cold]
    fn escape(self, at: usize) -> Option<usize> {
        if self.byte(at)? != b'\\' {
            return None;
        }
        match self.byte(at + 1)? {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(at + 2),
            b'u' => {
                let digits = self.0.get(at + 2..at + 6)?;
                digits.iter().all(u8::is_ascii_hexdigit).then_some(at + 6)
            }
            _ => None,
        }
    }
}

/// One bit for each byte that is a quote, a backslash or a control character.
#[inline]
fn special_bytes(bytes: [u8; 16]) -> u32 {
    let bytes = u8x16::new(bytes);
    let quotes = bytes.simd_eq(u8x16::splat(b'"'));
    let backslashes = bytes.simd_eq(u8x16::splat(b'\\'));
    let controls = bytes.min(u8x16::splat(0x1f)).simd_eq(bytes);
    (quotes | backslashes | controls).to_bitmask()
}
