//! A scan: every record of a list, in order, page after page.

mod budget_use;
mod driver;
mod evidence;
mod join;
mod options;
mod order;
mod position;
mod receipt;
mod rfc3339;
mod sequence;
#[cfg(test)]
mod simulation;
mod unknown_fields;
mod written;

pub use budget_use::BudgetUse;
pub(crate) use driver::AbortOnDrop;
pub use options::ScanOptions;
pub use position::{Batch, Resume, ScanState};
pub use receipt::{Basis, Completeness, Difference, Doubt, Example, Receipt, SchemaDifferences};
pub use rfc3339::utc;
pub use written::Written;

use crate::client::Client;
use crate::error::{Error, ErrorKind, Result};
use crate::record::RawRecord;
use driver::Driver;
use futures_core::Stream;
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use talentdata_types::Resource;
use tokio::sync::mpsc;

/// Every record of a list, in order; a `Stream` of `Result<T>`.
///
/// Pages are fetched ahead while the records are consumed; a consumer that stops polling stops the
/// fetching. After an error the scan is over. Dropping it stops all its requests.
pub struct Scan<T = RawRecord> {
    resource: Resource,
    batches: mpsc::Receiver<Result<Batch>>,
    current: VecDeque<RawRecord>,
    receipt: Arc<Mutex<Receipt>>,
    /// Records received so far, those in `current` included.
    received: u64,
    /// Records still to be delivered.
    wanted: u64,
    /// Whether it has ended, well or with an error that was handed out.
    over: bool,
    read: fn(RawRecord) -> Result<T>,
    _driver: AbortOnDrop<()>,
}

impl<T> Scan<T> {
    pub(crate) fn start(
        client: &Client,
        resource: Resource,
        mut options: ScanOptions,
        read: fn(RawRecord) -> Result<T>,
    ) -> Self {
        let wanted = options.limit.unwrap_or(u64::MAX);
        let most = resource.shape().max_limit.unwrap_or(u64::MAX);
        if options.page_size.is_none() && (1..most).contains(&wanted) {
            options.page_size = Some(wanted);
        }
        // A few batches, so that writing one and fetching the next go on side by side.
        let (sender, batches) = mpsc::channel(4);
        let receipt = Arc::new(Mutex::new(options.receipt(resource)));
        let driver = Driver::new(client.clone(), resource, options, Arc::clone(&receipt));
        let task = tokio::spawn(driver.run(sender));
        Scan {
            resource,
            batches,
            current: VecDeque::new(),
            receipt,
            received: 0,
            wanted,
            over: false,
            read,
            _driver: AbortOnDrop(task),
        }
    }

    /// The list.
    pub fn resource(&self) -> Resource {
        self.resource
    }

    /// The next record; `None` at the end of the list.
    pub async fn next(&mut self) -> Option<Result<T>> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// The records of the next page that holds new ones; `None` at the end of the list.
    ///
    /// Use either this or [`next`](Self::next): records of a page that was begun there are not repeated here.
    pub async fn next_batch(&mut self) -> Option<Result<Batch>> {
        std::future::poll_fn(|context| self.poll_batch(context)).await
    }

    fn poll_batch(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Batch>>> {
        if self.wanted == 0 {
            self.over = true;
            return Poll::Ready(None);
        }
        let mut batch = ready!(self.batches.poll_recv(context));
        let unfinished = || self.progress().completeness == Completeness::Unfinished;
        if batch.is_none() && !self.over && unfinished() {
            // Its task is gone without a word, which must not be taken for the end of the list.
            batch = Some(Err(Error::new(
                ErrorKind::Internal,
                "the scan broke off before the end of the list",
            )));
        }
        match &mut batch {
            Some(Ok(batch)) => {
                let most = usize::try_from(self.wanted).unwrap_or(usize::MAX);
                batch.split_off(most, self.resource.shape());
                let records = batch.records.len() as u64;
                self.received += records;
                self.wanted -= records;
            }
            _ => self.over = true,
        }
        Poll::Ready(batch)
    }

    /// The same scan, with the records not yet taken as the service sent them.
    pub fn into_raw(self) -> Scan {
        Scan {
            resource: self.resource,
            batches: self.batches,
            current: self.current,
            receipt: self.receipt,
            received: self.received,
            wanted: self.wanted,
            over: self.over,
            read: Ok,
            _driver: self._driver,
        }
    }

    /// What has been done so far; final once the scan has ended.
    ///
    /// `records` counts those that the caller was given, while pages and requests run ahead of them.
    pub fn receipt(&self) -> Receipt {
        let mut receipt = self.progress();
        receipt.records = self.received;
        if !self.over || self.wanted == 0 {
            receipt.set_unfinished();
        }
        if self.over && self.wanted == 0 {
            receipt.completeness = Completeness::Limited;
        }
        receipt.without(self.current.len())
    }

    /// What its task has done so far.
    fn progress(&self) -> Receipt {
        let receipt = self.receipt.lock();
        receipt.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Scan {
    /// Takes back records that were received and not yet given to the caller; they come next.
    pub fn take_back(&mut self, records: VecDeque<RawRecord>) {
        let behind = std::mem::replace(&mut self.current, records);
        self.current.extend(behind);
    }

    /// A scan that brings just these pages, for tests; must be called within a tokio runtime.
    #[doc(hidden)]
    pub fn of(resource: Resource, pages: Vec<Result<Vec<RawRecord>>>) -> Self {
        let (sender, batches) = mpsc::channel(pages.len().max(1));
        for page in pages {
            let batch = page.map(|records| Batch {
                records,
                late: Vec::new(),
                receipt: Receipt::default(),
                unknown: Default::default(),
                entries: Vec::new(),
                state: Default::default(),
                _claim: None,
            });
            let _ = sender.try_send(batch);
        }
        Scan {
            resource,
            batches,
            current: VecDeque::new(),
            receipt: Arc::default(),
            received: 0,
            wanted: u64::MAX,
            over: true,
            read: Ok,
            _driver: AbortOnDrop(tokio::spawn(async {})),
        }
    }

    /// The next records, as they come; `None` at the end of the list.
    pub fn poll_records(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<VecDeque<RawRecord>>>> {
        if !self.current.is_empty() {
            return Poll::Ready(Some(Ok(std::mem::take(&mut self.current))));
        }
        let batch = ready!(self.poll_batch(context));
        Poll::Ready(batch.map(|batch| Ok(batch?.records.into())))
    }
}

impl<T> Stream for Scan<T> {
    type Item = Result<T>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(record) = self.current.pop_front() {
                return Poll::Ready(Some((self.read)(record)));
            }
            match ready!(self.poll_batch(context)) {
                Some(Ok(batch)) => self.current = batch.records.into(),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
    }
}

impl Receipt {
    /// The same, when so many of the records are still held back from the caller.
    pub fn without(mut self, held: usize) -> Self {
        self.records = self.records.saturating_sub(held as u64);
        if held > 0 {
            self.set_unfinished();
        }
        self
    }

    fn set_unfinished(&mut self) {
        self.completeness = Completeness::Unfinished;
        (self.basis, self.assumes) = (None, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_scan_whose_task_is_gone_has_not_ended() {
        let (sender, batches) = mpsc::channel(1);
        let mut scan: Scan = Scan {
            resource: Resource::Contacts,
            batches,
            current: VecDeque::new(),
            receipt: Arc::default(),
            received: 0,
            wanted: u64::MAX,
            over: false,
            read: Ok,
            _driver: AbortOnDrop(tokio::spawn(async {})),
        };
        drop(sender);
        let error = scan.next().await.unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Internal);
        assert!(scan.next().await.is_none());
    }
}
