//! Writes a list into a file or to standard output; the final name appears only when it is whole.
//!
//! Until then the records are in `PATH.part` (those of Parquet in `PATH.part.1` and so on), and `PATH.checkpoint` says how far they go. The
//! checkpoint is written after the first page, about once a second from then on, and whenever the
//! export stops, each time after the data it speaks of has been synced. Whatever ends an export, a
//! resumed one goes on from there; if the list has not changed, the file is byte for byte the same
//! as if nothing had happened.
//!
//! The names of these files (`PATH.checkpoint.new` is one more) belong to an export from its beginning
//! to its end. Where nothing is unfinished they have to be free, and no link at one of them is followed:
//! files of somebody else are neither removed nor written to.
//!
//! A file that is replaced hands on its mode, and until then no work file is open to more people. A new
//! file has the mode that the umask gives.
//!
//! A symbolic link stays one: what it points at is written. A pipe or a device is written to
//! directly, like standard output, and without a checkpoint.

mod checkpoint;
mod encoder;
mod format;
mod groups;
mod mode;
mod output;
mod part;
mod piece;
mod place;
mod strangers;
mod unfinished;

pub use format::Format;

use crate::client::Client;
use crate::error::{Error, ErrorKind, Result};
use crate::scan::{Receipt, Scan, ScanOptions};
use output::Output;
use place::Place;
use std::path::{Path, PathBuf};
use talentdata_types::Resource;

/// Where the records go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A file of this name.
    File(PathBuf),
    /// Standard output.
    Stdout,
}

/// An export to be run.
#[derive(Clone, Debug)]
pub struct Export {
    /// The list.
    pub resource: Resource,
    /// The form.
    pub format: Format,
    /// Where to.
    pub target: Target,
    /// How the list is read; where to go on is for the checkpoint to say, and not for these options.
    pub scan: ScanOptions,
    /// Whether to go on from the checkpoint that an unfinished export has left; it begins afresh
    /// where there is none, and always when this is false.
    pub resume: bool,
}

impl Export {
    /// Whether a file at `path` would be one that this export writes, replaces or works with, by
    /// whatever links and detours. Something else must not be written there.
    pub fn uses(&self, path: &Path) -> bool {
        match &self.target {
            Target::File(target) => strangers::would_meet(&Place::at(target), path),
            Target::Stdout => false,
        }
    }

    /// Reads the list and writes it, until the end or until `stop` completes.
    ///
    /// `progress` is told after each page; the receipt covers the runs that are resumed, too, but what
    /// the spec does not know is counted in the final one only. Writing
    /// blocks the calling task, while the pages are fetched on another: a slow disk slows the
    /// fetching and fills no memory. On a runtime of a single thread they take turns. Dropping the
    /// future is like killing the process: up to a second of work is lost, and nothing is tidied up.
    ///
    /// # Errors
    /// Those of the scan; `Io`, naming the file, also when another export is writing to it or the name
    /// of a work file is taken; `InvalidArgument` when the checkpoint is of another export, such as
    /// that of another client, naming what differs; `Cancelled` when stopped. The message says what
    /// is left to resume from.
    pub async fn run(
        &self,
        client: &Client,
        stop: impl Future<Output = ()>,
        progress: impl FnMut(&Receipt),
    ) -> Result<Receipt> {
        if self.scan.resume.is_some() {
            let message = "scan.resume: an export goes on from its checkpoint; leave it out";
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        let mut output = Output::open(self, client.config())?;
        let options = ScanOptions {
            resume: output.position(),
            ..self.scan.clone()
        };
        let mut scan = client.resource(self.resource).scan(options);
        let copied = copy(&mut scan, &mut output, stop, progress).await;
        let finished = copied.and_then(|()| output.finish(scan.receipt()));
        finished.map_err(|error| output.abandon(error))
    }
}

async fn copy(
    scan: &mut Scan,
    output: &mut Output,
    stop: impl Future<Output = ()>,
    mut progress: impl FnMut(&Receipt),
) -> Result<()> {
    let mut stop = std::pin::pin!(stop);
    loop {
        let batch = tokio::select! {
            biased;
            () = &mut stop => return Err(Error::new(ErrorKind::Cancelled, "the export was stopped")),
            batch = scan.next_batch() => batch,
        };
        let Some(batch) = batch else { break };
        output.write(batch?)?;
        progress(output.receipt());
    }
    Ok(())
}
