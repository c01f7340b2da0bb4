//! All unsafe code: text and handles from C, signals and errno of the host's threads, panics.
//!
//! Arguments from C are trusted as far as the header demands it: a pointer that is not NULL has the type of its
//! parameter, is aligned for it, and is valid until the call returns. Nothing else is assumed. The exported functions
//! rely on the same: `Option<&T>`, `Option<Box<T>>` and `Option<NonNull<T>>` have the layout of a nullable pointer, a
//! `Box` only comes from a handle that this library has created, and an out slot is `MaybeUninit`, so nothing that C
//! left in it is read or dropped.

use crate::text::Text;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use std::ffi::{CStr, c_char, c_void};
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::OnceLock;

/// Returns the bytes of a text from C, borrowed from the caller's argument; `None` if it is absent.
///
/// A length above `isize::MAX`, which no text has, counts as absent.
pub(crate) fn bytes(text: &Text) -> Option<&[u8]> {
    if text.data.is_null() || isize::try_from(text.length).is_err() {
        return None;
    }
    // SAFETY: `data` is not NULL, bytes need no alignment, and `length` is at most `isize::MAX`. The
    // header demands that this many bytes are readable and that nobody changes them during the call, and the
    // borrow ends with the caller's argument.
    Some(unsafe { std::slice::from_raw_parts(text.data.cast::<u8>(), text.length) })
}

/// Borrows a handle that C passes as not const, because the call changes its state. The borrow is shared, because
/// another thread may use the handle at the same time.
pub(crate) fn shared<T: Sync>(handle: &Option<NonNull<T>>) -> Option<&T> {
    // SAFETY: the header demands a live handle, `T: Sync` that threads may share it, and no `&mut` to
    // a `T` is ever made while C holds the handle. The borrow ends with the caller's argument.
    handle.as_ref().map(|handle| unsafe { handle.as_ref() })
}

/// Called once with the pointer given to talentdata_config_set_log, when no log callback will be
/// called with it any more.
pub type ReleaseCallback = Option<extern "C" fn(user_data: *mut c_void)>;

/// A pointer of the application that is passed back to its callbacks and never dereferenced here. Dropping it releases
/// it.
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

/// The function that gives the message of a failed stream, the same for all streams.
static MESSAGE: OnceLock<unsafe extern "C" fn(*mut FFI_ArrowArrayStream) -> *const c_char> =
    OnceLock::new();

/// Gives the messages of a stream without the words that the crate `arrow` puts before them.
pub(crate) fn plain_messages(mut stream: FFI_ArrowArrayStream) -> FFI_ArrowArrayStream {
    if let Some(original) = stream.get_last_error {
        MESSAGE.get_or_init(|| original);
        stream.get_last_error = Some(message);
    }
    stream
}

/// The message of a failed stream; NULL if there is none.
unsafe extern "C" fn message(stream: *mut FFI_ArrowArrayStream) -> *const c_char {
    let Some(original) = MESSAGE.get() else {
        return std::ptr::null();
    };
    // SAFETY: the standard for streams demands that C passes the stream to which this function belongs.
    let said = unsafe { original(stream) };
    if said.is_null() {
        return said;
    }
    // SAFETY: a message is NUL-terminated, and valid until the next call with the stream.
    let text = unsafe { CStr::from_ptr(said) }.to_bytes_with_nul();
    text.strip_prefix(b"Io error: ")
        .map_or(said, |plain| plain.as_ptr().cast())
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

/// Runs the body of an exported function that cannot fail. After a panic the value is `otherwise`.
pub(crate) fn guard_or<T>(otherwise: T, call: impl FnOnce() -> T) -> T {
    let _errno = Errno::keep();
    catch_unwind(AssertUnwindSafe(call)).unwrap_or(otherwise)
}

/// Restores `errno` when dropped.
pub(crate) struct Errno(i32);

impl Errno {
    pub(crate) fn keep() -> Self {
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
    /// The compiler cannot distinguish an exported name from other unsafe code, so this test does.
    #[test]
    fn no_other_file_contains_unsafe_code() {
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
