//! Where a session has its records from: a scan that begins with the first wait, and gives records or record batches.

use super::Session;
use crate::arrow::BatchScan;
use std::collections::VecDeque;
use talentdata_core::RawRecord;
use talentdata_core::process::Owned;
use talentdata_core::types::Resource;
use talentdata_core::{Scan, ScanOptions};

pub(super) enum Source {
    /// Nothing was asked for yet.
    New,
    Records(Owned<Scan>),
    Batches(Owned<Box<BatchScan>>),
    Ended,
}

impl Source {
    pub(super) fn is_ended(&self) -> bool {
        matches!(self, Source::Ended)
    }

    /// The scan, which begins where it is new; none where it gives record batches.
    pub(super) fn records(&mut self, begin: impl FnOnce() -> Scan) -> Option<&mut Scan> {
        if matches!(self, Source::New) {
            *self = Source::Records(Owned::new(begin()));
        }
        match self {
            Source::Records(scan) => scan.get_mut(),
            _ => None,
        }
    }

    /// The scan as record batches, likewise; none where it gives records.
    pub(super) fn batches(&mut self, begin: impl FnOnce() -> BatchScan) -> Option<&mut BatchScan> {
        if matches!(self, Source::New) {
            *self = Source::Batches(Owned::new(Box::new(begin())));
        }
        match self {
            Source::Batches(batches) => batches.get_mut().map(|batches| &mut **batches),
            _ => None,
        }
    }

    /// Goes on with record batches, of which the first rows are the records that were not `taken`; none where the
    /// scan has ended or gives record batches already.
    pub(super) fn turn(
        &mut self,
        begin: impl FnOnce() -> Scan,
        not_taken: impl FnOnce() -> VecDeque<RawRecord>,
        batches: impl FnOnce(Scan) -> BatchScan,
    ) -> Option<&mut BatchScan> {
        self.records(begin)?;
        let Source::Records(scan) = self else {
            return None;
        };
        let mut scan = scan.take()?;
        scan.take_back(not_taken());
        *self = Source::New;
        self.batches(|| batches(scan))
    }
}

impl Session {
    /// The list, and how it is read.
    pub fn asked(&self) -> (Resource, &ScanOptions) {
        (self.resource, &self.options)
    }
}
