//! One call: the operation, the parts of its request, and the memory for its response.

use super::page_memory::MemoryClaim;
use super::page_size::PageRequest;
use super::stats::CallStats;
use crate::arguments::{Arguments, RequestParts};
use crate::error::Result;
use crate::process::lock;
use talentdata_types::Operation;
use url::Url;

/// A request to the service, before it is sent.
pub(crate) struct Call {
    pub(super) operation: &'static Operation,
    pub(crate) parts: RequestParts,
    /// The offset of the page that the call fetches, in records.
    pub(crate) offset: Option<u64>,
    /// The memory for a page. Other responses are small.
    pub(crate) claim: Option<MemoryClaim>,
    /// The number of records to request in a page, if it may be reduced.
    pub(crate) size: Option<PageRequest>,
    /// True if no error quotes the records of the response.
    pub(crate) hides_records: bool,
    /// The address to which the service redirected the call, within its origin.
    pub(super) redirected: Option<Url>,
    /// The number of redirects so far.
    pub(super) redirects: u32,
}

impl Call {
    /// Creates a call with these arguments.
    ///
    /// # Errors
    /// `InvalidArgument`, naming the argument that cannot be sent.
    pub(crate) fn new(operation: &'static Operation, arguments: Arguments) -> Result<Self> {
        Ok(Call {
            operation,
            parts: arguments.parts(operation)?,
            offset: None,
            claim: None,
            size: None,
            hides_records: false,
            redirected: None,
            redirects: 0,
        })
    }

    /// Returns whether the call fetches a page of a scan.
    pub(super) fn is_scan(&self) -> bool {
        let claim = self.claim.as_ref();
        claim.is_some_and(|claim| claim.scan.is_some())
    }

    /// Updates the statistics of the scan that the call belongs to.
    pub(super) fn count(&self, change: impl FnOnce(&mut CallStats)) {
        let claim = self.claim.as_ref();
        if let Some(scan) = claim.and_then(|claim| claim.scan.as_ref()) {
            change(&mut lock(&scan.stats));
        }
    }
}
