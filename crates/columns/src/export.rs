//! Writes a list to a file or to standard output; the final name appears only when the file is complete.
//!
//! Until then the records are in the file `data` of the work directory `PATH.part`, as the service sent them, with their
//! identities in `ids`, a `lock`, and a `checkpoint` that says how far both go. It is written at the start, after the first
//! page, about once a second, and whenever the export stops, each time after the data that it describes have been synced.
//! An export in a format other than JSON Lines writes its `output` at the same time. An interrupted export is continued
//! from the checkpoint: `output` is written again from `data`. If the list has not changed, the file has the same bytes as
//! one written without interruption. What is kept is compared with its digests before it is believed.
//!
//! The work directory is ours because we made it: nobody else may enter it. Anything else at that name is refused and
//! left as it is (`work.rs`). The lock keeps other exports to the same path away until nothing is left to clean up.
//! The finished file has the mode of the file that it replaces; a new one has the mode that the umask gives.
//!
//! A symbolic link at the path itself is followed: what it points at is written. A pipe or a device is
//! written to directly, like standard output, and without a checkpoint.

mod checkpoint;
mod kept;
mod output;
mod unfinished;
mod work;

pub use crate::format::Format;
pub use crate::paths::check_replaceable;
pub use kept::{KeptWork, WaysOut, check_kept};

use crate::arrow::{NewFieldPolicy, TableOptions};
use crate::paths::{part_of, place_of_file, would_meet};
use kept::{KeptDecision, decide};
use output::Output;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use talentdata_core::scan::{Batch, Receipt, Resume, SchemaDifferences, Written};
use talentdata_core::sink::Sink;
use talentdata_core::types::ListName;
use talentdata_core::{Client, Error, RawRecord, Result, ScanOptions};
use work::WorkDirectory;

/// The time that a stop waits for an output that may block forever.
const PATIENCE: Duration = Duration::from_millis(500);

/// The destination of the records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A file of this name.
    File(PathBuf),
    /// Standard output.
    Stdout,
}

impl Target {
    /// The place of a file; none for what is written to directly.
    fn place(&self) -> Result<Option<PathBuf>> {
        match self {
            Target::File(path) => place_of_file(path),
            Target::Stdout => Ok(None),
        }
    }
}

/// An export to be run.
#[derive(Clone, Debug)]
pub struct Export {
    /// The list.
    pub resource: ListName,
    /// The form.
    pub format: Format,
    /// The destination.
    pub target: Target,
    /// The options of the scan. The checkpoint decides where it continues; leave `resume` empty.
    pub scan: ScanOptions,
    /// The columns, for formats that have them.
    pub table: TableOptions,
    /// The choice about work that an unfinished export to the same path has kept. Streams keep none.
    pub kept: KeptWork,
}

impl Export {
    /// Checks whether these settings go together, before anything is sent or written.
    ///
    /// # Errors
    /// `InvalidArgument` for parameters that the list does not take, for `unproven`, and for a policy that JSON Lines cannot
    /// keep.
    pub fn check(&self) -> Result<()> {
        if self.scan.unproven.is_some() {
            let message = "unproven: an export keeps all rows that came, and its receipt says whether completeness is proven; leave it out";
            return Err(Error::invalid(message));
        }
        let fails = self.table.on_new == NewFieldPolicy::Fail;
        if fails && self.format == Format::Jsonl && self.table.schema.is_none() {
            let message = "on_new_field: JSON Lines has no columns to compare records with; give a schema, or choose another format";
            return Err(Error::invalid(message));
        }
        let operation = self.resource.shape().operation;
        self.scan.arguments.check(operation)
    }

    /// Returns whether a file at `path` would be the output of this export or lie in its work directory, under any
    /// name or through links. Nothing else must be written there.
    pub fn uses(&self, path: &Path) -> bool {
        matches!(&self.target, Target::File(target) if would_meet(target, path))
    }

    /// Returns whether an interrupted export has left work that this one would continue with [`KeptWork::Resume`], if the
    /// work is not damaged.
    pub fn is_resumable(&self, client: &Client) -> bool {
        let export = Export {
            kept: KeptWork::Resume,
            ..self.clone()
        };
        let Ok(Some(path)) = self.target.place() else {
            return false;
        };
        let config = Some(client.config());
        let decision = WorkDirectory::peek(&path)
            .map(|found| decide(&export, config, found, &part_of(&path), &WaysOut::PLAIN));
        matches!(decision, Ok(KeptDecision::Continue(_)))
    }

    /// Reads the list and writes it, until the end or until `stop` completes.
    ///
    /// `progress` is called after each page; the receipt covers the resumed runs too, but only the
    /// final one counts what the spec does not know. Writing goes on on a thread of its own: a slow disk slows the
    /// fetching and fills no memory, and a pipe that nobody reads does not keep the export from being stopped.
    /// Dropping the future is like killing the process: up to a second of work is lost, and nothing is cleaned up.
    ///
    /// # Errors
    /// Those of the scan; `Io` with the path, also when another export is writing to it or the name
    /// of a work file is taken; `InvalidArgument`, before anything is sent, when an unfinished export has kept work that
    /// [`kept`](Self::kept) does not allow to discard; `Cancelled` when stopped. The message says what is left to resume
    /// from.
    pub async fn run(
        &self,
        client: &Client,
        stop: impl Future<Output = ()>,
        progress: impl FnMut(&Receipt),
    ) -> Result<Receipt> {
        self.check()?;
        let blocks = self.target.place()?.is_none();
        let (export, config) = (self.clone(), client.config().clone());
        let stopped = Arc::new(AtomicBool::new(false));
        let noticed = Arc::clone(&stopped);
        let stop = async move {
            stop.await;
            noticed.store(true, Ordering::Relaxed);
        };
        let open = move || Output::open(&export, Some(&config), stopped);
        let scan = |resume: Option<Resume>| {
            let earlier = resume.as_ref().map_or(0, Resume::records);
            let limit = self.scan.limit.map(|limit| limit.saturating_sub(earlier));
            client.resource(self.resource).scan(ScanOptions {
                resume,
                limit,
                ..self.scan.clone()
            })
        };
        talentdata_core::sink::run(open, blocks.then_some(PATIENCE), scan, stop, progress).await
    }
}

/// Writes records that are at hand as an export of their list writes them: all of them under the final name, or nothing.
/// Also returns how they differed from their columns, if they have any.
///
/// # Errors
/// The first one among the records; `Io`, naming the file; `InvalidArgument` for a schema of another list, and when an
/// unfinished export from the service has kept work for the file.
pub fn write_records(
    resource: ListName,
    format: Format,
    target: &Target,
    table: TableOptions,
    records: impl Iterator<Item = Result<RawRecord>>,
) -> Result<(Written, Option<SchemaDifferences>)> {
    let export = Export {
        resource,
        format,
        target: target.clone(),
        scan: ScanOptions::default(),
        table,
        kept: KeptWork::Refuse,
    };
    export.check()?;
    let mut output = Output::open(&export, None, Arc::default())?;
    let write = || {
        for record in records {
            output.take(&Batch::of(vec![record?]))?;
        }
        Ok((output.end()?, output.differences()))
    };
    let written = write();
    written.map_err(|error| output.abandon(error))
}
