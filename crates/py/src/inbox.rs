//! What was received of a scan and not yet given to Python, and the one use that it is kept for.

use crate::record::RawRecord;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use std::collections::VecDeque;
use std::sync::Arc;
use talentdata_core::scan::Receipt;
use talentdata_core::{Error, ErrorKind, Result};

/// What a scan is read for. A number tells an iterator or a stream from the others of the same scan.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    Iterator(u64),
    Table,
    Stream(u64),
}

/// How a scan ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// All was received; a table may still have to be given.
    Received,
    /// The table is with the caller.
    Given,
    Failed,
}

impl End {
    /// Whether it ended well or with an error.
    pub(crate) fn of(well: bool) -> Self {
        if well { End::Received } else { End::Failed }
    }
}

/// What was received, and what for.
pub(crate) struct Inbox {
    /// The first use; there is no other.
    usage: Option<Use>,
    pub(crate) end: Option<End>,
    pub(crate) records: VecDeque<RawRecord>,
    /// The table that is not yet complete, or not yet given.
    pub(crate) schema: Option<SchemaRef>,
    pub(crate) rows: Vec<RecordBatch>,
    /// Of all that was received.
    pub(crate) received: Receipt,
    closed: bool,
}

impl Inbox {
    pub(crate) fn new(received: Receipt) -> Self {
        Inbox {
            usage: None,
            end: None,
            records: VecDeque::new(),
            schema: None,
            rows: Vec::new(),
            received,
            closed: false,
        }
    }

    /// Refuses a use other than the first: what one use has taken would be missing from the other.
    pub(crate) fn check(&self, usage: Use) -> Result<()> {
        let over = matches!(self.end, Some(End::Given | End::Failed));
        let other = self.usage.is_some_and(|first| first != usage);
        match self.closed {
            true => Err(closed()),
            false if over || other => Err(self.refusal()),
            false => Ok(()),
        }
    }

    /// The same; the first use keeps the scan for itself.
    pub(crate) fn claim(&mut self, usage: Use) -> Result<()> {
        self.check(usage)?;
        self.usage = Some(usage);
        Ok(())
    }

    /// The next record that was received, for the use that has claimed the scan.
    pub(crate) fn take(&mut self, usage: Use) -> Option<RawRecord> {
        match self.usage == Some(usage) && !self.closed {
            true => self.records.pop_front(),
            false => None,
        }
    }

    /// The table, when it is complete; it stays until it is given.
    pub(crate) fn table(&self) -> Result<(SchemaRef, Vec<RecordBatch>)> {
        self.check(Use::Table)?;
        match (&self.schema, self.end) {
            (Some(schema), Some(End::Received)) => Ok((Arc::clone(schema), self.rows.clone())),
            _ => Err(misuse("the table is not complete; call collect() first")),
        }
    }

    /// Notes that the caller has the table.
    pub(crate) fn give_table(&mut self) {
        self.rows.clear();
        self.end = Some(End::Given);
    }

    /// What has been done; `records` counts those that were given to the caller.
    pub(crate) fn receipt(&self) -> Receipt {
        let rows: usize = self.rows.iter().map(RecordBatch::num_rows).sum();
        self.received.clone().without(self.records.len() + rows)
    }

    /// Forgets what was not yet given.
    pub(crate) fn close(&mut self) {
        self.closed = true;
        self.received = self.receipt();
        self.records.clear();
        self.rows.clear();
    }

    fn refusal(&self) -> Error {
        misuse(match (self.end, self.usage) {
            (Some(End::Failed), _) => "the scan has failed; start another one with list()",
            (_, Some(Use::Stream(_))) => {
                "the rows of this scan went to an earlier reader, and a scan is read once: call to_arrow() first and use its table as often as you like, or start another scan with list()"
            }
            (None | Some(End::Received), Some(Use::Table)) => {
                "the scan has begun to give columns: call to_arrow(), to_polars() or to_pandas() again, which go on where it stopped, or start another scan with list()"
            }
            (None, Some(Use::Iterator(_))) => {
                "another iterator has begun to read this scan: keep one (`records = iter(scan)`, or `aiter(scan)`) and use it in every loop, thread or task that goes on with the scan, or start another scan with list() for all records or columns"
            }
            _ => {
                "the scan has ended and was read; start another one with list(), or call to_arrow() first and use its table as often as you like"
            }
        })
    }
}

/// The error of a scan that the caller has closed.
pub(crate) fn closed() -> Error {
    let message = "the scan was closed; start another one with list()";
    Error::new(ErrorKind::Cancelled, message)
}

/// An error in how a scan is used.
pub(crate) fn misuse(message: &str) -> Error {
    Error::new(ErrorKind::InvalidArgument, message)
}
