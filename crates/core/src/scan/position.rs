//! Where a scan stands, so that another one can go on from there.

use super::receipt::Receipt;
use super::tally::{Tally, Unknown};
use super::window::Identity;
use crate::record::RawRecord;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use talentdata_types::ListShape;

/// How many identities a position carries: as many records may be removed or added around it,
/// before the scan goes on, without a doubt about completeness.
const REMEMBERED: usize = 5_000;

/// A place in a list: everything up to it has been delivered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Position {
    /// Offset of the last record delivered, as the list was then; none before the first.
    pub(super) offset: Option<u64>,
    /// The identities of the records delivered last, the latest at the end.
    pub(super) recent: VecDeque<Identity>,
    /// Whether more was delivered than `recent` remembers.
    pub(super) forgotten: bool,
}

impl Position {
    /// Moves on behind a batch.
    pub fn advance(&mut self, batch: &Batch) {
        self.note(batch.offset, batch.records.iter().map(RawRecord::identity));
    }

    pub(super) fn note(&mut self, offset: u64, delivered: impl Iterator<Item = Identity>) {
        self.offset = Some(offset);
        self.recent.extend(delivered);
        let surplus = self.recent.len().saturating_sub(REMEMBERED);
        self.forgotten |= surplus > 0;
        self.recent.drain(..surplus);
    }
}

/// The new records of a page.
#[derive(Clone, Debug)]
pub struct Batch {
    /// The records, in order.
    pub records: Vec<RawRecord>,
    /// What had been done when they were joined, except for what is unknown; the scan itself may be
    /// further ahead.
    pub(crate) receipt: Receipt,
    /// What was unknown up to here.
    pub(crate) unknown: Unknown,
    /// Offset of the last record of the page.
    pub(super) offset: u64,
}

impl Batch {
    /// Keeps the first `count` records, which come from a list of this shape; returns the others, if any.
    pub(crate) fn split_off(&mut self, count: usize, shape: &'static ListShape) -> Option<Batch> {
        if count >= self.records.len() {
            return None;
        }
        let rest = Batch {
            records: self.records.split_off(count),
            receipt: self.receipt.clone(),
            unknown: self.unknown.clone(),
            offset: self.offset,
        };
        if let Some(last) = self.records.last() {
            self.offset = last.offset();
        }
        let mut tally = Tally::new(shape);
        tally.count(&rest.records);
        self.unknown.subtract(&tally.unknown());
        self.receipt.records -= rest.records.len() as u64;
        Some(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Page;
    use crate::transport::Answer;
    use talentdata_types::Resource;

    #[test]
    fn a_batch_in_two_parts_counts_the_same() {
        let shape = Resource::Contacts.shape();
        let mut tally = Tally::new(shape);
        let records: Vec<String> = (1..5)
            .map(|index| format!("{{\"id\":\"{index}\",\"new{}\":1}}", index / 2))
            .collect();
        let pagination = r#""pagination":{"total":75,"limit":4,"offset":71,"hasMore":false}"#;
        let body = format!("{{\"rows\":[{}],{pagination}}}", records.join(","));
        let page = Page::read(&Answer::of_json(body), None, 71).unwrap();
        tally.count(&page.records);
        let receipt = Receipt {
            records: 100,
            ..Receipt::default()
        };
        let whole = Batch {
            records: page.records,
            receipt,
            unknown: tally.unknown(),
            offset: 74,
        };
        let mut first = whole.clone();
        let rest = first.split_off(1, shape).unwrap();
        assert_eq!((first.records.len(), rest.records.len()), (1, 3));
        assert_eq!((first.receipt.records, rest.receipt.records), (97, 100));
        let unknown = |batch: &Batch| {
            let mut receipt = Receipt::default();
            batch.unknown.read(&mut receipt);
            receipt.unknown_fields
        };
        assert_eq!(unknown(&first), [("new0".to_owned(), 1)].into());
        assert_eq!(unknown(&rest), unknown(&whole));
        assert_eq!((first.offset, rest.offset), (71, 74));
        let (mut at_once, mut in_parts) = (Position::default(), Position::default());
        at_once.advance(&whole);
        in_parts.advance(&first);
        in_parts.advance(&rest);
        assert_eq!(at_once, in_parts);
        assert!(first.split_off(1, shape).is_none());
    }
}
