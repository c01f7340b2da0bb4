//! The options of a scan.

use super::position::Resume;
use super::receipt::Receipt;
use super::unproven::Unproven;
use crate::arguments::Arguments;
use talentdata_types::ListName;

/// The options of a scan.
#[derive(Clone, Debug, Default)]
pub struct ScanOptions {
    /// The number of records per page to ask for; the list's maximum by default.
    pub page_size: Option<u64>,
    /// Where to continue; at the beginning by default.
    pub resume: Option<Resume>,
    /// The maximum number of records to deliver. A scan that ends there has a receipt that says so.
    pub limit: Option<u64>,
    /// Values of the list's parameters, such as filters; they are sent with every page.
    pub arguments: Arguments,
    /// The action at the end of a list whose completeness is not proven. By default record batches fail, and readers
    /// of records find it in the receipt. Exports and syncs have no such option.
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
