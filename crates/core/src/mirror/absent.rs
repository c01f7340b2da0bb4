//! Writes what becomes of records that were not delivered.

use super::between::Absence;
use super::difference::{Absent, Gap, of_absent};
use super::order::Run;
use super::page;
use super::table::Mark;
use super::write::Writing;
use crate::error::Result;

impl Writing {
    /// Takes what was not delivered: gaps, and whether the records in each are gone, as of `now`.
    pub(super) fn take_absent(&mut self, gaps: &[(Gap, bool)], now: i64) -> Result<()> {
        for chunk in gaps.chunks(page::RECORDS) {
            let all: Vec<(&Gap, bool, &Absent)> = chunk
                .iter()
                .flat_map(|(gap, gone)| gap.absent.iter().map(move |absent| (gap, *gone, absent)))
                .collect();
            for some in all.chunks(page::RECORDS) {
                self.take_some_absent(some, now)?;
            }
        }
        Ok(())
    }

    fn take_some_absent(&mut self, absent: &[(&Gap, bool, &Absent)], now: i64) -> Result<()> {
        let mut texts = Vec::with_capacity(absent.len());
        for (_, _, one) in absent {
            let (file, row) = self.location(one.position)?;
            let path = &self.previous_order.files[file as usize];
            texts.push(self.texts.get(path, row)?.to_owned());
        }
        let records = page::records(texts.iter().map(String::as_str))?;
        for ((gap, gone, one), record) in absent.iter().zip(&records) {
            let last_seen = one.missing_since.or(self.previous_started);
            let operation = of_absent(one, *gone);
            let mark = operation.map(|operation| Mark {
                operation,
                key: self.hash_key.key(record, one.fingerprint.identity),
                last_seen,
                seen: now,
                text: record.as_str().to_owned(),
            });
            self.push(record, !gone, mark)?;
            if !gone {
                let (file, first) = self.location(one.position)?;
                let run = Run {
                    file,
                    first,
                    rows: 1,
                };
                self.order.push(run, true);
                self.missing += 1;
                let absence = Absence {
                    last_seen: last_seen.unwrap_or(now),
                    between: gap.between,
                };
                self.state.push_missing(one.fingerprint, absence);
            }
        }
        Ok(())
    }
}
