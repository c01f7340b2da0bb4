//! What can be told of JSON Lines that are not what was written: missing, repeated, altered, or in another order.

use super::lines::Lines;
use super::{Finding, Verification};
use crate::digest::{RecordsDigest, in_chunks};
use serde::de::IgnoredAny;
use std::io::{self, Read};
use xxhash_rust::xxh3::xxh3_128;

/// What a second reading of the lines has found.
pub(super) struct Diagnosis {
    /// The hash and the number of each line that is a JSON object.
    lines: Vec<(u128, u64)>,
    records: RecordsDigest,
    /// Lines that are no JSON objects: the first one, and how many there are.
    broken: Option<(u64, u64)>,
    /// The number of the last line, whatever it holds.
    last: u64,
}

/// Reads the lines.
pub(super) fn read(reader: impl Read) -> io::Result<Diagnosis> {
    let mut diagnosis = Diagnosis {
        lines: Vec::new(),
        records: RecordsDigest::default(),
        broken: None,
        last: 0,
    };
    let mut lines = Lines::default();
    in_chunks(reader, |chunk| {
        lines.push(chunk, |number, line| diagnosis.note(number, line));
    })?;
    // What is too long was reported by the first reading.
    let _ = lines.end(|number, line| diagnosis.note(number, line));
    Ok(diagnosis)
}

impl Diagnosis {
    fn note(&mut self, number: u64, line: &[u8]) {
        self.last = number;
        let is_object =
            line.first() == Some(&b'{') && serde_json::from_slice::<IgnoredAny>(line).is_ok();
        if is_object {
            self.records.add(line);
            self.lines.push((xxh3_128(line), number));
        } else {
            let (first, count) = self.broken.unwrap_or((number, 0));
            self.broken = Some((first, count + 1));
        }
    }

    /// Adds what was found to the differences.
    pub(super) fn explain(mut self, found: &mut Verification) {
        let expected = found.written.records;
        let written = found.written.records_digest.clone();
        let same = |digest: RecordsDigest| {
            digest.count == expected && digest.to_hex().eq_ignore_ascii_case(&written)
        };
        if let Some((first, count)) = self.broken {
            let message = match (first, count) {
                (first, 1) if first == self.last && first > 1 => {
                    "it ends within a record".to_owned()
                }
                (first, 1) => format!("line {first} is not a JSON object"),
                (first, count) => {
                    format!("{count} lines are not JSON objects, line {first} is the first")
                }
            };
            found.differ(Finding::Format, message);
            if self.lines.is_empty() {
                // Of another kind of file there is no more to say.
                return;
            }
        } else if same(self.records) {
            let message = "the records are those that were written, in another order or with other \
                           line breaks between them";
            return found.differ(Finding::Order, message.into());
        }
        let repeated = self.repeated();
        let rest = repeated
            .iter()
            .fold(self.records, |rest, (hash, _)| rest.without(*hash));
        let whole = !repeated.is_empty() && same(rest);
        if let Some((_, first)) = repeated.first() {
            let mut message = format!(
                "{} repeated; line {first} is the first that repeats an earlier one",
                counted(repeated.len() as u64, "record is", "records are")
            );
            message += match whole {
                true => "; without the repetitions, all records are those that were written",
                false => ", unless the list itself had equal records",
            };
            found.differ(Finding::Repeated, message);
        }
        if whole {
            return;
        }
        // A broken line stands for a record, too.
        let count = self.records.count + self.broken.map_or(0, |(_, count)| count);
        if self.records.count == expected || (count == expected && repeated.is_empty()) {
            let message = format!(
                "the number of records is right ({count}), but they are not the same: at least one was \
                 altered, or is missing while another one was added"
            );
            return found.differ(Finding::Altered, message);
        }
        found.compare_count(self.records.count);
    }

    /// Hash and number of the lines that repeat earlier ones, in their order.
    fn repeated(&mut self) -> Vec<(u128, u64)> {
        self.lines.sort_unstable();
        let pairs = self.lines.windows(2);
        let repeated = pairs.filter_map(|pair| match pair {
            [first, second] if first.0 == second.0 => Some(*second),
            _ => None,
        });
        let mut repeated: Vec<(u128, u64)> = repeated.collect();
        repeated.sort_unstable_by_key(|(_, number)| *number);
        repeated
    }
}

fn counted(count: u64, one: &str, several: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        count => format!("{count} {several}"),
    }
}
