//! Writes what becomes of records that were not delivered.

use super::between::Absence;
use super::difference::{Absent, Gap, of_absent};
use super::order::Run;
use super::page;
use super::table::Mark;
use super::write::Writing;
use crate::error::Result;

impl Writing {
    /// Takes what was not delivered, as of `now`.
    pub(super) fn take_absent(&mut self, gaps: &[Gap], now: i64) -> Result<()> {
        let mut some = Vec::with_capacity(page::RECORDS);
        for gap in gaps {
            let mut next = gap.first;
            while let Some(position) = self.difference.next_of(gap, next) {
                next = position + 1;
                some.push((*gap, position));
                if some.len() == page::RECORDS {
                    self.take_some_absent(&some, now)?;
                    some.clear();
                }
            }
        }
        self.take_some_absent(&some, now)
    }

    fn take_some_absent(&mut self, some: &[(Gap, u64)], now: i64) -> Result<()> {
        let mut texts = Vec::with_capacity(some.len());
        for (_, position) in some {
            let (file, row) = self.location(*position)?;
            let path = &self.previous_order.files.paths[file as usize];
            texts.push(self.texts.get(path, row)?.to_owned());
        }
        let records = page::records(texts.iter().map(String::as_str))?;
        for ((gap, position), record) in some.iter().zip(&records) {
            let absent = self.difference.absent(*position)?;
            let last_seen = absent.missing_since.or(self.previous_started);
            let operation = of_absent(&absent, gap.gone);
            let mark = operation.map(|operation| Mark {
                operation,
                key: self.hash_key.key(record, absent.fingerprint.identity),
                last_seen,
                seen: now,
            });
            self.push(record, !gap.gone, mark)?;
            if !gap.gone {
                self.keep(gap, &absent, last_seen.unwrap_or(now))?;
            }
        }
        Ok(())
    }

    /// Keeps a missing record.
    fn keep(&mut self, gap: &Gap, absent: &Absent, last_seen: i64) -> Result<()> {
        let (file, first) = self.location(absent.position)?;
        let run = Run {
            file,
            first,
            rows: 1,
        };
        self.order.push(run, true)?;
        self.missing += 1;
        let between = self.difference.between(gap)?;
        let absence = Absence { last_seen, between };
        self.state.push_missing(absent.fingerprint, absence)
    }
}
