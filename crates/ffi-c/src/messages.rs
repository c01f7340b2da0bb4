//! The messages of failed Arrow streams, which C reads through pointers.

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use std::ffi::{CStr, c_char};
use std::sync::OnceLock;

/// The original function that returns the message of a failed stream. All streams have the same one.
static MESSAGE: OnceLock<unsafe extern "C" fn(*mut FFI_ArrowArrayStream) -> *const c_char> =
    OnceLock::new();

/// Returns a stream whose messages do not have the prefix of the crate `arrow`.
pub(crate) fn plain_messages(mut stream: FFI_ArrowArrayStream) -> FFI_ArrowArrayStream {
    if let Some(original) = stream.get_last_error {
        MESSAGE.get_or_init(|| original);
        stream.get_last_error = Some(message);
    }
    stream
}

/// Returns the message of a failed stream; NULL if there is none.
unsafe extern "C" fn message(stream: *mut FFI_ArrowArrayStream) -> *const c_char {
    let Some(original) = MESSAGE.get() else {
        return std::ptr::null();
    };
    // SAFETY: the standard for streams demands that C passes the stream to which this function belongs.
    let prefixed = unsafe { original(stream) };
    if prefixed.is_null() {
        return prefixed;
    }
    // SAFETY: a message is NUL-terminated, and valid until the next call with the stream.
    let text = unsafe { CStr::from_ptr(prefixed) }.to_bytes_with_nul();
    text.strip_prefix(b"Io error: ")
        .map_or(prefixed, |plain| plain.as_ptr().cast())
}
