//! Where a scan stands, so that another one can go on from there.

use super::receipt::Receipt;
use super::window::Identity;
use crate::record::RawRecord;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

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
    /// What had been done when they were joined; the scan itself may be further ahead.
    pub receipt: Receipt,
    /// Offset of the last record of the page.
    pub(super) offset: u64,
}
