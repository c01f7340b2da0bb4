//! The receipt of a scan: what was done, and whether completeness is proven.

use super::differences::SchemaDifferences;
use crate::budget::BudgetStats;
use crate::error::{Error, ErrorKind, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The receipt of a scan: what was done, and whether completeness is proven. Times are in seconds.
///
/// Counts cover this scan. For a resumed export they cover all runs, except for the work that a killed run did after
/// its last checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Receipt {
    /// The name of the list.
    pub resource: String,
    /// The address of the service; null before the scan began.
    #[serde(default)]
    pub service: Option<String>,
    /// The client ID with which the list was read; null if the client has none.
    #[serde(default)]
    pub client_id: Option<String>,
    /// The version of talentdata that read the list; null before the scan began.
    #[serde(default)]
    pub version: Option<String>,
    /// The start of the scan: a time in UTC as in RFC 3339, by the clock of this machine; null before the first page.
    #[serde(default)]
    #[schemars(extend("format" = "date-time"))]
    pub started: Option<String>,
    /// The time at which the last page so far was read; null before the first page.
    #[serde(default)]
    #[schemars(extend("format" = "date-time"))]
    pub ended: Option<String>,
    /// The values of the list's parameters, for example filters, that were sent with every page. The value of a header
    /// is recorded as a hash. `kept fields`, `dropped fields` and `hashed fields` name the fields that the scan keeps,
    /// drops or hashes.
    #[serde(default)]
    pub parameters: BTreeMap<String, serde_json::Value>,
    /// The completeness of the scan: `proven` if every record that was present throughout the scan was delivered exactly
    /// once.
    pub completeness: Completeness,
    /// The basis of the proof; null if completeness is not proven.
    pub basis: Option<Basis>,
    /// The assumptions of the proof, which cannot be checked from outside; null if completeness is not proven.
    #[serde(default)]
    pub assumes: Option<String>,
    /// The reasons why completeness is not proven.
    pub doubts: Vec<Doubt>,
    /// The number of times that the export was resumed; 0 if it finished in one run.
    pub resumed: u64,
    /// The reason why the export started over, with the number of kept records that it discarded; null if it did not
    /// start over.
    #[serde(default)]
    pub restarted: Option<String>,
    /// The number of delivered records.
    pub records: u64,
    /// The number of pages that were joined.
    pub pages: u64,
    /// The number of page requests, including retries.
    pub requests: u64,
    /// The number of page requests that were sent again after a failure.
    pub retries: u64,
    /// The number of responses with status 429.
    pub rate_limited: u64,
    /// The time from the first request to the end.
    pub seconds: f64,
    /// The part of `seconds` in which pages waited for the budget.
    pub seconds_waited_for_budget: f64,
    /// The use of the shared budget during the scan; null before the first page.
    #[serde(default)]
    pub budget: Option<BudgetUse>,
    /// The time that failed pages waited before they were requested again, summed over all pages.
    pub seconds_backed_off: f64,
    /// The part of the company's budget that was used, from 0 to 1; more if `paced` is false.
    pub budget_used: f64,
    /// The smallest page size that was requested because larger pages failed; null if none was reduced.
    #[serde(default)]
    pub reduced_page_size: Option<u64>,
    /// The number of repeated records that were dropped. The records in which consecutive pages overlap on purpose, to
    /// prove that nothing lies between them, are not counted.
    pub duplicates_dropped: u64,
    /// The number of seams at which the list had moved and the scan stepped back.
    pub seams_repaired: u64,
    /// The service's total on the first page.
    pub total_first: Option<i64>,
    /// The service's total on the last page.
    pub total_last: Option<i64>,
    /// The names in `fields`, `drop` or `hash` that no record had. They may be misspelled.
    #[serde(default)]
    pub unmatched_fields: Vec<String>,
    /// The number of occurrences of each field that the API description does not contain.
    pub unknown_fields: BTreeMap<String, u64>,
    /// The number of occurrences of each enum value that the API description does not contain, by field.
    pub unknown_values: BTreeMap<String, BTreeMap<String, u64>>,
    /// The differences between the records and their columns. For a sync, the differences between the new or changed
    /// records and the columns that the mirror had before. The value is null if the records did not become columns.
    #[serde(default)]
    pub schema: Option<SchemaDifferences>,
    /// The size and the hashes of the exported file, to verify it; null for a scan, and until the export is complete.
    #[serde(default)]
    pub written: Option<Written>,
}

/// The size and the hashes of an exported file, by which the file can be verified.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Written {
    /// The name of the file, without its directory; null for standard output and other streams.
    pub file: Option<String>,
    /// The format: `jsonl`, `csv`, `parquet` or `arrow`.
    pub format: String,
    /// The size of the file, in bytes.
    pub bytes: u64,
    /// The BLAKE3 hash of the file, as 64 hexadecimal digits.
    pub blake3: String,
    /// The number of records in the file.
    pub records: u64,
    /// The sum, modulo 2^128, of the XXH3-128 hashes of the records, as 32 hexadecimal digits. Each record is hashed as
    /// its line in JSON Lines, regardless of the format of the file. The digest does not depend on the order of the
    /// records. It changes if a record is missing, repeated or altered.
    pub records_digest: String,
}

/// The use of the shared request budget during a scan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BudgetUse {
    /// The place of the budget: `process`, `host`, or the address of the server, without user and password.
    pub store: String,
    /// The maximum number of clients that shared the budget at the same time, including this one.
    pub max_members: u64,
    /// The number of seconds for which the budget could not be reached, so that the client continued on its own or
    /// waited.
    pub seconds_unreachable: f64,
    /// The latest reason why the budget could not be reached; null if it could always be reached.
    pub unreachable_reason: Option<String>,
}

impl BudgetUse {
    /// Adds the client's current statistics. The budget was unreachable for `unreachable_before` seconds before the
    /// scan.
    pub(super) fn note(&mut self, stats: BudgetStats, unreachable_before: f64) {
        self.store = stats.store;
        self.max_members = self.max_members.max(stats.members as u64);
        self.seconds_unreachable = (stats.seconds_unreachable - unreachable_before).max(0.0);
        if self.seconds_unreachable > 0.0 {
            self.unreachable_reason = stats.unreachable_reason;
        }
    }

    /// Combines the budget use of two runs of an export. `self` is the second run.
    fn after(mut self, first: &BudgetUse) -> BudgetUse {
        self.max_members = self.max_members.max(first.max_members);
        self.seconds_unreachable += first.seconds_unreachable;
        self.unreachable_reason = self
            .unreachable_reason
            .or_else(|| first.unreachable_reason.clone());
        self
    }
}

/// The assumptions behind "proven", for [`Receipt::assumes`].
const ASSUMES: &str = "the list keeps its order and its records keep their identities during the scan, and all responses read the same copy of the list";

/// The completeness of a scan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Completeness {
    /// The scan has not reached the end of the list.
    #[default]
    Unfinished,
    /// Every record that was present throughout the scan was delivered exactly once. `basis` names the proof.
    Proven,
    /// The scan reached the end of the list, but there are doubts.
    NotProven,
    /// The scan delivered the number of records to which the caller limited it.
    Limited,
}

/// The basis of a proof of completeness, from the strongest to the weakest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// The total never changed during the scan, exactly that many records were delivered, and no page had to be read
    /// again.
    Counted,
    /// Every page joined the pages before it, and the order did not change. The list itself changed during the scan, or
    /// the service does not report its length.
    Joined,
}

/// A reason why completeness is not proven.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Doubt {
    /// The service sends so few records per page that pages cannot overlap enough.
    NoOverlap,
    /// The service says that more records follow, but sends none.
    EmptyPage,
    /// The service ended the list before the total that it reports.
    ShortOfTotal,
    /// The service reports a total smaller than the number of records that it sends.
    WrongTotal,
    /// The total never changed, but a different number of records was delivered.
    CountDiffers,
    /// Records changed their order during the scan.
    OrderChanged,
    /// Responses contradict each other, as if they came from copies of the list that lag behind.
    StaleReads,
    /// Pages contain none of the delivered records, or repeat them endlessly.
    MovedTooFar,
    /// Several records have the same `id`.
    RepeatedId,
    /// Several records without an `id` are identical.
    EqualRecords,
    /// The service seems to send pages of one size only, so that pages cannot overlap, and the list changed during the
    /// scan.
    WholePages,
}

impl Doubt {
    /// Returns the reason as text for users.
    pub fn reason(self) -> &'static str {
        match self {
            Self::NoOverlap => "the service sends too few records per page for pages to overlap",
            Self::EmptyPage => "the service says that more records follow, but sends none",
            Self::ShortOfTotal => "the service ended the list before the total that it reports",
            Self::WrongTotal => "the service reports a total that is less than what it sends",
            Self::CountDiffers => "the number of records delivered differs from the constant total",
            Self::OrderChanged => {
                "records changed their order during the scan: the list has no stable order, or is sorted by a field that changes"
            }
            Self::StaleReads => {
                "responses contradict each other: the list seems to be read from several copies, some of which lag behind"
            }
            Self::MovedTooFar => {
                "pages no longer hold what was delivered, or repeat it without end: the list changes faster than it can be read, or its offsets are not honoured"
            }
            Self::RepeatedId => "several records have the same id and cannot be distinguished",
            Self::EqualRecords => "several records without an id are identical",
            Self::WholePages => {
                "the service seems to read whole pages of one size only, so that pages cannot overlap, and the list changed while it was read"
            }
        }
    }
}

impl Receipt {
    /// Combines the receipts of two runs of an export. `self` is the second run.
    ///
    /// Completeness is proven only if the pages of each run join, and the pages of the second run join the pages of the
    /// first run. The second run checked this.
    pub fn after(mut self, first: &Receipt) -> Receipt {
        let budget_seconds = self.budget_used * self.seconds + first.budget_used * first.seconds;
        self.started = first.started.clone().or(self.started);
        self.resumed += first.resumed + 1;
        self.records += first.records;
        self.pages += first.pages;
        self.requests += first.requests;
        self.retries += first.retries;
        self.rate_limited += first.rate_limited;
        self.seconds += first.seconds;
        self.seconds_waited_for_budget += first.seconds_waited_for_budget;
        self.seconds_backed_off += first.seconds_backed_off;
        self.budget_used = budget_seconds / self.seconds.max(f64::MIN_POSITIVE);
        let reduced = [self.reduced_page_size, first.reduced_page_size];
        self.reduced_page_size = reduced.into_iter().flatten().min();
        self.duplicates_dropped += first.duplicates_dropped;
        self.seams_repaired += first.seams_repaired;
        self.total_first = first.total_first.or(self.total_first);
        self.total_last = self.total_last.or(first.total_last);
        if first.records > 0 {
            let is_unmatched = |name: &String| first.unmatched_fields.contains(name);
            self.unmatched_fields.retain(is_unmatched);
        }
        for doubt in &first.doubts {
            if !self.doubts.contains(doubt) {
                self.doubts.push(*doubt);
            }
        }
        if self.completeness == Completeness::Proven && !self.doubts.is_empty() {
            self.set_unfinished();
            self.completeness = Completeness::NotProven;
        }
        self.budget = match (self.budget, &first.budget) {
            (Some(budget), Some(first)) => Some(budget.after(first)),
            (budget, first) => budget.or_else(|| first.clone()),
        };
        self.schema = self.schema.or_else(|| first.schema.clone());
        add(&mut self.unknown_fields, &first.unknown_fields);
        for (field, values) in &first.unknown_values {
            add(
                self.unknown_values.entry(field.clone()).or_default(),
                values,
            );
        }
        self
    }

    /// Returns the receipt without the `held` records that the caller has not received yet.
    pub fn without(mut self, held: usize) -> Self {
        self.records = self.records.saturating_sub(held as u64);
        if held > 0 {
            self.set_unfinished();
        }
        self
    }

    /// Records that the scan reached the end of the list. `is_counted` is true if the total never changed and exactly
    /// that many records were delivered.
    pub(super) fn conclude(&mut self, is_counted: bool) {
        if !self.doubts.is_empty() {
            self.completeness = Completeness::NotProven;
            return;
        }
        self.completeness = Completeness::Proven;
        self.basis = Some(if is_counted {
            Basis::Counted
        } else {
            Basis::Joined
        });
        self.assumes = Some(ASSUMES.to_owned());
    }

    pub(super) fn set_unfinished(&mut self) {
        self.completeness = Completeness::Unfinished;
        (self.basis, self.assumes) = (None, None);
    }

    /// Returns the reason why records may be missing although the scan reached the end of the list. `None` if it did
    /// not reach the end, or if completeness is proven.
    pub fn shortfall(&self) -> Option<String> {
        let (list, records) = (&self.resource, self.records);
        (self.completeness == Completeness::NotProven).then(|| {
            format!(
                "{list}: {records} records were received, and it is not proven that they are all: {}",
                self.reasons()
            )
        })
    }

    /// Returns a warning about the names in `fields`, `drop` or `hash` that no record had; `None` if there are no such
    /// names, or no records.
    pub fn misspelled(&self) -> Option<String> {
        let names = self.unmatched_fields.join(", ");
        (self.records > 0 && !names.is_empty()).then(|| {
            format!("no record had {names}, which fields, drop or hash names; check the spelling")
        })
    }

    /// Returns the reasons of all doubts as one string.
    fn reasons(&self) -> String {
        let reasons: Vec<&str> = self.doubts.iter().map(|doubt| doubt.reason()).collect();
        reasons.join("; ")
    }

    /// Returns the receipt if the scan is proven complete, or if it ended at the limit that the caller set.
    ///
    /// ```
    /// # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let records = [("contacts".to_owned(), 250)].into();
    /// # let sandbox = talentdata_sandbox::Sandbox::start(talentdata_sandbox::Options { records, ..Default::default() })?;
    /// # let mut settings = talentdata_core::Client::builder();
    /// # settings.base_url(sandbox.base_url()).client_id(sandbox.client_id()).client_secret(sandbox.client_secret());
    /// # settings.budget("process");
    /// # let client = settings.build()?;
    /// use talentdata_core::ErrorKind;
    ///
    /// let mut scan = client.contacts().list();
    /// let too_early = scan.receipt().require_proven().unwrap_err();
    /// assert_eq!(too_early.kind(), ErrorKind::Incomplete);
    /// while scan.next().await.transpose()?.is_some() {}
    /// assert_eq!(scan.receipt().require_proven()?.records, 250);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `Incomplete` if the scan is unfinished or completeness is not proven. The message names the doubts.
    pub fn require_proven(self) -> Result<Receipt> {
        let message = match self.completeness {
            Completeness::Proven | Completeness::Limited => return Ok(self),
            Completeness::Unfinished => "the scan has not reached the end of the list".to_owned(),
            Completeness::NotProven => {
                format!("completeness is not proven: {}", self.reasons())
            }
        };
        Err(Error::new(ErrorKind::Incomplete, message))
    }
}

fn add(counts: &mut BTreeMap<String, u64>, others: &BTreeMap<String, u64>) {
    for (name, count) in others {
        *counts.entry(name.clone()).or_default() += count;
    }
}

/// Tests receipts of several runs, and of scans that the caller did not read to the end.
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
    fn a_scan_is_unfinished_until_the_caller_has_every_record() {
        let part = Receipt {
            basis: Some(Basis::Joined),
            assumes: Some(ASSUMES.to_owned()),
            ..receipt(3, Vec::new())
        };
        let held_back = part.without(1);
        assert_eq!((held_back.basis, held_back.assumes), (None, None));
        assert_eq!(
            (held_back.records, held_back.completeness),
            (2, Completeness::Unfinished)
        );
        let whole = receipt(3, Vec::new()).without(0);
        assert_eq!(whole, receipt(3, Vec::new()));
    }

    #[test]
    fn a_doubt_from_any_run_remains() {
        let first = receipt(1, vec![Doubt::MovedTooFar]);
        let both = receipt(1, vec![Doubt::MovedTooFar, Doubt::EmptyPage]).after(&first);
        assert_eq!(both.doubts, [Doubt::MovedTooFar, Doubt::EmptyPage]);
        let doubted = receipt(1, Vec::new()).after(&first);
        assert_eq!(doubted.completeness, Completeness::NotProven);
    }
}
