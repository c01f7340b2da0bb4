//! Fetches the pages that the sequence wants, and hands on what is new.

use super::position::Batch;
use super::receipt::{Completeness, Receipt};
use super::sequence::{AHEAD, AHEAD_UNPACED, Joined, Sequence, lost};
use super::stitch::Slice;
use super::tally::Tally;
use super::{Consistency, ScanOptions};
use crate::client::Client;
use crate::clock::{self, Time};
use crate::config::REQUESTS_PER_SECOND;
use crate::error::{Error, ErrorKind, Result};
use crate::list::check_limit;
use crate::meter::Meter;
use crate::page::Page;
use crate::record::RawRecord;
use std::sync::{Arc, Mutex, PoisonError};
use talentdata_types::Resource;
use tokio::sync::mpsc::Sender;
use tokio::task::JoinSet;

/// One scan at work.
pub(super) struct Driver {
    client: Client,
    resource: Resource,
    options: ScanOptions,
    receipt: Arc<Mutex<Receipt>>,
    sequence: Sequence<Page>,
    /// Requests under way, each with its ticket; they end with the driver.
    underway: JoinSet<(u64, Result<(Page, Slice)>)>,
    tally: Tally,
    meter: Arc<Meter>,
    started: Time,
    key: Option<String>,
}

impl Driver {
    pub(super) fn new(
        client: Client,
        resource: Resource,
        options: ScanOptions,
        receipt: Arc<Mutex<Receipt>>,
    ) -> Self {
        let ahead = match client.config().paced {
            true => AHEAD,
            false => AHEAD_UNPACED,
        };
        Driver {
            client,
            resource,
            receipt,
            sequence: Sequence::new(options.consistency, options.resume.as_ref(), ahead),
            underway: JoinSet::new(),
            tally: Tally::new(resource.shape()),
            meter: Arc::default(),
            started: clock::now(),
            key: resource.shape().record_key.map(str::to_owned),
            options,
        }
    }

    /// Runs to the end of the list, to an error, or until nobody listens any more.
    pub(super) async fn run(mut self, batches: Sender<Result<Batch>>) {
        if let Err(error) = check_limit(self.resource, "page_size", self.options.page_size) {
            // Whoever stopped listening does not want the error either.
            let _ = batches.send(Err(error)).await;
            return;
        }
        loop {
            match self.step().await {
                Ok((batch, end)) => {
                    if !batch.records.is_empty() && batches.send(Ok(batch)).await.is_err() {
                        return;
                    }
                    if end {
                        return self.conclude();
                    }
                }
                Err(error) => {
                    let _ = batches.send(Err(error)).await;
                    return;
                }
            }
        }
    }

    /// Waits for the next page that joins; tells its new records, and whether the list ends there.
    async fn step(&mut self) -> Result<(Batch, bool)> {
        loop {
            if let Some(joined) = self.sequence.join()? {
                let end = joined.end;
                return Ok((self.note(joined), end));
            }
            while let Some((ticket, offset)) = self.sequence.want() {
                self.fetch(ticket, offset);
            }
            let (ticket, page) = match self.underway.join_next().await {
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
            if let (None, Ok((page, _))) = (&self.key, &page)
                && !page.records.is_empty()
            {
                self.key = Some(page.key.clone());
            }
            self.sequence.arrive(ticket, page);
        }
    }

    fn fetch(&mut self, ticket: u64, offset: u64) {
        let (client, resource, key) = (self.client.clone(), self.resource, self.key.clone());
        let meter = Arc::clone(&self.meter);
        let limit = self.options.page_size.or(resource.shape().max_limit);
        self.underway.spawn(async move {
            let page = client
                .fetch_page(resource, limit, offset, key.as_deref(), Some(meter))
                .await;
            (
                ticket,
                page.map(|page| {
                    let slice = slice(&page, offset);
                    (page, slice)
                }),
            )
        });
    }

    /// Brings the receipt up to date after a page was joined.
    fn note(&mut self, joined: Joined<Page>) -> Batch {
        let Joined {
            page,
            fresh,
            offset,
            ..
        } = joined;
        let mut records = page.records;
        let mut fresh = fresh.into_iter().peekable();
        let mut indices = 0..;
        records.retain(|_| {
            indices
                .next()
                .is_some_and(|index| fresh.next_if_eq(&index).is_some())
        });
        self.tally.count(&records);
        let seconds = clock::now().saturating_sub(self.started).as_secs_f64();
        // The budget of a second may be spent at its beginning.
        let budget = f64::from(REQUESTS_PER_SECOND) * seconds.max(1.0);
        let mut receipt = self.receipt.lock().unwrap_or_else(PoisonError::into_inner);
        receipt.records += records.len() as u64;
        receipt.pages += 1;
        receipt.duplicates_dropped = self.sequence.stitcher.duplicates;
        receipt.seams_repaired = self.sequence.stitcher.repairs;
        receipt.total_first.get_or_insert(page.pagination.total);
        receipt.total_last = Some(page.pagination.total);
        receipt.seconds = seconds;
        self.meter.read(&mut receipt);
        receipt.budget_used = receipt.requests as f64 / budget;
        receipt.doubts.clone_from(&self.sequence.stitcher.doubts);
        Batch {
            records,
            receipt: receipt.clone(),
            unknown: self.tally.unknown(),
            offset,
        }
    }

    fn conclude(self) {
        let mut receipt = self.receipt.lock().unwrap_or_else(PoisonError::into_inner);
        self.tally.unknown().read(&mut receipt);
        receipt.doubts = self.sequence.stitcher.doubts;
        receipt.completeness = match (self.options.consistency, receipt.doubts.is_empty()) {
            (Consistency::Fast, _) => Completeness::NotChecked,
            (Consistency::Complete, true) => Completeness::Proven,
            (Consistency::Complete, false) => Completeness::NotProven,
        };
    }
}

fn slice(page: &Page, offset: u64) -> Slice {
    Slice {
        offset,
        ids: page.records.iter().map(RawRecord::identity).collect(),
        has_more: page.pagination.has_more,
        total: u64::try_from(page.pagination.total).unwrap_or(0),
    }
}
