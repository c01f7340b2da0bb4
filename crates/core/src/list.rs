//! One list of the service: its pages and its scan, as typed or raw records, and the cost of a scan.

use crate::arguments::Arguments;
use crate::budget::REQUESTS_PER_SECOND;
use crate::client::Client;
use crate::error::{Error, Result};
use crate::page::{Page, PageLimit, check_limit, is_refusal};
use crate::record::RawRecord;
use crate::request::page_memory::PAGE_MEMORY_BYTES;
use crate::request::page_size::{PageRequest, PageSize};
use crate::scan::{AHEAD, DELIVERED_ID_BYTES, Scan, ScanOptions};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::{Arc, Mutex};
use talentdata_types::ListName;

/// Limits the length of a list that is measured.
const MAX_LENGTH: u64 = 1 << 40;

/// A list of the service whose records are read as `T`.
///
/// ```
/// # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let records = [("contacts".to_owned(), 250)].into();
/// # let sandbox = talentdata_sandbox::Sandbox::start(talentdata_sandbox::Options { records, ..Default::default() })?;
/// # let mut settings = talentdata_core::Client::builder();
/// # settings.base_url(sandbox.base_url()).client_id(sandbox.client_id()).client_secret(sandbox.client_secret());
/// # settings.budget("process");
/// # let client = settings.build()?;
/// let contacts = client.contacts();
/// println!("{} contacts", contacts.plan().await?.records);
/// let mut scan = contacts.list();
/// while let Some(contact) = scan.next().await {
///     println!("{}", contact?.email);
/// }
/// # Ok(())
/// # }
/// ```
pub struct List<T> {
    client: Client,
    resource: ListName,
    arguments: Arguments,
    read: fn(RawRecord) -> Result<T>,
    /// False if `read` returns records unchanged.
    is_typed: bool,
}

impl<T> Clone for List<T> {
    fn clone(&self) -> Self {
        List {
            client: self.client.clone(),
            resource: self.resource,
            arguments: self.arguments.clone(),
            read: self.read,
            is_typed: self.is_typed,
        }
    }
}

impl<T> std::fmt::Debug for List<T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("List")
            .field("resource", &self.resource)
            .field("arguments", &self.arguments)
            .finish_non_exhaustive()
    }
}

impl<T: DeserializeOwned> List<T> {
    #[allow(dead_code, reason = "a spec may have no lists")]
    pub(crate) fn typed(client: &Client, resource: ListName) -> Self {
        List {
            client: client.clone(),
            resource,
            arguments: Arguments::default(),
            read: |record| record.to(),
            is_typed: true,
        }
    }
}

impl<T> List<T> {
    /// Returns the list with these values of its parameters, for example filters. They replace the earlier values, are
    /// checked before anything is sent, and are sent with every page.
    pub fn with(self, arguments: impl Into<Arguments>) -> Self {
        List {
            arguments: arguments.into(),
            ..self
        }
    }

    /// Returns the list with records as the service sent them.
    ///
    /// ```
    /// # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let records = [("contacts".to_owned(), 250)].into();
    /// # let sandbox = talentdata_sandbox::Sandbox::start(talentdata_sandbox::Options { records, ..Default::default() })?;
    /// # let mut settings = talentdata_core::Client::builder();
    /// # settings.base_url(sandbox.base_url()).client_id(sandbox.client_id()).client_secret(sandbox.client_secret());
    /// # settings.budget("process");
    /// # let client = settings.build()?;
    /// let mut scan = client.contacts().raw().list();
    /// let record = scan.next().await.expect("there are contacts")?;
    /// assert!(record.as_str().starts_with('{'));
    /// # Ok(())
    /// # }
    /// ```
    pub fn raw(&self) -> List<RawRecord> {
        let raw = self.client.resource(self.resource);
        raw.with(self.arguments.clone())
    }

    /// Returns every record, in order. Must be called within a tokio runtime.
    pub fn list(&self) -> Scan<T> {
        self.scan(ScanOptions::default())
    }

    /// Returns every record, in order, with these options. Must be called within a tokio runtime.
    ///
    /// ```
    /// # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let records = [("contacts".to_owned(), 250)].into();
    /// # let sandbox = talentdata_sandbox::Sandbox::start(talentdata_sandbox::Options { records, ..Default::default() })?;
    /// # let mut settings = talentdata_core::Client::builder();
    /// # settings.base_url(sandbox.base_url()).client_id(sandbox.client_id()).client_secret(sandbox.client_secret());
    /// # settings.budget("process");
    /// # let client = settings.build()?;
    /// use talentdata_core::ScanOptions;
    ///
    /// let options = ScanOptions::default().with_page_size(20).with_limit(30);
    /// let mut scan = client.contacts().scan(options);
    /// let mut contacts = Vec::new();
    /// while let Some(contact) = scan.next().await {
    ///     contacts.push(contact?);
    /// }
    /// assert_eq!(contacts.len(), 30);
    /// # Ok(())
    /// # }
    /// ```
    pub fn scan(&self, mut options: ScanOptions) -> Scan<T> {
        options.arguments = options.arguments.or(&self.arguments);
        options = options.restricted_by(self.client.config(), self.resource);
        options.is_typed = self.is_typed;
        Scan::start(&self.client.0, self.resource, options, self.read)
    }

    /// Returns the name of the list.
    pub fn resource(&self) -> ListName {
        self.resource
    }

    /// Returns one page: at most `limit` records after `offset` records. Without a limit the service's default applies.
    /// If the service cannot send this many records, the page has fewer.
    ///
    /// ```
    /// # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let records = [("contacts".to_owned(), 250)].into();
    /// # let sandbox = talentdata_sandbox::Sandbox::start(talentdata_sandbox::Options { records, ..Default::default() })?;
    /// # let mut settings = talentdata_core::Client::builder();
    /// # settings.base_url(sandbox.base_url()).client_id(sandbox.client_id()).client_secret(sandbox.client_secret());
    /// # settings.budget("process");
    /// # let client = settings.build()?;
    /// let page = client.contacts().page(Some(10), 240).await?;
    /// assert_eq!(page.records.len(), 10);
    /// assert_eq!(page.pagination.total, Some(250));
    /// assert_eq!(page.pagination.has_more, Some(false));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `InvalidArgument` for a `limit` of 0 or above the list's maximum, for an `offset` above 2⁶³ - 1, and
    /// for parameters that cannot be sent; `Schema`, naming record and field, for a record that is not as documented;
    /// otherwise the errors of the call.
    pub async fn page(&self, limit: Option<u64>, offset: u64) -> Result<Page<T>> {
        check_limit(self.resource, "limit", limit)?;
        // The offset in the response is read as a signed number.
        if i64::try_from(offset).is_err() {
            let message = format!("offset must be at most {} (got {offset})", i64::MAX);
            return Err(Error::invalid(message));
        }
        let key = self.resource.shape().record_key;
        let (service, arguments) = (&self.client.0, &self.arguments);
        let limit = limit.map_or(PageLimit::Usual, |limit| {
            let size = Arc::new(Mutex::new(PageSize::new(limit)));
            PageLimit::AtMost(PageRequest::new(size, offset))
        });
        let page = Page::fetch(service, self.resource, arguments, limit, offset, key, None).await?;
        let records: Result<Vec<T>> = page.records.into_iter().map(self.read).collect();
        // From here on, the caller is responsible for the memory of the page.
        Ok(Page {
            records: records?,
            pagination: page.pagination,
            key: page.key,
            asked: page.asked,
            claim: None,
        })
    }

    /// Returns the cost of a complete scan. Requests a full page, because only that shows how many records the service
    /// grants. If the service does not report the length of the list, a few more pages are requested.
    ///
    /// ```
    /// # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let records = [("contacts".to_owned(), 250)].into();
    /// # let sandbox = talentdata_sandbox::Sandbox::start(talentdata_sandbox::Options { records, ..Default::default() })?;
    /// # let mut settings = talentdata_core::Client::builder();
    /// # settings.base_url(sandbox.base_url()).client_id(sandbox.client_id()).client_secret(sandbox.client_secret());
    /// # settings.budget("process");
    /// # let client = settings.build()?;
    /// let plan = client.contacts().plan().await?;
    /// assert_eq!(plan.records, 250);
    /// println!("{} requests, about {:.1} seconds", plan.pages, plan.seconds);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// See [`page`](Self::page).
    pub async fn plan(&self) -> Result<Plan> {
        let most = self.resource.shape().max_limit;
        let list = self.raw();
        let page = list.page(most, 0).await?;
        let records = match page.pagination.known_total() {
            Some(total) => total,
            None => list.measure(&page).await?,
        };
        let members = self.client.budget().members.max(1);
        let part = self.client.config().share.min(1.0 / members as f64);
        // The gate stays one request below the limit.
        let rate = f64::from(REQUESTS_PER_SECOND - 1) * part;
        let pages = pages(records, &page);
        let granted = page.records.len() as u64;
        let sizes = page
            .records
            .iter()
            .map(|record| record.as_bytes().len() as u64 + 1);
        let page_bytes: u64 = sizes.sum();
        let mean = page_bytes as f64 / granted.max(1) as f64;
        // Numbers that are too large become the largest one.
        let bytes = (mean * records as f64) as u64;
        let ahead = page_bytes
            .saturating_mul(AHEAD as u64)
            .min(PAGE_MEMORY_BYTES as u64);
        let memory = records.saturating_mul(IDENTITY_MEMORY);
        Ok(Plan {
            resource: self.resource.name().to_owned(),
            records,
            pages,
            members: members as u64,
            seconds: pages as f64 / rate,
            bytes,
            disk_bytes: bytes
                .saturating_mul(2)
                .saturating_add(records.saturating_mul(DELIVERED_ID_BYTES as u64)),
            memory_bytes: memory.saturating_add(PROGRAM_MEMORY + 2 * ahead),
        })
    }
}

impl Client {
    /// Returns a list with records as the service sent them.
    pub fn resource(&self, resource: ListName) -> List<RawRecord> {
        List {
            client: self.clone(),
            resource,
            arguments: Arguments::default(),
            read: Ok,
            is_typed: false,
        }
    }
}

/// The cost of a complete scan, if the list does not change.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Plan {
    /// The list.
    pub resource: String,
    /// The number of its records.
    pub records: u64,
    /// The number of page requests, without retries.
    pub pages: u64,
    /// The number of clients that share the budget now, including this one.
    pub members: u64,
    /// The seconds that the requests take at this client's share of the budget, if the number of clients does not
    /// change.
    pub seconds: f64,
    /// The size of the records as JSON Lines, in bytes, estimated from the first page.
    pub bytes: u64,
    /// The disk space that an export needs while it runs, in bytes: for the records, their identities, and a file that
    /// is at least as large as the records. A mirror takes about as much.
    pub disk_bytes: u64,
    /// The memory that a scan and its export take, in bytes: for the program, pages that are read ahead, and the
    /// identity of each record.
    pub memory_bytes: u64,
}

/// The memory of a program that exports, without pages and identities.
const PROGRAM_MEMORY: u64 = 24 << 20;
/// The memory that the identity of a record takes, in bytes. The measured size is 46.
const IDENTITY_MEMORY: u64 = 50;

impl List<RawRecord> {
    /// Finds the length of a list if the service does not report it. Begins with the first page, doubles the offset
    /// until there are no records, and then halves the distance (galloping search).
    async fn measure(&self, first: &Page) -> Result<u64> {
        let size = first.records.len() as u64;
        let (mut length, mut behind) = (size, None);
        let mut is_end = first.pagination.has_more == Some(false);
        while size > 0 && !is_end && behind.is_none_or(|behind| length < behind) {
            let offset = match behind {
                // No list is this long, so the service ignores offsets.
                None if length > MAX_LENGTH => break,
                None => 2 * length,
                Some(behind) => length + (behind - length) / 2,
            };
            match self.page(Some(size), offset).await {
                Ok(page) if !page.records.is_empty() => {
                    length = offset + page.records.len() as u64;
                    is_end = page.pagination.has_more == Some(false);
                }
                Ok(_) => behind = Some(offset),
                Err(error) if is_refusal(&error) => behind = Some(offset),
                Err(error) => return Err(error),
            }
        }
        Ok(length)
    }
}

/// Returns the number of pages in a complete scan of a list that does not change. Each page but the first has one new
/// record less than it holds, because it overlaps the previous one. At the end, the last and the first page are read
/// once more.
fn pages(records: u64, page: &Page) -> u64 {
    let granted = page.records.len() as u64;
    if granted == 0 || granted >= records {
        return 2;
    }
    let pages = match granted {
        1 => records,
        _ => records.saturating_sub(1).div_ceil(granted - 1),
    };
    pages.saturating_add(2)
}
