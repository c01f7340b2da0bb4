//! What a test expects of an error.

use talentdata_core::{ErrorKind, Result};

/// It has failed with this kind, and says these words, which `|` separates.
pub(crate) fn fails<T>(outcome: Result<T>, kind: ErrorKind, words: &str) {
    let error = outcome.err().expect(words);
    assert_eq!(error.kind(), kind, "{words}: {error}");
    let missing = words
        .split('|')
        .find(|word| !error.message().contains(word));
    assert_eq!(missing, None, "{error}");
}
