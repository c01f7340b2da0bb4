//! Where the records of a generation are, in their order: runs of rows in the files that hold their text.

use super::files::{Finished, NewFile};
use super::manifest::{FileEntry, is_within};
use super::state::State;
use super::table::ParquetFile;
use super::texts::{Table, unreadable};
use crate::error::Result;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, BooleanArray, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// The columns of an order file.
const COLUMNS: [&str; 4] = ["file", "first_row", "rows", "missing"];
/// Runs written at once.
const RUNS: usize = 8192;

/// Rows that follow each other in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// Which of the order's files.
    pub(super) file: u32,
    pub(super) first: u64,
    pub(super) rows: u64,
}

/// The records of a generation: those of the list in its order, then the missing ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Order {
    /// Paths below the mirror.
    pub(super) files: Vec<String>,
    numbers: HashMap<String, u32>,
    pub(super) runs: Vec<Run>,
    /// How many of the runs are of the list.
    pub(super) listed_runs: usize,
    /// How many records are before each run.
    starts: Vec<u64>,
    records: u64,
}

impl Order {
    /// The number of a file, which is added if it is not there.
    pub(super) fn file(&mut self, path: &str) -> u32 {
        if let Some(known) = self.numbers.get(path) {
            return *known;
        }
        let number = self.files.len() as u32;
        self.files.push(path.to_owned());
        self.numbers.insert(path.to_owned(), number);
        number
    }

    /// Adds rows of a file; missing ones come after all others.
    pub(super) fn push(&mut self, run: Run, missing: bool) {
        let next = self.runs.len();
        let joins = |last: &&mut Run| {
            last.file == run.file
                && last.first + last.rows == run.first
                && (!missing || next > self.listed_runs)
        };
        match self.runs.last_mut().filter(joins) {
            Some(last) => last.rows += run.rows,
            None => {
                self.runs.push(run);
                self.starts.push(self.records);
                if !missing {
                    self.listed_runs = self.runs.len();
                }
            }
        }
        self.records += run.rows;
    }

    /// The runs of the list.
    pub(super) fn listed(&self) -> &[Run] {
        self.runs.get(..self.listed_runs).unwrap_or_default()
    }

    /// In which file a record is, and in which row.
    pub(super) fn locate(&self, position: u64) -> Option<(u32, u64)> {
        let after = self.starts.partition_point(|start| *start <= position);
        let at = after.checked_sub(1)?;
        let run = self.runs.get(at)?;
        let into = position - self.starts.get(at)?;
        (into < run.rows).then_some((run.file, run.first + into))
    }

    /// Writes the runs, each as a row.
    pub(super) fn write(&self, file: NewFile) -> Result<Finished> {
        let [path, first, rows, missing] = COLUMNS;
        let schema = Arc::new(Schema::new(vec![
            Field::new(path, DataType::Utf8, false),
            Field::new(first, DataType::Int64, false),
            Field::new(rows, DataType::Int64, false),
            Field::new(missing, DataType::Boolean, false),
        ]));
        let mut file = ParquetFile::new(file, Arc::clone(&schema))?;
        for (chunk, number) in self.runs.chunks(RUNS).zip(0..) {
            let paths = chunk
                .iter()
                .map(|run| self.files[run.file as usize].as_str());
            let number_of = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
            let first = chunk.iter().map(|run| number_of(run.first));
            let rows = chunk.iter().map(|run| number_of(run.rows));
            let missing = (number * RUNS..).take(chunk.len());
            let missing = missing.map(|at| Some(at >= self.listed_runs));
            let columns: Vec<ArrayRef> = vec![
                Arc::new(StringArray::from_iter_values(paths)),
                Arc::new(Int64Array::from_iter_values(first)),
                Arc::new(Int64Array::from_iter_values(rows)),
                Arc::new(missing.collect::<BooleanArray>()),
            ];
            let batch = RecordBatch::try_new(Arc::clone(&schema), columns);
            let batch = batch.map_err(|error| unreadable(Path::new("an order"), &error))?;
            file.write(&batch, 0)?;
        }
        file.finish()
    }

    /// Reads what [`write`](Self::write) has written.
    pub(super) fn read(root: &Path, entry: &FileEntry) -> Result<Self> {
        super::files::open(root, entry)?;
        let path = super::files::place(root, &entry.path);
        let table = Table::open(path)?;
        let mut order = Order::default();
        for group in 0..table.groups() {
            let batch = table.group(group, &COLUMNS)?;
            let paths = table.texts(&batch, COLUMNS[0])?;
            let numbers = |name: &str| {
                let found = batch.column_by_name(name);
                let found = found.and_then(|array| array.as_primitive_opt::<Int64Type>());
                found.ok_or_else(|| table.lacks(name))
            };
            let (first, rows) = (numbers(COLUMNS[1])?, numbers(COLUMNS[2])?);
            let missing = batch.column_by_name(COLUMNS[3]);
            let missing = missing.and_then(|array| array.as_boolean_opt());
            let missing = missing.ok_or_else(|| table.lacks(COLUMNS[3]))?;
            if let Some(path) = paths.iter().flatten().find(|path| !is_within(path)) {
                let why = format!("it refers to {path:?}");
                return Err(unreadable(&super::files::place(root, &entry.path), &why));
            }
            for at in 0..batch.num_rows() {
                let file = order.file(paths.value(at));
                let run = Run {
                    file,
                    first: first.value(at).unsigned_abs(),
                    rows: rows.value(at).unsigned_abs(),
                };
                order.push(run, missing.value(at));
            }
        }
        Ok(order)
    }

    /// Whether this is the order of that state.
    pub(super) fn fits(&self, state: &State) -> bool {
        let listed: u64 = self.listed().iter().map(|run| run.rows).sum();
        listed == state.listed() && self.records == state.len()
    }

    /// The same rows under other names: `moved` tells where a row of a file is now, and how many behind it
    /// have moved with it.
    ///
    /// # Errors
    /// That of `moved`.
    pub(super) fn moved(
        &self,
        mut moved: impl FnMut(&str, u64) -> Result<(String, u64, u64)>,
    ) -> Result<Self> {
        let mut order = Order::default();
        for (index, run) in self.runs.iter().enumerate() {
            let missing = index >= self.listed_runs;
            let path = &self.files[run.file as usize];
            let mut done = 0;
            while done < run.rows {
                let (path, first, rows) = moved(path, run.first + done)?;
                let rows = rows.clamp(1, run.rows - done);
                let file = order.file(&path);
                order.push(Run { file, first, rows }, missing);
                done += rows;
            }
        }
        Ok(order)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_found_by_their_position() {
        let mut order = Order::default();
        let (base, changes) = (order.file("base"), order.file("changes"));
        assert_eq!(order.file("base"), base);
        let push = |order: &mut Order, file, first, missing| {
            order.push(
                Run {
                    file,
                    first,
                    rows: 1,
                },
                missing,
            );
        };
        for (file, first, missing) in [
            (base, 0, false),
            (base, 1, false),
            (changes, 0, false),
            (base, 3, false),
            (base, 4, true),
            (base, 5, true),
        ] {
            push(&mut order, file, first, missing);
        }
        assert_eq!((order.runs.len(), order.listed_runs), (4, 3));
        let found: Vec<_> = (0..7).map(|position| order.locate(position)).collect();
        let rows = [
            (base, 0),
            (base, 1),
            (changes, 0),
            (base, 3),
            (base, 4),
            (base, 5),
        ];
        assert_eq!(found[..6], rows.map(Some));
        assert_eq!(found[6], None);
        let listed: u64 = order.listed().iter().map(|run| run.rows).sum();
        assert_eq!((listed, order.records), (4, 6));
    }
}
