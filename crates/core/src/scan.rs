//! A scan: every record of a list, in order, page after page.

mod differences;
mod driver;
mod evidence;
mod join;
mod options;
mod order;
pub(crate) mod policy;
mod position;
mod receipt;
mod sequence;
#[cfg(test)]
mod simulation;
mod slice;
pub(crate) mod unknown_fields;
mod unproven;

pub use crate::hash::HashKey;
pub use differences::{Difference, Example, SchemaDifferences};
pub use options::ScanOptions;
pub use policy::AlteredFields;
pub(crate) use position::DELIVERED_ID_BYTES;
pub use position::{Batch, Resume, ScanState};
pub use receipt::{Basis, BudgetUse, Completeness, Doubt, Receipt, Written};
pub(crate) use sequence::AHEAD;
pub use unproven::Unproven;

use crate::error::{Error, Result};
use crate::record::RawRecord;
use crate::request::Service;
use driver::Driver;
use futures_core::Stream;
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use talentdata_types::ListName;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// Every record of a list, in order; a `Stream` of `Result<T>`.
///
/// Pages are fetched ahead while the records are consumed. A consumer that stops polling stops the fetching. An error
/// ends the scan. Dropping the scan stops all its requests.
///
/// ```
/// # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let records = [("contacts".to_owned(), 250)].into();
/// # let sandbox = talentdata_sandbox::Sandbox::start(talentdata_sandbox::Options { records, ..Default::default() })?;
/// # let mut settings = talentdata_core::Client::builder();
/// # settings.base_url(sandbox.base_url()).client_id(sandbox.client_id()).client_secret(sandbox.client_secret());
/// # settings.budget("process");
/// # let client = settings.build()?;
/// let mut scan = client.contacts().list();
/// while let Some(contact) = scan.next().await {
///     println!("{}", contact?.first_name);
/// }
/// println!("{:?}", scan.receipt().completeness);
/// # Ok(())
/// # }
/// ```
pub struct Scan<T = RawRecord> {
    pages: Box<ScanPages>,
    read: fn(RawRecord) -> Result<T>,
}

/// The pages of a scan, and the records that were received but not returned yet.
struct ScanPages {
    resource: ListName,
    batches: mpsc::Receiver<Result<Batch>>,
    current: VecDeque<RawRecord>,
    /// The receipt up to the batch that was received last.
    receipt: Receipt,
    /// The number of records that may still be delivered.
    wanted: u64,
    /// True once the scan ended, with or without an error.
    over: bool,
    /// The action to carry out at the end if completeness is not proven. `None` if there is none, or after it was
    /// taken.
    unproven: Option<Unproven>,
    /// The documented fields that records no longer have, and those that are digests.
    altered: AlteredFields,
    /// The task that fetches. It ends with the scan.
    _driver: JoinSet<()>,
}

impl<T> Scan<T> {
    pub(crate) fn start(
        service: &Arc<Service>,
        resource: ListName,
        mut options: ScanOptions,
        read: fn(RawRecord) -> Result<T>,
    ) -> Self {
        let wanted = options.limit.unwrap_or(u64::MAX);
        let max_limit = resource.shape().max_limit.unwrap_or(u64::MAX);
        if options.page_size.is_none() && (1..max_limit).contains(&wanted) {
            options.page_size = Some(wanted);
        }
        // A channel of a few batches, so that one can be written while the next is fetched.
        let (sender, batches) = mpsc::channel(4);
        let mut pages = ScanPages::new(resource, batches);
        pages.receipt = options.receipt(resource);
        pages.wanted = wanted;
        pages.unproven = options.unproven;
        pages.altered = options.altered(resource.shape());
        let driver = Driver::new(Arc::clone(service), resource, options);
        pages._driver.spawn(Box::pin(driver.run(sender)));
        Scan { pages, read }
    }

    /// Returns the list.
    pub fn resource(&self) -> ListName {
        self.pages.resource
    }

    /// Returns the next record; `None` at the end of the list.
    ///
    /// ```
    /// # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let records = [("contacts".to_owned(), 250)].into();
    /// # let sandbox = talentdata_sandbox::Sandbox::start(talentdata_sandbox::Options { records, ..Default::default() })?;
    /// # let mut settings = talentdata_core::Client::builder();
    /// # settings.base_url(sandbox.base_url()).client_id(sandbox.client_id()).client_secret(sandbox.client_secret());
    /// # settings.budget("process");
    /// # let client = settings.build()?;
    /// let mut scan = client.contacts().list();
    /// let first = scan.next().await.expect("there are contacts")?;
    /// println!("{} {}", first.first_name, first.last_name);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn next(&mut self) -> Option<Result<T>> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// Returns the records of the next page with new ones; `None` at the end of the list.
    ///
    /// If [`next`](Self::next) returned a part of a page, the rest of that page comes first.
    ///
    /// ```
    /// # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let records = [("contacts".to_owned(), 250)].into();
    /// # let sandbox = talentdata_sandbox::Sandbox::start(talentdata_sandbox::Options { records, ..Default::default() })?;
    /// # let mut settings = talentdata_core::Client::builder();
    /// # settings.base_url(sandbox.base_url()).client_id(sandbox.client_id()).client_secret(sandbox.client_secret());
    /// # settings.budget("process");
    /// # let client = settings.build()?;
    /// let mut scan = client.contacts().list();
    /// let mut records = 0;
    /// while let Some(batch) = scan.next_batch().await {
    ///     records += batch?.records.len();
    /// }
    /// assert_eq!(records, 250);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn next_batch(&mut self) -> Option<Result<Batch>> {
        std::future::poll_fn(|context| self.poll_batch(context)).await
    }

    /// Polls for the batch that [`next_batch`](Self::next_batch) waits for.
    pub fn poll_batch(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Batch>>> {
        if self.pages.current.is_empty() {
            return self.pages.poll_batch(context);
        }
        Poll::Ready(Some(Ok(Batch::of(self.pages.current.drain(..).collect()))))
    }

    /// Converts this into a scan of raw records, which returns the remaining records as the service sent them.
    pub fn into_raw(self) -> Scan {
        Scan {
            pages: self.pages,
            read: Ok,
        }
    }

    /// Returns the fields that `fields`, `drop` and `hash` alter.
    pub fn altered(&self) -> &AlteredFields {
        &self.pages.altered
    }

    /// Removes the action for an unproven end from the scan and returns it. From then on the caller must carry it out.
    pub fn take_unproven(&mut self) -> Option<Unproven> {
        self.pages.unproven.take()
    }

    /// Returns the receipt of the records that were returned so far. It is final once the scan ended.
    ///
    /// ```
    /// # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let records = [("contacts".to_owned(), 250)].into();
    /// # let sandbox = talentdata_sandbox::Sandbox::start(talentdata_sandbox::Options { records, ..Default::default() })?;
    /// # let mut settings = talentdata_core::Client::builder();
    /// # settings.base_url(sandbox.base_url()).client_id(sandbox.client_id()).client_secret(sandbox.client_secret());
    /// # settings.budget("process");
    /// # let client = settings.build()?;
    /// use talentdata_core::scan::Completeness;
    ///
    /// let mut scan = client.contacts().list();
    /// scan.next().await.expect("there are contacts")?;
    /// assert_eq!(scan.receipt().completeness, Completeness::Unfinished);
    /// while scan.next().await.transpose()?.is_some() {}
    /// assert_eq!(scan.receipt().completeness, Completeness::Proven);
    /// # Ok(())
    /// # }
    /// ```
    pub fn receipt(&self) -> Receipt {
        let pages = &self.pages;
        let mut receipt = pages.receipt.clone();
        if !pages.over || pages.wanted == 0 {
            receipt.set_unfinished();
        }
        if pages.over && pages.wanted == 0 && receipt.doubts.is_empty() {
            receipt.completeness = Completeness::Limited;
        }
        receipt.without(pages.current.len())
    }
}

impl ScanPages {
    fn new(resource: ListName, batches: mpsc::Receiver<Result<Batch>>) -> Box<Self> {
        Box::new(ScanPages {
            resource,
            batches,
            current: VecDeque::new(),
            receipt: Receipt::default(),
            wanted: u64::MAX,
            over: false,
            unproven: None,
            altered: AlteredFields::default(),
            _driver: JoinSet::new(),
        })
    }

    fn poll_batch(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Batch>>> {
        while self.wanted > 0 {
            let is_over = self.over || self.receipt.completeness != Completeness::Unfinished;
            let mut batch = match ready!(self.batches.poll_recv(context)) {
                Some(Ok(batch)) => batch,
                None if is_over => break,
                failed => {
                    self.over = true;
                    // A task that panics closes the channel, too. This must not look like the end of the list.
                    let error = failed.unwrap_or_else(|| Err(Error::panicked("a scan")));
                    return Poll::Ready(Some(error));
                }
            };
            let most = usize::try_from(self.wanted).unwrap_or(usize::MAX);
            batch.truncate(most, self.resource.shape());
            self.receipt.clone_from(&batch.receipt);
            batch.receipt.set_unfinished();
            self.wanted -= batch.records.len() as u64;
            if !batch.records.is_empty() || !batch.inserted_behind_us.is_empty() {
                return Poll::Ready(Some(Ok(batch)));
            }
        }
        self.over = true;
        let unproven = self.unproven.take().filter(|_| self.wanted > 0);
        let end = unproven.map(|unproven| {
            let list = self.resource.name();
            let warn = |warning| tracing::warn!(list, "{warning}");
            unproven.conclude(&self.receipt, Unproven::ADVICE, warn)
        });
        Poll::Ready(end.and_then(Result::err).map(Err))
    }
}

/// Omits the records.
impl<T> std::fmt::Debug for Scan<T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Scan")
            .field("resource", &self.pages.resource)
            .field("over", &self.pages.over)
            .finish_non_exhaustive()
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
    async fn a_scan_whose_task_is_gone_ends_with_an_error() {
        let (_, batches) = mpsc::channel(1);
        let pages = ScanPages::new(ListName::Contacts, batches);
        let mut scan: Scan = Scan { pages, read: Ok };
        let error = scan.next().await.unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Internal);
        assert!(scan.next().await.is_none());
    }
}
