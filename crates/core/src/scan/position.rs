//! Where a scan stands, so that another one can go on from there.

use super::evidence::Evidence;
use super::receipt::Receipt;
use super::unknown_fields::{Unknown, UnknownFields};
use crate::record::RawRecord;
use crate::record::{Identity, IdentityKey};
use crate::request::memory::Claim;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::sync::Arc;
use talentdata_types::ListShape;

/// How many identities a position carries: as many records may be removed or added around it
/// before the scan goes on, without a doubt about completeness.
const REMEMBERED: usize = 5_000;

/// A place in a list: everything up to it has been delivered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Position {
    /// How identities are hashed.
    pub(super) key: IdentityKey,
    /// Offset of the last record delivered, as the list was then; none before the first.
    pub(super) offset: Option<u64>,
    /// The records delivered last, the latest at the end.
    pub(super) recent: VecDeque<Recent>,
    /// What the scan has seen so far.
    pub(super) evidence: Evidence,
}

/// A record that was delivered.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub(super) struct Recent {
    pub(super) id: Identity,
    /// Whether it stood behind the frontier.
    pub(super) behind: bool,
}

impl From<Recent> for String {
    fn from(recent: Recent) -> String {
        let mut text = recent.id.to_hex();
        if recent.behind {
            text.push('-');
        }
        text
    }
}

impl TryFrom<String> for Recent {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let digits = text.strip_suffix('-');
        let id = Identity::from_hex(digits.unwrap_or(&text));
        Ok(Recent {
            id: id.ok_or("an identity is not hexadecimal")?,
            behind: digits.is_some(),
        })
    }
}

impl Position {
    /// Moves on behind a batch.
    pub fn advance(&mut self, batch: &Batch) {
        self.key = batch.key;
        let identities = batch
            .records
            .iter()
            .map(|record| record.identity(&batch.key));
        let delivered = identities.enumerate().map(|(index, id)| Recent {
            id,
            behind: index < batch.behind,
        });
        self.note(batch.offset, &batch.evidence, delivered);
    }

    pub(super) fn note(
        &mut self,
        offset: u64,
        evidence: &Evidence,
        delivered: impl ExactSizeIterator<Item = Recent>,
    ) {
        self.offset = Some(offset);
        self.evidence.clone_from(evidence);
        // At once and exactly, since pieces that grow leave holes behind.
        let most = REMEMBERED + delivered.len();
        self.recent
            .reserve_exact(most.saturating_sub(self.recent.len()));
        self.recent.extend(delivered);
        let surplus = self.recent.len().saturating_sub(REMEMBERED);
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
    /// How many of the records, at the beginning, stand behind the frontier.
    pub(crate) behind: usize,
    pub(super) evidence: Evidence,
    pub(super) key: IdentityKey,
    /// What its page takes of the memory of all pages, until the batch is dropped.
    pub(super) _claim: Option<Arc<Claim>>,
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
            behind: self.behind.saturating_sub(count),
            evidence: self.evidence.clone(),
            key: self.key,
            _claim: self._claim.clone(),
        };
        self.behind = self.behind.min(count);
        self.evidence.delivered -= rest.records.len() as u64;
        if let Some(last) = self.records.last() {
            self.offset = last.offset();
        }
        let mut unknown_fields = UnknownFields::new(shape);
        unknown_fields.count(&rest.records);
        self.unknown.subtract(&unknown_fields.unknown());
        self.receipt.records -= rest.records.len() as u64;
        Some(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Page;
    use crate::request::transport::Response;
    use talentdata_types::Resource;

    #[test]
    fn a_batch_in_two_parts_counts_the_same() {
        let shape = Resource::Contacts.shape();
        let mut unknown_fields = UnknownFields::new(shape);
        let records: Vec<String> = (1..5)
            .map(|index| format!("{{\"id\":\"{index}\",\"new{}\":1}}", index / 2))
            .collect();
        let pagination = r#""pagination":{"total":75,"limit":4,"offset":71,"hasMore":false}"#;
        let body = format!("{{\"rows\":[{}],{pagination}}}", records.join(","));
        let page = Page::read(&Response::of_json(body), None, 71).unwrap();
        unknown_fields.count(&page.records);
        let receipt = Receipt {
            records: 100,
            ..Receipt::default()
        };
        let mut evidence = Evidence::default();
        evidence.delivered = 100;
        let whole = Batch {
            records: page.records,
            receipt,
            unknown: unknown_fields.unknown(),
            offset: 74,
            behind: 2,
            evidence,
            key: IdentityKey::random(),
            _claim: None,
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
        assert_eq!((first.behind, rest.behind), (1, 1));
        let (mut at_once, mut in_parts) = (Position::default(), Position::default());
        at_once.advance(&whole);
        in_parts.advance(&first);
        in_parts.advance(&rest);
        assert_eq!(at_once, in_parts);
        let stored = serde_json::to_string(&at_once).unwrap();
        assert_eq!(serde_json::from_str::<Position>(&stored).unwrap(), at_once);
        assert!(first.split_off(1, shape).is_none());
    }
}
