//! Writes records or changes of lists from a mirror, one list after the other.

use crate::common::Common;
use crate::lists::dashed;
use crate::output::{Ending, print_error, stderr_line, warn};
use crate::receipts::{self, Done, Entry};
use crate::settings;
use std::collections::BTreeMap;
use std::path::Path;
use talentdata_columns::arrow::TableOptions;
use talentdata_columns::export::{Format, Target};
use talentdata_core::internal::streams::reader_gone;
use talentdata_core::scan::Completeness;
use talentdata_core::types::ListName;
use talentdata_core::{Builder, Error, ErrorKind, ScanOptions};
use talentdata_mirror::{Mirror, Rows, SyncReceipt};

/// A list to be written.
pub(crate) struct Reading {
    pub(crate) list: ListName,
    pub(crate) format: Format,
    pub(crate) target: Target,
    pub(crate) table: TableOptions,
    /// The reason why the rows may be only a part of the list, if there is one.
    pub(crate) shortfall: Option<String>,
}

impl Reading {
    /// Writes the rows, and prints the bookmark of their last sync.
    ///
    /// # Errors
    /// The error of reading or writing.
    fn write(&self, rows: Result<Rows, Error>) -> Result<Done, Error> {
        let (format, table) = (self.format, self.table.clone());
        let receipt = rows?.write(format, &self.target, table)?;
        let done = Done::Rows(Box::new(receipt));
        if let Some(text) = done.differences() {
            warn(self.list, &text);
        }
        stderr_line(&done.summary(self.list, ""));
        Ok(done)
    }
}

/// Warns about lists for which the setting `lists` drops more than the syncs of the mirror did. A mirror is written as
/// its syncs stored it.
///
/// # Errors
/// See [`settings::set`].
pub(crate) fn warn_of_policies(
    all: &[Reading],
    mirror: &Mirror,
    common: &Common,
) -> Result<(), Error> {
    let mut builder = Builder::default();
    settings::set(&common.matches, &mut builder)?;
    let policies = builder.read_lists();
    let policies = policies.unwrap_or_else(|error| {
        let why = error.message();
        stderr_line(&format!("warning: the setting lists cannot be read: {why}"));
        BTreeMap::new()
    });
    for list in all.iter().map(|reading| reading.list) {
        let Some(fields) = policies.get(&list) else {
            continue;
        };
        let syncs = mirror.syncs(list).unwrap_or_default();
        if syncs
            .last()
            .is_some_and(|sync| !fields.were_applied(&sync.scan))
        {
            warn(
                list,
                &format!(
                    "the setting lists {fields}, but the mirror is written as its syncs stored it, without regard to the setting; to apply it, sync into a new mirror"
                ),
            );
        }
    }
    Ok(())
}

/// Returns the reason why a mirror may have only a part of a list: no sync has proven that it read all of it.
///
/// # Errors
/// See [`Mirror::syncs`].
pub(crate) fn shortfall(mirror: &Mirror, list: ListName) -> Result<Option<String>, Error> {
    let syncs = mirror.syncs(list)?;
    let is_proven = |sync: &SyncReceipt| sync.scan.completeness == Completeness::Proven;
    Ok((!syncs.iter().any(is_proven)).then(|| {
        "no sync of this mirror is proven to have read the whole list, so records may be missing; do not replace another copy of the list by this one, and sync again".to_owned()
    }))
}

/// Writes all lists and their receipts. If one list fails, the others continue.
///
/// # Errors
/// `AlreadyReported` after a failure, whose message is printed here; `ReaderGone`.
pub(crate) fn write_all(
    all: &[Reading],
    receipt: Option<&Path>,
    verbose: bool,
    rows: impl Fn(ListName) -> Result<Rows, Error>,
) -> Result<(), Ending> {
    let begin = |reading: &Reading| {
        let receipt = ScanOptions::default().receipt(reading.list);
        Entry::from(Done::Export(receipt.into()))
    };
    let mut entries: Vec<Entry> = all.iter().map(begin).collect();
    let save = |entries: &[Entry], last| {
        receipt.map_or(Ok(()), |path| receipts::write(path, entries, last))
    };
    let place_of = |reading: &Reading| match all.len() {
        1 => String::new(),
        _ => format!("{}: ", dashed(reading.list)),
    };
    save(&entries, false)?;
    let mut kind = None;
    for (index, reading) in all.iter().enumerate() {
        match reading.write(rows(reading.list)) {
            Ok(done) => {
                entries[index] = done.into();
                if let Some(why) = &reading.shortfall {
                    let error = Error::new(ErrorKind::Incomplete, why.clone());
                    entries[index].error = Some(error.report());
                    print_error(&error, &place_of(reading), None, verbose);
                    kind = kind.or(Some(error.kind()));
                }
            }
            Err(error) => {
                entries[index].error = Some(error.report());
                if reading.target == Target::Stdout
                    && error.kind() == ErrorKind::Io
                    && reader_gone()
                {
                    save(&entries, false)?;
                    return Err(Ending::ReaderGone);
                }
                print_error(&error, &place_of(reading), None, verbose);
                kind = kind.or(Some(error.kind()));
            }
        }
    }
    save(&entries, entries.iter().any(|entry| entry.error.is_none()))?;
    kind.map_or(Ok(()), |kind| Err(Ending::AlreadyReported(kind)))
}
