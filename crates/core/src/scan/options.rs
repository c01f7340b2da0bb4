//! The options of a scan.

use super::position::Resume;
use super::unproven::Unproven;
use crate::arguments::Arguments;

/// The options of a scan.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use talentdata_core::{Arguments, ScanOptions};
/// use talentdata_core::scan::Unproven;
///
/// let options = ScanOptions::default()
///     .with_arguments(Arguments::default())
///     .with_limit(1000)
///     .with_unproven(Unproven::Fail);
/// assert_eq!(options.limit, Some(1000));
/// assert_eq!(options.page_size, None);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ScanOptions {
    /// The number of records to request per page. Default: the list's maximum.
    pub page_size: Option<u64>,
    /// The point from which to continue. Default: the beginning.
    pub resume: Option<Resume>,
    /// The maximum number of records to deliver. If a scan ends there, its receipt says so.
    pub limit: Option<u64>,
    /// Values of the list's parameters, for example filters. They are sent with every page.
    pub arguments: Arguments,
    /// The fields to keep in addition to `id`, by name or JSON pointer, with `*` for the items of an array: `email`,
    /// `/languages/*/level`. All others are removed before a record is delivered or written. Default: all fields.
    pub fields: Vec<String>,
    /// The fields to drop, in the same form; `id` cannot be dropped. They take precedence over `fields` and `hash`.
    pub drop: Vec<String>,
    /// The fields whose values are replaced by a digest, in the same form; `null` stays null. With `fields`, they are
    /// kept as well. The setting `hash_key` is the key.
    pub hash: Vec<String>,
    /// True if records are read as a type.
    pub(crate) is_typed: bool,
    /// The action at the end of a list whose completeness is not proven. By default record batches fail, and readers of
    /// records find the doubts in the receipt. Exports and syncs have no such option.
    pub unproven: Option<Unproven>,
}

impl ScanOptions {
    /// Sets [`page_size`](Self::page_size).
    pub fn with_page_size(mut self, records: u64) -> Self {
        self.page_size = Some(records);
        self
    }

    /// Sets [`resume`](Self::resume).
    pub fn with_resume(mut self, place: Resume) -> Self {
        self.resume = Some(place);
        self
    }

    /// Sets [`limit`](Self::limit).
    pub fn with_limit(mut self, records: u64) -> Self {
        self.limit = Some(records);
        self
    }

    /// Sets [`arguments`](Self::arguments).
    pub fn with_arguments(mut self, arguments: impl Into<Arguments>) -> Self {
        self.arguments = arguments.into();
        self
    }

    /// Sets [`fields`](Self::fields).
    pub fn with_fields(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.fields = names.into_iter().map(Into::into).collect();
        self
    }

    /// Sets [`drop`](Self::drop).
    pub fn with_drop(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.drop = names.into_iter().map(Into::into).collect();
        self
    }

    /// Sets [`hash`](Self::hash).
    pub fn with_hash(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.hash = names.into_iter().map(Into::into).collect();
        self
    }

    /// Sets [`unproven`](Self::unproven).
    pub fn with_unproven(mut self, unproven: Unproven) -> Self {
        self.unproven = Some(unproven);
        self
    }
}
