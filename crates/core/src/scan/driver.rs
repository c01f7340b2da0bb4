//! Fetches the pages that the sequence wants, and hands on what is new.

use super::ScanOptions;
use super::join::{Joiner, Slice};
use super::position::{Batch, ScanState};
use super::receipt::{ASSUMES, Basis, Completeness, Receipt};
use super::sequence::{AHEAD, AHEAD_UNPACED, Joined, Sequence, lost};
use super::unknown_fields::UnknownFields;
use crate::client::Client;
use crate::clock::{self, Time};
use crate::error::{Error, ErrorKind, Result};
use crate::list::check_limit;
use crate::page::Page;
use crate::record::IdentityKey;
use crate::request::memory::ScanMetrics;
use crate::settings::REQUESTS_PER_SECOND;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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
    unknown: UnknownFields,
    metrics: Arc<ScanMetrics>,
    started: Time,
    /// For how many seconds the budget could not be reached before.
    unreachable_before: f64,
    /// Under which key of the response the records stand, once that is known.
    records_key: Option<String>,
    identity_key: IdentityKey,
}

impl Driver {
    pub(super) fn new(
        client: Client,
        resource: Resource,
        mut options: ScanOptions,
        receipt: Arc<Mutex<Receipt>>,
    ) -> Self {
        let mut joiner = Joiner::default();
        let mut identity_key = IdentityKey::random();
        if let Some(resume) = options.resume.take() {
            let page_size = options.page_size.or(resource.shape().max_limit);
            joiner.resume(&resume, page_size.unwrap_or(1));
            identity_key = resume.state.key;
        }
        Driver {
            sequence: Sequence::new(joiner, ahead(&client)),
            unreachable_before: client.budget().seconds_unreachable,
            client,
            resource,
            receipt,
            underway: JoinSet::new(),
            unknown: UnknownFields::default(),
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
        self.options.arguments.check(operation)
    }

    /// Reads the list once and hands out its records as they come.
    async fn read(&mut self, batches: &Sender<Result<Batch>>) -> Result<()> {
        loop {
            let joined = self.next_page().await?;
            let end = joined.delivery.end;
            let batch = self.deliver(joined);
            let nothing = batch.records.is_empty() && batch.late.is_empty();
            if !nothing && batches.send(Ok(batch)).await.is_err() {
                return Ok(());
            }
            if end {
                self.conclude();
                return Ok(());
            }
        }
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
            self.metrics.needed.send_replace(self.sequence.needed());
            let (request, page) = match self.underway.join_next().await {
                Some(Ok(arrived)) => arrived,
                Some(Err(ended)) if ended.is_panic() => {
                    return Err(Error::panicked("a request for a page"));
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
        receipt.duplicates_dropped = joiner.duplicates;
        receipt.seams_repaired = joiner.repairs;
        receipt.total_first.get_or_insert(pagination.total);
        receipt.total_last = Some(pagination.total);
        receipt.seconds = seconds;
        let counts = self.metrics.counts();
        receipt.requests = counts.requests;
        receipt.retries = counts.retries;
        receipt.rate_limited = counts.rate_limited;
        receipt.seconds_waited_for_budget = counts.waited.as_secs_f64();
        receipt.seconds_backed_off = counts.backed_off.as_secs_f64();
        let budget_use = receipt.budget.get_or_insert_default();
        budget_use.note(self.client.budget(), self.unreachable_before);
        receipt.budget_used = receipt.requests as f64 / budget;
        receipt.doubts = joiner.evidence.doubts().to_vec();
    }

    /// What a joined page has brought.
    fn deliver(&mut self, joined: Joined<Page>) -> Batch {
        let (page, delivery) = (joined.page, joined.delivery);
        let record = |index: &usize| page.records.get(*index).cloned();
        let fresh = delivery.fresh.iter();
        let records: Vec<_> = fresh.filter_map(|(index, _)| record(index)).collect();
        let late = delivery.late.iter().filter_map(record).collect();
        self.unknown.count(self.resource.shape(), &records);
        let joiner = &self.sequence.joiner;
        let state = ScanState {
            key: self.identity_key,
            edge: joiner.edge(),
            evidence: joiner.evidence.clone(),
        };
        let mut receipt = self.receipt();
        receipt.records += records.len() as u64;
        Batch {
            records,
            late,
            receipt: receipt.clone(),
            unknown: self.unknown.clone(),
            entries: delivery.fresh.into_iter().map(|(_, entry)| entry).collect(),
            state,
            _claim: page.claim,
        }
    }

    /// Completes the receipt.
    fn conclude(&self) {
        let mut receipt = self.receipt();
        self.unknown.read(&mut receipt);
        let evidence = &self.sequence.joiner.evidence;
        receipt.doubts = evidence.doubts().to_vec();
        if !receipt.doubts.is_empty() {
            receipt.completeness = Completeness::NotProven;
            return;
        }
        receipt.completeness = Completeness::Proven;
        receipt.basis = Some(match evidence.is_counted() {
            true => Basis::Counted,
            false => Basis::Joined,
        });
        receipt.assumes = Some(ASSUMES.to_owned());
    }
}

/// How many pages are read ahead at most.
fn ahead(client: &Client) -> usize {
    match client.config().paced {
        true => AHEAD,
        false => AHEAD_UNPACED,
    }
}
