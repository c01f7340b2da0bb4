//! The state of a scan that comes with its records, so that another scan can continue from there.

use super::evidence::Evidence;
use super::receipt::Receipt;
use super::unknown_fields;
use crate::error::{Error, ErrorKind, Result};
use crate::record::{IdentityKey, RawRecord, RecordId};
use crate::request::page_memory::MemoryClaim;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use talentdata_types::ListShape;

/// The number of bytes of a [`DeliveredId`].
pub(crate) const DELIVERED_ID_BYTES: usize = 24;
/// The value of `behind` for the first record.
const FIRST: u64 = u64::MAX;
/// The value of `behind` for a record whose identity was delivered before.
const REPEATED: u64 = u64::MAX - 1;

/// A delivered record: its identity, and the delivered record that it follows in the order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct DeliveredId {
    pub(super) id: RecordId,
    behind: u64,
}

impl DeliveredId {
    pub(super) fn new(id: RecordId, behind: Option<u32>) -> Self {
        let behind = behind.map_or(FIRST, u64::from);
        DeliveredId { id, behind }
    }

    pub(super) fn repeated(id: RecordId) -> Self {
        let behind = REPEATED;
        DeliveredId { id, behind }
    }

    pub(super) fn repeats(&self) -> bool {
        self.behind == REPEATED
    }

    pub(super) fn behind(&self) -> Option<u32> {
        u32::try_from(self.behind).ok()
    }

    pub(super) fn to_bytes(self) -> [u8; DELIVERED_ID_BYTES] {
        let mut bytes = [0; DELIVERED_ID_BYTES];
        bytes[..16].copy_from_slice(&self.id.to_bytes());
        bytes[16..].copy_from_slice(&self.behind.to_le_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8; DELIVERED_ID_BYTES]) -> Self {
        let (mut id, mut behind) = ([0; 16], [0; 8]);
        id.copy_from_slice(&bytes[..16]);
        behind.copy_from_slice(&bytes[16..]);
        DeliveredId {
            id: RecordId::from_bytes(id),
            behind: u64::from_le_bytes(behind),
        }
    }
}

/// The offsets that a service honours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Offsets {
    /// It is not known yet which offsets the service honours.
    #[default]
    Unknown,
    /// All offsets.
    Every,
    /// Multiples of the limit in the same request.
    OfLimit,
    /// Multiples of this page size.
    OfPage(u64),
}

/// The part of a scan's state that does not grow with the list. Another scan can continue from it, together with the
/// entries of all delivered records.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScanState {
    /// The key with which identities are hashed.
    pub(super) key: IdentityKey,
    /// The offset of the last record of the page that was joined last.
    #[serde(rename = "edge")]
    pub(super) last_offset: Option<u64>,
    /// The offsets that the service honours.
    #[serde(default)]
    pub(super) offsets: Offsets,
    /// The evidence for and against completeness.
    pub(super) evidence: Evidence,
}

/// The point from which a scan continues: the state and the delivered records of all earlier scans of the list.
#[derive(Clone, Debug, PartialEq)]
pub struct Resume {
    pub(super) state: ScanState,
    pub(super) entries: Vec<u8>,
}

impl Resume {
    /// Joins a state with the entries of all batches so far, in order.
    ///
    /// # Errors
    /// `Io` if the entries do not belong to the state.
    pub fn new(state: ScanState, entries: Vec<u8>) -> Result<Self> {
        let (records, rest) = entries.as_chunks::<DELIVERED_ID_BYTES>();
        let mut known = 0;
        let fits = |bytes: &[u8; DELIVERED_ID_BYTES]| {
            let entry = DeliveredId::from_bytes(bytes);
            let fits = match entry.behind {
                REPEATED => true,
                FIRST => known == 0,
                behind => behind < known,
            };
            known += u64::from(!entry.repeats());
            fits
        };
        let whole = rest.is_empty() && records.len() as u64 == state.evidence.delivered;
        if whole && records.iter().all(fits) {
            Ok(Resume { state, entries })
        } else {
            let message = "the kept identities of earlier runs are damaged";
            Err(Error::new(ErrorKind::Io, message))
        }
    }

    /// Returns the number of records delivered so far.
    pub fn records(&self) -> u64 {
        self.state.evidence.delivered
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = DeliveredId> {
        let (records, _) = self.entries.as_chunks::<DELIVERED_ID_BYTES>();
        records.iter().map(DeliveredId::from_bytes)
    }
}

/// The new records of a page.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// The records to deliver, in order. May be empty.
    pub records: Vec<RawRecord>,
    /// Records that were inserted during the scan, before records that were already delivered. They are not among
    /// `records`.
    pub inserted_behind_us: Vec<RawRecord>,
    /// The receipt up to these records, always unfinished. The scan may have read further.
    pub receipt: Receipt,
    /// The state of the scan after these records.
    pub state: ScanState,
    /// The entries of the records, 24 bytes each. They continue the entries of the earlier batches.
    pub entries: Vec<u8>,
    /// The share of the page in the memory limit of all pages, held until the batch is dropped.
    pub(super) _claim: Option<Arc<MemoryClaim>>,
}

impl Batch {
    /// Returns a batch of these records without a receipt or a state.
    pub fn of(records: Vec<RawRecord>) -> Self {
        Batch {
            records,
            ..Batch::default()
        }
    }

    /// Keeps only the first `count` records. The records come from a list of this shape.
    pub(super) fn truncate(&mut self, count: usize, shape: &ListShape) {
        let Some(first) = self.records.get(count) else {
            return;
        };
        self.state.last_offset = first.offset().checked_sub(1);
        let rest = self.records.split_off(count);
        self.entries.truncate(count * DELIVERED_ID_BYTES);
        self.state.evidence.delivered -= rest.len() as u64;
        self.receipt.records -= rest.len() as u64;
        unknown_fields::subtract(&mut self.receipt, shape, &rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use talentdata_types::ListName;

    #[test]
    fn a_truncated_batch_counts_only_its_remaining_records() {
        let shape = ListName::Contacts.shape();
        let texts = [0, 1, 1, 2].map(|new| format!("{{\"id\":\"1\",\"new{new}\":1}}"));
        let records = RawRecord::parse_all(&texts).unwrap();
        let mut batch = Batch {
            entries: (0..96).collect(),
            ..Batch::of(records)
        };
        (batch.receipt.records, batch.state.evidence.delivered) = (100, 100);
        batch.state.last_offset = Some(3);
        unknown_fields::count(&mut batch.receipt, shape, &batch.records);
        let whole = batch.clone();
        batch.truncate(4, shape);
        assert_eq!(
            (batch.receipt, batch.state),
            (whole.receipt.clone(), whole.state.clone())
        );
        let mut batch = whole;
        batch.truncate(2, shape);
        assert_eq!(batch.records.len(), 2);
        assert_eq!(batch.receipt.records, 98);
        let unknown = [("new0".to_owned(), 1), ("new1".to_owned(), 1)];
        assert_eq!(batch.receipt.unknown_fields, unknown.into());
        assert_eq!(batch.state.last_offset, Some(1));
        assert_eq!(batch.state.evidence.delivered, 98);
        assert_eq!(batch.entries, (0..48).collect::<Vec<u8>>());
    }

    #[test]
    fn a_state_without_offsets_can_be_read() {
        let mut state = serde_json::to_value(ScanState::default()).unwrap();
        assert!(state.as_object_mut().unwrap().remove("offsets").is_some());
        let state: ScanState = serde_json::from_value(state).unwrap();
        assert_eq!(state, ScanState::default());
    }

    #[test]
    fn entries_that_do_not_fit_are_refused() {
        let key = IdentityKey::random();
        let id = |number: u32| key.identify(&number.to_le_bytes(), true);
        let entries = [
            DeliveredId::new(id(0), None),
            DeliveredId::new(id(1), Some(0)),
            DeliveredId::repeated(id(1)),
            DeliveredId::new(id(2), Some(1)),
        ];
        let bytes: Vec<u8> = entries.iter().flat_map(|entry| entry.to_bytes()).collect();
        let mut state = ScanState::default();
        state.evidence.delivered = 4;
        let resume = Resume::new(state.clone(), bytes.clone()).unwrap();
        assert!(resume.entries().eq(entries));
        let mut wrong = bytes.clone();
        wrong[DELIVERED_ID_BYTES + 16] = 7;
        for damaged in [bytes[..95].to_vec(), bytes[..72].to_vec(), wrong] {
            assert!(Resume::new(state.clone(), damaged).is_err());
        }
    }
}
