//! Everything unsafe: text and arrays from C, signals and errno of the host's threads, panics.
//!
//! What C passes is trusted as far as the header demands it: a pointer that is not NULL has the type of
//! its parameter, is aligned for it, and is valid until the call returns. Nothing else is assumed. The
//! exported functions rely on the same: `Option<&T>`, `Option<Box<T>>` and `Option<NonNull<T>>` have the
//! layout of a nullable pointer, a `Box` only ever comes from a handle that this library gave out, and an
//! out slot is `MaybeUninit`, so nothing that C left in it is read or dropped.

use crate::error::Error;
use crate::text::Text;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::ptr::NonNull;
use talentdata_columns::arrow::{BatchReader, RecordBatch, SchemaRef, TableSchema};
use talentdata_core::{Error as CoreError, ErrorKind, Result};

/// No text that the library reads is longer than that of a schema: it is surely a mistake.
const LONGEST_TEXT: usize = TableSchema::MOST_BYTES;

/// Runs the body of an exported function: a failure or a panic becomes the returned error, and `errno` is
/// restored.
pub(crate) fn guard(call: impl FnOnce() -> Result<()>) -> Option<Box<Error>> {
    let _errno = Errno::keep();
    let failed = CoreError::catch("a call", call).err()?;
    Some(Box::new(Error::new(failed)))
}

/// The same for functions that cannot fail: after a panic the value is `otherwise`.
pub(crate) fn guard_or<T>(otherwise: T, call: impl FnOnce() -> T) -> T {
    let _errno = Errno::keep();
    catch_unwind(AssertUnwindSafe(call)).unwrap_or(otherwise)
}

/// Batches as a stream that C owns. C calls it through pointers, not through `guard`.
pub(crate) fn stream(
    schema: SchemaRef,
    mut next: impl FnMut() -> Result<Option<RecordBatch>> + Send + 'static,
) -> FFI_ArrowArrayStream {
    FFI_ArrowArrayStream::new(Box::new(BatchReader::new(schema, move || {
        let _errno = Errno::keep();
        next()
    })))
}

/// An argument that must not be NULL.
pub(crate) fn lent<T>(value: Option<T>, name: &str) -> Result<T> {
    value.ok_or_else(|| is_null(name))
}

/// The slot for a result, which must not be NULL and is written by `write` alone.
pub(crate) fn slot<'a, T>(
    slot: Option<&'a mut MaybeUninit<T>>,
    name: &str,
) -> Result<&'a mut MaybeUninit<T>> {
    slot.ok_or_else(|| is_null(name))
}

/// The body of an accessor: writes what `read` finds in the handle, unless an argument is NULL.
pub(crate) fn get<'a, H, T>(
    (handle, name): (Option<&'a H>, &str),
    (out, out_name): (Option<&mut MaybeUninit<T>>, &str),
    read: impl FnOnce(&'a H) -> Result<T>,
) -> Option<Box<Error>> {
    guard(|| {
        let (handle, out) = (lent(handle, name)?, slot(out, out_name)?);
        out.write(read(handle)?);
        Ok(())
    })
}

/// The error that names an argument and what is wrong with it.
pub(crate) fn invalid(name: &str, why: impl std::fmt::Display) -> CoreError {
    CoreError::new(ErrorKind::InvalidArgument, format!("{name}: {why}"))
}

fn is_null(name: &str) -> CoreError {
    invalid(name, "must not be NULL")
}

/// Text that C passes; it is borrowed from the caller's argument.
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
    // SAFETY: `data` is not NULL, bytes need no alignment, and `length` is far below `isize::MAX`. The
    // header demands that many readable bytes that nobody changes during the call, and the borrow ends
    // with the caller's argument.
    let bytes = unsafe { std::slice::from_raw_parts(text.data.cast::<u8>(), text.length) };
    std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        invalid(name, format_args!("not valid UTF-8 at byte {at}"))
    })
}

/// Text that may be absent.
pub(crate) fn optional_text<'a>(given: &'a Text, name: &str) -> Result<Option<&'a str>> {
    match given.data.is_null() {
        true => Ok(None),
        false => text(given, name).map(Some),
    }
}

/// The path of a file.
pub(crate) fn path<'a>(given: &'a Text, name: &str) -> Result<&'a Path> {
    let path = text(given, name)?;
    match path.find('\0') {
        Some(at) => Err(invalid(name, format_args!("has a NUL at byte {at}"))),
        None if path.is_empty() => Err(invalid(name, "must not be empty")),
        None => Ok(Path::new(path)),
    }
}

/// A handle that C passes as not const, since the call changes what it stands for. It is borrowed
/// shared all the same, because another thread may use it meanwhile.
pub(crate) fn shared<T: Sync>(handle: &Option<NonNull<T>>) -> Option<&T> {
    // SAFETY: the header demands a live handle, `T: Sync` that threads may share it, and no `&mut` to
    // a `T` is ever made while C holds the handle. The borrow ends with the caller's argument.
    handle.as_ref().map(|handle| unsafe { handle.as_ref() })
}

/// Called once with the pointer given to talentdata_config_set_log, when no log callback will be
/// called with it any more.
pub type ReleaseCallback = Option<extern "C" fn(user_data: *mut c_void)>;

/// A pointer of the application that is handed back to its callbacks and never dereferenced here.
/// Dropping it releases it.
pub(crate) struct UserData {
    pub(crate) pointer: *mut c_void,
    pub(crate) release: ReleaseCallback,
}

// SAFETY: the pointer is only passed on, and the header says that both callbacks run on any thread.
unsafe impl Send for UserData {}
// SAFETY: as above; the header also says that the log callback runs on several threads at once.
unsafe impl Sync for UserData {}

impl Drop for UserData {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            release(self.pointer);
        }
    }
}

/// Blocks the application's signals in a thread of the library. A broken connection then raises no SIGPIPE
/// that ends the program; faults of the thread itself are still delivered.
pub(crate) fn block_signals() {
    #[cfg(unix)]
    // SAFETY: `sigfillset` initialises the set before it is read, the other calls get a pointer to that set
    // or none, and only the mask of this thread changes, which the library started.
    unsafe {
        let mut set = MaybeUninit::uninit();
        libc::sigfillset(set.as_mut_ptr());
        for fault in [
            libc::SIGSEGV,
            libc::SIGBUS,
            libc::SIGFPE,
            libc::SIGILL,
            libc::SIGABRT,
            libc::SIGTRAP,
        ] {
            libc::sigdelset(set.as_mut_ptr(), fault);
        }
        libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), std::ptr::null_mut());
    }
}

/// Restores `errno` when dropped.
struct Errno(i32);

impl Errno {
    fn keep() -> Self {
        // SAFETY: libc returns a pointer to an aligned integer of this thread, valid as long as the thread.
        Errno(unsafe { *errno() })
    }
}

impl Drop for Errno {
    fn drop(&mut self) {
        // SAFETY: as above; an `Errno` never leaves the function that made it, so this is the same thread.
        unsafe { *errno() = self.0 };
    }
}

#[cfg(target_os = "linux")]
use libc::__errno_location as errno;
#[cfg(target_vendor = "apple")]
use libc::__error as errno;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_internal_error() {
        let error = guard(|| panic!("the roof is on fire")).unwrap().inner;
        assert_eq!(error.kind(), ErrorKind::Internal);
        assert!(error.message().contains("the roof is on fire"));
        assert_eq!(guard_or(7, || panic!("again")), 7);
    }

    /// The compiler cannot tell an exported name from other unsafe code, so this test does.
    #[test]
    fn no_other_file_holds_unsafe_code() {
        let mut seen = 0;
        for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src")).unwrap() {
            let path = entry.unwrap().path();
            if path.ends_with("boundary.rs") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let code = text.replace("#[unsafe(no_mangle)]", "");
            let code = code.replace("unsafe_op_in_unsafe_fn", "");
            assert!(!code.contains("unsafe"), "{}", path.display());
            seen += 1;
        }
        assert!(seen > 10);
    }
}
