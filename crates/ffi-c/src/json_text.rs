//! JSON text that a call gives: a response that is no object, or a schema.

use crate::boundary::{get, guard_or};
use crate::error::Error;
use crate::text::Text;
use std::mem::MaybeUninit;

/// JSON text: a schema, or a response exactly as the service sent it; read-only. Freed with talentdata_json_text_free.
pub struct JsonText {
    json: String,
}

impl JsonText {
    pub(crate) fn new(json: String) -> Self {
        JsonText { json }
    }
}

/// The text.
///
/// @param json_text the handle
/// @param text_out the JSON text
/// Ownership: `*text_out` is valid until the handle is freed.
/// Threads: any.
/// Errors: INVALID_ARGUMENT for NULL.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_json_text_get(
    json_text: Option<&JsonText>,
    text_out: Option<&mut MaybeUninit<Text>>,
) -> Option<Box<Error>> {
    get((json_text, "json_text"), (text_out, "text_out"), |one| {
        Ok(Text::of(&one.json))
    })
}

/// Frees the text; does nothing when it is NULL.
///
/// Ownership: `json_text` and what was read from it must not be used any more.
/// Threads: one at a time per handle.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_json_text_free(json_text: Option<Box<JsonText>>) {
    guard_or((), || drop(json_text));
}
