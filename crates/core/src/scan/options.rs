//! The options of a scan.

use super::position::Resume;
use super::receipt::Receipt;
use super::unproven::Unproven;
use crate::arguments::Arguments;
use talentdata_types::ListName;

/// The options of a scan.
#[derive(Clone, Debug, Default)]
pub struct ScanOptions {
    /// The number of records to request per page. Default: the list's maximum.
    pub page_size: Option<u64>,
    /// The point from which to continue. Default: the beginning.
    pub resume: Option<Resume>,
    /// The maximum number of records to deliver. If a scan ends there, its receipt says so.
    pub limit: Option<u64>,
    /// Values of the list's parameters, for example filters. They are sent with every page.
    pub arguments: Arguments,
    /// The action at the end of a list whose completeness is not proven. By default record batches fail, and readers of
    /// records find the doubts in the receipt. Exports and syncs have no such option.
    pub unproven: Option<Unproven>,
}

impl ScanOptions {
    /// Returns the receipt of a scan that has done nothing yet.
    pub fn receipt(&self, resource: ListName) -> Receipt {
        Receipt {
            resource: resource.name().to_owned(),
            parameters: self.arguments.recorded(resource.shape().operation),
            ..Receipt::default()
        }
    }
}
