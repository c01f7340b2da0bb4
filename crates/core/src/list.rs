//! One list of the service: its pages and its scan, as typed records or raw ones.

use crate::arguments::Arguments;
use crate::client::Client;
use crate::error::{Error, ErrorKind, Result};
use crate::page::Page;
use crate::record::RawRecord;
use crate::request::Call;
use crate::request::memory::ScanMetrics;
use crate::scan::{Scan, ScanOptions};
use serde::de::DeserializeOwned;
use std::sync::Arc;
use talentdata_types::Resource;

/// A list of the service whose records are read as `T`.
pub struct List<T> {
    client: Client,
    resource: Resource,
    arguments: Arguments,
    read: fn(RawRecord) -> Result<T>,
}

impl<T: DeserializeOwned> List<T> {
    pub(crate) fn typed(client: &Client, resource: Resource) -> Self {
        List {
            client: client.clone(),
            resource,
            arguments: Arguments::default(),
            read: |record| record.to(),
        }
    }
}

impl<T> List<T> {
    /// The list with these values of its parameters, such as filters; they replace those that it had, and are sent
    /// with every page. They are checked before anything is sent.
    pub fn with(self, arguments: impl Into<Arguments>) -> Self {
        List {
            arguments: arguments.into(),
            ..self
        }
    }

    /// The same list with records as the service sent them.
    pub fn raw(&self) -> List<RawRecord> {
        let raw = self.client.resource(self.resource);
        raw.with(self.arguments.clone())
    }

    /// Every record, in order. Must be called within a tokio runtime.
    pub fn list(&self) -> Scan<T> {
        self.scan(ScanOptions::default())
    }

    /// Every record, in order, read in this way. Must be called within a tokio runtime.
    pub fn scan(&self, mut options: ScanOptions) -> Scan<T> {
        options.arguments = options.arguments.or(&self.arguments);
        Scan::start(&self.client, self.resource, options, self.read)
    }

    /// Which list it is.
    pub fn resource(&self) -> Resource {
        self.resource
    }

    /// One page: at most `limit` records (the service's default where none) after `offset` records.
    ///
    /// # Errors
    /// `InvalidArgument` for a `limit` of 0 or above the list's maximum (section 8), and for parameters that cannot be
    /// sent; those of the call; `Schema`, naming record and field, for a record that is not as documented.
    pub async fn page(&self, limit: Option<u64>, offset: u64) -> Result<Page<T>> {
        check_limit(self.resource, "limit", limit)?;
        let key = self.resource.shape().record_key;
        let page = self
            .client
            .fetch_page(self.resource, &self.arguments, limit, offset, key, None)
            .await?;
        let records: Result<Vec<T>> = page.records.into_iter().map(self.read).collect();
        // Its memory is the caller's from here on.
        Ok(Page {
            records: records?,
            pagination: page.pagination,
            key: page.key,
            claim: None,
        })
    }
}

/// Whether so many records may be asked for at a time (section 8); `name` is what the caller calls it.
///
/// # Errors
/// `InvalidArgument`, naming it and what is possible.
pub(crate) fn check_limit(resource: Resource, name: &str, limit: Option<u64>) -> Result<()> {
    let most = resource.shape().max_limit;
    match limit {
        Some(limit) if limit == 0 || most.is_some_and(|most| limit > most) => {
            let bounds = most.map_or("at least 1".to_owned(), |most| {
                format!("between 1 and {most}")
            });
            let message = format!("{name} must be {bounds} (got {limit})");
            Err(Error::new(ErrorKind::InvalidArgument, message))
        }
        _ => Ok(()),
    }
}

impl Client {
    /// A list with records as the service sent them.
    pub fn resource(&self, resource: Resource) -> List<RawRecord> {
        List {
            client: self.clone(),
            resource,
            arguments: Arguments::default(),
            read: Ok,
        }
    }

    pub(crate) async fn fetch_page(
        &self,
        resource: Resource,
        arguments: &Arguments,
        limit: Option<u64>,
        offset: u64,
        key: Option<&str>,
        metrics: Option<Arc<ScanMetrics>>,
    ) -> Result<Page> {
        let mut call = Call::new(resource.shape().operation, arguments.clone())?;
        let query = &mut call.parts.query;
        query.push(("offset", offset.to_string()));
        query.extend(limit.map(|limit| ("limit", limit.to_string())));
        call.claim = Some(self.0.memory.claim(metrics, offset));
        let page = self.call(&mut call, |response| Page::read(response, key, offset));
        let page = page.await.map_err(|error| error.with_offset(offset))?;
        Ok(page.with_claim(call.claim).await)
    }
}
