//! The options of a sync: the list, the mirror and the comparison.

use crate::receipt::MaxDeletes;
use std::path::PathBuf;
use std::time::Duration;
use talentdata_columns::arrow::NewFieldPolicy;
use talentdata_columns::export::FileMode;
use talentdata_core::types::ListName;
use talentdata_core::{Error, Result, ScanOptions};

/// A sync to be run.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// use std::time::Duration;
/// use talentdata_core::ListName;
/// use talentdata_mirror::{MaxDeletes, Sync};
///
/// let sync = Sync::new(ListName::Contacts, directory.path().join("talent.db"))
///     .with_max_deletes(MaxDeletes::Share(0.25))
///     .with_keep(Duration::from_secs(90 * 86_400));
/// sync.check()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Sync {
    /// The list.
    pub resource: ListName,
    /// The file of the mirror. It is created if it does not exist.
    pub path: PathBuf,
    /// The options of the scan. Do not set `resume`, `limit` and `unproven`.
    pub scan: ScanOptions,
    /// True to scan again immediately if records are missing from a list that changed during the scan.
    pub confirm: bool,
    /// The treatment of fields without a column in the mirror, and of values that do not fit their column. The first
    /// sync of a list decides the columns, and never fails because of them.
    pub on_new: NewFieldPolicy,
    /// The limit on deletes. If a sync finds more, it deletes nothing.
    pub max_deletes: MaxDeletes,
    /// True to accept an address of the service that differs from the mirror's. The mirror stores the new address. The
    /// client ID must be the same.
    pub same_service: bool,
    /// The age at which changes and earlier versions are removed; `None` keeps all.
    pub keep: Option<Duration>,
    /// The age of a proven delete at which the record is erased, with all its versions and changes; with `None`, only
    /// `keep` applies.
    pub keep_deleted: Option<Duration>,
    /// True to commit nothing. The receipt describes the sync that would have been committed.
    pub dry_run: bool,
    /// The permissions of the file if it is new. A mirror that exists keeps its own.
    pub mode: FileMode,
}

/// Reads an age, for example `90d`, `12h`, `30m` or `45s`.
///
/// # Errors
/// `InvalidArgument`.
pub(crate) fn age(option: &str, text: &str) -> Result<Duration> {
    let units = [('d', 86_400), ('h', 3600), ('m', 60), ('s', 1)];
    let found = units.iter().find_map(|(unit, seconds)| {
        let number: u64 = text.strip_suffix(*unit)?.parse().ok()?;
        number.checked_mul(*seconds)
    });
    let age = found.map(Duration::from_secs);
    age.ok_or_else(|| {
        Error::invalid(format!(
            "{option}: an age is a whole number with d, h, m or s, such as 90d"
        ))
    })
}

impl Sync {
    /// Creates a sync of a list into a file, with the defaults for everything else.
    pub fn new(resource: ListName, path: impl Into<PathBuf>) -> Self {
        Sync {
            resource,
            path: path.into(),
            scan: ScanOptions::default(),
            confirm: false,
            on_new: NewFieldPolicy::default(),
            max_deletes: MaxDeletes::default(),
            same_service: false,
            keep: None,
            keep_deleted: None,
            dry_run: false,
            mode: FileMode::default(),
        }
    }

    /// Sets [`scan`](Self::scan).
    pub fn with_scan(mut self, scan: ScanOptions) -> Self {
        self.scan = scan;
        self
    }

    /// Sets [`confirm`](Self::confirm).
    pub fn with_confirm(mut self, confirm: bool) -> Self {
        self.confirm = confirm;
        self
    }

    /// Sets [`on_new`](Self::on_new).
    pub fn with_on_new(mut self, on_new: NewFieldPolicy) -> Self {
        self.on_new = on_new;
        self
    }

    /// Sets [`max_deletes`](Self::max_deletes).
    pub fn with_max_deletes(mut self, max_deletes: MaxDeletes) -> Self {
        self.max_deletes = max_deletes;
        self
    }

    /// Sets [`same_service`](Self::same_service).
    pub fn with_same_service(mut self, same: bool) -> Self {
        self.same_service = same;
        self
    }

    /// Sets [`keep`](Self::keep).
    pub fn with_keep(mut self, age: Duration) -> Self {
        self.keep = Some(age);
        self
    }

    /// Sets [`keep_deleted`](Self::keep_deleted).
    pub fn with_keep_deleted(mut self, age: Duration) -> Self {
        self.keep_deleted = Some(age);
        self
    }

    /// Sets [`mode`](Self::mode).
    pub fn with_mode(mut self, mode: FileMode) -> Self {
        self.mode = mode;
        self
    }

    /// Sets [`dry_run`](Self::dry_run).
    pub fn with_dry_run(mut self, dry_run: bool) -> Self {
        self.dry_run = dry_run;
        self
    }

    /// Checks the options, before anything is sent or written.
    ///
    /// # Errors
    /// `InvalidArgument`, which names the setting.
    pub fn check(&self) -> Result<()> {
        if self.scan.limit.is_some() || self.scan.resume.is_some() {
            let message = "limit, resume: a sync reads the whole list; omit these options";
            return Err(Error::invalid(message));
        }
        if self.scan.unproven.is_some() {
            let message = "unproven: a sync keeps all received records, and its receipt says whether completeness is proven; omit this option";
            return Err(Error::invalid(message));
        }
        if self.dry_run && self.confirm {
            let message = "dry_run, confirm: a second scan confirms a committed sync, and a dry run commits nothing; omit one of them";
            return Err(Error::invalid(message));
        }
        self.scan.check(self.resource.shape())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_has_a_unit() {
        assert_eq!(age("keep", "90d").unwrap().as_secs(), 90 * 86_400);
        assert_eq!(age("keep", "12h").unwrap().as_secs(), 12 * 3600);
        for wrong in ["90", "d", "-1d", "1.5h", "90 d", "99999999999999999999d"] {
            let error = age("keep_deleted", wrong).unwrap_err();
            assert!(error.message().starts_with("keep_deleted: "), "{wrong}");
        }
    }
}
