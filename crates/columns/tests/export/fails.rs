//! The check of an error in a test.

use talentdata_core::{ErrorKind, Result};

/// Asserts that a result is an error of this kind, whose message contains these words, which `|` separates.
pub(crate) fn fails<T>(outcome: Result<T>, kind: ErrorKind, words: &str) {
    let error = outcome.err().expect(words);
    assert_eq!(error.kind(), kind, "{words}: {error}");
    let missing = words
        .split('|')
        .find(|word| !error.message().contains(word));
    assert_eq!(missing, None, "{error}");
}
