//! The record handle: its JSON, and single values of it by JSON pointer.

use crate::boundary::{get, guard_or, invalid, terminated, text};
use crate::error::Error;
use crate::generated::models::Resource;
use crate::text::{Text, TextArena};
use crate::value::{Value, Values};
use std::ffi::c_char;
use std::mem::MaybeUninit;
use talentdata_core::types::Resource as List;
use talentdata_core::{Error as CoreError, ErrorKind, RawRecord, Result, decoded};

/// A record of a list, or the response of a call, exactly as the service sent it; read-only. A record of
/// a scan or a call is freed with talentdata_record_free; a record of a page belongs to the page.
pub struct Record {
    pub(crate) raw: RawRecord,
    /// The list it belongs to; none where it is the response of a call that describes no record.
    pub(crate) resource: Option<List>,
    texts: TextArena,
    values: Values,
}

#[allow(dead_code, reason = "which are needed depends on the spec")]
impl Record {
    pub(crate) fn new(raw: RawRecord, resource: Option<List>) -> Self {
        Record {
            raw,
            resource,
            texts: TextArena::default(),
            values: Values::default(),
        }
    }

    /// The value at a JSON pointer, which lives as long as the record; NULL where there is none.
    pub(crate) fn value(&self, pointer: &str) -> Result<*const Value> {
        self.values.at(pointer, || self.raw.nested(pointer))
    }

    /// The record, when it is of one of these lists.
    pub(crate) fn of(&self, lists: &[List]) -> Result<&RawRecord> {
        let names: Vec<&str> = lists.iter().map(|list| list.name()).collect();
        let names = names.join(", ");
        match self.resource {
            Some(own) if lists.contains(&own) => Ok(&self.raw),
            Some(own) => {
                let message = format_args!("belongs to the list {own}, not to {names}");
                Err(invalid("record", message))
            }
            None => {
                let message = format_args!("is the response of a call, not a record of {names}");
                Err(invalid("record", message))
            }
        }
    }

    /// A documented text field; absent where the record has none and need not.
    pub(crate) fn text(&self, lists: &[List], name: &str, required: bool) -> Result<Text> {
        let raw = self.of(lists)?;
        match raw.text_field(name)? {
            Some(text) => Ok(self.texts.keep(text)),
            None if required => Err(raw.missing_field(name)),
            None => Ok(Text::ABSENT),
        }
    }

    fn find_text(&self, pointer: &str) -> Result<Text> {
        let Some(found) = self.raw.pointer(pointer)?.filter(|raw| *raw != "null") else {
            return Ok(Text::ABSENT);
        };
        let text = decoded(found).ok_or_else(|| {
            let message = format!("the value at {pointer:?} is not a string");
            CoreError::new(ErrorKind::Schema, message)
        })?;
        Ok(self.texts.keep(text))
    }
}

/// The record's JSON, byte for byte as the service sent it.
///
/// @param record the record
/// @param json_out the JSON text
/// Ownership: `*json_out` is valid until the record is freed.
/// Threads: any.
/// Errors: INVALID_ARGUMENT for NULL.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_record_json(
    record: Option<&Record>,
    json_out: Option<&mut MaybeUninit<Text>>,
) -> Option<Box<Error>> {
    get((record, "record"), (json_out, "json_out"), |record| {
        Ok(Text::of(record.raw.as_str()))
    })
}

/// The list that the record belongs to, a talentdata_resource.
///
/// @param record the record
/// @param resource_out the number of the list
/// Threads: any.
/// Errors: INVALID_ARGUMENT for NULL, and for the response of a call that belongs to no list.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_record_resource(
    record: Option<&Record>,
    resource_out: Option<&mut MaybeUninit<Resource>>,
) -> Option<Box<Error>> {
    get(
        (record, "record"),
        (resource_out, "resource_out"),
        |record| {
            let mut all = Resource::ALL.into_iter();
            let found = all.find(|(_, list)| Some(*list) == record.resource);
            found
                .map(|(number, _)| number)
                .ok_or_else(|| invalid("record", "belongs to no list"))
        },
    )
}

/// The JSON of the value at a JSON pointer (RFC 6901) such as /location/city.
///
/// @param record the record
/// @param pointer NUL-terminated UTF-8 text
/// @param json_out the value's JSON text; absent when there is no such value
/// Ownership: `*json_out` is valid until the record is freed.
/// Threads: any.
/// Errors: INVALID_ARGUMENT for NULL, text that is not UTF-8, or text that is not a JSON pointer (it has to
/// be empty or start with a slash).
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_record_find(
    record: Option<&Record>,
    pointer: *const c_char,
    json_out: Option<&mut MaybeUninit<Text>>,
) -> Option<Box<Error>> {
    get((record, "record"), (json_out, "json_out"), |record| {
        let pointer = terminated(&pointer, "pointer")?;
        Ok(Text::of_option(record.raw.pointer(pointer)?))
    })
}

/// Like the function without _n, for text of `length` bytes that need not end with a NUL.
///
/// @param record the record
/// @param pointer UTF-8 text
/// @param length its length in bytes
/// @param json_out the value's JSON text; absent when there is no such value
/// Ownership: as talentdata_record_find.
/// Threads: any.
/// Errors: as talentdata_record_find.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_record_find_n(
    record: Option<&Record>,
    pointer: *const c_char,
    length: usize,
    json_out: Option<&mut MaybeUninit<Text>>,
) -> Option<Box<Error>> {
    get((record, "record"), (json_out, "json_out"), |record| {
        let pointer = text(&pointer, length, "pointer")?;
        Ok(Text::of_option(record.raw.pointer(pointer)?))
    })
}

/// The text of the string at a JSON pointer, its escapes resolved.
///
/// @param record the record
/// @param pointer NUL-terminated UTF-8 text
/// @param text_out the string's text; absent when there is no such value or it is null
/// Ownership: `*text_out` is valid until the record is freed.
/// Threads: any.
/// Errors: SCHEMA when the value is not a string; INVALID_ARGUMENT as talentdata_record_find.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_record_find_text(
    record: Option<&Record>,
    pointer: *const c_char,
    text_out: Option<&mut MaybeUninit<Text>>,
) -> Option<Box<Error>> {
    get((record, "record"), (text_out, "text_out"), |record| {
        record.find_text(terminated(&pointer, "pointer")?)
    })
}

/// Like the function without _n, for text of `length` bytes that need not end with a NUL.
///
/// @param record the record
/// @param pointer UTF-8 text
/// @param length its length in bytes
/// @param text_out the string's text; absent when there is no such value or it is null
/// Ownership: as talentdata_record_find_text.
/// Threads: any.
/// Errors: as talentdata_record_find_text.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_record_find_text_n(
    record: Option<&Record>,
    pointer: *const c_char,
    length: usize,
    text_out: Option<&mut MaybeUninit<Text>>,
) -> Option<Box<Error>> {
    get((record, "record"), (text_out, "text_out"), |record| {
        record.find_text(text(&pointer, length, "pointer")?)
    })
}

/// Frees a record; does nothing when it is NULL. Not for a record of a page.
///
/// Ownership: `record` and everything read from it must not be used any more.
/// Threads: one at a time per record.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_record_free(record: Option<Box<Record>>) {
    guard_or((), || drop(record));
}
