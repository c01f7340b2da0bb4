//! What the generated accessors of models have in common.

#![allow(dead_code, reason = "which are needed depends on the spec")]

use crate::boundary::invalid;
use serde::Serialize;
use talentdata_core::{Error, ErrorKind, Result};

/// A value as JSON text, with the fields that the document does not show.
pub(crate) fn json(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|_| {
        Error::new(
            ErrorKind::Internal,
            "a response could not be written as JSON",
        )
    })
}

/// Each value by its name, as a handle that C can borrow.
pub(crate) fn named<T: Clone, H>(
    map: &std::collections::BTreeMap<String, T>,
    handle: impl Fn(T) -> Result<H>,
) -> Result<Vec<(String, H)>> {
    let pairs = map.iter();
    pairs
        .map(|(name, value)| Ok((name.clone(), handle(value.clone())?)))
        .collect()
}

/// Each value as a handle, or as JSON text, that C can borrow.
pub(crate) fn each<T, H>(values: &[T], handle: impl Fn(&T) -> Result<H>) -> Result<Vec<H>> {
    values.iter().map(handle).collect()
}

/// The item at an index that C gave.
pub(crate) fn at<T>(items: &[T], index: usize) -> Result<&T> {
    items.get(index).ok_or_else(|| {
        let count = items.len();
        invalid(
            "index",
            format_args!("{index} is out of range for {count} items"),
        )
    })
}

/// The value of a name.
pub(crate) fn find<'a, T>(pairs: &'a [(String, T)], name: &str) -> Option<&'a T> {
    let found = pairs.iter().find(|(known, _)| known == name);
    found.map(|(_, value)| value)
}
