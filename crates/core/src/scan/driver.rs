//! Fetches the pages that the sequence wants, and hands on what is new.

use super::evidence::Evidence;
use super::join::{Joiner, Slice};
use super::position::Batch;
use super::receipt::{Basis, Completeness, Receipt};
use super::rfc3339;
use super::sequence::{AHEAD, AHEAD_UNPACED, Joined, Sequence, lost};
use super::unknown_fields::UnknownFields;
use super::{Consistency, ScanOptions, snapshot};
use crate::client::Client;
use crate::clock::{self, Time};
use crate::error::{Error, ErrorKind, Result};
use crate::list::check_limit;
use crate::page::Page;
use crate::record::IdentityKey;
use crate::request::metrics::ScanMetrics;
use crate::settings::REQUESTS_PER_SECOND;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;
use talentdata_types::{Pagination, Resource};
use tokio::sync::mpsc::Sender;
use tokio::task::JoinSet;

/// One scan at work.
pub(super) struct Driver {
    client: Client,
    resource: Resource,
    options: ScanOptions,
    receipt: Arc<Mutex<Receipt>>,
    sequence: Sequence<Page>,
    /// Requests under way, each with its request; they end with the driver.
    underway: JoinSet<(u64, Result<(Page, Slice)>)>,
    unknown_fields: UnknownFields,
    metrics: Arc<ScanMetrics>,
    started: Time,
    /// For how many seconds the budget could not be reached before.
    lost_before: f64,
    /// Under which key of the response the records stand, once that is known.
    pub(super) records_key: Option<String>,
    pub(super) identity_key: IdentityKey,
}

impl Driver {
    pub(super) fn new(
        client: Client,
        resource: Resource,
        options: ScanOptions,
        receipt: Arc<Mutex<Receipt>>,
    ) -> Self {
        let mut joiner = Joiner::new(options.consistency);
        let mut identity_key = IdentityKey::random();
        if let Some(position) = &options.resume {
            let page_size = options.page_size.or(resource.shape().max_limit);
            joiner.resume(position, page_size.unwrap_or(1));
            if position.offset.is_some() {
                identity_key = position.key;
            }
        }
        if let Some(part) = &options.part {
            let contents = part.contents();
            identity_key = contents.identities;
            let page_size = options.page_size.or(resource.shape().max_limit);
            joiner.read_part(&contents.piece, page_size.unwrap_or(1));
        }
        Driver {
            sequence: Sequence::new(joiner, ahead(&client)),
            lost_before: client.budget().seconds_lost,
            client,
            resource,
            receipt,
            underway: JoinSet::new(),
            unknown_fields: UnknownFields::new(resource.shape()),
            metrics: Arc::default(),
            started: clock::now(),
            records_key: resource.shape().record_key.map(str::to_owned),
            identity_key,
            options,
        }
    }

    /// Runs to the end of the list, to an error, or until nobody listens any more.
    pub(super) async fn run(mut self, batches: Sender<Result<Batch>>) {
        let outcome = match self.check() {
            Err(error) => Err(error),
            Ok(()) if self.options.consistency == Consistency::Snapshot => {
                snapshot::read(&mut self, &batches).await
            }
            Ok(()) => self.read(&batches).await,
        };
        if let Err(error) = outcome {
            // Whoever stopped listening does not want the error either.
            let _ = batches.send(Err(error)).await;
        }
    }

    fn check(&self) -> Result<()> {
        check_limit(self.resource, "page_size", self.options.page_size)?;
        let operation = self.resource.shape().operation;
        self.options.arguments.check(operation)?;
        if self.options.consistency == Consistency::Snapshot && self.options.resume.is_some() {
            let message =
                "resume: a scan with consistency snapshot cannot be resumed; leave it out";
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        if let Some(part) = &self.options.part {
            part.check(self.resource, &self.options, self.client.config())?;
        }
        Ok(())
    }

    /// Reads the list once and hands out its records as they come.
    async fn read(&mut self, batches: &Sender<Result<Batch>>) -> Result<()> {
        loop {
            let joined = self.next_page().await?;
            let batch = self.deliver(joined.page, joined.fresh, joined.behind);
            if !batch.records.is_empty() && batches.send(Ok(batch)).await.is_err() {
                return Ok(());
            }
            if joined.end {
                self.conclude(None);
                return Ok(());
            }
        }
    }

    /// Forgets the pass over the list that has just ended, to make another one.
    pub(super) fn start_over(&mut self) {
        let joiner = Joiner::new(self.options.consistency);
        self.sequence = Sequence::new(joiner, ahead(&self.client));
        // Pages that were read ahead may still be under way.
        self.underway = JoinSet::new();
        self.receipt().total_first = None;
    }

    /// What the current pass over the list has seen.
    pub(super) fn evidence(&mut self) -> &mut Evidence {
        &mut self.sequence.joiner.evidence
    }

    fn receipt(&self) -> MutexGuard<'_, Receipt> {
        self.receipt.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the next page that joins.
    pub(super) async fn next_page(&mut self) -> Result<Joined<Page>> {
        loop {
            if let Some(joined) = self.sequence.join()? {
                self.note(&joined.page.pagination);
                return Ok(joined);
            }
            while let Some((request, offset)) = self.sequence.want() {
                self.fetch(request, offset);
            }
            if let Some(offset) = self.sequence.needed() {
                self.client.needs_page(&self.metrics, offset);
            }
            let (request, page) = match self.underway.join_next().await {
                Some(Ok(arrived)) => arrived,
                Some(Err(ended)) if ended.is_panic() => {
                    return Err(Error::new(
                        ErrorKind::Internal,
                        "a page request has panicked",
                    ));
                }
                Some(Err(_)) => {
                    return Err(Error::new(ErrorKind::Cancelled, "the scan was stopped"));
                }
                None => return Err(lost()),
            };
            if let (None, Ok((page, _))) = (&self.records_key, &page)
                && !page.records.is_empty()
            {
                self.records_key = Some(page.key.clone());
            }
            self.sequence.arrive(request, page);
        }
    }

    fn fetch(&mut self, request: u64, offset: u64) {
        let (client, resource) = (self.client.clone(), self.resource);
        let (key, identity_key) = (self.records_key.clone(), self.identity_key);
        let metrics = Arc::clone(&self.metrics);
        let limit = self.options.page_size.or(resource.shape().max_limit);
        let arguments = self.options.arguments.clone();
        self.underway.spawn(async move {
            let page = client
                .fetch_page(
                    resource,
                    &arguments,
                    limit,
                    offset,
                    key.as_deref(),
                    Some(metrics),
                )
                .await;
            (
                request,
                page.map(|page| {
                    let slice = Slice::of(&page, offset, &identity_key);
                    (page, slice)
                }),
            )
        });
    }

    /// Brings the receipt up to date after a page was joined.
    fn note(&self, pagination: &Pagination) {
        let seconds = clock::now().saturating_sub(self.started).as_secs_f64();
        // The budget of a second may be spent at its beginning.
        let budget = f64::from(REQUESTS_PER_SECOND) * seconds.max(1.0);
        let joiner = &self.sequence.joiner;
        let mut receipt = self.receipt();
        receipt.pages += 1;
        receipt.note_total(u64::try_from(pagination.total).unwrap_or(0));
        receipt.duplicates_dropped = joiner.duplicates;
        receipt.seams_repaired = joiner.repairs;
        receipt.total_first.get_or_insert(pagination.total);
        receipt.total_last = Some(pagination.total);
        receipt.seconds = seconds;
        let counts = self.metrics.counts();
        receipt.requests = counts.requests;
        receipt.retries = counts.retries;
        receipt.rate_limited = counts.rate_limited;
        receipt.seconds_waited_for_budget = counts.seconds_waited;
        receipt.seconds_backed_off = counts.seconds_backed_off;
        let budget_use = receipt.budget.get_or_insert_default();
        budget_use.note(self.client.budget(), self.lost_before);
        receipt.budget_used = receipt.requests as f64 / budget;
        receipt.doubts = joiner.evidence.doubts().to_vec();
    }

    /// The records of a joined page that are new, of which the first `behind` stand behind the frontier.
    pub(super) fn deliver(&mut self, page: Page, fresh: Vec<usize>, behind: usize) -> Batch {
        let mut records = page.records;
        let mut fresh = fresh.into_iter().peekable();
        let mut indices = 0..;
        records.retain(|_| {
            indices
                .next()
                .is_some_and(|index| fresh.next_if_eq(&index).is_some())
        });
        self.unknown_fields.count(&records);
        let joiner = &self.sequence.joiner;
        let mut receipt = self.receipt();
        receipt.records += records.len() as u64;
        Batch {
            records,
            receipt: receipt.clone(),
            unknown: self.unknown_fields.unknown(),
            offset: joiner.offset(),
            behind,
            evidence: joiner.evidence.clone(),
            key: self.identity_key,
            _claim: page.claim,
        }
    }

    /// Completes the receipt; `instant` is when two passes that agree were apart.
    pub(super) fn conclude(&self, instant: Option<SystemTime>) {
        let mut receipt = self.receipt();
        self.unknown_fields.unknown().read(&mut receipt);
        let evidence = &self.sequence.joiner.evidence;
        receipt.doubts = evidence.doubts().to_vec();
        receipt.completeness = match (self.options.consistency, receipt.doubts.is_empty()) {
            (Consistency::Fast, _) => Completeness::NotChecked,
            (_, true) => Completeness::Proven,
            (_, false) => Completeness::NotProven,
        };
        receipt.basis = match (
            receipt.completeness,
            instant,
            self.sequence.joiner.is_counted(),
        ) {
            (Completeness::Proven, Some(_), _) => Some(Basis::Twice),
            (Completeness::Proven, None, true) => Some(Basis::Counted),
            (Completeness::Proven, None, false) => Some(Basis::Joined),
            _ => None,
        };
        receipt.snapshot_at = instant.map(rfc3339::utc);
    }
}

/// How many pages are read ahead at most.
fn ahead(client: &Client) -> usize {
    match client.config().paced {
        true => AHEAD,
        false => AHEAD_UNPACED,
    }
}

/// A task that ends with its owner.
pub(crate) struct AbortOnDrop<T>(pub(crate) tokio::task::JoinHandle<T>);

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
