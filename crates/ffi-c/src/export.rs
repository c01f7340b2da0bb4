//! The parts that all exported functions share: arguments, results, failures and panics.

use crate::boundary::{self, Errno};
use crate::error::ErrorHandle;
use crate::messages::plain_messages;
use crate::text::Text;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use std::mem::MaybeUninit;
use std::path::Path;
use talentdata_columns::arrow::{BatchReader, RecordBatch, SchemaRef, TableSchema};
use talentdata_core::{Error, Result};

/// The maximum length of a text from C, which is the maximum size of a schema.
const LONGEST_TEXT: usize = TableSchema::MOST_BYTES;

/// Runs the body of an exported function. A failure or a panic becomes the returned error, and `errno` is restored.
pub(crate) fn guard(call: impl FnOnce() -> Result<()>) -> Option<Box<ErrorHandle>> {
    let _errno = Errno::keep();
    let failed = Error::catch("a call", call).err()?;
    Some(Box::new(ErrorHandle::new(failed)))
}

/// Returns an argument, which must not be NULL.
pub(crate) fn lent<T>(value: Option<T>, name: &str) -> Result<T> {
    value.ok_or_else(|| is_null(name))
}

/// Returns the slot for a result, which must not be NULL. Only `write` may write to it.
pub(crate) fn slot<'a, T>(
    slot: Option<&'a mut MaybeUninit<T>>,
    name: &str,
) -> Result<&'a mut MaybeUninit<T>> {
    slot.ok_or_else(|| is_null(name))
}

/// Runs the body of an accessor: writes the result of `read` for the handle, unless an argument is NULL.
pub(crate) fn get<'a, H, T>(
    (handle, name): (Option<&'a H>, &str),
    (out, out_name): (Option<&mut MaybeUninit<T>>, &str),
    read: impl FnOnce(&'a H) -> Result<T>,
) -> Option<Box<ErrorHandle>> {
    guard(|| {
        let (handle, out) = (lent(handle, name)?, slot(out, out_name)?);
        out.write(read(handle)?);
        Ok(())
    })
}

/// Returns the error that names an argument and its fault.
pub(crate) fn invalid(name: &str, why: impl std::fmt::Display) -> Error {
    Error::invalid(format!("{name}: {why}"))
}

fn is_null(name: &str) -> Error {
    invalid(name, "must not be NULL")
}

/// Returns a text from C, borrowed from the caller's argument.
pub(crate) fn text<'a>(text: &'a Text, name: &str) -> Result<&'a str> {
    if text.data.is_null() {
        return Err(is_null(name));
    }
    if text.length > LONGEST_TEXT {
        return Err(invalid(
            name,
            format_args!("must not be longer than {LONGEST_TEXT} bytes"),
        ));
    }
    let bytes = boundary::bytes(text).ok_or_else(|| is_null(name))?;
    std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        invalid(name, format_args!("not valid UTF-8 at byte {at}"))
    })
}

/// Returns the value of a setting, an option or a parameter of this name.
pub(crate) fn value<'a>(value: &'a Text, name: &str) -> Result<&'a str> {
    if value.data.is_null() {
        return Err(invalid(name, "value: must not be NULL"));
    }
    text(value, name)
}

/// Returns a text that may be absent.
pub(crate) fn optional_text<'a>(given: &'a Text, name: &str) -> Result<Option<&'a str>> {
    if given.data.is_null() {
        Ok(None)
    } else {
        text(given, name).map(Some)
    }
}

/// Returns the path of a file.
pub(crate) fn path<'a>(given: &'a Text, name: &str) -> Result<&'a Path> {
    let path = text(given, name)?;
    match path.find('\0') {
        Some(at) => Err(invalid(name, format_args!("has a NUL at byte {at}"))),
        None if path.is_empty() => Err(invalid(name, "must not be empty")),
        None => Ok(Path::new(path)),
    }
}

/// Returns batches as a stream that C owns. C calls it through pointers, not through `guard`.
pub(crate) fn stream(
    schema: SchemaRef,
    mut next: impl FnMut() -> Result<Option<RecordBatch>> + Send + 'static,
) -> FFI_ArrowArrayStream {
    let reader = BatchReader::new(schema, move || {
        let _errno = Errno::keep();
        next()
    });
    plain_messages(FFI_ArrowArrayStream::new(Box::new(reader.for_c())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boundary::guard_or;
    use talentdata_core::ErrorKind;

    #[test]
    fn a_panic_becomes_an_internal_error() {
        let error = guard(|| panic!("the roof is on fire")).unwrap().inner;
        assert_eq!(error.kind(), ErrorKind::Internal);
        assert!(error.message().contains("the roof is on fire"));
        assert_eq!(guard_or(7, || panic!("again")), 7);
    }
}
