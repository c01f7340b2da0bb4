//! The record handle: JSON of any kind, read by names and JSON pointers.
//!
//! Records of lists, responses, receipts, plans and reports are all read in the same way, so the library needs no
//! function for any of their fields.

use crate::boundary::guard_or;
use crate::error::ErrorHandle;
use crate::export::{get, guard, invalid, lent, text};
use crate::text::Text;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::borrow::Cow;
use std::collections::HashMap;
use std::mem::MaybeUninit;
use std::sync::{Arc, Mutex, OnceLock};
use talentdata_core::internal::process::lock;
use talentdata_core::types::ValueKind;
use talentdata_core::{Error, ErrorKind, NestedValue, RawRecord, Result};

/// JSON, read-only: a record of a list, byte for byte as the service sent it, the response of a call, a receipt, a plan or a
/// report; or a value within one of these, which belongs to it. What functions give as `*_out` in a pointer that is not
/// const is freed with talentdata_record_free.
pub struct RecordHandle {
    value: NestedValue,
    /// The text of a string with escapes, once it was requested.
    text: OnceLock<Box<str>>,
    /// The values that were requested by their paths. C points at them while the map grows.
    values: Mutex<HashMap<String, Arc<RecordHandle>>>,
    /// The items of an array or the members of an object, once they were requested.
    children: OnceLock<Vec<(Option<String>, RecordHandle)>>,
}

/// An integer that may be absent.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OptionalInteger {
    /// True if there is a value.
    pub present: bool,
    /// The value; zero where there is none.
    pub value: i64,
}

/// An integer from 0 that may be absent.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OptionalUnsigned {
    /// True if there is a value.
    pub present: bool,
    /// The value; zero where there is none.
    pub value: u64,
}

/// A number that may be absent.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OptionalNumber {
    /// True if there is a value.
    pub present: bool,
    /// The value; zero where there is none.
    pub value: f64,
}

/// A truth value that may be absent.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OptionalBoolean {
    /// True if there is a value.
    pub present: bool,
    /// The value; false where there is none.
    pub value: bool,
}

impl RecordHandle {
    /// Creates the handle of a record of a list.
    pub(crate) fn new(raw: &RawRecord) -> Box<Self> {
        Box::new(RecordHandle::holding(raw.value()))
    }

    /// Creates the handle of JSON text: a page at this offset, or any other value.
    pub(crate) fn parse(json: &str, offset: Option<u64>) -> Result<Box<Self>> {
        NestedValue::parse(json, offset).map(|value| Box::new(RecordHandle::holding(value)))
    }

    /// Creates the handle of a result of the library.
    pub(crate) fn of(value: &impl Serialize) -> Result<Box<Self>> {
        let json = serde_json::to_string(value).map_err(|_| {
            Error::new(ErrorKind::Internal, "a result could not be written as JSON")
        })?;
        RecordHandle::parse(&json, None)
    }

    fn holding(value: NestedValue) -> Self {
        RecordHandle {
            value,
            text: OnceLock::new(),
            values: Mutex::default(),
            children: OnceLock::new(),
        }
    }

    /// Returns the value at a path; `None` if there is none, or null.
    fn present(&self, path: &Text) -> Result<Option<NestedValue>> {
        let found = self.value.at(text(path, "path")?)?;
        Ok(found.filter(|value| value.kind() != ValueKind::Null))
    }

    /// Returns the value at a path, which is kept until this record is freed.
    fn at(&self, path: &str) -> Result<Option<Arc<RecordHandle>>> {
        // A panic cannot leave the map in a state that matters.
        let mut known = lock(&self.values);
        if let Some(record) = known.get(path) {
            return Ok(Some(Arc::clone(record)));
        }
        let found = self.value.at(path)?;
        let found = found.map(|value| Arc::new(RecordHandle::holding(value)));
        known.extend(
            found
                .iter()
                .map(|found| (path.to_owned(), Arc::clone(found))),
        );
        Ok(found)
    }

    fn children(&self) -> Result<&[(Option<String>, RecordHandle)]> {
        if let Some(known) = self.children.get() {
            return Ok(known);
        }
        let made = self.value.children()?.into_iter();
        let made = made
            .map(|(name, value)| (name, RecordHandle::holding(value)))
            .collect();
        Ok(self.children.get_or_init(|| made))
    }

    fn child(&self, index: usize) -> Result<&(Option<String>, RecordHandle)> {
        let children = self.children()?;
        children.get(index).ok_or_else(|| {
            let count = children.len();
            let why = format_args!("{index} is out of range for {count} items");
            invalid("index", why)
        })
    }
}

/// Writes the value of a type at a path, if there is one that is not null.
fn scalar<T: DeserializeOwned + Default, O>(
    record: Option<&RecordHandle>,
    path: Text,
    out: (Option<&mut MaybeUninit<O>>, &str),
    optional: impl FnOnce(bool, T) -> O,
) -> Option<Box<ErrorHandle>> {
    get((record, "record"), out, |record| {
        let found = record.present(&path)?.map(|value| value.to());
        let found = found.transpose()?;
        Ok(optional(found.is_some(), found.unwrap_or_default()))
    })
}

/// The text of the string at a path, its escapes resolved.
///
/// @param record the record
/// @param path the name of a field, such as firstName, or a JSON pointer (RFC 6901), such as /location/city; the empty text
/// is the value itself
/// @param text_out the text; absent where there is no such value or it is null
/// Ownership: `*text_out` is valid until the record, or the one it belongs to, is freed.
/// Threads: any.
/// Errors: SCHEMA, with the JSON pointer, for another type; INVALID_ARGUMENT for NULL, text that is not UTF-8, or a JSON
/// pointer without its first slash.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_record_text(
    record: Option<&RecordHandle>,
    path: Text,
    text_out: Option<&mut MaybeUninit<Text>>,
) -> Option<Box<ErrorHandle>> {
    get((record, "record"), (text_out, "text_out"), |record| {
        let Some(value) = record.present(&path)? else {
            return Ok(Text::ABSENT);
        };
        let resolved = match value.text()? {
            // A piece of the page, which the record keeps.
            Cow::Borrowed(text) => return Ok(Text::of(text)),
            Cow::Owned(text) => text,
        };
        let held = record.at(text(&path, "path")?)?;
        Ok(held.map_or(Text::ABSENT, |held| {
            Text::of(held.text.get_or_init(|| resolved.into()))
        }))
    })
}

/// The integer at a path, exactly.
///
/// @param record the record
/// @param path as for talentdata_record_text
/// @param integer_out the integer; absent where there is no such value or it is null
/// Threads: any.
/// Errors: SCHEMA, with the JSON pointer, when it is of another type, has a fraction or an exponent, or is out
/// of range; INVALID_ARGUMENT as for talentdata_record_text.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_record_integer(
    record: Option<&RecordHandle>,
    path: Text,
    integer_out: Option<&mut MaybeUninit<OptionalInteger>>,
) -> Option<Box<ErrorHandle>> {
    let out = (integer_out, "integer_out");
    scalar(record, path, out, |present, value| OptionalInteger {
        present,
        value,
    })
}

/// The integer at a path, exactly, where it is not below 0 and may be above the largest `int64_t`.
///
/// @param record the record
/// @param path as for talentdata_record_text
/// @param unsigned_out the integer; absent where there is no such value or it is null
/// Threads: any.
/// Errors: as talentdata_record_integer; also SCHEMA for a negative value.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_record_unsigned(
    record: Option<&RecordHandle>,
    path: Text,
    unsigned_out: Option<&mut MaybeUninit<OptionalUnsigned>>,
) -> Option<Box<ErrorHandle>> {
    let out = (unsigned_out, "unsigned_out");
    scalar(record, path, out, |present, value| OptionalUnsigned {
        present,
        value,
    })
}

/// The number at a path, as the double that is closest to it.
///
/// @param record the record
/// @param path as for talentdata_record_text
/// @param number_out the number; absent where there is no such value or it is null
/// Threads: any.
/// Errors: SCHEMA, with the JSON pointer, when it is of another type or out of range; INVALID_ARGUMENT as for
/// talentdata_record_text.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_record_number(
    record: Option<&RecordHandle>,
    path: Text,
    number_out: Option<&mut MaybeUninit<OptionalNumber>>,
) -> Option<Box<ErrorHandle>> {
    let out = (number_out, "number_out");
    scalar(record, path, out, |present, value| OptionalNumber {
        present,
        value,
    })
}

/// The truth value at a path.
///
/// @param record the record
/// @param path as for talentdata_record_text
/// @param boolean_out true or false; absent where there is no such value or it is null
/// Threads: any.
/// Errors: SCHEMA, with the JSON pointer, when it is of another type; INVALID_ARGUMENT as for talentdata_record_text.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_record_boolean(
    record: Option<&RecordHandle>,
    path: Text,
    boolean_out: Option<&mut MaybeUninit<OptionalBoolean>>,
) -> Option<Box<ErrorHandle>> {
    let out = (boolean_out, "boolean_out");
    scalar(record, path, out, |present, value| OptionalBoolean {
        present,
        value,
    })
}

/// The value at a path, whatever it is.
///
/// @param record the record
/// @param path as for talentdata_record_text
/// @param value_out the value; NULL where there is none
/// Ownership: `*value_out` belongs to the record, and is valid until that is freed. It must not be freed.
/// Threads: any.
/// Errors: INVALID_ARGUMENT as for talentdata_record_text.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_record_value(
    record: Option<&RecordHandle>,
    path: Text,
    value_out: Option<&mut MaybeUninit<*const RecordHandle>>,
) -> Option<Box<ErrorHandle>> {
    get((record, "record"), (value_out, "value_out"), |record| {
        Ok(match text(&path, "path")? {
            "" => record,
            path => record
                .at(path)?
                .map_or(std::ptr::null(), |at| Arc::as_ptr(&at)),
        })
    })
}

/// The number of items of an array, or of members of an object.
///
/// @param record the record
/// @param count_out the number
/// Threads: any.
/// Errors: SCHEMA, with the JSON pointer, when it is neither; INVALID_ARGUMENT for NULL.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_record_count(
    record: Option<&RecordHandle>,
    count_out: Option<&mut MaybeUninit<usize>>,
) -> Option<Box<ErrorHandle>> {
    get((record, "record"), (count_out, "count_out"), |record| {
        Ok(record.children()?.len())
    })
}

/// An item of an array, or the value of a member of an object.
///
/// @param record the record
/// @param index its index, from 0
/// @param item_out the item
/// Ownership: `*item_out` belongs to the record, and is valid until that is freed. It must not be freed.
/// Threads: any.
/// Errors: SCHEMA, with the JSON pointer, when it is neither; INVALID_ARGUMENT for NULL or an index that is out
/// of range.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_record_item(
    record: Option<&RecordHandle>,
    index: usize,
    item_out: Option<&mut MaybeUninit<*const RecordHandle>>,
) -> Option<Box<ErrorHandle>> {
    get((record, "record"), (item_out, "item_out"), |record| {
        let item: *const RecordHandle = &record.child(index)?.1;
        Ok(item)
    })
}

/// The name of a member of an object.
///
/// @param record the record
/// @param index its index, from 0
/// @param name_out the name; absent for an item of an array
/// Ownership: `*name_out` is valid until the record is freed.
/// Threads: any.
/// Errors: as talentdata_record_item.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_record_name(
    record: Option<&RecordHandle>,
    index: usize,
    name_out: Option<&mut MaybeUninit<Text>>,
) -> Option<Box<ErrorHandle>> {
    get((record, "record"), (name_out, "name_out"), |record| {
        Ok(Text::of_option(record.child(index)?.0.as_deref()))
    })
}

/// Returns the kind of the value; NULL when `record` is NULL.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_record_kind(record: Option<&RecordHandle>) -> ValueKind {
    record.map_or(ValueKind::Null, |record| record.value.kind())
}

/// The JSON of the value, byte for byte as the service sent it; absent when `record` is NULL.
///
/// Ownership: the text is valid until the record is freed.
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_record_json(record: Option<&RecordHandle>) -> Text {
    Text::of_option(record.map(|record| record.value.as_str()))
}

/// The error for a field that the value has to have, and has not: a SCHEMA error that names page, record and field, with the
/// offset of the page. The typed functions of talentdata/service.h return it.
///
/// @param record the record
/// @param path the name of the field
/// Ownership: the caller frees the result with talentdata_error_free.
/// Threads: any.
/// Errors: INVALID_ARGUMENT for NULL or text that is not UTF-8; else SCHEMA.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_record_missing(
    record: Option<&RecordHandle>,
    path: Text,
) -> Option<Box<ErrorHandle>> {
    guard(|| {
        let record = lent(record, "record")?;
        Err(record.value.missing(text(&path, "path")?))
    })
}

/// The error for a number that the caller's type does not reach: a SCHEMA error that names the place. The C++ classes return it.
///
/// @param record the record
/// @param path as for talentdata_record_text
/// Ownership: the caller frees the result with talentdata_error_free.
/// Threads: any.
/// Errors: INVALID_ARGUMENT as for talentdata_record_text; else SCHEMA.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_record_out_of_range(
    record: Option<&RecordHandle>,
    path: Text,
) -> Option<Box<ErrorHandle>> {
    guard(|| {
        let record = lent(record, "record")?;
        Err(record.value.out_of_range(text(&path, "path")?)?)
    })
}

/// Reads JSON as a record, such as a receipt that was kept, or one that a test of the application needs.
///
/// @param json the text of one JSON value
/// @param record_out the record
/// Ownership: the caller frees `*record_out` with talentdata_record_free. The text is copied.
/// Threads: any.
/// Errors: DECODE where it is not JSON, with line and column; INVALID_ARGUMENT for NULL or text that is not UTF-8.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_record_parse(
    json: Text,
    record_out: Option<&mut MaybeUninit<Box<RecordHandle>>>,
) -> Option<Box<ErrorHandle>> {
    get((Some(&()), "json"), (record_out, "record_out"), |()| {
        RecordHandle::parse(text(&json, "json")?, None)
    })
}

/// Frees a record; does nothing when it is NULL. Not for a value that belongs to another record.
///
/// Ownership: `record` and everything read from it must not be used any more.
/// Threads: any, one at a time per record, once no other thread reads it.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_record_free(record: Option<Box<RecordHandle>>) {
    guard_or((), || drop(record));
}
