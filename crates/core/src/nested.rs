//! A value within a record, read step by step: its kind, its number, text or truth, its items and members.

mod kind;

pub use kind::ValueKind;

use crate::error::{Error, ErrorKind, Result};
use crate::json;
use crate::record::{RawRecord, child, unescaped};
use crate::request::response::from_json;
use serde::de::DeserializeOwned;
use std::borrow::Cow;
use std::ops::Range;

/// A value within a record. It keeps the page of the record in memory.
#[derive(Clone, Debug)]
pub struct NestedValue {
    record: RawRecord,
    /// Where it is in the record's text.
    range: Range<usize>,
    /// Its JSON pointer, for errors.
    pointer: String,
}

impl RawRecord {
    /// The value at a JSON pointer (RFC 6901); `None` where there is no such value.
    ///
    /// # Errors
    /// As [`pointer`](Self::pointer).
    pub fn nested(&self, pointer: &str) -> Result<Option<NestedValue>> {
        let found = self.pointer(pointer)?;
        Ok(found.map(|raw| NestedValue::within(self, raw, pointer.to_owned())))
    }
}

impl NestedValue {
    /// JSON text as a value, such as a receipt or the response of a call, whose text was checked before; `offset` is
    /// where its page begins.
    ///
    /// # Errors
    /// `Decode` where it is not JSON.
    pub fn parse(json: &str, offset: u64) -> Result<Self> {
        let record = RawRecord::whole(json, offset)?;
        let whole = record.as_str();
        Ok(NestedValue::within(&record, whole, String::new()))
    }

    /// The value at a path within this one: the name of a field, or a JSON pointer (RFC 6901), which is empty or starts
    /// with a slash. `None` where there is no such value.
    ///
    /// # Errors
    /// `InvalidArgument` for a name that holds a slash, which is a pointer without its first one.
    pub fn at(&self, path: &str) -> Result<Option<Self>> {
        let steps = match path.strip_prefix('/') {
            Some(steps) => steps,
            None if path.is_empty() => return Ok(Some(self.clone())),
            None if path.contains('/') => {
                let message = format!(
                    "path: a JSON pointer starts with '/' (got {path:?}; did you mean \"/{path}\"?)"
                );
                return Err(Error::new(ErrorKind::InvalidArgument, message));
            }
            None => path,
        };
        let is_name = steps.len() == path.len();
        let found = match is_name {
            true => child(self.as_str(), path),
            false => steps
                .split('/')
                .try_fold(self.as_str(), |value, step| child(value, &unescaped(step))),
        };
        let pointer = |raw| {
            let slash = if is_name { "/" } else { "" };
            let path = if is_name {
                escaped(path)
            } else {
                path.to_owned()
            };
            Self::within(&self.record, raw, format!("{}{slash}{path}", self.pointer))
        };
        Ok(found.map(pointer))
    }

    /// The error for a field that this value has to have.
    pub fn missing(&self, path: &str) -> Error {
        let place = match self.pointer.as_str() {
            "" => String::new(),
            pointer => format!("{pointer}: "),
        };
        let index = self.record.index();
        let message = format!("record {index} of the page: {place}the field {path} is missing");
        self.record.fault(Error::new(ErrorKind::Schema, message))
    }

    /// `raw` is a piece of the record's text.
    fn within(record: &RawRecord, raw: &str, pointer: String) -> Self {
        NestedValue {
            record: record.clone(),
            range: json::place(raw, record.as_bytes()),
            pointer,
        }
    }

    /// The JSON text, byte for byte as the service sent it.
    pub fn as_str(&self) -> &str {
        let raw = self.record.as_bytes().get(self.range.clone());
        let text = raw.and_then(|raw| std::str::from_utf8(raw).ok());
        text.unwrap_or_default()
    }

    /// What it is.
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

    /// The value as a number or a boolean.
    ///
    /// # Errors
    /// `Schema`, with the JSON pointer, when it is of another type or out of range.
    pub fn to<T: DeserializeOwned>(&self) -> Result<T> {
        let place = format!(
            "record {} of the page: {}",
            self.record.index(),
            self.pointer
        );
        from_json(self.as_str(), &place).map_err(|error| match error.kind() {
            // It was checked when it came, so that only a number can be wrong.
            ErrorKind::Decode => self.is_not("in the range of the type"),
            _ => self.record.fault(error),
        })
    }

    /// The text of a string, its escapes resolved.
    ///
    /// # Errors
    /// `Schema`, with the JSON pointer, when it is not a string.
    pub fn text(&self) -> Result<Cow<'_, str>> {
        json::decoded(self.as_str()).ok_or_else(|| self.is_not("a string"))
    }

    /// The items of an array, each without a name, or the members of an object with their names. Of a name that
    /// occurs twice the last value counts.
    ///
    /// # Errors
    /// `Schema`, with the JSON pointer, when it is neither.
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
                let members = json::by_name(&json::members(self.as_str()));
                let member = |(name, raw): (Cow<'_, str>, &str)| {
                    let step = escaped(&name);
                    (Some(name.into_owned()), child(raw, &step))
                };
                Ok(members.into_iter().map(member).collect())
            }
            _ => Err(self.is_not("an array or an object")),
        }
    }

    fn is_not(&self, wanted: &str) -> Error {
        let message = format!(
            "record {} of the page: {}: the value is not {wanted}",
            self.record.index(),
            self.pointer
        );
        let error = Error::new(ErrorKind::Schema, message);
        self.record.fault(error)
    }
}

/// A name as a step of a JSON pointer.
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORD: &str = r#"{"a": [1, 2.5, -9223372036854775808, true, null, "\u00e9\"", [], {"b/c": 1, "d": 2, "b/c": [7]}], "big": 1e400}"#;

    #[test]
    fn values_are_read_step_by_step() {
        let record = RawRecord::of_json(RECORD);
        let array = record.nested("/a").unwrap().unwrap();
        let items: Vec<NestedValue> = array
            .children()
            .unwrap()
            .into_iter()
            .map(|(_, one)| one)
            .collect();
        use ValueKind::{Array, Boolean, Null, Number, Object, String};
        let kinds: Vec<ValueKind> = items.iter().map(NestedValue::kind).collect();
        assert_eq!(
            kinds,
            [Number, Number, Number, Boolean, Null, String, Array, Object]
        );
        assert_eq!(items[0].to::<i64>().unwrap(), 1);
        assert_eq!(items[1].to::<f64>().unwrap(), 2.5);
        assert_eq!(items[2].to::<i64>().unwrap(), i64::MIN);
        assert!(items[3].to::<bool>().unwrap());
        assert_eq!(items[5].text().unwrap(), "é\"");
        assert!(items[6].children().unwrap().is_empty());
        let members = items[7].children().unwrap();
        let names: Vec<_> = members
            .iter()
            .map(|(name, one)| (name.as_deref().unwrap(), one.as_str()))
            .collect();
        assert_eq!(names, [("b/c", "[7]"), ("d", "2")]);
        let seven = &members[0].1.children().unwrap()[0].1;
        assert_eq!(
            (seven.pointer.as_str(), seven.to::<f64>().unwrap()),
            ("/a/7/b~1c/0", 7.0)
        );
        assert!(record.nested("/nothing").unwrap().is_none());
        assert_eq!(record.nested("").unwrap().unwrap().kind(), Object);
    }

    #[test]
    fn a_path_is_a_name_or_a_pointer_from_where_it_is_asked() {
        let value = NestedValue::parse(r#"[{"a/b": {"c": [1, 2]}, "7": 3}]"#, 40).unwrap();
        let item = value.at("/0").unwrap().unwrap();
        for (path, found) in [
            ("/a~1b/c/1", "2"),
            ("7", "3"),
            ("/7", "3"),
            ("", item.as_str()),
        ] {
            assert_eq!(item.at(path).unwrap().unwrap().as_str(), found, "{path}");
        }
        let inner = item.at("/a~1b").unwrap().unwrap();
        assert_eq!(inner.at("c").unwrap().unwrap().pointer, "/0/a~1b/c");
        assert!(item.at("none").unwrap().is_none() && inner.at("/c/2").unwrap().is_none());
        let error = item.at("a/b").unwrap_err();
        assert!(error.message().contains("did you mean \"/a/b\""), "{error}");
        let error = inner.missing("d");
        assert_eq!(
            (error.kind(), error.offset()),
            (ErrorKind::Schema, Some(40))
        );
        assert!(
            error.message().contains("/0/a~1b: the field d is missing"),
            "{error}"
        );
    }

    #[test]
    fn a_value_of_another_type_is_an_error_with_its_pointer() {
        let record = RawRecord::of_json(RECORD);
        let at = |pointer: &str| record.nested(pointer).unwrap().unwrap();
        for (pointer, error) in [
            ("/a/5", at("/a/5").to::<i64>().unwrap_err()),
            ("/a/5", at("/a/5").children().unwrap_err()),
            ("/a/1", at("/a/1").to::<i64>().unwrap_err()),
            ("/a/0", at("/a/0").text().unwrap_err()),
            ("/a/4", at("/a/4").to::<bool>().unwrap_err()),
            ("/big", at("/big").to::<f64>().unwrap_err()),
        ] {
            assert_eq!(error.kind(), ErrorKind::Schema);
            assert!(error.message().contains(pointer), "{error}");
        }
    }
}
