//! Writes receipts to a file as a JSON array, with one for each list. A file is replaced atomically. A pipe or a device
//! is written to directly.
//! The file says `unfinished` from the start of a run to its end, so that after a failure no older receipt is mistaken
//! for the result.

use crate::lists::dashed;
use crate::output;
use serde::Serialize;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use talentdata_columns::internal::check_replaceable;
use talentdata_core::scan::{Basis, Receipt};
use talentdata_core::types::ErrorReport;
use talentdata_core::types::ListName;
use talentdata_core::{Error, ErrorKind};
use talentdata_mirror::{RowsReceipt, SyncReceipt};

/// Checks that the directory exists, and that the command does not use the file for something else.
///
/// # Errors
/// `Path` if the directory does not exist; `InvalidArgument` if the command uses the file.
pub(crate) fn check(path: &Path, is_used: impl FnOnce(&Path) -> bool) -> Result<(), Error> {
    if !directory(path).is_dir() {
        let message = refusal(path, "no such directory");
        return Err(Error::new(ErrorKind::Path, message));
    }
    if path.is_dir() {
        let message = refusal(path, "it is a directory");
        return Err(Error::new(ErrorKind::Path, message));
    }
    if is_used(path) {
        let message = format!(
            "--receipt: the command writes {} itself, under this or another name; choose another path",
            path.display()
        );
        return Err(Error::invalid(message));
    }
    if is_stream(path) {
        Ok(())
    } else {
        check_replaceable(path)
    }
}

/// The outcome of the work on a list.
#[derive(Clone, Serialize)]
#[serde(untagged)]
pub(crate) enum Done {
    Export(Box<Receipt>),
    Sync(Box<SyncReceipt>),
    Rows(Box<RowsReceipt>),
}

impl Done {
    /// Returns the reason why the work may be incomplete. `place` is where the records are.
    pub(crate) fn shortfall(&self, place: &str) -> Option<String> {
        match self {
            Done::Export(receipt) => {
                let error = receipt.as_ref().clone().require_proven().err()?;
                Some(format!(
                    "{}; {} was written anyway, with {} records",
                    error.message(),
                    place,
                    receipt.records
                ))
            }
            Done::Sync(receipt) => receipt.shortfall.clone(),
            Done::Rows(_) => None,
        }
    }

    /// Returns a summary of the outcome for a list, for people.
    pub(crate) fn summary(&self, list: ListName, place: &str) -> String {
        let list = dashed(list);
        match self {
            Done::Export(receipt) => format!(
                "{list}: {} records in {:.1} s, {:.0} % of the budget, completeness {}: {}",
                receipt.records,
                receipt.seconds,
                100.0 * receipt.budget_used,
                match receipt.basis {
                    Some(Basis::Counted) => "proven (counted)",
                    Some(Basis::Joined) => "proven (joined)",
                    None => "not checked",
                },
                place
            ),
            Done::Sync(receipt) => {
                let number = receipt.generation;
                let (start, end) = if receipt.dry_run {
                    (
                        format!("nothing was committed; sync {number} would have"),
                        String::new(),
                    )
                } else {
                    (
                        format!("sync {number}:"),
                        format!(", bookmark {}", receipt.bookmark),
                    )
                };
                format!(
                    "{list}: {start} {} records, {} inserted, {} updated, {} deleted, {} missing, in {:.1} s{}{}{end}",
                    receipt.scan.records,
                    receipt.changes.insert,
                    receipt.changes.update,
                    receipt.changes.delete,
                    receipt.missing,
                    receipt.scan.seconds,
                    receipt.removed.map_or_else(String::new, |removed| format!(
                        ", removed old history: {} syncs, {} changes, {} versions, {} deleted records",
                        removed.syncs, removed.changes, removed.versions, removed.records
                    )),
                    match receipt.kept_out {
                        0 => String::new(),
                        count => format!(", {count} kept out"),
                    },
                )
            }
            Done::Rows(receipt) if receipt.erased_since > 0 => format!(
                "{list}: {} records of this sync were erased later; bookmark {}",
                receipt.erased_since, receipt.bookmark
            ),
            Done::Rows(receipt) => format!("{list}: bookmark {}", receipt.bookmark),
        }
    }

    /// Returns a message about names of fields that no record had.
    pub(crate) fn misspelled(&self) -> Option<String> {
        self.scan().misspelled()
    }

    fn scan(&self) -> &Receipt {
        match self {
            Done::Export(receipt) => receipt,
            Done::Sync(receipt) => &receipt.scan,
            Done::Rows(receipt) => &receipt.export,
        }
    }

    /// Returns a message about the differences between the records and their columns.
    pub(crate) fn differences(&self) -> Option<String> {
        self.scan().schema.as_ref()?.summary()
    }
}

/// An entry of the file: a receipt and an error.
#[derive(Clone, Serialize)]
pub(crate) struct Entry {
    #[serde(flatten)]
    pub(crate) done: Done,
    /// The error that ended the work; null while it runs and after success.
    pub(crate) error: Option<ErrorReport>,
}

impl From<Done> for Entry {
    fn from(done: Done) -> Self {
        Entry { done, error: None }
    }
}

/// Writes the receipts of all lists of a command. Pipes and devices get only the `last` receipts.
///
/// # Errors
/// The error of the system, with the path.
pub(crate) fn write(path: &Path, receipts: &[Entry], last: bool) -> Result<(), Error> {
    if is_stream(path) && !last {
        return Ok(());
    }
    let text = serde_json::to_string_pretty(receipts).map_err(output::unwritable)?;
    save(path, &text).map_err(|error| Error::of_io(&error, refusal(path, error.to_string())))
}

/// Returns whether both paths are the same file, which may not exist.
pub(crate) fn is_one_file(one: &Path, other: &Path) -> bool {
    let of = |path: &Path| path.canonicalize().ok();
    one == other || of(one).is_some_and(|one| of(other) == Some(one))
}

fn refusal(path: &Path, why: impl std::fmt::Display) -> String {
    format!("--receipt: cannot write {}: {why}", path.display())
}

fn directory(path: &Path) -> &Path {
    let parent = path.parent();
    let named = parent.filter(|directory| !directory.as_os_str().is_empty());
    named.unwrap_or(Path::new("."))
}

/// Returns whether the path is a pipe or a device. These are written to directly, because replacing one with a file
/// would destroy it, which root may do.
fn is_stream(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| !found.is_file())
}

fn save(path: &Path, text: &str) -> std::io::Result<()> {
    if is_stream(path) {
        let mut stream = OpenOptions::new().write(true).open(path)?;
        return writeln!(stream, "{text}");
    }
    let mut file = tempfile::Builder::new()
        .prefix(".talentdata-")
        .tempfile_in(directory(path))?;
    writeln!(file, "{text}")?;
    // Only the owner can read and write a new file, regardless of the umask. A replaced file keeps its permissions.
    let replaced = fs::metadata(path).map(|found| found.permissions());
    let wanted = replaced.unwrap_or_else(|_| PermissionsExt::from_mode(0o600));
    file.as_file().set_permissions(wanted)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}
