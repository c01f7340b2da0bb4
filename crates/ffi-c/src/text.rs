//! The type for texts from C and for C.

use std::ffi::c_char;

/// UTF-8 text: a pointer and a length in bytes, without a terminating NUL. A returned text is valid until the handle
/// from which it was read is freed. An argument is borrowed during the call. If a text is absent, `data` is NULL and
/// `length` is 0. TALENTDATA_TEXT converts a NUL-terminated string.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Text {
    /// The first byte; NULL if there is no text.
    pub data: *const c_char,
    /// The length in bytes.
    pub length: usize,
}

impl Text {
    pub(crate) const ABSENT: Text = Text {
        data: std::ptr::null(),
        length: 0,
    };

    /// Creates a pointer to a text, which must be owned by the handle from which C reads it.
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
