//! The receipt of a scan: what was done, and whether completeness is proven.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a scan has done. Times are in seconds.
///
/// Counts are of this scan alone; those of a resumed export cover all its runs, except for what a run
/// did after its last checkpoint when it was killed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Receipt {
    /// The list.
    pub resource: String,
    /// Whether every record that was in the list all the time has been delivered.
    pub completeness: Completeness,
    /// Why completeness is not proven.
    pub doubts: Vec<Doubt>,
    /// How often the export was resumed; 0 when a single run has done it all.
    pub resumed: u64,
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
    /// The part of the company's budget that was used, from 0 to 1; more where the scan was told to keep no pace.
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
    /// The service ended the list before the total that it names with the last page.
    ShortOfTotal,
    /// So many records were removed or added at once that no page joined any more; some may have come twice.
    MovedTooFar,
    /// Two records of a page have the same `id`, which therefore tells none from others.
    RepeatedId,
}

impl Doubt {
    /// The reason in words.
    pub fn reason(self) -> &'static str {
        match self {
            Self::NoOverlap => "the service sends pages of a single record, which cannot overlap",
            Self::EmptyPage => "the service sent an empty page and said that more follow",
            Self::ShortOfTotal => "the service ended the list before the total that it names",
            Self::MovedTooFar => {
                "so many records were removed or added at once that the pages no longer join; some records may have come twice"
            }
            Self::RepeatedId => {
                "two records of a page have the same id, so that one may be taken for the other"
            }
        }
    }
}

impl Receipt {
    /// Of two runs of an export, `self` being the second: what they have done together.
    ///
    /// Completeness is proven only if the pages of both join, and the second to those of the first,
    /// which it has checked.
    pub(crate) fn after(mut self, first: &Receipt) -> Receipt {
        let budget = self.budget_used * self.seconds + first.budget_used * first.seconds;
        self.resumed += first.resumed + 1;
        self.records += first.records;
        self.pages += first.pages;
        self.requests += first.requests;
        self.retries += first.retries;
        self.rate_limited += first.rate_limited;
        self.seconds += first.seconds;
        self.seconds_waited_for_budget += first.seconds_waited_for_budget;
        self.seconds_backed_off += first.seconds_backed_off;
        self.budget_used = match self.seconds > 0.0 {
            true => budget / self.seconds,
            false => 0.0,
        };
        self.duplicates_dropped += first.duplicates_dropped;
        self.seams_repaired += first.seams_repaired;
        self.total_first = first.total_first.or(self.total_first);
        self.total_last = self.total_last.or(first.total_last);
        for doubt in &first.doubts {
            if !self.doubts.contains(doubt) {
                self.doubts.push(*doubt);
            }
        }
        if self.completeness == Completeness::Proven && !self.doubts.is_empty() {
            self.completeness = Completeness::NotProven;
        }
        add(&mut self.unknown_fields, &first.unknown_fields);
        for (field, values) in &first.unknown_values {
            add(
                self.unknown_values.entry(field.clone()).or_default(),
                values,
            );
        }
        self
    }

    /// The JSON Schema of a receipt.
    pub fn json_schema() -> serde_json::Value {
        schemars::schema_for!(Receipt).to_value()
    }
}

fn add(counts: &mut BTreeMap<String, u64>, others: &BTreeMap<String, u64>) {
    for (name, count) in others {
        *counts.entry(name.clone()).or_default() += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receipt(records: u64, doubts: Vec<Doubt>) -> Receipt {
        Receipt {
            completeness: Completeness::Proven,
            doubts,
            records,
            seconds: records as f64,
            budget_used: 1.0 / records as f64,
            total_first: Some(records as i64),
            unknown_fields: [("a".to_owned(), records)].into(),
            unknown_values: [("b".to_owned(), [("c".to_owned(), records)].into())].into(),
            ..Receipt::default()
        }
    }

    #[test]
    fn two_runs_are_counted_together() {
        let both = receipt(3, Vec::new()).after(&receipt(1, Vec::new()));
        assert_eq!((both.resumed, both.records), (1, 4));
        assert_eq!((both.seconds, both.budget_used), (4.0, 0.5));
        assert_eq!(both.total_first, Some(1));
        assert_eq!(both.unknown_fields["a"], 4);
        assert_eq!(both.unknown_values["b"]["c"], 4);
        assert_eq!(both.completeness, Completeness::Proven);
        assert_eq!(receipt(1, Vec::new()).after(&both).resumed, 2);
    }

    #[test]
    fn a_doubt_of_any_run_stays() {
        let first = receipt(1, vec![Doubt::MovedTooFar]);
        let both = receipt(1, vec![Doubt::MovedTooFar, Doubt::EmptyPage]).after(&first);
        assert_eq!(both.doubts, [Doubt::MovedTooFar, Doubt::EmptyPage]);
        let both = receipt(1, Vec::new()).after(&first);
        assert_eq!(both.completeness, Completeness::NotProven);
    }
}
