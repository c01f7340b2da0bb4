//! Runs exports and syncs: one progress line, one file of receipts, one way to end.

use crate::ending::{Ending, say};
use crate::output::{reader_gone, remark};
use crate::progress::Progress;
use crate::signals::Signals;
use crate::{names, receipts};
use serde::Serialize;
use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use talentdata_core::scan::Receipt;
use talentdata_core::types::Resource;
use talentdata_core::{Client, Error, ErrorKind};
use tokio::sync::Semaphore;
use tokio::task::{JoinSet, LocalSet};

/// What is run for one list.
pub(crate) trait Job: Clone + 'static {
    /// What is left of it at the end.
    type Done: Clone + Serialize + 'static;

    /// The list.
    fn list(&self) -> Resource;

    /// Runs it to its end, or until `stop` completes.
    fn run(
        &self,
        client: &Client,
        stop: impl Future<Output = ()>,
        note: impl FnMut(&Receipt),
    ) -> impl Future<Output = Result<Self::Done, Error>>;

    /// What there is to say of one that has not ended, or not well: what it had done, as far as is known.
    fn unfinished(&self, last: Option<&Receipt>) -> Self::Done;

    /// Why the outcome may be incomplete.
    fn doubt(&self, done: &Self::Done) -> Option<String>;

    /// What else is worth a warning.
    fn warning(&self, done: &Self::Done) -> Option<String>;
}

/// How jobs are run.
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
    /// Runs all of them; each goes on whatever becomes of the others. What is written of them, and the outcomes.
    ///
    /// # Errors
    /// What failed has been said; `hint` says how to continue after an error.
    pub(crate) async fn all<J: Job>(
        &self,
        jobs: &[J],
        hint: impl Fn(&Error) -> Option<String>,
        before_exit: impl FnOnce() + Send + 'static,
    ) -> Result<(Rc<Progress>, Vec<J::Done>), Ending> {
        let signals = Signals::take(before_exit)?;
        if let Some(path) = self.receipt {
            let receipts = jobs.iter().map(|job| job.unfinished(None));
            receipts::begin(path, &receipts.collect::<Vec<_>>())?;
        }
        let progress = Rc::new(Progress::start(self.to_stdout, self.verbose));
        let reached = Rc::new(RefCell::new(vec![None; jobs.len()]));
        let local = LocalSet::new();
        let outcomes = self.outcomes(jobs, &signals, &progress, &reached);
        let outcomes = local.run_until(outcomes).await;
        progress.end();
        let failed = |kind: ErrorKind| {
            let mut errors = outcomes.iter().filter_map(|outcome| outcome.as_ref().err());
            errors.any(|error| error.kind() == kind)
        };
        if self.to_stdout && failed(ErrorKind::Io) && reader_gone() {
            return Err(Ending::ReaderGone);
        }
        let doubted = say_warnings(jobs, &outcomes);
        let failure = say_failures(jobs, &outcomes, hint, self.verbose);
        if let Some(path) = self.receipt {
            let reached = reached.borrow();
            let rows = jobs.iter().zip(&outcomes).zip(reached.iter());
            let receipts = rows.map(|((job, outcome), last)| match outcome {
                Ok(done) => done.clone(),
                Err(_) => job.unfinished(last.as_ref()),
            });
            let any = outcomes.iter().any(Result::is_ok);
            receipts::end(path, &receipts.collect::<Vec<_>>(), any)?;
        }
        match (
            signals.caught(),
            failure.or(doubted.then_some(ErrorKind::Incomplete)),
        ) {
            (Some(signal), Some(_)) if failed(ErrorKind::Cancelled) => Err(Ending::Stopped(signal)),
            (_, Some(kind)) => Err(Ending::Said(kind)),
            (_, None) => Ok((progress, outcomes.into_iter().flatten().collect())),
        }
    }

    async fn outcomes<J: Job>(
        &self,
        jobs: &[J],
        signals: &Signals,
        progress: &Rc<Progress>,
        reached: &Rc<RefCell<Vec<Option<Receipt>>>>,
    ) -> Vec<Result<J::Done, Error>> {
        let turns = Arc::new(Semaphore::new(self.width));
        let mut running = JoinSet::new();
        for (index, job) in jobs.iter().cloned().enumerate() {
            let (client, signals, turns) =
                (self.client.clone(), signals.clone(), Arc::clone(&turns));
            let (progress, reached) = (Rc::clone(progress), Rc::clone(reached));
            running.spawn_local(async move {
                let _turn = turns.acquire().await;
                let stop = async {
                    signals.stopped().await;
                };
                let note = |receipt: &Receipt| {
                    progress.note(index, receipt);
                    reached.borrow_mut()[index] = Some(receipt.clone());
                };
                (index, job.run(&client, stop, note).await)
            });
        }
        let unended = || {
            Err(Error::new(
                ErrorKind::Internal,
                "internal error; please report it",
            ))
        };
        let mut outcomes: Vec<_> = jobs.iter().map(|_| unended()).collect();
        while let Some(ended) = running.join_next().await {
            if let Ok((index, outcome)) = ended {
                outcomes[index] = outcome;
            }
        }
        outcomes
    }
}

/// A line for each list that may be incomplete, or needs another warning; whether one may be incomplete.
fn say_warnings<J: Job>(jobs: &[J], outcomes: &[Result<J::Done, Error>]) -> bool {
    let mut doubted = false;
    for (job, outcome) in jobs.iter().zip(outcomes) {
        let Ok(done) = outcome else { continue };
        let doubt = job.doubt(done);
        doubted |= doubt.is_some();
        for text in doubt.into_iter().chain(job.warning(done)) {
            remark(&format!("warning: {}: {text}", names::dashed(job.list())));
        }
    }
    doubted
}

/// A line for each failure, with the lists it concerns where there are several, and how to continue at the end of the
/// last; returns the kind of the first.
fn say_failures<J: Job>(
    jobs: &[J],
    outcomes: &[Result<J::Done, Error>],
    hint: impl Fn(&Error) -> Option<String>,
    verbose: bool,
) -> Option<ErrorKind> {
    // Refused credentials fail every list with the same message, which needs to be said once.
    let mut failures: Vec<(&Error, Vec<String>)> = Vec::new();
    for (job, outcome) in jobs.iter().zip(outcomes) {
        let Err(error) = outcome else { continue };
        let name = names::dashed(job.list());
        let same = |known: &&mut (&Error, _)| known.0.to_string() == error.to_string();
        match failures.iter_mut().find(same) {
            Some((_, lists)) => lists.push(name),
            None => failures.push((error, vec![name])),
        }
    }
    for (index, (error, lists)) in failures.iter().enumerate() {
        let place = match jobs.len() {
            1 => String::new(),
            _ => format!("{}: ", lists.join(", ")),
        };
        let is_last = index + 1 == failures.len();
        let hint = is_last.then(|| hint(error)).flatten();
        say(error, &place, hint.as_deref(), verbose);
    }
    failures.first().map(|(error, _)| error.kind())
}
