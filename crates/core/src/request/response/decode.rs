//! Reads JSON into types, and says what is wrong with it without quoting it.

use crate::error::{Error, ErrorKind, Result, Retryability};
use serde::de::DeserializeOwned;
use serde_json::error::Category;

/// Whether a text is JSON that can be read as `T`.
pub(crate) fn fits<T: DeserializeOwned>(text: &str) -> Result<()> {
    from_json::<T>(text, "").map(drop)
}

/// Reads JSON; `place` is the path of this text within the response.
pub(crate) fn from_json<T: DeserializeOwned>(text: &str, place: &str) -> Result<T> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path().to_string();
        let place = match (place.is_empty(), path == ".") {
            (_, true) => place.to_owned(),
            (true, false) => path,
            (false, false) => format!("{place}.{path}"),
        };
        json_error(error.inner(), &place)
    })?;
    reader.end().map_err(|error| json_error(&error, place))?;
    Ok(value)
}

/// Says what is wrong without the offending value, which the library's own words would quote.
pub(crate) fn json_error(error: &serde_json::Error, place: &str) -> Error {
    let at = if place.is_empty() {
        String::new()
    } else {
        format!("{place}: ")
    };
    match error.classify() {
        Category::Data => Error::new(ErrorKind::Schema, format!("{at}{}", without_value(error))),
        Category::Eof => Error::new(
            ErrorKind::Decode,
            format!(
                "{at}the JSON ends too early, at line {} column {}",
                error.line(),
                error.column()
            ),
        )
        .with_retryability(Retryability::Yes),
        Category::Syntax | Category::Io => Error::new(
            ErrorKind::Decode,
            format!(
                "{at}this is not JSON, at line {} column {}",
                error.line(),
                error.column()
            ),
        )
        .with_retryability(Retryability::Yes),
    }
}

/// `invalid type: integer `5`, expected a string at line 1 column 2` as `found integer, expected a string`.
///
/// The value may hold these very words. What was found stands before the first quote, what was expected behind the last
/// of the words, and the value between; of a text in other words nothing is known, so that none of it is passed on.
fn without_value(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let text = text.strip_suffix(&place).unwrap_or(&text);
    // These quote nothing but the names that our own types give.
    if text.starts_with("missing field `") || text.starts_with("duplicate field `") {
        return text.to_owned();
    }
    let said = text
        .strip_prefix("invalid type: ")
        .or_else(|| text.strip_prefix("invalid value: "));
    match said.and_then(|said| said.rsplit_once(", expected ")) {
        Some((found, expected)) => {
            let found = found.split(['`', '"']).next().unwrap_or_default();
            format!("found {}, expected {expected}", found.trim())
        }
        None => "the value does not have the expected form".to_owned(),
    }
}
