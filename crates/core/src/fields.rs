//! Single fields of a record, read from its text when they are asked for.

use crate::error::{Error, ErrorKind, Result};
use crate::json;
use crate::record::RawRecord;
use crate::request::response::from_json;
use serde::de::DeserializeOwned;
use std::borrow::Cow;

impl RawRecord {
    /// The raw JSON of the value at a JSON pointer (RFC 6901); `None` where there is no such value.
    ///
    /// Where a name occurs twice, the last value counts.
    ///
    /// # Errors
    /// `InvalidArgument` when the text is not a JSON pointer: it has to be empty or start with `/`.
    pub fn pointer(&self, pointer: &str) -> Result<Option<&str>> {
        if pointer.is_empty() {
            return Ok(Some(self.as_str()));
        }
        let Some(steps) = pointer.strip_prefix('/') else {
            let message = format!(
                "pointer: a JSON pointer starts with '/' (got {:?}; did you mean {:?}?)",
                excerpt(pointer),
                excerpt(&format!("/{pointer}"))
            );
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        };
        let mut steps = steps.split('/');
        Ok(steps.try_fold(self.as_str(), |value, step| child(value, &unescaped(step))))
    }

    /// The raw JSON of a field; none when it is absent or null.
    pub fn field(&self, name: &str) -> Option<&str> {
        json::member(self.as_str(), name).filter(|value| *value != "null")
    }

    /// The text of a string field, its escapes resolved; none when it is absent or null.
    ///
    /// # Errors
    /// `Schema`, naming record and field, when it is no string.
    pub fn text_field(&self, name: &str) -> Result<Option<Cow<'_, str>>> {
        match self.field(name) {
            None => Ok(None),
            Some(raw) => match json::decoded(raw) {
                Some(text) => Ok(Some(text)),
                None => self.read(name, raw).map(|text: String| Some(text.into())),
            },
        }
    }

    /// A field as `T`; none when it is absent or null.
    ///
    /// # Errors
    /// `Schema`, naming record and field, when it is of another type.
    pub fn typed_field<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>> {
        self.field(name).map(|raw| self.read(name, raw)).transpose()
    }

    fn read<T: DeserializeOwned>(&self, name: &str, raw: &str) -> Result<T> {
        let place = format!("record {} of the page: {name}", self.index());
        from_json(raw, &place).map_err(|error| self.fault(error))
    }

    /// The error for a documented field that every record should carry and this one does not.
    pub fn missing_field(&self, name: &str) -> Error {
        let index = self.index();
        let message = format!("record {index} of the page: the field {name} is missing");
        Error::new(ErrorKind::Schema, message).with_offset(self.page_offset())
    }
}

pub(crate) fn child<'a>(value: &'a str, step: &str) -> Option<&'a str> {
    match value.as_bytes().first()? {
        b'{' => json::member(value, step),
        b'[' => {
            // RFC 6901 knows no leading zeros and no signs.
            let plain = step == "0" || !step.starts_with(['0', '+']);
            let index: usize = step.parse().ok().filter(|_| plain)?;
            let (mut places, mut found) = (0_usize.., None);
            json::each_item(value, |item| {
                if places.next() == Some(index) {
                    found = Some(item);
                }
            });
            found
        }
        _ => None,
    }
}

/// As much of a caller's text as a message needs.
fn excerpt(text: &str) -> &str {
    &text[..text.floor_char_boundary(60)]
}

/// A step of a JSON pointer.
pub(crate) fn unescaped(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Page;
    use crate::request::transport::Response;

    /// The last record of a page.
    fn record(json: &str) -> RawRecord {
        let pagination = r#"{"total":204,"limit":4,"offset":200,"hasMore":false}"#;
        let body = format!("{{\"rows\":[{{}},{{}},{{}},{json}],\"pagination\":{pagination}}}");
        let mut page = Page::read(&Response::of_json(body), None, 200).unwrap();
        page.records.pop().unwrap()
    }

    #[test]
    fn a_pointer_finds_what_the_standard_says() {
        let record =
            record(r#"{"a":{"b":[10,{"c/d":"x","~":1}]},"":0,"t\u0065xt":"\u00e9","a2":1,"a2":2}"#);
        for (pointer, found) in [
            ("", Some(record.as_str())),
            ("/a/b/0", Some("10")),
            ("/a/b/00", None),
            ("/a/b/+0", None),
            ("/a/b/-", None),
            ("/a/b/2", None),
            ("/a/b/1/c~1d", Some("\"x\"")),
            ("/a/b/1/~0", Some("1")),
            ("/", Some("0")),
            ("/text", Some("\"\\u00e9\"")),
            ("/a2", Some("2")),
            ("/a/b/0/x", None),
        ] {
            assert_eq!(record.pointer(pointer).unwrap(), found, "{pointer}");
        }
        for wrong in ["a", "a/b", "#/a", " /a", &"é".repeat(100)] {
            let error = record.pointer(wrong).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{wrong}");
            assert!(error.message().contains("starts with '/'"), "{error}");
            assert!(error.message().len() < 400, "{error}");
        }
    }

    #[test]
    fn a_field_of_another_type_is_named_with_its_record() {
        let record = record(r#"{"text":"a\nb","number":7,"none":null}"#);
        assert_eq!(record.text_field("text").unwrap().unwrap(), "a\nb");
        assert_eq!(record.typed_field::<i64>("number").unwrap(), Some(7));
        assert_eq!(record.text_field("none").unwrap(), None);
        assert_eq!(record.text_field("absent").unwrap(), None);
        let error = record.text_field("number").unwrap_err();
        assert_eq!(
            (error.kind(), error.offset()),
            (ErrorKind::Schema, Some(200))
        );
        assert!(error.message().contains("record 3") && error.message().contains("number"));
    }

    #[test]
    fn names_of_the_service_in_an_error_are_harmless_and_bounded() {
        type Counts = std::collections::BTreeMap<String, u64>;
        for name in ["\\u001b[2Jevil", "\\u202eevil", &"evil".repeat(100_000)] {
            let record = record(&format!(r#"{{"counts":{{"{name}":"x"}}}}"#));
            let whole = record.to::<std::collections::BTreeMap<String, Counts>>();
            let errors = [
                record.typed_field::<Counts>("counts").unwrap_err(),
                whole.unwrap_err(),
            ];
            for error in errors {
                let shown = format!("{error} {error:?}");
                assert!(error.message().contains("evil"), "{shown}");
                let drives = |letter| letter != '\n' && crate::drives_terminal(letter);
                assert!(shown.len() < 1500 && !shown.contains(drives), "{shown:?}");
            }
        }
    }
}
