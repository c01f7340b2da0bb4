//! Text that is lent to C, and texts that a handle keeps so that they can be lent.

use std::borrow::Cow;
use std::ffi::c_char;
use std::sync::OnceLock;

/// UTF-8 text: pointer and length in bytes, not ended by a NUL. It is lent: valid until the handle
/// that it was asked of is freed. Where a field is absent, `data` is NULL and `length` 0.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Text {
    /// The first byte; NULL where there is no text.
    pub data: *const c_char,
    /// How many bytes.
    pub length: usize,
}

impl Text {
    pub(crate) const ABSENT: Text = Text {
        data: std::ptr::null(),
        length: 0,
    };

    /// `text` must be owned by the handle that lends it.
    pub(crate) fn of(text: &str) -> Self {
        Text {
            data: text.as_ptr().cast(),
            length: text.len(),
        }
    }

    pub(crate) fn of_option(text: Option<&str>) -> Self {
        text.map_or(Text::ABSENT, Text::of)
    }
}

/// Texts that were made on request and live as long as their handle; none is kept twice.
#[derive(Default)]
pub(crate) struct Kept(OnceLock<Box<(Box<str>, Kept)>>);

impl Kept {
    pub(crate) fn keep<'a>(&'a self, text: Cow<'a, str>) -> &'a str {
        let text = match text {
            Cow::Borrowed(text) => return text,
            Cow::Owned(text) => text,
        };
        let mut place = self;
        loop {
            let (kept, next) = &**place
                .0
                .get_or_init(|| Box::new((text.as_str().into(), Kept::default())));
            if **kept == *text {
                return kept;
            }
            place = next;
        }
    }
}
