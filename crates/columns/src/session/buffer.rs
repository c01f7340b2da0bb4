//! What was received of a scan and not yet handed out, and the one use that it is kept for: decides, and waits for nothing.

use crate::arrow::{RecordBatch, SchemaRef};
use std::collections::VecDeque;
use std::sync::Arc;
use talentdata_core::RawRecord;
use talentdata_core::scan::Receipt;
use talentdata_core::{Error, ErrorKind, Result};

/// What a scan is read for. The number tells readers of the same kind from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Record by record.
    Records(u64),
    /// As one table, which is kept until it is complete and handed out.
    Table,
    /// As record batches, each handed out once.
    Stream(u64),
}

/// What the errors of a session advise, in the words of a language. Those with "or" at their end go before `restart`,
/// and are empty where there is nothing of the kind.
#[derive(Clone, Copy, Debug)]
pub struct Hints {
    /// What `close` does to a scan: it was stopped, or closed.
    pub stopped: &'static str,
    /// How to read the list again.
    pub restart: &'static str,
    /// How several readers share the records.
    pub share_or: &'static str,
    /// How to go on with a table that is not complete.
    pub resume_or: &'static str,
    /// How to have rows that can be read more than once.
    pub keep_or: &'static str,
}

impl Hints {
    /// For a language in which each scan has one reader.
    pub const PLAIN: Hints = Hints {
        stopped: "stopped",
        restart: "start another scan",
        share_or: "",
        resume_or: "",
        keep_or: "",
    };

    /// The error of whoever uses a scan that was stopped.
    pub(super) fn closed(&self) -> Error {
        let message = format!("the scan was {}; {}", self.stopped, self.restart);
        Error::new(ErrorKind::Cancelled, message)
    }

    /// The error of a forked child that uses a scan of its parent: its connections and threads are there.
    pub(super) fn inherited(&self) -> Error {
        let message = format!(
            "the scan belongs to the process that began it; {} here",
            self.restart
        );
        Error::new(ErrorKind::Closed, message)
    }
}

/// How a scan ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// All was received; some of it may still have to be handed out.
    Received,
    /// The table is with the caller.
    Given,
    Failed,
}

/// What was received, and what for.
pub(super) struct Buffer {
    hints: Hints,
    /// The first use; there is no other.
    usage: Option<Use>,
    end: Option<End>,
    pub(super) records: VecDeque<RawRecord>,
    pub(super) rows: VecDeque<RecordBatch>,
    pub(super) schema: Option<SchemaRef>,
    /// Of all that was received.
    pub(super) received: Receipt,
}

impl Buffer {
    pub(super) fn new(hints: Hints, received: Receipt) -> Self {
        Buffer {
            hints,
            usage: None,
            end: None,
            records: VecDeque::new(),
            rows: VecDeque::new(),
            schema: None,
            received,
        }
    }

    /// Refuses a use other than the first: what one use has taken would be missing from the other.
    pub(super) fn check(&self, usage: Use) -> Result<()> {
        let over = matches!(self.end, Some(End::Given | End::Failed));
        let other = self.usage.is_some_and(|first| first != usage);
        match over || other {
            true => Err(self.refusal()),
            false => Ok(()),
        }
    }

    /// The same; the first use keeps the scan for itself.
    pub(super) fn claim(&mut self, usage: Use) -> Result<()> {
        self.check(usage)?;
        self.usage = Some(usage);
        Ok(())
    }

    /// Notes how the scan has ended.
    pub(super) fn end(&mut self, well: bool) {
        self.end = Some(if well { End::Received } else { End::Failed });
    }

    /// The next record that was received, for the use that has claimed the scan.
    pub(super) fn take(&mut self, usage: Use) -> Option<RawRecord> {
        match self.usage == Some(usage) {
            true => self.records.pop_front(),
            false => None,
        }
    }

    /// The next record batch that was received, likewise.
    pub(super) fn take_rows(&mut self, usage: Use) -> Option<RecordBatch> {
        match self.usage == Some(usage) {
            true => self.rows.pop_front(),
            false => None,
        }
    }

    /// The table, when it is complete; it stays until it is given.
    pub(super) fn table(&self) -> Result<(SchemaRef, Vec<RecordBatch>)> {
        self.check(Use::Table)?;
        match (&self.schema, self.end) {
            (Some(schema), Some(End::Received)) => {
                Ok((Arc::clone(schema), self.rows.iter().cloned().collect()))
            }
            _ => Err(misuse("the table is not complete".to_owned())),
        }
    }

    /// Notes that the caller has the table.
    pub(super) fn give_table(&mut self) {
        self.rows.clear();
        self.end = Some(End::Given);
    }

    /// What has been done; `records` counts those that were handed out.
    pub(super) fn receipt(&self) -> Receipt {
        let rows: usize = self.rows.iter().map(RecordBatch::num_rows).sum();
        self.received.clone().without(self.records.len() + rows)
    }

    /// Forgets what was not yet handed out.
    pub(super) fn clear(&mut self) {
        self.received = self.receipt();
        self.records.clear();
        self.rows.clear();
    }

    /// Why it cannot be read in another way, or again.
    pub(super) fn refusal(&self) -> Error {
        let hints = &self.hints;
        let (reason, instead) = match (self.end, self.usage) {
            (Some(End::Failed), _) => ("the scan has failed", ""),
            (_, Some(Use::Stream(_))) => (
                "the rows of this scan go to the reader of an earlier Arrow stream",
                hints.keep_or,
            ),
            (None | Some(End::Received), Some(Use::Table)) => {
                ("the scan has begun to give columns", hints.resume_or)
            }
            (None, Some(Use::Records(_))) => (
                "another reader has begun to take the records of this scan",
                hints.share_or,
            ),
            _ => ("the scan has ended and was read", hints.keep_or),
        };
        misuse(format!("{reason}; {instead}{}", hints.restart))
    }
}

/// An error in how a scan is used.
fn misuse(message: String) -> Error {
    Error::new(ErrorKind::InvalidArgument, message)
}
