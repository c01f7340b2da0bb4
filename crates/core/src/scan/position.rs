//! What a scan hands out with its records, so that another one can go on from there.

use super::evidence::Evidence;
use super::receipt::Receipt;
use super::unknown_fields;
use crate::error::{Error, ErrorKind, Result};
use crate::record::{Identity, IdentityKey, RawRecord};
use crate::request::page_memory::MemoryClaim;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use talentdata_types::ListShape;

/// Bytes of an [`Entry`].
const ENTRY: usize = 24;
/// In place of a record: there is none before.
const FIRST: u64 = u64::MAX;
/// The record was delivered before under this identity.
const REPEATED: u64 = u64::MAX - 1;

/// A record that was delivered: its identity, and behind which delivered record it stands in the order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(super) id: Identity,
    behind: u64,
}

impl Entry {
    pub(super) fn new(id: Identity, behind: Option<u32>) -> Self {
        let behind = behind.map_or(FIRST, u64::from);
        Entry { id, behind }
    }

    pub(super) fn repeated(id: Identity) -> Self {
        let behind = REPEATED;
        Entry { id, behind }
    }

    pub(super) fn repeats(&self) -> bool {
        self.behind == REPEATED
    }

    pub(super) fn behind(&self) -> Option<u32> {
        u32::try_from(self.behind).ok()
    }

    pub(super) fn to_bytes(self) -> [u8; ENTRY] {
        let mut bytes = [0; ENTRY];
        bytes[..16].copy_from_slice(&self.id.to_bytes());
        bytes[16..].copy_from_slice(&self.behind.to_le_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8; ENTRY]) -> Self {
        let (mut id, mut behind) = ([0; 16], [0; 8]);
        id.copy_from_slice(&bytes[..16]);
        behind.copy_from_slice(&bytes[16..]);
        Entry {
            id: Identity::from_bytes(id),
            behind: u64::from_le_bytes(behind),
        }
    }
}

/// The offsets that a service honours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Offsets {
    /// No page has shown them yet.
    #[default]
    Unknown,
    /// All of them.
    Every,
    /// Multiples of the limit that goes with them.
    OfLimit,
    /// Multiples of this page size.
    OfPage(u64),
}

/// The part of a scan's state that does not grow with the list. With the entries of all records delivered, it is
/// what another scan needs to go on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScanState {
    /// How identities are hashed.
    pub(super) key: IdentityKey,
    /// Offset of the last record of the page joined last.
    pub(super) edge: Option<u64>,
    /// Which offsets the service honours.
    #[serde(default)]
    pub(super) offsets: Offsets,
    /// What the scan has seen so far.
    pub(super) evidence: Evidence,
}

/// Where a scan goes on: all that earlier scans of the list have delivered and seen.
#[derive(Clone, Debug, PartialEq)]
pub struct Resume {
    pub(super) state: ScanState,
    pub(super) entries: Vec<u8>,
}

impl Resume {
    /// `entries` are those of all batches so far, one behind the other.
    ///
    /// # Errors
    /// `Io`, when the entries are not those that the state belongs to.
    pub fn new(state: ScanState, entries: Vec<u8>) -> Result<Self> {
        let (records, rest) = entries.as_chunks::<ENTRY>();
        let mut known = 0;
        let fits = |bytes: &[u8; ENTRY]| {
            let entry = Entry::from_bytes(bytes);
            let fits = match entry.behind {
                REPEATED => true,
                FIRST => known == 0,
                behind => behind < known,
            };
            known += u64::from(!entry.repeats());
            fits
        };
        let whole = rest.is_empty() && records.len() as u64 == state.evidence.delivered;
        match whole && records.iter().all(fits) {
            true => Ok(Resume { state, entries }),
            false => {
                let message = "the identities kept of earlier runs are damaged";
                Err(Error::new(ErrorKind::Io, message))
            }
        }
    }

    /// Records delivered so far.
    pub fn records(&self) -> u64 {
        self.state.evidence.delivered
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = Entry> {
        let (records, _) = self.entries.as_chunks::<ENTRY>();
        records.iter().map(Entry::from_bytes)
    }
}

/// What a page has brought.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// The records to deliver, in order; there may be none.
    pub records: Vec<RawRecord>,
    /// Records that came into the list during the scan, before what was delivered already: they are not delivered.
    pub late: Vec<RawRecord>,
    /// The receipt as of these records, always unfinished; the scan itself may be further ahead.
    pub receipt: Receipt,
    /// The state of the scan behind them.
    pub state: ScanState,
    /// 24 bytes for each of the records, to go behind those of the batches before.
    pub entries: Vec<u8>,
    /// What its page takes of the memory of all pages, until the batch is dropped.
    pub(super) _claim: Option<Arc<MemoryClaim>>,
}

impl Batch {
    /// These records, of which nothing else is known.
    pub fn of(records: Vec<RawRecord>) -> Self {
        Batch {
            records,
            ..Batch::default()
        }
    }

    /// Keeps the first `count` records, which come from a list of this shape.
    pub(super) fn truncate(&mut self, count: usize, shape: &ListShape) {
        let Some(first) = self.records.get(count) else {
            return;
        };
        self.state.edge = first.offset().checked_sub(1);
        let rest = self.records.split_off(count);
        self.entries.truncate(count * ENTRY);
        self.state.evidence.delivered -= rest.len() as u64;
        self.receipt.records -= rest.len() as u64;
        unknown_fields::subtract(&mut self.receipt, shape, &rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use talentdata_types::Resource;

    #[test]
    fn a_batch_that_is_cut_counts_what_is_left() {
        let shape = Resource::Contacts.shape();
        let texts = [0, 1, 1, 2].map(|new| format!("{{\"id\":\"1\",\"new{new}\":1}}"));
        let records = RawRecord::parse_all(&texts).unwrap();
        let mut batch = Batch {
            entries: (0..96).collect(),
            ..Batch::of(records)
        };
        (batch.receipt.records, batch.state.evidence.delivered) = (100, 100);
        batch.state.edge = Some(3);
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
        assert_eq!(batch.state.edge, Some(1));
        assert_eq!(batch.state.evidence.delivered, 98);
        assert_eq!(batch.entries, (0..48).collect::<Vec<u8>>());
    }

    #[test]
    fn a_state_without_what_is_known_of_offsets_is_read() {
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
            Entry::new(id(0), None),
            Entry::new(id(1), Some(0)),
            Entry::repeated(id(1)),
            Entry::new(id(2), Some(1)),
        ];
        let bytes: Vec<u8> = entries.iter().flat_map(|entry| entry.to_bytes()).collect();
        let mut state = ScanState::default();
        state.evidence.delivered = 4;
        let resume = Resume::new(state.clone(), bytes.clone()).unwrap();
        assert!(resume.entries().eq(entries));
        let mut wrong = bytes.clone();
        wrong[ENTRY + 16] = 7;
        for damaged in [bytes[..95].to_vec(), bytes[..72].to_vec(), wrong] {
            assert!(Resume::new(state.clone(), damaged).is_err());
        }
    }
}
