//! Runs exports and syncs: one progress line, one file of receipts, one way to end.

use crate::output::{Ending, reader_gone, remark, say};
use crate::progress::Progress;
use crate::signals::Signals;
use crate::{names, receipts};
use serde::Serialize;
use std::future::poll_fn;
use std::path::Path;
use std::task::Poll;
use talentdata_columns::export::{Export, Target};
use talentdata_core::scan::{Completeness, Receipt};
use talentdata_core::types::Resource;
use talentdata_core::{Client, Error, ErrorKind};
use talentdata_mirror::{Sync, SyncReceipt};
use tokio::sync::Semaphore;

/// So many fields are named in a warning.
const SHOWN: usize = 5;

/// What is run for one list.
pub(crate) enum Work {
    Export(Export),
    Sync(Sync),
}

/// What is left of it at the end.
#[derive(Clone, Serialize)]
#[serde(untagged)]
pub(crate) enum Done {
    Export(Box<Receipt>),
    Sync(Box<SyncReceipt>),
}

impl Work {
    fn list(&self) -> Resource {
        match self {
            Work::Export(export) => export.resource,
            Work::Sync(sync) => sync.resource,
        }
    }

    async fn run(
        &self,
        client: &Client,
        stop: impl Future<Output = ()>,
        note: impl FnMut(&Receipt),
    ) -> Result<Done, Error> {
        Ok(match self {
            Work::Export(export) => Done::Export(export.run(client, stop, note).await?.into()),
            Work::Sync(sync) => Done::Sync(sync.run(client, stop, note).await?.into()),
        })
    }

    /// What there is to say of one that has not ended, or not well: what it had done, as far as is known.
    fn unfinished(&self, last: Option<Receipt>) -> Done {
        let scan = Receipt {
            resource: self.list().name().to_owned(),
            completeness: Completeness::Unfinished,
            ..last.unwrap_or_default()
        };
        match self {
            Work::Export(export) => Done::Export(Box::new(Receipt {
                parameters: export.parameters(),
                ..scan
            })),
            Work::Sync(_) => Done::Sync(Box::new(SyncReceipt {
                scan,
                ..SyncReceipt::default()
            })),
        }
    }

    /// Why what it has done may be incomplete.
    fn shortfall(&self, done: &Done) -> Option<String> {
        match (self, done) {
            (Work::Export(export), Done::Export(receipt)) => {
                let error = receipt.clone().require_proven().err()?;
                let place = match &export.target {
                    Target::File(path) => path.display().to_string(),
                    Target::Stdout => "standard output".into(),
                };
                Some(format!(
                    "{}; {place} was written nevertheless, with {} records",
                    error.message(),
                    receipt.records
                ))
            }
            (_, Done::Sync(receipt)) => receipt.shortfall.clone(),
            _ => None,
        }
    }
}

impl Done {
    pub(crate) fn scan(&self) -> &Receipt {
        match self {
            Done::Export(receipt) => receipt,
            Done::Sync(receipt) => &receipt.scan,
        }
    }

    /// What the records have that their schema does not have, or the other way round.
    fn differences(&self) -> Option<String> {
        let differences = self.scan().schema.as_ref()?;
        let kinds = [
            ("not in the schema", &differences.new_fields),
            ("missing", &differences.missing_fields),
            ("of another type", &differences.other_types),
        ];
        let found = kinds.iter().filter(|(_, fields)| !fields.is_empty());
        let found = found.map(|(what, fields)| {
            let mut names: Vec<&str> = fields.keys().take(SHOWN).map(String::as_str).collect();
            if fields.len() > SHOWN {
                names.push("...");
            }
            format!("{what}: {}", names.join(", "))
        });
        let found: Vec<String> = found.collect();
        (!found.is_empty()).then(|| {
            format!(
                "the records differ from the schema ({}); the receipt has counts and examples",
                found.join("; ")
            )
        })
    }
}

/// How they are run.
pub(crate) struct Run<'a> {
    pub(crate) client: &'a Client,
    /// The file of their receipts.
    pub(crate) receipt: Option<&'a Path>,
    pub(crate) to_stdout: bool,
    pub(crate) verbose: bool,
    /// How many run side by side.
    pub(crate) width: usize,
}

impl Run<'_> {
    /// Runs all of them; each goes on whatever becomes of the others.
    ///
    /// # Errors
    /// What failed has been said; `hint` says how to continue after an error.
    pub(crate) async fn all(
        &self,
        all: &[Work],
        hint: impl Fn(&Error) -> Option<String>,
        before_exit: impl FnOnce() + Send + 'static,
    ) -> Result<Vec<Done>, Ending> {
        let signals = Signals::take(before_exit)?;
        if let Some(path) = self.receipt {
            let receipts: Vec<Done> = all.iter().map(|work| work.unfinished(None)).collect();
            receipts::write(path, &receipts, false)?;
        }
        let progress = Progress::start(all.len(), self.to_stdout, self.verbose);
        let turns = Semaphore::new(self.width);
        let running = all.iter().enumerate().map(async |(index, work)| {
            let _turn = turns.acquire().await;
            let stop = async {
                signals.stopped().await;
            };
            let note = |receipt: &Receipt| progress.note(index, receipt);
            work.run(self.client, stop, note).await
        });
        let outcomes = join(running).await;
        progress.end();
        let failed = |kind: ErrorKind| {
            let mut errors = outcomes.iter().filter_map(|outcome| outcome.as_ref().err());
            errors.any(|error| error.kind() == kind)
        };
        if self.to_stdout && failed(ErrorKind::Io) && reader_gone() {
            return Err(Ending::ReaderGone);
        }
        let doubted = say_warnings(all, &outcomes);
        let failure = say_failures(all, &outcomes, hint, self.verbose);
        if let Some(path) = self.receipt {
            let ended = all.iter().zip(&outcomes).enumerate();
            let receipts = ended.map(|(index, (work, outcome))| match outcome {
                Ok(done) => done.clone(),
                Err(_) => work.unfinished(progress.last(index)),
            });
            // The reader of a pipe may be gone too, where nothing is complete.
            let any = outcomes.iter().any(Result::is_ok);
            receipts::write(path, &receipts.collect::<Vec<_>>(), any)?;
        }
        let kind = failure.or(doubted.then_some(ErrorKind::Incomplete));
        match (signals.caught(), kind) {
            (Some(code), Some(_)) if failed(ErrorKind::Cancelled) => Err(Ending::Stopped(code)),
            (_, Some(kind)) => Err(Ending::Said(kind)),
            (_, None) => Ok(outcomes.into_iter().flatten().collect()),
        }
    }
}

/// What all of them come to, which run side by side.
async fn join<F: Future>(futures: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut running: Vec<_> = futures.map(Box::pin).collect();
    let mut ended: Vec<Option<F::Output>> = running.iter().map(|_| None).collect();
    poll_fn(|context| {
        for (future, ended) in running.iter_mut().zip(&mut ended) {
            if ended.is_none()
                && let Poll::Ready(output) = future.as_mut().poll(context)
            {
                *ended = Some(output);
            }
        }
        match ended.iter().all(Option::is_some) {
            true => Poll::Ready(ended.drain(..).flatten().collect()),
            false => Poll::Pending,
        }
    })
    .await
}

/// A line for each list that may be incomplete, or differs from its schema; whether one may be incomplete.
fn say_warnings(all: &[Work], outcomes: &[Result<Done, Error>]) -> bool {
    let mut doubted = false;
    for (work, outcome) in all.iter().zip(outcomes) {
        let Ok(done) = outcome else { continue };
        let shortfall = work.shortfall(done);
        doubted |= shortfall.is_some();
        for text in shortfall.into_iter().chain(done.differences()) {
            remark(&format!("warning: {}: {text}", names::dashed(work.list())));
        }
    }
    doubted
}

/// A line for each failure, with the lists it concerns where there are several, and how to continue at the end of the
/// last; returns the kind of the first.
fn say_failures(
    all: &[Work],
    outcomes: &[Result<Done, Error>],
    hint: impl Fn(&Error) -> Option<String>,
    verbose: bool,
) -> Option<ErrorKind> {
    // Refused credentials fail every list with the same message, which needs to be said once.
    let mut failures: Vec<(&Error, Vec<String>)> = Vec::new();
    for (work, outcome) in all.iter().zip(outcomes) {
        let Err(error) = outcome else { continue };
        let name = names::dashed(work.list());
        let same = |known: &&mut (&Error, _)| known.0.to_string() == error.to_string();
        match failures.iter_mut().find(same) {
            Some((_, lists)) => lists.push(name),
            None => failures.push((error, vec![name])),
        }
    }
    for (index, (error, lists)) in failures.iter().enumerate() {
        let place = match all.len() {
            1 => String::new(),
            _ => format!("{}: ", lists.join(", ")),
        };
        let is_last = index + 1 == failures.len();
        let hint = is_last.then(|| hint(error)).flatten();
        say(error, &place, hint.as_deref(), verbose);
    }
    failures.first().map(|(error, _)| error.kind())
}
