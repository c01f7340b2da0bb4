//! The same verbs for callers without an async runtime.

use crate::client::Client as AsyncClient;
use crate::config::Builder;
use crate::error::{Error, ErrorKind, Result};
use crate::page::Page;
use crate::record::RawRecord;
use crate::scan::{Batch, Receipt, Scan as AsyncScan, ScanOptions};
use std::sync::Arc;
use talentdata_types::{
    CategoryName, Resource, TokenPermissions, VersionCheckResponse, VersionResponse,
};
use tokio::runtime::Runtime;

/// A client that blocks the calling thread; clones may be used from several threads.
#[derive(Clone)]
pub struct Client {
    client: AsyncClient,
    runtime: Arc<Runtime>,
}

impl Client {
    /// Settings to make a client from; pass them to [`Client::new`].
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Checks the settings and makes a client with a runtime of its own, without sending anything.
    ///
    /// # Errors
    /// `Config`, naming the setting; `Internal` when the system grants no threads.
    pub fn new(builder: Builder) -> Result<Self> {
        let client = builder.build()?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("talentdata")
            .enable_all()
            .build()
            .map_err(|error| {
                Error::new(
                    ErrorKind::Internal,
                    format!("no threads for the client: {error}"),
                )
            })?;
        Ok(Client {
            client,
            runtime: Arc::new(runtime),
        })
    }

    /// The async client behind this one.
    pub fn inner(&self) -> &AsyncClient {
        &self.client
    }

    /// See [`AsyncClient::version`].
    ///
    /// # Errors
    /// As there.
    pub fn version(&self) -> Result<VersionResponse> {
        self.runtime.block_on(self.client.version())
    }

    /// See [`AsyncClient::check_version`].
    ///
    /// # Errors
    /// As there.
    pub fn check_version(
        &self,
        client_version: &str,
        categories: impl IntoIterator<Item = CategoryName>,
    ) -> Result<VersionCheckResponse> {
        self.runtime
            .block_on(self.client.check_version(client_version, categories))
    }

    /// See [`AsyncClient::permissions`].
    ///
    /// # Errors
    /// As there.
    pub fn permissions(&self) -> Result<TokenPermissions> {
        self.runtime.block_on(self.client.permissions())
    }

    /// One page of a list, as the service sent it; see [`List::page`](crate::List::page).
    ///
    /// # Errors
    /// As there.
    pub fn page(&self, resource: Resource, limit: Option<u64>, offset: u64) -> Result<Page> {
        self.runtime
            .block_on(self.client.resource(resource).page(limit, offset))
    }

    /// Every record of a list, as the service sent it.
    pub fn scan(&self, resource: Resource, options: ScanOptions) -> Scan {
        let _entered = self.runtime.enter();
        Scan {
            scan: self.client.resource(resource).scan(options),
            runtime: Arc::clone(&self.runtime),
        }
    }
}

/// Every record of a list, in order; an `Iterator` of `Result<RawRecord>`.
pub struct Scan {
    // Dropped first, while its runtime still runs.
    scan: AsyncScan,
    runtime: Arc<Runtime>,
}

impl Scan {
    /// The records of the next page that holds new ones; `None` at the end of the list.
    pub fn next_batch(&mut self) -> Option<Result<Batch>> {
        self.runtime.block_on(self.scan.next_batch())
    }

    /// What has been done so far; final once the scan has ended.
    pub fn receipt(&self) -> Receipt {
        self.scan.receipt()
    }

    /// See [`AsyncScan::into_batches`].
    #[cfg(feature = "arrow")]
    pub fn into_batches(self, rows: usize) -> BatchScan {
        BatchScan {
            scan: self.scan.into_batches(rows),
            runtime: self.runtime,
        }
    }
}

impl Iterator for Scan {
    type Item = Result<RawRecord>;

    fn next(&mut self) -> Option<Self::Item> {
        self.runtime.block_on(self.scan.next())
    }
}

/// The record batches of a list, in order; an `Iterator` of `Result<RecordBatch>`.
#[cfg(feature = "arrow")]
pub struct BatchScan {
    // Dropped first, while its runtime still runs.
    scan: crate::arrow::BatchScan,
    runtime: Arc<Runtime>,
}

#[cfg(feature = "arrow")]
impl BatchScan {
    /// See [`crate::arrow::BatchScan::schema`].
    ///
    /// # Errors
    /// As there.
    pub fn schema(&mut self) -> Result<crate::arrow::SchemaRef> {
        self.runtime.block_on(self.scan.schema())
    }

    /// What has been done so far; final once the scan has ended.
    pub fn receipt(&self) -> Receipt {
        self.scan.receipt()
    }
}

#[cfg(feature = "arrow")]
impl Iterator for BatchScan {
    type Item = Result<crate::arrow::RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        self.runtime.block_on(self.scan.next())
    }
}
