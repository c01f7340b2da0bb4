//! What reading a list will cost, told by one page of it.

use crate::arguments::Arguments;
use crate::client::Client;
use crate::error::Result;
use crate::page::Page;
use crate::settings::REQUESTS_PER_SECOND;
use schemars::JsonSchema;
use serde::Serialize;
use talentdata_types::Resource;

/// The cost of a complete scan, if the list stays as it is.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Plan {
    /// The list.
    pub resource: String,
    /// Records in it.
    pub records: u64,
    /// Page requests, none of them sent again.
    pub pages: u64,
    /// How many clients share the budget now, this one included.
    pub members: u64,
    /// How long they take at this client's part of the budget (section 8), while as many clients share it.
    pub seconds: f64,
}

impl Client {
    /// What a scan of a list will cost. Asks for a full page, because only that tells how many
    /// records the service grants.
    ///
    /// # Errors
    /// As [`List::page`](crate::List::page).
    pub async fn plan(&self, resource: Resource) -> Result<Plan> {
        self.plan_with(resource, Arguments::default()).await
    }

    /// The same for a list with these values of its parameters, such as filters.
    ///
    /// # Errors
    /// As [`List::page`](crate::List::page).
    pub async fn plan_with(
        &self,
        resource: Resource,
        arguments: impl Into<Arguments>,
    ) -> Result<Plan> {
        let most = resource.shape().max_limit;
        let list = self.resource(resource).with(arguments);
        let page = list.page(most, 0).await?;
        let members = self.budget().members.max(1);
        let part = self.config().share.min(1.0 / members as f64);
        // The gate keeps one request below the limit.
        let rate = f64::from(REQUESTS_PER_SECOND - 1) * part;
        let pages = pages(&page);
        Ok(Plan {
            resource: resource.name().to_owned(),
            records: total(&page),
            pages,
            members: members as u64,
            seconds: pages as f64 / rate,
        })
    }
}

/// The length of the list as this page says it.
pub(crate) fn total(page: &Page) -> u64 {
    u64::try_from(page.pagination.total).unwrap_or(0)
}

/// Pages of a complete scan of a list that stands still: each but the first brings one record less than
/// it holds, because it overlaps the one before; then the end is read once more, and so is the beginning.
fn pages(page: &Page) -> u64 {
    let granted = page.records.len() as u64;
    if !page.pagination.has_more || granted == 0 {
        return 2;
    }
    let pages = match granted {
        1 => total(page),
        _ => total(page).saturating_sub(1).div_ceil(granted - 1),
    };
    pages.saturating_add(2)
}
