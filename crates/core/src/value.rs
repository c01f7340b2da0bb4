//! A value within a record, read step by step: its kind, its number, string or boolean, its items and members.

use crate::error::{Error, ErrorKind, Result};
use crate::json::{self, from_json};
use crate::record::RawRecord;
use serde::de::DeserializeOwned;
use std::borrow::Cow;
use std::ops::Range;

/// The kind of a JSON value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum ValueKind {
    /// `null`.
    Null = 1,
    /// `true` or `false`.
    Boolean = 2,
    /// A number.
    Number = 3,
    /// A string.
    String = 4,
    /// An array.
    Array = 5,
    /// An object.
    Object = 6,
}

/// A value within a record. It keeps the page of the record in memory.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use talentdata_core::RawRecord;
///
/// let record = RawRecord::parse(r#"{"id":"c-1","address":{"city":"Utrecht","lines":["Stationsplein 1"]}}"#)?;
/// let city = record.value().at("/address/city")?.expect("the record has a city");
/// assert_eq!(city.text()?, "Utrecht");
/// assert!(record.value().at("/address/country")?.is_none());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct NestedValue {
    record: RawRecord,
    /// The place of the value in the record's text.
    range: Range<usize>,
    /// The JSON pointer of the value, for errors.
    pointer: String,
}

impl RawRecord {
    /// Returns the whole record as a value, which can be read step by step.
    pub fn value(&self) -> NestedValue {
        NestedValue::within(self, self.as_str(), String::new())
    }
}

impl NestedValue {
    /// Reads JSON text as a value, for example a receipt or the response of a call. `offset` is the offset of its page.
    ///
    /// # Errors
    /// `Decode` if it is not JSON.
    pub fn parse(json: &str, offset: Option<u64>) -> Result<Self> {
        RawRecord::whole(json, offset).map(|record| record.value())
    }

    /// Returns the value at a path within this one: the name of a field, or a JSON pointer (RFC 6901), which is empty
    /// or starts with a slash. `None` if there is no such value. The last duplicate of a name wins.
    ///
    /// # Errors
    /// `InvalidArgument` for a name that contains a slash: it looks like a pointer without its first slash.
    pub fn at(&self, path: &str) -> Result<Option<Self>> {
        let steps: Vec<String> = match path.strip_prefix('/') {
            Some(steps) => steps.split('/').map(unescaped).collect(),
            None if path.is_empty() => Vec::new(),
            None if path.contains('/') => {
                let message = format!(
                    "path: a JSON pointer starts with '/' (got {path:?}; did you mean \"/{path}\"?)"
                );
                return Err(Error::invalid(message));
            }
            None => vec![path.to_owned()],
        };
        let mut steps = steps.iter();
        let mut pointer = self.pointer.clone();
        let found = steps.try_fold(self.as_str(), |value, step| {
            pointer = format!("{pointer}/{}", json::pointer_step(step));
            child(value, step)
        });
        Ok(found.map(|raw| Self::within(&self.record, raw, pointer)))
    }

    /// Returns the error for a required field that this value does not have.
    pub fn missing(&self, path: &str) -> Error {
        self.fault(&format!("the field {path} is missing"))
    }

    /// Returns the error for the number at a path, which is out of the range of the requested type.
    ///
    /// # Errors
    /// `InvalidArgument` as [`at`](Self::at).
    pub fn out_of_range(&self, path: &str) -> Result<Error> {
        let found = self.at(path)?;
        let value = found.as_ref().unwrap_or(self);
        Ok(value.fault("the value is not in the range of the type"))
    }

    /// Returns the value for `raw`, which must be a piece of the record's text.
    fn within(record: &RawRecord, raw: &str, pointer: String) -> Self {
        NestedValue {
            record: record.clone(),
            range: json::place(raw, record.as_bytes()),
            pointer,
        }
    }

    /// Returns the JSON text, byte for byte as the service sent it.
    pub fn as_str(&self) -> &str {
        let raw = self.record.as_bytes().get(self.range.clone());
        let text = raw.and_then(|raw| std::str::from_utf8(raw).ok());
        text.unwrap_or_default()
    }

    /// Returns the kind of the value.
    pub fn kind(&self) -> ValueKind {
        match self.as_str().as_bytes().first() {
            Some(b'n') | None => ValueKind::Null,
            Some(b't' | b'f') => ValueKind::Boolean,
            Some(b'"') => ValueKind::String,
            Some(b'[') => ValueKind::Array,
            Some(b'{') => ValueKind::Object,
            Some(_) => ValueKind::Number,
        }
    }

    /// Returns the value as a number or a boolean.
    ///
    /// # Errors
    /// `Schema`, with the JSON pointer, if it has another type or is out of range.
    pub fn to<T: DeserializeOwned>(&self) -> Result<T> {
        let read = from_json(self.as_str(), &self.place()).or_else(|error| {
            // `1.0` is an integer, too.
            let whole = json::whole(self.as_str()).ok_or(error)?;
            from_json(&whole.to_string(), &self.place())
        });
        read.map_err(|error| match error.kind() {
            // The text was checked on arrival, so only a number can be wrong.
            ErrorKind::Decode => self.fault("the value is not in the range of the type"),
            _ => self.record.fault(error),
        })
    }

    /// Returns the text of a string with its escapes resolved.
    ///
    /// # Errors
    /// `Schema`, with the JSON pointer, if it is not a string.
    pub fn text(&self) -> Result<Cow<'_, str>> {
        json::decoded(self.as_str()).ok_or_else(|| match self.kind() {
            ValueKind::String => {
                self.fault("the string has half of a surrogate pair, which is not valid text")
            }
            _ => self.fault("the value is not a string"),
        })
    }

    /// Returns the items of an array, each without a name, or the members of an object with their names. The last
    /// duplicate of a name wins.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use talentdata_core::NestedValue;
    ///
    /// let tags = NestedValue::parse(r#"["red","green"]"#, None)?;
    /// for (name, tag) in tags.children()? {
    ///     println!("{name:?}: {}", tag.text()?);
    /// }
    /// assert_eq!(tags.children()?.len(), 2);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `Schema`, with the JSON pointer, if it is neither.
    pub fn children(&self) -> Result<Vec<(Option<String>, NestedValue)>> {
        let child = |raw: &str, step: &str| {
            let pointer = format!("{}/{step}", self.pointer);
            NestedValue::within(&self.record, raw, pointer)
        };
        match self.kind() {
            ValueKind::Array => {
                let items = json::items(self.as_str()).into_iter().enumerate();
                let items = items.map(|(index, raw)| (None, child(raw, &index.to_string())));
                Ok(items.collect())
            }
            ValueKind::Object => {
                let members = json::by_name(json::members(self.as_str()));
                let member = |(name, raw): (Cow<'_, str>, &str)| {
                    let step = json::pointer_step(&name);
                    (Some(name.into_owned()), child(raw, &step))
                };
                Ok(members.into_iter().map(member).collect())
            }
            _ => Err(self.fault("the value is not an array or an object")),
        }
    }

    fn fault(&self, what: &str) -> Error {
        let message = match self.place().as_str() {
            "" => what.to_owned(),
            place => format!("{place}: {what}"),
        };
        self.record.fault(Error::schema(message))
    }

    fn place(&self) -> String {
        let places = [self.record.name(), self.pointer.clone()];
        let said: Vec<String> = places.into_iter().filter(|one| !one.is_empty()).collect();
        said.join(": ")
    }
}

/// Returns the item of an array or the member of an object that a step of a path names.
fn child<'a>(value: &'a str, step: &str) -> Option<&'a str> {
    match value.as_bytes().first()? {
        b'{' => json::member(value, step),
        b'[' => {
            // RFC 6901 allows no leading zeros and no signs.
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

/// Returns the name in a step of a JSON pointer.
fn unescaped(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}

#[cfg(test)]
mod tests {
    use super::ValueKind::{Array, Boolean, Null, Number, Object, String};
    use super::*;

    const RECORD: &str = r#"{"a": [1, 2.5, -9223372036854775808, true, null, "\u00e9\"", [], {"b/c": 1, "~": 2, "b/c": [7]}], "big": 1e400, "": 0, "t\u0065xt": "x"}"#;

    #[test]
    fn values_are_read_step_by_step() {
        let record = RawRecord::parse(RECORD).unwrap();
        let array = record.value().at("a").unwrap().unwrap();
        let items = array.children().unwrap();
        let items: Vec<_> = items.into_iter().map(|(_, one)| one).collect();
        let kinds: Vec<ValueKind> = items.iter().map(NestedValue::kind).collect();
        let wanted = [Number, Number, Number, Boolean, Null, String, Array, Object];
        assert_eq!(kinds, wanted);
        assert_eq!(items[1].to::<f64>().unwrap(), 2.5);
        assert_eq!(items[2].to::<i64>().unwrap(), i64::MIN);
        assert!(items[3].to::<bool>().unwrap());
        assert_eq!(items[5].text().unwrap(), "é\"");
        assert!(items[6].children().unwrap().is_empty());
        let members = items[7].children().unwrap();
        let names = members.iter().map(|(name, _)| name.as_deref().unwrap());
        assert_eq!(names.collect::<Vec<_>>(), ["b/c", "~"]);
        let seven = &members[0].1.children().unwrap()[0].1;
        assert_eq!(
            (seven.pointer.as_str(), seven.as_str()),
            ("/a/7/b~1c/0", "7")
        );
    }

    #[test]
    fn a_path_is_a_name_or_a_pointer_within_the_value() {
        let record = RawRecord::parse(RECORD).unwrap().value();
        let within = record.at("/a/7").unwrap().unwrap();
        for (from, path, found) in [
            (&record, "", Some(record.as_str())),
            (&record, "/", Some("0")),
            (&record, "text", Some("\"x\"")),
            (&record, "/text", Some("\"x\"")),
            (&record, "/a/0", Some("1")),
            (&record, "/a/00", None),
            (&record, "/a/+0", None),
            (&record, "/a/-", None),
            (&record, "/a/8", None),
            (&record, "/a/0/x", None),
            (&record, "none", None),
            (&record, "/a/7/b~1c/0", Some("7")),
            (&within, "/b~1c/0", Some("7")),
            (&within, "/~0", Some("2")),
            (&within, "~", Some("2")),
        ] {
            let at = from.at(path).unwrap();
            assert_eq!(at.as_ref().map(NestedValue::as_str), found, "{path}");
        }
        for wrong in ["a/b", "#/a", " /a"] {
            let error = record.at(wrong).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{wrong}");
            let says = format!("did you mean \"/{wrong}\"");
            assert!(error.message().contains(&says), "{error}");
        }
    }

    #[test]
    fn a_value_of_another_type_is_an_error_with_its_record_and_pointer() {
        let record = NestedValue::parse(RECORD, Some(40)).unwrap();
        let at = |pointer: &str| record.at(pointer).unwrap().unwrap();
        for (pointer, error) in [
            ("/a/5", at("/a/5").to::<i64>().unwrap_err()),
            ("/a/5", at("/a/5").children().unwrap_err()),
            ("/a/1", at("/a/1").to::<i64>().unwrap_err()),
            ("/a/0", at("/a/0").text().unwrap_err()),
            ("/a/4", at("/a/4").to::<bool>().unwrap_err()),
            ("/big", at("big").to::<f64>().unwrap_err()),
            ("/a/7: the field d is missing", at("/a/7").missing("d")),
        ] {
            assert_eq!(
                (error.kind(), error.offset()),
                (ErrorKind::Schema, Some(40))
            );
            assert!(error.message().starts_with(pointer), "{error}");
        }
        let error = NestedValue::parse("{}", None).unwrap().missing("total");
        assert_eq!(error.message(), "the field total is missing");
        assert_eq!(error.offset(), None);
        let listed = RawRecord::parse_at("{}", 40).unwrap().value().missing("id");
        let wanted = "record 0 of the page (offset 40): the field id is missing";
        assert_eq!(listed.message(), wanted);
    }
}
