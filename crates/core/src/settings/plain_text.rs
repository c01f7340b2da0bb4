//! Checks strings that are sent or name something: identifiers, secrets, URLs and paths.

use crate::error::{Error, Result};

/// Limits the bytes of identifiers and secrets. A longer value is surely something else, for example the content of a
/// file.
const LONGEST_TEXT: usize = 16 * 1024;

/// Checks that a value can be an identifier, a secret or a URL. Errors never show it.
pub(super) fn check_text(name: &str, value: &str) -> Result<()> {
    let why = if value.is_empty() {
        "not be empty".into()
    } else if value.ends_with(['\r', '\n']) {
        "not end with a line break".into()
    } else if value.trim() != value {
        "not begin or end with white space".into()
    } else if value.chars().any(char::is_control) {
        "not contain control characters".into()
    } else if value.len() > LONGEST_TEXT {
        format!("not be longer than {} KiB", LONGEST_TEXT / 1024)
    } else if value.contains(char::REPLACEMENT_CHARACTER) {
        "be valid UTF-8".into()
    } else {
        return Ok(());
    };
    Err(Error::config(format!("{name} must {why}")))
}
