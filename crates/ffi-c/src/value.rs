//! The value handle: what a record holds at a place, with a type, and what is in it.
//!
//! The service document shows no fields of most lists, so that there is nothing to generate accessors from; this
//! reads any field of any list with a type.

use crate::boundary::{get, terminated, text};
use crate::error::Error;
use crate::record::Record;
use crate::text::{Text, TextArena};
use std::collections::HashMap;
use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use talentdata_core::{NestedValue, Result, ValueKind};

/// A value of a record; read-only. It belongs to the record, and is valid until that is freed.
pub struct Value {
    nested: NestedValue,
    texts: TextArena,
    /// What an array or an object holds, once it was asked for.
    children: OnceLock<Vec<Child>>,
}

/// The values of a record that were asked for by their JSON pointers. C points at them while the map grows.
#[derive(Default)]
pub(crate) struct Values(Mutex<HashMap<String, Arc<Value>>>);

impl Values {
    /// The value at a JSON pointer, read by `find` where it was not asked for before; NULL where there is none.
    pub(crate) fn at(
        &self,
        pointer: &str,
        find: impl FnOnce() -> Result<Option<NestedValue>>,
    ) -> Result<*const Value> {
        // A panic cannot leave the map in a state that matters.
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = known.get(pointer) {
            return Ok(Arc::as_ptr(value));
        }
        let Some(nested) = find()? else {
            return Ok(std::ptr::null());
        };
        let value = known.entry(pointer.to_owned());
        Ok(Arc::as_ptr(
            value.or_insert_with(|| Arc::new(Value::new(nested))),
        ))
    }
}

/// An item of an array, or a member of an object.
pub(crate) struct Child {
    pub(crate) name: Option<String>,
    pub(crate) value: Value,
}

impl Value {
    pub(crate) fn new(nested: NestedValue) -> Self {
        Value {
            nested,
            texts: TextArena::default(),
            children: OnceLock::new(),
        }
    }

    pub(crate) fn children(&self) -> Result<&[Child]> {
        if let Some(known) = self.children.get() {
            return Ok(known);
        }
        let made = self.nested.children()?.into_iter();
        let made = made.map(|(name, nested)| Child {
            name,
            value: Value::new(nested),
        });
        let made = made.collect();
        Ok(self.children.get_or_init(|| made))
    }

    pub(crate) fn member(&self, name: &str) -> Result<Option<&Value>> {
        let mut children = self.children()?.iter();
        let found = children.find(|child| child.name.as_deref() == Some(name));
        Ok(found.map(|child| &child.value))
    }
}

/// The value at a JSON pointer (RFC 6901) such as /location/city, to be read with a type.
///
/// @param record the record
/// @param pointer NUL-terminated UTF-8 text; "" is the record itself
/// @param value_out the value; NULL when there is no such value
/// Ownership: `*value_out` is valid until the record is freed.
/// Threads: any.
/// Errors: INVALID_ARGUMENT as talentdata_record_find.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_record_value(
    record: Option<&Record>,
    pointer: *const c_char,
    value_out: Option<&mut MaybeUninit<*const Value>>,
) -> Option<Box<Error>> {
    get((record, "record"), (value_out, "value_out"), |record| {
        record.value(terminated(&pointer, "pointer")?)
    })
}

/// Like the function without _n, for text of `length` bytes that need not end with a NUL.
///
/// @param record the record
/// @param pointer UTF-8 text
/// @param length its length in bytes
/// @param value_out the value; NULL when there is no such value
/// Ownership: as talentdata_record_value.
/// Threads: any.
/// Errors: as talentdata_record_value.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_record_value_n(
    record: Option<&Record>,
    pointer: *const c_char,
    length: usize,
    value_out: Option<&mut MaybeUninit<*const Value>>,
) -> Option<Box<Error>> {
    get((record, "record"), (value_out, "value_out"), |record| {
        record.value(text(&pointer, length, "pointer")?)
    })
}

/// What the value is.
///
/// @param value the value
/// @param kind_out a talentdata_value_kind
/// Threads: any.
/// Errors: INVALID_ARGUMENT for NULL.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_value_type(
    value: Option<&Value>,
    kind_out: Option<&mut MaybeUninit<ValueKind>>,
) -> Option<Box<Error>> {
    get((value, "value"), (kind_out, "kind_out"), |value| {
        Ok(value.nested.kind())
    })
}

/// The JSON of the value, byte for byte as the service sent it.
///
/// @param value the value
/// @param json_out the JSON text
/// Ownership: `*json_out` is valid until the record is freed.
/// Threads: any.
/// Errors: INVALID_ARGUMENT for NULL.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_value_json(
    value: Option<&Value>,
    json_out: Option<&mut MaybeUninit<Text>>,
) -> Option<Box<Error>> {
    get((value, "value"), (json_out, "json_out"), |value| {
        Ok(Text::of(value.nested.as_str()))
    })
}

/// The value of a boolean.
///
/// @param value the value
/// @param boolean_out true or false
/// Threads: any.
/// Errors: SCHEMA, with the JSON pointer, when it is of another type; INVALID_ARGUMENT for NULL.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_value_boolean(
    value: Option<&Value>,
    boolean_out: Option<&mut MaybeUninit<bool>>,
) -> Option<Box<Error>> {
    get((value, "value"), (boolean_out, "boolean_out"), |value| {
        value.nested.to()
    })
}

/// The value of an integer, exactly.
///
/// @param value the value
/// @param integer_out the integer
/// Threads: any.
/// Errors: SCHEMA, with the JSON pointer, when it is of another type, has a fraction or an exponent, or is out
/// of range; INVALID_ARGUMENT for NULL.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_value_int64(
    value: Option<&Value>,
    integer_out: Option<&mut MaybeUninit<i64>>,
) -> Option<Box<Error>> {
    get((value, "value"), (integer_out, "integer_out"), |value| {
        value.nested.to()
    })
}

/// The value of a number, as the double that is closest to it.
///
/// @param value the value
/// @param number_out the number
/// Threads: any.
/// Errors: SCHEMA, with the JSON pointer, when it is of another type or out of range; INVALID_ARGUMENT for NULL.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_value_double(
    value: Option<&Value>,
    number_out: Option<&mut MaybeUninit<f64>>,
) -> Option<Box<Error>> {
    get((value, "value"), (number_out, "number_out"), |value| {
        value.nested.to()
    })
}

/// The text of a string, its escapes resolved.
///
/// @param value the value
/// @param text_out the text
/// Ownership: `*text_out` is valid until the record is freed.
/// Threads: any.
/// Errors: SCHEMA, with the JSON pointer, when it is not a string; INVALID_ARGUMENT for NULL.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_value_text(
    value: Option<&Value>,
    text_out: Option<&mut MaybeUninit<Text>>,
) -> Option<Box<Error>> {
    get((value, "value"), (text_out, "text_out"), |value| {
        Ok(value.texts.keep(value.nested.text()?))
    })
}
