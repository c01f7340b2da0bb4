//! The unsafe code that libtalentdata and libtalentdata_sandbox share: text and handles from C, signals, `errno` of the
//! application's threads, and panics.
//!
//! Only the requirements of the header are assumed about arguments from C: a pointer that is not NULL has the type of
//! its parameter, is aligned for it, and is valid until the call returns. The exported functions rely on three more
//! facts. `Option<&T>`, `Option<Box<T>>` and `Option<NonNull<T>>` have the layout of a nullable pointer. Every `Box`
//! is a handle that this library created. An out slot is `MaybeUninit`, so its previous content is never read or
//! dropped.

use crate::text::Text;
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

/// Returns the bytes of a string from C, borrowed from the caller's argument; `None` if it is absent.
///
/// A string with a length above `isize::MAX` counts as absent, because no string can have that length.
pub(crate) fn bytes(text: &Text) -> Option<&[u8]> {
    if text.data.is_null() || isize::try_from(text.length).is_err() {
        return None;
    }
    // SAFETY: `data` is not NULL, bytes need no alignment, and `length` is at most `isize::MAX`. The
    // header demands that this many bytes are readable and do not change during the call, and the borrow ends with
    // the caller's argument.
    Some(unsafe { std::slice::from_raw_parts(text.data.cast::<u8>(), text.length) })
}

/// Borrows a handle that is not const in C, because the call changes its state. The borrow is shared, because another
/// thread may use the handle at the same time.
pub(crate) fn shared<T: Sync>(handle: &Option<NonNull<T>>) -> Option<&T> {
    // SAFETY: the header demands a live handle, `T: Sync` allows threads to share it, and no `&mut T` exists
    // while C holds the handle. The borrow ends with the caller's argument.
    handle.as_ref().map(|handle| unsafe { handle.as_ref() })
}

/// Releases the `user_data` of a callback. Called once, after the last call of that callback.
pub type ReleaseCallback = Option<extern "C" fn(user_data: *mut c_void)>;

/// A pointer of the application that is passed back to its callbacks and never dereferenced here. Dropping this value
/// calls `release`.
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

/// Blocks the application's signals in a thread of the library, so that a broken connection does not end the program
/// with SIGPIPE. Faults of the thread itself are still delivered.
pub(crate) fn block_signals() {
    #[cfg(unix)]
    // SAFETY: `sigfillset` initialises the set before it is read, the other calls get a pointer to that set
    // or NULL, and only the mask of this thread, which the library started, changes.
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

/// Runs the body of an exported function that cannot fail. Returns `after_panic` if the body panics.
pub(crate) fn guard_or<T>(after_panic: T, call: impl FnOnce() -> T) -> T {
    let _errno = Errno::keep();
    catch_unwind(AssertUnwindSafe(call)).unwrap_or(after_panic)
}

/// The value of `errno` at the beginning of a call. Dropping it restores that value.
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
