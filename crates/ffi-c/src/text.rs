//! Text that C borrows, and texts that a handle keeps so that C can borrow them.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ffi::c_char;
use std::sync::{Arc, Mutex, PoisonError};

/// UTF-8 text: a pointer and a length in bytes, without a terminating NUL. What a function returns is valid until
/// the handle it was read from is freed, and what it is passed is borrowed during the call. Where a text is absent, `data` is
/// NULL and `length` is 0. TALENTDATA_TEXT makes one of a NUL-terminated string.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Text {
    /// The first byte; NULL where there is no text.
    pub data: *const c_char,
    /// The length in bytes.
    pub length: usize,
}

impl Text {
    pub(crate) const ABSENT: Text = Text {
        data: std::ptr::null(),
        length: 0,
    };

    /// `text` must be owned by the handle that it is read from.
    pub(crate) fn of(text: &str) -> Self {
        Text {
            data: text.as_ptr().cast(),
            length: text.len(),
        }
    }

    pub(crate) fn of_option(text: Option<&str>) -> Self {
        text.map_or(Text::ABSENT, Text::of)
    }
}

/// Texts that were made on request and live as long as their handle; equal ones are kept once.
///
/// An `Arc`, unlike a `Box`, may move within the set while C points at its text.
#[derive(Default)]
pub(crate) struct TextArena(Mutex<HashSet<Arc<str>>>);

impl TextArena {
    /// The text for C: what is a piece of `whole`, which the handle owns, as it is; anything else is kept.
    pub(crate) fn keep_within(&self, text: Cow<'_, str>, whole: &str) -> Text {
        match text {
            Cow::Borrowed(text) if whole.as_bytes().as_ptr_range().contains(&text.as_ptr()) => {
                Text::of(text)
            }
            Cow::Borrowed(text) => self.keep(text),
            Cow::Owned(text) => self.keep(&text),
        }
    }

    fn keep(&self, made: &str) -> Text {
        // A panic cannot leave the set in a state that matters.
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept.get(made) {
            return Text::of(known);
        }
        let made: Arc<str> = made.into();
        let text = Text::of(&made);
        kept.insert(made);
        text
    }
}

/// The version of the library that is running, such as 0.1.0; compare it with TALENTDATA_VERSION,
/// the version of the header.
///
/// Ownership: the text is a constant.
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_library_version() -> Text {
    Text::of(env!("CARGO_PKG_VERSION"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A list that is dropped by recursion needs more than this for far fewer texts.
    const SMALL_STACK: usize = 128 * 1024;

    /// So many that comparing each with each would take minutes.
    const TEXTS: usize = 200_000;

    #[test]
    fn many_texts_are_kept_and_dropped_on_a_small_stack() {
        let work = || {
            let kept = TextArena::default();
            let keep = |number: usize| kept.keep(&format!("text {number}"));
            let first = keep(0);
            for number in 1..TEXTS {
                keep(number);
            }
            let again = keep(0);
            assert_eq!((first.data, first.length), (again.data, again.length));
        };
        let thread = std::thread::Builder::new().stack_size(SMALL_STACK);
        thread.spawn(work).unwrap().join().unwrap();
    }

    #[test]
    fn borrowed_text_is_not_copied() {
        let own = String::from("own");
        let arena = TextArena::default();
        let kept = arena.keep_within(Cow::Borrowed(&own[1..]), &own);
        assert_eq!(kept.data, own[1..].as_ptr().cast());
        let other = arena.keep_within(Cow::Borrowed("own"), "another");
        assert_ne!(other.data, own.as_ptr().cast());
    }
}
