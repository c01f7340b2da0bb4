//! What an array or an object holds: its items and members, by index and by name.

use crate::boundary::{get, terminated, text};
use crate::error::Error;
use crate::model::at;
use crate::text::Text;
use crate::value::Value;
use std::ffi::c_char;
use std::mem::MaybeUninit;

/// The number of items of an array, or of members of an object.
///
/// @param value the value
/// @param count_out the number
/// Threads: any.
/// Errors: SCHEMA, with the JSON pointer, when it is neither; INVALID_ARGUMENT for NULL.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_value_count(
    value: Option<&Value>,
    count_out: Option<&mut MaybeUninit<usize>>,
) -> Option<Box<Error>> {
    get((value, "value"), (count_out, "count_out"), |value| {
        Ok(value.children()?.len())
    })
}

/// An item of an array, or the value of a member of an object.
///
/// @param value the value
/// @param index its index, from 0
/// @param item_out the item
/// Ownership: `*item_out` is valid until the record is freed.
/// Threads: any.
/// Errors: SCHEMA, with the JSON pointer, when it is neither; INVALID_ARGUMENT for NULL or an index that is out
/// of range.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_value_item<'a>(
    value: Option<&'a Value>,
    index: usize,
    item_out: Option<&mut MaybeUninit<&'a Value>>,
) -> Option<Box<Error>> {
    get((value, "value"), (item_out, "item_out"), |value| {
        Ok(&at(value.children()?, index)?.value)
    })
}

/// The name of a member of an object.
///
/// @param value the value
/// @param index its index, from 0
/// @param name_out the name; absent for an item of an array
/// Ownership: `*name_out` is valid until the record is freed.
/// Threads: any.
/// Errors: as talentdata_value_item.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_value_name(
    value: Option<&Value>,
    index: usize,
    name_out: Option<&mut MaybeUninit<Text>>,
) -> Option<Box<Error>> {
    get((value, "value"), (name_out, "name_out"), |value| {
        let child = at(value.children()?, index)?;
        Ok(Text::of_option(child.name.as_deref()))
    })
}

/// The value of the member of an object with this name.
///
/// @param value the value
/// @param name NUL-terminated UTF-8 text
/// @param member_out the value; NULL when there is no such member
/// Ownership: `*member_out` is valid until the record is freed.
/// Threads: any.
/// Errors: SCHEMA, with the JSON pointer, when it is neither an object nor an array, which has none;
/// INVALID_ARGUMENT for NULL or text that is not UTF-8.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_value_member<'a>(
    value: Option<&'a Value>,
    name: *const c_char,
    member_out: Option<&mut MaybeUninit<Option<&'a Value>>>,
) -> Option<Box<Error>> {
    get((value, "value"), (member_out, "member_out"), |value| {
        value.member(terminated(&name, "name")?)
    })
}

/// Like the function without _n, for text of `length` bytes that need not end with a NUL.
///
/// @param value the value
/// @param name UTF-8 text
/// @param length its length in bytes
/// @param member_out the value; NULL when there is no such member
/// Ownership: as talentdata_value_member.
/// Threads: any.
/// Errors: as talentdata_value_member.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_value_member_n<'a>(
    value: Option<&'a Value>,
    name: *const c_char,
    length: usize,
    member_out: Option<&mut MaybeUninit<Option<&'a Value>>>,
) -> Option<Box<Error>> {
    get((value, "value"), (member_out, "member_out"), |value| {
        value.member(text(&name, length, "name")?)
    })
}
