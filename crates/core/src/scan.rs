//! A scan: every record of a list, in order, page after page.

mod driver;
mod evidence;
mod join;
mod order;
mod position;
mod receipt;
mod sequence;
#[cfg(test)]
mod simulation;
mod unknown_fields;

pub use crate::clock::utc;
pub use position::{Batch, Resume, ScanState};
pub use receipt::{
    Basis, BudgetUse, Completeness, Difference, Doubt, Example, Receipt, SchemaDifferences, Written,
};

use crate::arguments::Arguments;
use crate::client::Client;
use crate::error::{Error, Result};
use crate::record::RawRecord;
use driver::Driver;
use futures_core::Stream;
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use talentdata_types::Resource;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// What a scan is asked to do.
#[derive(Clone, Debug, Default)]
pub struct ScanOptions {
    /// Records per page to ask for; the list's maximum by default.
    pub page_size: Option<u64>,
    /// Where to go on; from the beginning by default.
    pub resume: Option<Resume>,
    /// How many records to deliver at most; the scan ends behind so many, and its receipt says that it is
    /// unfinished.
    pub limit: Option<u64>,
    /// Values of the list's parameters, such as filters; they are sent with every page.
    pub arguments: Arguments,
}

impl ScanOptions {
    /// The receipt of a scan that has done nothing yet.
    pub fn receipt(&self, resource: Resource) -> Receipt {
        Receipt {
            resource: resource.name().to_owned(),
            parameters: self.arguments.recorded(resource.shape().operation),
            ..Receipt::default()
        }
    }
}

/// Every record of a list, in order; a `Stream` of `Result<T>`.
///
/// Pages are fetched ahead while the records are consumed; a consumer that stops polling stops the
/// fetching. After an error the scan is over. Dropping it stops all its requests.
pub struct Scan<T = RawRecord> {
    pages: Pages,
    read: fn(RawRecord) -> Result<T>,
}

/// The pages of a scan, and what of them the caller was given.
struct Pages {
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
    /// The task that fetches, which ends with the scan.
    _driver: JoinSet<()>,
}

impl<T> Scan<T> {
    pub(crate) fn start(
        client: &Client,
        resource: Resource,
        mut options: ScanOptions,
        read: fn(RawRecord) -> Result<T>,
    ) -> Self {
        let wanted = options.limit.unwrap_or(u64::MAX);
        let max_limit = resource.shape().max_limit.unwrap_or(u64::MAX);
        if options.page_size.is_none() && (1..max_limit).contains(&wanted) {
            options.page_size = Some(wanted);
        }
        // A few batches, so that one is written while the next is fetched.
        let (sender, batches) = mpsc::channel(4);
        let receipt = Arc::new(Mutex::new(options.receipt(resource)));
        let driver = Driver::new(client.clone(), resource, options, Arc::clone(&receipt));
        let mut pages = Pages::new(resource, batches, receipt);
        pages.wanted = wanted;
        pages._driver.spawn(driver.run(sender));
        Scan { pages, read }
    }

    /// The list.
    pub fn resource(&self) -> Resource {
        self.pages.resource
    }

    /// The next record; `None` at the end of the list.
    pub async fn next(&mut self) -> Option<Result<T>> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// The records of the next page that holds new ones; `None` at the end of the list.
    ///
    /// Use either this or [`next`](Self::next): records of a page that was begun there are not repeated here.
    pub async fn next_batch(&mut self) -> Option<Result<Batch>> {
        std::future::poll_fn(|context| self.pages.poll_batch(context)).await
    }

    /// The same scan, with the records not yet taken as the service sent them.
    pub fn into_raw(self) -> Scan {
        Scan {
            pages: self.pages,
            read: Ok,
        }
    }

    /// What has been done so far; final once the scan has ended.
    ///
    /// `records` counts those that the caller was given, while pages and requests run ahead of them.
    pub fn receipt(&self) -> Receipt {
        let pages = &self.pages;
        let mut receipt = pages.progress();
        receipt.records = pages.received;
        if !pages.over || pages.wanted == 0 {
            receipt.set_unfinished();
        }
        if pages.over && pages.wanted == 0 && receipt.doubts.is_empty() {
            receipt.completeness = Completeness::Limited;
        }
        receipt.without(pages.current.len())
    }
}

impl Pages {
    fn new(
        resource: Resource,
        batches: mpsc::Receiver<Result<Batch>>,
        receipt: Arc<Mutex<Receipt>>,
    ) -> Self {
        Pages {
            resource,
            batches,
            current: VecDeque::new(),
            receipt,
            received: 0,
            wanted: u64::MAX,
            over: false,
            _driver: JoinSet::new(),
        }
    }

    fn poll_batch(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Batch>>> {
        if self.wanted == 0 {
            self.over = true;
            return Poll::Ready(None);
        }
        let mut batch = ready!(self.batches.poll_recv(context));
        let unfinished = || self.progress().completeness == Completeness::Unfinished;
        if batch.is_none() && !self.over && unfinished() {
            // Its task has ended in a panic, which must not be taken for the end of the list.
            batch = Some(Err(Error::panicked("a scan")));
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

    /// What its task has done so far.
    fn progress(&self) -> Receipt {
        let receipt = self.receipt.lock();
        receipt.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Scan {
    /// A scan that delivers just these pages, for tests.
    #[doc(hidden)]
    pub fn of(resource: Resource, pages: Vec<Result<Vec<RawRecord>>>) -> Self {
        let (sender, batches) = mpsc::channel(pages.len().max(1));
        for page in pages {
            let _ = sender.try_send(page.map(Batch::of));
        }
        let mut pages = Pages::new(resource, batches, Arc::default());
        pages.over = true;
        Scan { pages, read: Ok }
    }

    /// The next records, as they come; `None` at the end of the list.
    pub fn poll_records(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<VecDeque<RawRecord>>>> {
        if !self.pages.current.is_empty() {
            return Poll::Ready(Some(Ok(std::mem::take(&mut self.pages.current))));
        }
        let batch = ready!(self.pages.poll_batch(context));
        Poll::Ready(batch.map(|batch| Ok(batch?.records.into())))
    }
}

impl<T> Stream for Scan<T> {
    type Item = Result<T>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(record) = self.pages.current.pop_front() {
                return Poll::Ready(Some((self.read)(record)));
            }
            match ready!(self.pages.poll_batch(context)) {
                Some(Ok(batch)) => self.pages.current = batch.records.into(),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[tokio::test]
    async fn a_scan_whose_task_is_gone_has_not_ended() {
        let (_, batches) = mpsc::channel(1);
        let pages = Pages::new(Resource::Contacts, batches, Arc::default());
        let mut scan: Scan = Scan { pages, read: Ok };
        let error = scan.next().await.unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Internal);
        assert!(scan.next().await.is_none());
    }
}
