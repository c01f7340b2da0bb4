//! Writes a list to a file or to standard output; the final name appears only when the file is complete.
//!
//! Until then the records are in the file `data` of the work directory `PATH.part`, as the service sent them, with
//! their identities in `ids`, a `lock`, and a `checkpoint` with the lengths of both. The checkpoint is written at the
//! start, after the first page, about once a second, and when the export stops, each time after the data that it
//! describes was synced. An export in a format other than JSON Lines writes its `output` at the same time. An
//! interrupted export is continued from the checkpoint: `output` is written again from `data`. If the list has not
//! changed, the file has the same bytes as one written without interruption. Kept data is compared with its digests
//! before it is used. Only our user may enter the work directory, because the export created it. Anything else at that
//! name is refused and not modified (`work.rs`). The lock excludes other exports to the same path until the cleanup is
//! done. The finished file has the mode of the file that it replaces; a new one has the mode that the umask gives. A
//! symbolic link at the path itself is followed. A pipe or a device is written to directly, like standard output, and
//! without a checkpoint.

mod checkpoint;
pub(crate) mod kept;
mod mode;
mod output;
mod unfinished;
mod work;

pub use crate::format::Format;
pub use kept::KeptWork;
pub use mode::FileMode;

use crate::arrow::{NewFieldPolicy, TableOptions};
use crate::paths::{part_of, place_of_file, would_meet};
use kept::{KeptDecision, WaysOut, decide};
use output::Output;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use talentdata_core::blocking::{Client as BlockingClient, Job};
use talentdata_core::internal::sink::Sink;
use talentdata_core::scan::{Batch, Receipt, Resume, SchemaDifferences, Written};
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
    /// Returns the path of a file with all links resolved; `None` for a target that is written to directly.
    fn place(&self) -> Result<Option<PathBuf>> {
        match self {
            Target::File(path) => place_of_file(path),
            Target::Stdout => Ok(None),
        }
    }
}

/// An export of a list.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// use talentdata_columns::export::{Export, Format, Target};
/// use talentdata_core::ListName;
/// use talentdata_core::ScanOptions;
///
/// let path = directory.path().join("contacts.parquet");
/// let export = Export::new(ListName::Contacts, Format::Parquet, Target::File(path))
///     .with_scan(ScanOptions::default().with_limit(100));
/// export.check()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Export {
    /// The list.
    pub resource: ListName,
    /// The format.
    pub format: Format,
    /// The destination.
    pub target: Target,
    /// The options of the scan. Leave `resume` empty: the checkpoint decides where the scan continues.
    pub scan: ScanOptions,
    /// The columns, for formats that have them.
    pub table: TableOptions,
    /// The choice about the kept work of an unfinished export to the same path. Streams keep none.
    pub kept: KeptWork,
    /// The permissions of a new file. A file that is replaced keeps its own.
    pub mode: FileMode,
}

impl Export {
    /// Creates an export of a list, with the defaults for everything else.
    pub fn new(resource: ListName, format: Format, target: Target) -> Self {
        Export {
            resource,
            format,
            target,
            scan: ScanOptions::default(),
            table: TableOptions::default(),
            kept: KeptWork::default(),
            mode: FileMode::default(),
        }
    }

    /// Sets [`scan`](Self::scan).
    pub fn with_scan(mut self, scan: ScanOptions) -> Self {
        self.scan = scan;
        self
    }

    /// Sets [`table`](Self::table).
    pub fn with_table(mut self, table: TableOptions) -> Self {
        self.table = table;
        self
    }

    /// Sets [`kept`](Self::kept).
    pub fn with_kept(mut self, kept: KeptWork) -> Self {
        self.kept = kept;
        self
    }

    /// Sets [`mode`](Self::mode).
    pub fn with_mode(mut self, mode: FileMode) -> Self {
        self.mode = mode;
        self
    }

    /// Checks that these settings are consistent, before anything is sent or written.
    ///
    /// # Errors
    /// `InvalidArgument` for parameters that the list does not take, for `unproven`, and for a policy that JSON Lines
    /// cannot keep.
    pub fn check(&self) -> Result<()> {
        if self.scan.unproven.is_some() {
            let message = "unproven: an export keeps all received rows, and its receipt says whether completeness is proven; omit this option";
            return Err(Error::invalid(message));
        }
        let fails = self.table.on_new == NewFieldPolicy::Fail;
        if fails && self.format == Format::Jsonl && self.table.schema.is_none() {
            let message = "on_new_field: JSON Lines has no columns to compare records with; give a schema, or choose another format";
            return Err(Error::invalid(message));
        }
        self.scan.check(self.resource.shape())
    }

    /// Returns whether a file at `path` would be the output of this export or lie in its work directory, under any
    /// name or through links. Nothing else must be written there.
    pub fn uses(&self, path: &Path) -> bool {
        matches!(&self.target, Target::File(target) if would_meet(target, path))
    }

    /// Returns whether this export would continue the work of an interrupted one with [`KeptWork::Resume`], if the work
    /// is not damaged.
    pub fn is_resumable(&self, client: &Client) -> bool {
        let export = self.restricted_by(client).with_kept(KeptWork::Resume);
        let Ok(Some(path)) = self.target.place() else {
            return false;
        };
        let config = Some(client.config());
        let decision = WorkDirectory::peek(&path)
            .map(|found| decide(&export, config, found, &part_of(&path), &WaysOut::PLAIN));
        matches!(decision, Ok(KeptDecision::Continue(_)))
    }

    /// Returns the export with the options for its list from the setting `lists` of this client.
    fn restricted_by(&self, client: &Client) -> Self {
        Export {
            scan: self.scan.restricted_by(client.config(), self.resource),
            ..self.clone()
        }
    }

    /// Creates a job for callers without an async runtime; nothing is sent or written yet. A stopped job keeps its
    /// records, to be resumed. If a job is run again after an error, it resumes the records that it kept.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let records = [("contacts".to_owned(), 250)].into();
    /// # let sandbox = talentdata_sandbox::Sandbox::start(talentdata_sandbox::Options { records, ..Default::default() })?;
    /// # let mut settings = talentdata_core::Client::builder();
    /// # settings.base_url(sandbox.base_url()).client_id(sandbox.client_id()).client_secret(sandbox.client_secret());
    /// # settings.budget("process");
    /// # let client = talentdata_core::blocking::Client::new(&settings)?;
    /// # let directory = tempfile::tempdir()?;
    /// use talentdata_columns::export::{Export, Format, Target};
    /// use talentdata_core::ListName;
    ///
    /// let path = directory.path().join("contacts.jsonl");
    /// let job = Export::new(ListName::Contacts, Format::Jsonl, Target::File(path)).job(&client)?;
    /// let receipt = job.run()?;
    /// assert_eq!(receipt.require_proven()?.records, 250);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// See [`check`](Self::check); also `Closed` if the client was closed.
    pub fn job(self, client: &BlockingClient) -> Result<Job<Receipt>> {
        self.check()?;
        let begin = self.scan.receipt(self.resource);
        let has_written = Arc::new(AtomicBool::new(false));
        Job::new(client, "export", &begin, move |client, stop, progress| {
            let (mut export, has_written) = (self.clone(), Arc::clone(&has_written));
            if has_written.load(Ordering::Relaxed) {
                export.kept = KeptWork::Resume;
            }
            async move {
                let note = |receipt: &Receipt| {
                    has_written.store(true, Ordering::Relaxed);
                    progress.note(receipt);
                };
                let finished = export.run(&client, stop.stopped(), note).await?;
                progress.note(&finished);
                Ok(finished)
            }
        })
    }

    /// Reads the list and writes it, until the end or until `stop` completes.
    ///
    /// `progress` is called after each page; the receipt covers the resumed runs too, but only the final one counts
    /// fields and values that the API description does not document. A separate thread writes. A slow disk slows the
    /// requests down and fills no memory, and an export to a pipe that nobody reads can still be stopped. Dropping the
    /// future is like killing the process: up to a second of work is lost, and nothing is cleaned up.
    ///
    /// ```
    /// # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let records = [("contacts".to_owned(), 250)].into();
    /// # let sandbox = talentdata_sandbox::Sandbox::start(talentdata_sandbox::Options { records, ..Default::default() })?;
    /// # let mut settings = talentdata_core::Client::builder();
    /// # settings.base_url(sandbox.base_url()).client_id(sandbox.client_id()).client_secret(sandbox.client_secret());
    /// # settings.budget("process");
    /// # let client = settings.build()?;
    /// # let directory = tempfile::tempdir()?;
    /// use talentdata_columns::export::{Export, Format, Target};
    /// use talentdata_core::ListName;
    ///
    /// let path = directory.path().join("contacts.csv");
    /// let export = Export::new(ListName::Contacts, Format::Csv, Target::File(path.clone()));
    /// let never = std::future::pending();
    /// let receipt = export.run(&client, never, |page| println!("{} records", page.records)).await?;
    /// assert_eq!(receipt.require_proven()?.records, 250);
    /// assert!(path.is_file());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The errors of the scan; `Path`, `StorageFull` or `Io` with the path; `Busy` if another export is writing to it;
    /// `Path` if the name of a work file is taken; `InvalidArgument`, before anything is sent, if an unfinished export
    /// kept work that may not be discarded according to [`kept`](Self::kept); `Cancelled` if stopped. The message says
    /// which work is kept.
    pub async fn run(
        &self,
        client: &Client,
        stop: impl Future<Output = ()>,
        progress: impl FnMut(&Receipt),
    ) -> Result<Receipt> {
        let export = self.restricted_by(client);
        export.check()?;
        let operation = self.resource.shape().operation;
        client.config().require_credentials_for(operation)?;
        export.scan.hash_key(client.config())?;
        let blocks = self.target.place()?.is_none();
        let config = client.config().clone();
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
            let mut options = self.scan.clone();
            (options.resume, options.limit) = (resume, limit);
            client.resource(self.resource).scan(options)
        };
        let patience = blocks.then_some(PATIENCE);
        let done = talentdata_core::internal::sink::run(open, patience, scan, stop, progress).await;
        let (client_id, list) = (client.config().client_id(), self.resource.name());
        done.map_err(|error| error.logged(client_id, Some(list)))
    }
}

/// Writes records in memory as an export of their list would: all of them, or nothing. Also returns the differences
/// from their columns, if there are columns.
///
/// # Errors
/// The first error among the records; `Path`, `StorageFull` or `Io` with the path; `InvalidArgument` for a schema of
/// another list, and if an unfinished export from the service kept work for the file.
pub fn write_records(
    resource: ListName,
    format: Format,
    target: &Target,
    table: TableOptions,
    records: impl Iterator<Item = Result<RawRecord>>,
) -> Result<(Written, Option<SchemaDifferences>)> {
    let export = Export::new(resource, format, target.clone()).with_table(table);
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
