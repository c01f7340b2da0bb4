//! Texts that C passes and borrows.

use std::ffi::c_char;

/// UTF-8 text: a pointer and a length in bytes, without a terminating NUL. What a function returns is valid until
/// the handle it was read from is freed, and what it is passed is borrowed during the call. Where a text is absent, `data` is
/// NULL and `length` is 0. TALENTDATA_TEXT makes one of a NUL-terminated string.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Text {
    /// The first byte; NULL where there is no text.
    pub data: *const c_char,
    /// The length in bytes.
    pub length: usize,
}

impl Text {
    pub(crate) const ABSENT: Text = Text {
        data: std::ptr::null(),
        length: 0,
    };

    /// Makes a pointer to a text, which must be owned by the handle that C reads it from.
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
