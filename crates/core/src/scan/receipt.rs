//! The receipt of a scan: what was done, and whether completeness is proven.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a scan has done. Counts are of this scan alone, times in seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Receipt {
    /// The list.
    pub resource: String,
    /// Whether every record that was in the list all the time has been delivered.
    pub completeness: Completeness,
    /// Why completeness is not proven.
    pub doubts: Vec<Doubt>,
    /// Records delivered.
    pub records: u64,
    /// Pages that were joined.
    pub pages: u64,
    /// Page requests sent, retries included.
    pub requests: u64,
    /// Page requests sent again after a failure.
    pub retries: u64,
    /// Answers with status 429 (section 8).
    pub rate_limited: u64,
    /// From the first request to the end.
    pub seconds: f64,
    /// Of these, how long pages waited for the budget.
    pub seconds_waited_for_budget: f64,
    /// How long failed pages waited before they were sent again, summed over pages.
    pub seconds_backed_off: f64,
    /// The part of the company's budget that was used, from 0 to 1.
    pub budget_used: f64,
    /// Records that came again and were dropped, beyond the overlap of one per page.
    pub duplicates_dropped: u64,
    /// Seams where the list had moved and the scan stepped back.
    pub seams_repaired: u64,
    /// The service's total on the first page.
    pub total_first: Option<i64>,
    /// The service's total on the last page.
    pub total_last: Option<i64>,
    /// How often each field came that the spec does not know.
    pub unknown_fields: BTreeMap<String, u64>,
    /// How often each enum value came that the spec does not know, by field.
    pub unknown_values: BTreeMap<String, BTreeMap<String, u64>>,
}

/// Whether every record that was in the list all the time has been delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Completeness {
    /// The scan has not come to its end.
    #[default]
    Unfinished,
    /// All pages join.
    Proven,
    /// The end was reached, but there are doubts.
    NotProven,
    /// The scan was asked not to check.
    NotChecked,
}

/// Why completeness is not proven.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Doubt {
    /// Pages of a single record cannot overlap.
    NoOverlap,
    /// The service sent an empty page and said that more follow.
    EmptyPage,
    /// So many records were removed or added at once that no page joined any more.
    MovedTooFar,
}

impl Doubt {
    /// The reason in words.
    pub fn reason(self) -> &'static str {
        match self {
            Self::NoOverlap => "the service sends pages of a single record, which cannot overlap",
            Self::EmptyPage => "the service sent an empty page and said that more follow",
            Self::MovedTooFar => {
                "so many records were removed or added at once that the pages no longer join"
            }
        }
    }
}

impl Receipt {
    /// The JSON Schema of a receipt.
    pub fn json_schema() -> serde_json::Value {
        schemars::schema_for!(Receipt).to_value()
    }
}
