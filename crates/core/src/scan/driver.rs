//! Fetches pages ahead, shows them to the stitcher in order, and hands on what is new.

use super::receipt::{Completeness, Receipt};
use super::stitch::{Slice, Stitcher, Verdict};
use super::tally::Tally;
use super::{AbortOnDrop, Consistency, ScanOptions};
use crate::client::Client;
use crate::clock::{self, Time};
use crate::config::REQUESTS_PER_SECOND;
use crate::error::{Error, ErrorKind, Result};
use crate::meter::Meter;
use crate::page::Page;
use crate::record::RawRecord;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use talentdata_types::Resource;
use tokio::sync::mpsc::Sender;

/// How many pages are under way or waiting at most. At 40 requests a second it covers answers that
/// take more than a second, and bounds the memory of a scan.
const AHEAD: usize = 48;

/// One scan at work.
pub(super) struct Driver {
    client: Client,
    resource: Resource,
    options: ScanOptions,
    receipt: Arc<Mutex<Receipt>>,
    stitcher: Stitcher,
    tally: Tally,
    meter: Arc<Meter>,
    started: Time,
    ahead: VecDeque<(u64, Fetch)>,
    /// Where the next page ahead begins.
    next: u64,
    /// The service's latest word on how many records there are; only a hint.
    total: u64,
    key: Option<String>,
}

/// A page to come, or one that waits to be shown again.
enum Fetch {
    Running(AbortOnDrop<Result<Page>>),
    Waiting(Page, Slice),
}

impl Driver {
    pub(super) fn new(
        client: Client,
        resource: Resource,
        options: ScanOptions,
        receipt: Arc<Mutex<Receipt>>,
    ) -> Self {
        Driver {
            client,
            resource,
            receipt,
            stitcher: Stitcher::new(options.consistency),
            tally: Tally::new(resource.shape()),
            meter: Arc::default(),
            started: clock::now(),
            options,
            ahead: VecDeque::new(),
            next: 0,
            total: 0,
            key: resource.shape().record_key.map(str::to_owned),
        }
    }

    /// Runs to the end of the list, to an error, or until nobody listens any more.
    pub(super) async fn run(mut self, batches: Sender<Result<Vec<RawRecord>>>) {
        loop {
            match self.step().await {
                Ok((batch, end)) => {
                    if !batch.is_empty() && batches.send(Ok(batch)).await.is_err() {
                        return;
                    }
                    if end {
                        return self.conclude();
                    }
                }
                Err(error) => {
                    // Whoever stopped listening does not want the error either.
                    let _ = batches.send(Err(error)).await;
                    return;
                }
            }
        }
    }

    /// Takes the next page in order and joins it.
    async fn step(&mut self) -> Result<(Vec<RawRecord>, bool)> {
        self.fetch_ahead();
        let Some((offset, fetch)) = self.ahead.pop_front() else {
            return Err(Error::new(ErrorKind::Internal, "a scan has lost its place"));
        };
        let (page, slice, again) = match fetch {
            Fetch::Running(mut task) => {
                let page = (&mut task.0).await.map_err(|_| {
                    Error::new(ErrorKind::Cancelled, "the scan was stopped").with_offset(offset)
                })??;
                let slice = slice(&page, offset);
                (page, slice, false)
            }
            Fetch::Waiting(page, slice) => (page, slice, true),
        };
        if self.key.is_none() && !page.records.is_empty() {
            self.key = Some(page.key.clone());
        }
        self.total = slice.total;
        match self.stitcher.judge(&slice, again)? {
            Verdict::Deliver { fresh, end } => {
                let batch: Vec<RawRecord> = fresh
                    .iter()
                    .filter_map(|index| page.records.get(*index).cloned())
                    .collect();
                self.note(&page, &batch);
                Ok((batch, end))
            }
            Verdict::First(earlier) => {
                tracing::debug!(offset, earlier, "the pages do not join; looking before");
                self.ahead.push_front((offset, Fetch::Waiting(page, slice)));
                let task = self.fetch(earlier);
                self.ahead.push_front((earlier, task));
                Ok((Vec::new(), false))
            }
            Verdict::Instead(other) => {
                let task = self.fetch(other);
                self.ahead.push_front((other, task));
                Ok((Vec::new(), false))
            }
        }
    }

    /// Keeps pages under way up to the total, of which only the first page has told.
    fn fetch_ahead(&mut self) {
        if self.ahead.is_empty() {
            self.next = self.stitcher.next_offset();
            self.push_back();
        }
        let overlap = u64::from(self.options.consistency == Consistency::Complete);
        while self.total > 0 && self.ahead.len() < AHEAD && self.next + overlap < self.total {
            self.push_back();
        }
    }

    fn push_back(&mut self) {
        let task = self.fetch(self.next);
        self.ahead.push_back((self.next, task));
        self.next = self.next.saturating_add(self.stitcher.stride());
    }

    fn fetch(&self, offset: u64) -> Fetch {
        let (client, resource, key) = (self.client.clone(), self.resource, self.key.clone());
        let meter = Arc::clone(&self.meter);
        let limit = self.options.page_size.or(resource.shape().max_limit);
        let page = async move {
            client
                .fetch_page(resource, limit, offset, key.as_deref(), Some(meter))
                .await
        };
        Fetch::Running(AbortOnDrop(tokio::spawn(page)))
    }

    /// Brings the receipt up to date after a page was joined.
    fn note(&mut self, page: &Page, batch: &[RawRecord]) {
        batch.iter().for_each(|record| self.tally.count(record));
        let seconds = clock::now().saturating_sub(self.started).as_secs_f64();
        let budget = f64::from(REQUESTS_PER_SECOND) * seconds;
        let mut receipt = self.receipt.lock().unwrap_or_else(PoisonError::into_inner);
        receipt.records += batch.len() as u64;
        receipt.pages += 1;
        receipt.duplicates_dropped = self.stitcher.duplicates;
        receipt.seams_repaired = self.stitcher.repairs;
        receipt.total_first.get_or_insert(page.pagination.total);
        receipt.total_last = Some(page.pagination.total);
        receipt.seconds = seconds;
        self.meter.read(&mut receipt);
        receipt.budget_used = if budget > 0.0 {
            receipt.requests as f64 / budget
        } else {
            0.0
        };
    }

    fn conclude(self) {
        let mut receipt = self.receipt.lock().unwrap_or_else(PoisonError::into_inner);
        receipt.unknown_fields = self.tally.unknown_fields();
        receipt.unknown_values = self.tally.unknown_values();
        receipt.doubts = self.stitcher.doubts;
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
