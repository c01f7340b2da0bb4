//! Runs exports and syncs, with a progress line, a file of receipts, and the messages at the end.

use crate::common::Common;
use crate::lists::dashed;
use crate::output::{Ending, print_error, stderr_line, warn};
use crate::progress::ProgressLine;
use crate::receipts::{self, Done, Entry};
use crate::signals::Signals;
use futures_util::{StreamExt, stream};
use std::path::Path;
use talentdata_columns::export::{Export, KeptWork, Target};
use talentdata_columns::internal::WaysOut;
use talentdata_core::internal::streams::reader_gone;
use talentdata_core::scan::Receipt;
use talentdata_core::types::ListName;
use talentdata_core::{Client, Error, ErrorKind};
use talentdata_mirror::{Sync, SyncReceipt};

/// The advice for continuing or discarding the kept work of an export.
pub(crate) const WAYS_OUT: WaysOut = WaysOut {
    resume: "run the same command with --resume",
    restart: "with --restart",
};

/// The export or the sync of one list.
pub(crate) enum ListWork {
    Export(Export),
    Sync(Sync),
}

impl ListWork {
    fn list(&self) -> ListName {
        match self {
            ListWork::Export(export) => export.resource,
            ListWork::Sync(sync) => sync.resource,
        }
    }

    /// Returns the receipt of the scan before it begins.
    fn begin(&self) -> Receipt {
        match self {
            ListWork::Export(export) => export.scan.receipt(export.resource),
            ListWork::Sync(sync) => sync.scan.receipt(sync.resource),
        }
    }

    async fn run(
        &self,
        client: &Client,
        stop: impl Future<Output = ()>,
        note: impl FnMut(&Receipt),
    ) -> Result<Done, Error> {
        Ok(match self {
            ListWork::Export(export) => Done::Export(export.run(client, stop, note).await?.into()),
            ListWork::Sync(sync) => Done::Sync(sync.run(client, stop, note).await?.into()),
        })
    }

    /// Returns the result of work that is running or failed, with the receipt of its scan so far.
    fn unfinished(&self, scan: Receipt) -> Done {
        match self {
            ListWork::Export(_) => Done::Export(scan.into()),
            ListWork::Sync(_) => {
                let mut receipt = SyncReceipt::default();
                receipt.scan = scan;
                Done::Sync(Box::new(receipt))
            }
        }
    }

    fn is_resumable(&self, client: &Client) -> bool {
        matches!(self, ListWork::Export(export) if export.is_resumable(client))
    }

    /// Returns the reason why this run of an export started over, unless the user requested it.
    fn restarted(&self, receipt: &Receipt) -> Option<String> {
        match self {
            ListWork::Export(export)
                if export.kept != KeptWork::Restart && receipt.resumed == 0 =>
            {
                receipt.restarted.clone()
            }
            _ => None,
        }
    }

    /// Returns the name of the output of an export.
    fn place(&self) -> String {
        match self {
            ListWork::Export(Export {
                target: Target::File(path),
                ..
            }) => path.display().to_string(),
            _ => "standard output".into(),
        }
    }
}

/// The settings of a run.
pub(crate) struct Run<'a> {
    pub(crate) common: &'a Common,
    /// The file for the receipts.
    pub(crate) receipt: Option<&'a Path>,
    /// True if an export writes to standard output.
    pub(crate) to_stdout: bool,
    /// The number of exports or syncs that run in parallel.
    pub(crate) width: usize,
}

impl Run<'_> {
    /// Runs all exports and syncs. If one fails, the others continue.
    ///
    /// # Errors
    /// `AlreadyReported` after a failure, whose message is printed here. `ReaderGone` if the reader of standard output
    /// ended. `Stopped` if a signal stopped the run.
    pub(crate) async fn run_all(&self, client: &Client, all: &[ListWork]) -> Result<(), Ending> {
        let verbose = self.common.verbose > 0;
        for list in all.iter().map(ListWork::list) {
            if let Some(fields) = client.config().fields_of(list) {
                stderr_line(&format!("{}: the setting lists {fields}", dashed(list)));
            }
        }
        let signals = Signals::take()?;
        let initial = all.iter().map(ListWork::begin).collect();
        let progress = ProgressLine::start(initial, self.to_stdout, verbose);
        let receipts = |outcomes: &[Result<Done, Error>]| -> Vec<Entry> {
            let entries = all.iter().enumerate().map(|(index, work)| {
                let (done, error) = match outcomes.get(index) {
                    Some(Ok(done)) => {
                        let why = done.shortfall(&work.place());
                        (
                            done.clone(),
                            why.map(|why| Error::new(ErrorKind::Incomplete, why)),
                        )
                    }
                    outcome => {
                        let error = outcome.and_then(|outcome| outcome.as_ref().err());
                        (work.unfinished(progress.last(index)), error.cloned())
                    }
                };
                let mut report = error.map(|error| error.report());
                if let (Some(report), Some(code)) = (&mut report, signals.caught())
                    && report.kind == ErrorKind::Cancelled.name()
                {
                    report.exit_code = code;
                }
                Entry {
                    done,
                    error: report,
                }
            });
            entries.collect()
        };
        if let Some(path) = self.receipt {
            receipts::write(path, &receipts(&[]), false)?;
        }
        let running = all.iter().enumerate().map(|(index, work)| {
            let note = {
                let progress = &progress;
                let mut restarted = None;
                move |receipt: &Receipt| {
                    if restarted.is_none() {
                        restarted = work.restarted(receipt);
                        if let Some(why) = &restarted {
                            progress.warn(&format!("warning: {}: {why}", dashed(work.list())));
                        }
                    }
                    progress.note(index, receipt);
                }
            };
            work.run(client, signals.stop(), note)
        });
        let outcomes: Vec<Result<Done, Error>> =
            stream::iter(running).buffered(self.width).collect().await;
        progress.end();
        let mut errors = outcomes.iter().filter_map(|outcome| outcome.as_ref().err());
        let has_error = |kind| errors.clone().any(|error| error.kind() == kind);
        if self.to_stdout && has_error(ErrorKind::Io) && reader_gone() {
            if let Some(path) = self.receipt {
                receipts::write(path, &receipts(&outcomes), false)?;
            }
            return Err(Ending::ReaderGone);
        }
        let was_stopped = has_error(ErrorKind::Cancelled);
        let mut kind = None;
        for (work, outcome) in all.iter().zip(&outcomes) {
            let Ok(done) = outcome else { continue };
            let shortfall = done.shortfall(&work.place());
            kind = kind.or(shortfall.is_some().then_some(ErrorKind::Incomplete));
            if shortfall.is_none() {
                stderr_line(&done.summary(work.list(), &work.place()));
            }
            for text in shortfall
                .into_iter()
                .chain(done.differences())
                .chain(done.misspelled())
            {
                warn(work.list(), &text);
            }
        }
        // The sandbox ends with the run, so work that was read from it cannot be continued.
        let is_resumable = !self.common.sandbox && all.iter().any(|work| work.is_resumable(client));
        print_failures(all, &outcomes, is_resumable, verbose);
        if let Some(path) = self.receipt {
            // If no work is complete, the reader of a pipe may have ended as well.
            let is_any_complete = outcomes.iter().any(Result::is_ok);
            receipts::write(path, &receipts(&outcomes), is_any_complete)?;
        }
        match (signals.caught(), errors.next().map(Error::kind).or(kind)) {
            (Some(code), _) if was_stopped => Err(Ending::Stopped(code)),
            (_, Some(kind)) => Err(Ending::AlreadyReported(kind)),
            (_, None) => Ok(()),
        }
    }
}

/// Prints a line for each failure, which names the failed lists if the run has several lists. If work can be resumed,
/// the last line says how.
fn print_failures(
    all: &[ListWork],
    outcomes: &[Result<Done, Error>],
    is_resumable: bool,
    verbose: bool,
) {
    // With refused credentials, every list fails with the same message, which is printed once.
    let mut failures: Vec<(&Error, String)> = Vec::new();
    for (work, outcome) in all.iter().zip(outcomes) {
        let Err(error) = outcome else { continue };
        let name = dashed(work.list());
        let mut known = failures.iter_mut();
        match known.find(|(other, _)| other.to_string() == error.to_string()) {
            Some((_, lists)) => *lists += &format!(", {name}"),
            None => failures.push((error, name)),
        }
    }
    for (index, (error, lists)) in failures.iter().enumerate() {
        let place = match all.len() {
            1 => String::new(),
            _ => format!("{lists}: "),
        };
        let shows_hint = is_resumable && index + 1 == failures.len();
        let WaysOut { resume, restart } = WAYS_OUT;
        // True if the same command may succeed when it is repeated: the failure may pass, or it concerns files or a
        // stop, where users know whether it has passed.
        let may_pass = error.is_retryable()
            || matches!(
                error.kind(),
                ErrorKind::Cancelled
                    | ErrorKind::Io
                    | ErrorKind::Path
                    | ErrorKind::StorageFull
                    | ErrorKind::Internal
            );
        let hint = shows_hint.then(|| {
            let first = if may_pass {
                "to continue, "
            } else {
                "after that is fixed, "
            };
            format!("{first}{resume}; to begin again, {restart}")
        });
        print_error(error, &place, hint.as_deref(), verbose);
    }
}
