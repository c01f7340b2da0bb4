//! Everything unsafe: text and arrays that C hands in, what the host's threads must not notice, panics.
//!
//! What C passes is trusted as far as the header demands it: a pointer that is not NULL is good for
//! as long as the call lasts. Nothing else is assumed.

use crate::error::Error;
use std::any::Any;
use std::ffi::{c_char, c_void};
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use talentdata_core::{Error as CoreError, ErrorKind, Result};

/// Longer texts are surely something else, such as a file's content.
const LONGEST_TEXT: usize = 1024 * 1024;

/// Runs what an exported function does: a failure or a panic becomes the returned error, and `errno`
/// is as it was.
pub(crate) fn guard(call: impl FnOnce() -> Result<()>) -> Option<Box<Error>> {
    let failed = caught(call).err()?;
    Some(Box::new(Error::new(failed)))
}

/// The same for what C calls through a pointer, such as a stream.
pub(crate) fn caught<T>(call: impl FnOnce() -> Result<T>) -> Result<T> {
    let _errno = Errno::keep();
    // What a panic leaves half done is dropped or behind a lock that says so.
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| Err(of_panic(panic)))
}

/// The same for what cannot fail: after a panic the value is `otherwise`.
pub(crate) fn guard_or<T>(otherwise: T, call: impl FnOnce() -> T) -> T {
    let _errno = Errno::keep();
    catch_unwind(AssertUnwindSafe(call)).unwrap_or(otherwise)
}

fn of_panic(panic: Box<dyn Any + Send>) -> CoreError {
    let said = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned());
    // A payload may panic again when it is dropped.
    std::mem::forget(panic);
    let message = format!(
        "a defect of libtalentdata: {}",
        said.as_deref().unwrap_or("no message")
    );
    CoreError::new(ErrorKind::Internal, message)
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

/// What an accessor does: writes what `read` finds in the handle, when neither argument is NULL.
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
    invalid(name, "it is NULL")
}

/// Text that C hands in as pointer and length in bytes; it is borrowed from the caller's argument.
pub(crate) fn text<'a>(data: &'a *const c_char, length: usize, name: &str) -> Result<&'a str> {
    if data.is_null() {
        return Err(is_null(name));
    }
    if length > LONGEST_TEXT {
        return Err(invalid(
            name,
            format_args!("it is longer than {LONGEST_TEXT} bytes"),
        ));
    }
    // SAFETY: the header demands `length` readable bytes, unchanged during the call, and the
    // borrow ends with the caller's argument.
    let bytes = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), length) };
    std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        invalid(name, format_args!("it is not valid UTF-8 at byte {at}"))
    })
}

/// Text that C ends with a NUL.
pub(crate) fn terminated<'a>(data: &'a *const c_char, name: &str) -> Result<&'a str> {
    if data.is_null() {
        return Err(is_null(name));
    }
    // SAFETY: the header demands a NUL; no byte behind it is read, nor any behind the longest text.
    let length = unsafe { libc::strnlen(*data, LONGEST_TEXT + 1) };
    text(data, length, name)
}

/// An array that C hands in as pointer and count; NULL is one of no items.
pub(crate) fn array<'a, T>(data: &'a *const T, count: usize, name: &str) -> Result<&'a [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    if data.is_null() {
        return Err(is_null(name));
    }
    if count > LONGEST_TEXT / size_of::<T>().max(1) {
        return Err(invalid(name, format_args!("{count} items are too many")));
    }
    // SAFETY: the header demands `count` items, unchanged during the call.
    Ok(unsafe { std::slice::from_raw_parts(*data, count) })
}

/// A pointer of the application that is handed back to its callback, and never looked at.
#[derive(Clone, Copy)]
pub(crate) struct UserData(pub(crate) *mut c_void);

// SAFETY: it is not dereferenced here, and the header says that the callback runs on any thread.
unsafe impl Send for UserData {}
// SAFETY: as above.
unsafe impl Sync for UserData {}

/// Keeps the application's signals away from a thread of the library. A broken connection then
/// raises no SIGPIPE that ends the program; faults of the thread itself still arrive.
pub(crate) fn block_signals() {
    #[cfg(unix)]
    // SAFETY: the set is initialised by `sigfillset`, and only this thread's mask changes.
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

/// Makes the handle that holds it one that another thread may free during a call: the compiler must
/// not take it for granted that a lent handle stays to the end of the call, which keeps what it needs.
#[derive(Default)]
pub(crate) struct MayBeFreed {
    _shared: std::sync::atomic::AtomicBool,
}

/// Restores `errno` when dropped.
struct Errno(i32);

impl Errno {
    fn keep() -> Self {
        // SAFETY: the location is this thread's own.
        Errno(unsafe { *errno() })
    }
}

impl Drop for Errno {
    fn drop(&mut self) {
        // SAFETY: as above.
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
        let error = guard(|| panic!("the roof is on fire")).unwrap();
        assert_eq!(error.kind(), ErrorKind::Internal);
        assert!(error.message().contains("the roof is on fire"));
        assert_eq!(guard_or(7, || panic!("again")), 7);
    }

    #[test]
    fn errno_is_left_alone() {
        let file = || {
            std::fs::read("/nonexistent/file")
                .map(drop)
                .unwrap_err()
                .raw_os_error()
        };
        assert!(
            guard(|| {
                assert_eq!(file(), Some(libc::ENOENT));
                Ok(())
            })
            .is_none()
        );
        let before = std::io::Error::last_os_error().raw_os_error();
        let _ = guard(|| {
            file();
            Ok(())
        });
        assert_eq!(std::io::Error::last_os_error().raw_os_error(), before);
    }

    #[test]
    fn wrong_text_is_named() {
        for (bytes, why) in [
            (&b"a\xffb"[..], "not valid UTF-8 at byte 1"),
            (&vec![b'a'; LONGEST_TEXT + 1], "longer"),
        ] {
            let error = text(&bytes.as_ptr().cast(), bytes.len(), "client_id").unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            assert!(
                error.message().starts_with("client_id: ") && error.message().contains(why),
                "{error}"
            );
        }
        assert_eq!(terminated(&c"a\u{e9}".as_ptr(), "x").unwrap(), "a\u{e9}");
        assert!(terminated(&std::ptr::null(), "x").is_err());
    }

    /// The compiler cannot tell an exported name from other unsafe code, so this test does.
    #[test]
    fn no_other_file_holds_unsafe_code() {
        let mut folders = vec![std::path::PathBuf::from(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/src"
        ))];
        let mut seen = 0;
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if !path.ends_with("boundary.rs") {
                    let text = std::fs::read_to_string(&path).unwrap();
                    let code = text
                        .replace("#[unsafe(no_mangle)]", "")
                        .replace("unsafe_op_in_unsafe_fn", "");
                    assert!(!code.contains("unsafe"), "{}", path.display());
                    seen += 1;
                }
            }
        }
        assert!(seen > 10);
    }
}
