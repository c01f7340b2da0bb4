//! The record handle: any JSON value, whose parts are read by names and JSON pointers.
//!
//! Records of lists, responses, receipts, plans and reports are all read in this way, so no field needs a function of its
//! own.

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

/// A JSON value, which is read-only: a record of a list, byte for byte as the service sent it, the response of a call, a
/// receipt, a plan or a report. It may also be a value within one of these, which belongs to it. A record that a function
/// returns as `*_out` in a pointer that is not const is freed with talentdata_record_free.
pub struct RecordHandle {
    value: NestedValue,
    /// The text of a string with escapes, after the first request.
    text: OnceLock<Box<str>>,
    /// The values that were requested, by their paths. They have stable addresses, because C has pointers to them.
    values: Mutex<HashMap<String, Arc<RecordHandle>>>,
    /// The items of an array or the fields of an object, after the first request.
    children: OnceLock<Vec<(Option<String>, RecordHandle)>>,
}

/// An integer that may be absent.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OptionalInteger {
    /// True if there is a value.
    pub present: bool,
    /// The value; zero if it is absent.
    pub value: i64,
}

/// An unsigned integer that may be absent.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OptionalUnsigned {
    /// True if there is a value.
    pub present: bool,
    /// The value; zero if it is absent.
    pub value: u64,
}

/// A number that may be absent.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OptionalNumber {
    /// True if there is a value.
    pub present: bool,
    /// The value; zero if it is absent.
    pub value: f64,
}

/// A boolean that may be absent.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OptionalBoolean {
    /// True if there is a value.
    pub present: bool,
    /// The value; false if it is absent.
    pub value: bool,
}

impl RecordHandle {
    /// Creates the handle of a record of a list.
    pub(crate) fn new(raw: &RawRecord) -> Box<Self> {
        Box::new(RecordHandle::holding(raw.value()))
    }

    /// Creates the handle of a JSON text. `offset` is the offset of a page; `None` for any other value.
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

    /// Returns the value at a path; `None` if it is absent or null.
    fn present(&self, path: &Text) -> Result<Option<NestedValue>> {
        let found = self.value.at(text(path, "path")?)?;
        Ok(found.filter(|value| value.kind() != ValueKind::Null))
    }

    /// Returns the value at a path, which is kept until this record is freed.
    fn at(&self, path: &str) -> Result<Option<Arc<RecordHandle>>> {
        // A panic of another thread does not matter, because it cannot leave an incomplete entry.
        let mut known = lock(&self.values);
        if let Some(record) = known.get(path) {
            return Ok(Some(Arc::clone(record)));
        }
        let Some(value) = self.value.at(path)? else {
            return Ok(None);
        };
        let record = Arc::new(RecordHandle::holding(value));
        known.insert(path.to_owned(), Arc::clone(&record));
        Ok(Some(record))
    }

    fn children(&self) -> Result<&[(Option<String>, RecordHandle)]> {
        if let Some(known) = self.children.get() {
            return Ok(known);
        }
        let values = self.value.children()?.into_iter();
        let children = values
            .map(|(name, value)| (name, RecordHandle::holding(value)))
            .collect();
        Ok(self.children.get_or_init(|| children))
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

/// Writes the value at a path as an optional value of C, which is absent if the value is absent or null.
fn scalar<T: DeserializeOwned + Default, O>(
    record: Option<&RecordHandle>,
    path: Text,
    out: (Option<&mut MaybeUninit<O>>, &str),
    optional: impl FnOnce(bool, T) -> O,
) -> Option<Box<ErrorHandle>> {
    get((record, "record"), out, |record| {
        let value: Option<T> = record.present(&path)?.map(|value| value.to()).transpose()?;
        Ok(optional(value.is_some(), value.unwrap_or_default()))
    })
}

/// Returns the string at a path, without escapes.
///
/// @param record the record
/// @param path the name of a field, such as firstName, or a JSON pointer (RFC 6901), such as /location/city; the empty
/// string is the value itself
/// @param text_out the string; absent if the value is absent or null
/// Ownership: `*text_out` is valid until the record, or the record to which it belongs, is freed.
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
            // The text is a part of the page, which the record keeps.
            Cow::Borrowed(text) => return Ok(Text::of(text)),
            Cow::Owned(text) => text,
        };
        let held = record.at(text(&path, "path")?)?;
        Ok(held.map_or(Text::ABSENT, |held| {
            Text::of(held.text.get_or_init(|| resolved.into()))
        }))
    })
}

/// Returns the integer at a path, without rounding.
///
/// @param record the record
/// @param path see talentdata_record_text
/// @param integer_out the integer; absent if the value is absent or null
/// Threads: any.
/// Errors: SCHEMA, with the JSON pointer, if the value has another type, a fraction or an exponent, or is out
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

/// Returns the unsigned integer at a path, without rounding. It may be greater than INT64_MAX.
///
/// @param record the record
/// @param path see talentdata_record_text
/// @param unsigned_out the integer; absent if the value is absent or null
/// Threads: any.
/// Errors: see talentdata_record_integer; also SCHEMA for a negative value.
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

/// Returns the number at a path, as the nearest double.
///
/// @param record the record
/// @param path see talentdata_record_text
/// @param number_out the number; absent if the value is absent or null
/// Threads: any.
/// Errors: SCHEMA, with the JSON pointer, if the value has another type or is out of range; INVALID_ARGUMENT as for
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

/// Returns the boolean at a path.
///
/// @param record the record
/// @param path see talentdata_record_text
/// @param boolean_out true or false; absent if the value is absent or null
/// Threads: any.
/// Errors: SCHEMA, with the JSON pointer, if the value has another type; INVALID_ARGUMENT as for talentdata_record_text.
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

/// Returns the value at a path, which may have any type.
///
/// @param record the record
/// @param path see talentdata_record_text
/// @param value_out the value; NULL if it is absent
/// Ownership: `*value_out` belongs to the record, and is valid until the record is freed. Do not free it.
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

/// Returns the number of items in an array, or of fields in an object.
///
/// @param record the record
/// @param count_out the number
/// Threads: any.
/// Errors: SCHEMA, with the JSON pointer, if the record is neither; INVALID_ARGUMENT for NULL.
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

/// Returns an item of an array, or the value of a field of an object.
///
/// @param record the record
/// @param index the index of the item or field, from 0
/// @param item_out the item
/// Ownership: `*item_out` belongs to the record, and is valid until the record is freed. Do not free it.
/// Threads: any.
/// Errors: SCHEMA, with the JSON pointer, if the record is neither; INVALID_ARGUMENT for NULL or an index that is out
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

/// Returns the name of a field of an object.
///
/// @param record the record
/// @param index the index of the field, from 0
/// @param name_out the name; absent for an item of an array
/// Ownership: `*name_out` is valid until the record is freed.
/// Threads: any.
/// Errors: see talentdata_record_item.
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

/// Returns the kind of the value; the kind `null` if `record` is NULL.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_record_kind(record: Option<&RecordHandle>) -> ValueKind {
    record.map_or(ValueKind::Null, |record| record.value.kind())
}

/// Returns the JSON of the value, byte for byte as the service sent it; absent if `record` is NULL.
///
/// Ownership: the text is valid until the record is freed.
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_record_json(record: Option<&RecordHandle>) -> Text {
    Text::of_option(record.map(|record| record.value.as_str()))
}

/// Returns the error for a required field that is missing: a SCHEMA error that names page, record and field, with the
/// offset of the page. The typed functions of talentdata/service.h return it.
///
/// @param record the record
/// @param path the name of the field
/// Ownership: the caller frees the result with talentdata_error_free.
/// Threads: any.
/// Errors: INVALID_ARGUMENT for NULL or text that is not UTF-8; otherwise SCHEMA.
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

/// Returns the error for a number that is out of range for the caller's type: a SCHEMA error that names the place. The C++
/// classes return it.
///
/// @param record the record
/// @param path see talentdata_record_text
/// Ownership: the caller frees the result with talentdata_error_free.
/// Threads: any.
/// Errors: INVALID_ARGUMENT as for talentdata_record_text; otherwise SCHEMA.
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

/// Reads JSON as a record, such as a stored receipt, or a record for a test of the application.
///
/// @param json the text of one JSON value
/// @param record_out the record
/// Ownership: the caller frees `*record_out` with talentdata_record_free. The text is copied.
/// Threads: any.
/// Errors: DECODE, with line and column, if the text is not JSON; INVALID_ARGUMENT for NULL or text that is not UTF-8.
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

/// Frees a record. NULL does nothing. Do not free a value that belongs to another record.
///
/// Ownership: `record`, and values and strings that were read from it, must no longer be used.
/// Threads: any, after every other call with this record has returned.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_record_free(record: Option<Box<RecordHandle>>) {
    guard_or((), || drop(record));
}
