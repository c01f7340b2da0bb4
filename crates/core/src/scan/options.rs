//! What a scan is asked to do.

use super::{Receipt, Resume};
use crate::arguments::Arguments;
use talentdata_types::Resource;

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
