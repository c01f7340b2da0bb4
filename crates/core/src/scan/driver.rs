//! Fetches the pages that the sequence wants, and delivers their new records.

use super::join::{Delivery, Joiner, Wanted};
use super::options::ScanOptions;
use super::policy::FieldPolicy;
use super::position::{Batch, ScanState};
use super::receipt::Receipt;
use super::sequence::{AHEAD, AHEAD_UNPACED, Sequence};
use super::slice::Slice;
use super::unknown_fields;
use crate::budget::REQUESTS_PER_SECOND;
use crate::clock::{self, Time, utc};
use crate::error::{Error, ErrorKind, Result};
use crate::page::{Page, PageLimit, check_limit, is_refusal};
use crate::process::lock;
use crate::record::IdentityKey;
use crate::request::Service;
use crate::request::page_size::{PageRequest, PageSize};
use crate::request::stats::{Hides, ScanCalls};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;
use talentdata_types::ListName;
use tokio::sync::mpsc::Sender;
use tokio::task::JoinSet;

/// Returns the page size of a scan, which its requests share.
fn page_size(most: u64) -> Arc<Mutex<PageSize>> {
    Arc::new(Mutex::new(PageSize::new(most)))
}

/// A running scan.
pub(super) struct Driver {
    service: Arc<Service>,
    resource: ListName,
    options: ScanOptions,
    receipt: Receipt,
    sequence: Sequence<Page>,
    /// The requests under way, each with its number. They are cancelled when the driver is dropped.
    underway: JoinSet<(u64, Result<(Page, Slice)>)>,
    calls: Arc<ScanCalls>,
    /// The number of records to request in a page. `None` if the service decides.
    page_size: Option<Arc<Mutex<PageSize>>>,
    started: Time,
    /// The start by the wall clock, which may be set back while the scan runs.
    began: SystemTime,
    /// The number of seconds for which the budget was unreachable before the scan.
    unreachable_before: f64,
    /// The key of the records in a response, once it is known.
    records_key: Option<String>,
    identity_key: IdentityKey,
    /// The key with which identities are hashed. If `id` is hashed, it differs from the stored key, from which ids
    /// could be guessed.
    secret_key: IdentityKey,
}

impl Driver {
    pub(super) fn new(service: Arc<Service>, resource: ListName, mut options: ScanOptions) -> Self {
        let mut joiner = Joiner::default();
        let mut identity_key = IdentityKey::random();
        if let Some(resume) = options.resume.take() {
            let page_size = options.page_size.or(resource.shape().max_limit);
            joiner.resume(&resume, page_size.unwrap_or(1));
            identity_key = resume.state.key;
        }
        let ahead = if service.config.paced {
            AHEAD
        } else {
            AHEAD_UNPACED
        };
        let most = options.page_size.or(resource.shape().max_limit);
        Driver {
            page_size: most.map(page_size),
            sequence: Sequence::new(joiner, ahead),
            unreachable_before: service.budget().seconds_unreachable,
            receipt: Receipt {
                service: Some(service.config.base_url.to_string()),
                client_id: service.config.client_id.clone(),
                version: Some(env!("CARGO_PKG_VERSION").to_owned()),
                ..options.receipt(resource)
            },
            service,
            resource,
            underway: JoinSet::new(),
            calls: Arc::default(),
            started: clock::now(),
            began: SystemTime::now(),
            records_key: resource.shape().record_key.map(str::to_owned),
            identity_key,
            secret_key: identity_key,
            options,
        }
    }

    /// Runs until the list ends, an error occurs, or the receiver is dropped.
    pub(super) async fn run(mut self, batches: Sender<Result<Batch>>) {
        if let Err(error) = self.read(&batches).await {
            let client_id = self.service.config.client_id.as_deref();
            let error = error.logged(client_id, Some(self.resource.name()));
            // If the receiver is gone, nobody needs the error.
            let _ = batches.send(Err(error)).await;
        }
    }

    /// Reads the list once, and sends its records as they arrive.
    async fn read(&mut self, batches: &Sender<Result<Batch>>) -> Result<()> {
        check_limit(self.resource, "page_size", self.options.page_size)?;
        let shape = self.resource.shape();
        self.options.check(shape)?;
        let mut policy = FieldPolicy::with_key(&self.options, &self.service.config)?;
        self.calls = Arc::new(ScanCalls {
            hides: Hides {
                records: !policy.is_empty(),
                ids: policy.key_of_id().is_some(),
            },
            ..ScanCalls::default()
        });
        if let Some(key) = policy.key_of_id() {
            self.secret_key = self.identity_key.derived(|scan| key.of_identities(scan));
        }
        if self.options.is_typed {
            policy.check_typed(shape)?;
        }
        loop {
            let (page, delivery) = self.next_page().await?;
            let end = delivery.is_end;
            let page = policy.apply(page)?;
            self.receipt.unmatched_fields = policy.unmatched().map(str::to_owned).collect();
            let batch = self.deliver(page, delivery);
            if batches.send(Ok(batch)).await.is_err() || end {
                return Ok(());
            }
        }
    }

    /// Waits for the next page that joins.
    async fn next_page(&mut self) -> Result<(Page, Delivery)> {
        loop {
            match self.sequence.join() {
                Ok(Some(joined)) => return Ok(joined),
                Ok(None) => {}
                // The page size was small only because few records are wanted. If the service refuses it, use the usual
                // one.
                Err(error) if is_refusal(&error) && self.page_size_is_limit() => {
                    self.options.page_size = None;
                    self.page_size = self.resource.shape().max_limit.map(page_size);
                }
                Err(error) => return Err(error),
            }
            while let Some((request, wanted)) = self.sequence.want() {
                self.fetch(request, wanted);
            }
            self.calls.needed.send_replace(self.sequence.needed());
            let lost = || Error::new(ErrorKind::Internal, "a scan lost its place");
            let arrived = self.underway.join_next().await.ok_or_else(lost)?;
            let (request, page) = arrived.map_err(|_| Error::panicked("a request for a page"))?;
            if let (None, Ok((page, _))) = (&self.records_key, &page)
                && !page.records.is_empty()
            {
                self.records_key = Some(page.key.clone());
            }
            self.sequence.arrive(request, page);
        }
    }

    /// Returns whether nothing has been read yet, and the page size comes from the number of records wanted.
    fn page_size_is_limit(&self) -> bool {
        let ScanOptions {
            page_size, limit, ..
        } = &self.options;
        self.receipt.pages == 0 && page_size.is_some() && page_size == limit
    }

    fn fetch(&mut self, request: u64, wanted: Wanted) {
        let (service, resource) = (Arc::clone(&self.service), self.resource);
        let (key, identity_key) = (self.records_key.clone(), self.secret_key);
        let calls = Arc::clone(&self.calls);
        let offset = wanted.offset;
        let most = resource.shape().max_limit.unwrap_or(u64::MAX);
        let limit = match (wanted.limit, &self.page_size) {
            // If all pages of a service have one size, it may be larger than the largest limit that requests may have.
            (Some(limit), _) => PageLimit::Exactly(limit.min(most)),
            (None, Some(size)) => PageLimit::AtMost(PageRequest::new(Arc::clone(size), offset)),
            (None, None) => PageLimit::Usual,
        };
        let arguments = self.options.arguments.clone();
        // Tokio copies a task's future several times, and this one has some kilobytes.
        self.underway.spawn(Box::pin(async move {
            let key = key.as_deref();
            let page = Page::fetch(
                &service,
                resource,
                &arguments,
                limit,
                offset,
                key,
                Some(calls),
            );
            let page = page.await;
            (
                request,
                page.map(|page| {
                    let slice = Slice::of(&page, offset, &identity_key);
                    (page, slice)
                }),
            )
        }));
    }

    /// Returns a batch of the new records of a page, with a receipt that covers them.
    fn deliver(&mut self, page: Page, delivery: Delivery) -> Batch {
        let record = |index: &usize| page.records.get(*index).cloned();
        let fresh = delivery.fresh.iter();
        let records: Vec<_> = fresh.filter_map(|(index, _)| record(index)).collect();
        let inserted_behind_us = delivery
            .inserted_behind_us
            .iter()
            .filter_map(record)
            .collect();
        let entries = delivery
            .fresh
            .iter()
            .flat_map(|(_, entry)| entry.to_bytes());
        let joiner = &self.sequence.joiner;
        let stats = lock(&self.calls.stats);
        let receipt = &mut self.receipt;
        receipt.records += records.len() as u64;
        receipt.pages += 1;
        receipt.reduced_page_size =
            (self.page_size.as_ref()).and_then(|size| lock(size).reduced_to);
        receipt.duplicates_dropped = joiner.duplicates;
        receipt.seams_repaired = joiner.repairs;
        receipt.total_first = receipt.total_first.or(page.pagination.total);
        receipt.total_last = page.pagination.total.or(receipt.total_last);
        let lasted = clock::now().saturating_sub(self.started);
        receipt.seconds = lasted.as_secs_f64();
        receipt.started.get_or_insert_with(|| utc(self.began));
        receipt.ended = Some(utc(self.began + lasted));
        receipt.requests = stats.requests;
        receipt.retries = stats.retries;
        receipt.rate_limited = stats.rate_limited;
        receipt.seconds_waited_for_budget = stats.waited.as_secs_f64();
        receipt.seconds_backed_off = stats.backed_off.as_secs_f64();
        let budget = receipt.budget.get_or_insert_default();
        budget.note(self.service.budget(), self.unreachable_before);
        // The requests of one second may all be sent at its beginning.
        let budget = f64::from(REQUESTS_PER_SECOND) * receipt.seconds.max(1.0);
        receipt.budget_used = receipt.requests as f64 / budget;
        receipt.doubts = joiner.evidence.doubts.clone();
        unknown_fields::count(receipt, self.resource.shape(), &records);
        if delivery.is_end {
            receipt.conclude(joiner.evidence.is_counted());
        }
        Batch {
            records,
            inserted_behind_us,
            receipt: receipt.clone(),
            entries: entries.collect(),
            state: ScanState {
                key: self.identity_key,
                last_offset: joiner.last_offset,
                offsets: joiner.known_offsets(),
                evidence: joiner.evidence.clone(),
            },
            _claim: page.claim,
        }
    }
}
