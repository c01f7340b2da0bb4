//! Where the records of a generation are, in their order: runs of rows in the files that hold their text.

use super::files::{Finished, NewFile};
use super::manifest::{FileEntry, is_within};
use super::order_writer::OrderWriter;
use super::state::State;
use super::texts::{Table, unreadable};
use crate::error::{Error, Result};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use std::collections::HashMap;
use std::path::Path;

/// The columns of an order file.
pub(super) const COLUMNS: [&str; 4] = ["file", "first_row", "rows", "missing"];
/// Rows that follow each other in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// Which of the order's files.
    pub(super) file: u32,
    pub(super) first: u64,
    pub(super) rows: u64,
}

/// The files of an order, by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Files {
    /// Paths below the mirror.
    pub(super) paths: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl Files {
    /// The number of a file, if it is there.
    pub(super) fn find(&self, path: &str) -> Option<u32> {
        self.numbers.get(path).copied()
    }

    /// The number of a file, which is added if it is not there.
    pub(super) fn number(&mut self, path: &str) -> u32 {
        if let Some(known) = self.find(path) {
            return known;
        }
        let number = self.paths.len() as u32;
        self.paths.push(path.to_owned());
        self.numbers.insert(path.to_owned(), number);
        number
    }
}

/// The records of a generation: those of the list in its order, then the missing ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Order {
    pub(super) files: Files,
    runs: Vec<Start>,
    /// How many of the runs are of the list.
    pub(super) listed_runs: usize,
    records: u32,
}

/// Where a run begins; it ends where the next one does. As small as can be, since a list that has changed all over
/// has a run for each record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Start {
    file: u32,
    first: u32,
    /// How many records are before it.
    position: u32,
}

impl Order {
    /// Adds rows of a file that have not been added with the run before; missing ones come after all others.
    fn push(&mut self, run: Run, missing: bool) -> Option<()> {
        let start = Start {
            file: run.file,
            first: u32::try_from(run.first).ok()?,
            position: self.records,
        };
        let rows = u32::try_from(run.rows).ok()?;
        self.records = self.records.checked_add(rows)?;
        self.runs.push(start);
        if !missing {
            self.listed_runs = self.runs.len();
        }
        Some(())
    }

    /// How many runs there are.
    pub(super) fn len(&self) -> usize {
        self.runs.len()
    }

    /// One of the runs.
    pub(super) fn run(&self, index: usize) -> Option<Run> {
        let start = self.runs.get(index)?;
        let next = self.runs.get(index + 1);
        let end = next.map_or(self.records, |next| next.position);
        Some(Run {
            file: start.file,
            first: start.first.into(),
            rows: (end - start.position).into(),
        })
    }

    /// All runs.
    pub(super) fn runs(&self) -> impl Iterator<Item = Run> + '_ {
        (0..self.runs.len()).filter_map(|index| self.run(index))
    }

    /// The path of a run's file.
    pub(super) fn path(&self, run: Run) -> &str {
        &self.files.paths[run.file as usize]
    }

    /// In which file a record is, and in which row.
    pub(super) fn locate(&self, position: u64) -> Option<(u32, u64)> {
        let position = u32::try_from(position).ok()?;
        let after = self
            .runs
            .partition_point(|start| start.position <= position);
        let start = self.runs.get(after.checked_sub(1)?)?;
        let into = u64::from(position - start.position);
        (position < self.records).then_some((start.file, u64::from(start.first) + into))
    }

    /// Reads what an [`OrderWriter`] has written.
    pub(super) fn read(root: &Path, entry: &FileEntry) -> Result<Self> {
        super::files::open_intact(root, entry)?;
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
                let run = Run {
                    file: order.files.number(paths.value(at)),
                    first: first.value(at).unsigned_abs(),
                    rows: rows.value(at).unsigned_abs(),
                };
                let pushed = order.push(run, missing.value(at));
                pushed.ok_or_else(|| too_long(&super::files::place(root, &entry.path)))?;
            }
        }
        Ok(order)
    }

    /// Whether this is the order of that state.
    pub(super) fn fits(&self, state: &State) -> bool {
        let listed = self.runs.get(self.listed_runs);
        let listed = listed.map_or(self.records, |missing| missing.position);
        u64::from(listed) == state.listed() && u64::from(self.records) == state.len()
    }

    /// Writes the same rows under other names: `moved` tells where a row of a file is now, and how many behind it
    /// have moved with it.
    ///
    /// # Errors
    /// Those of `moved` and of the file.
    pub(super) fn write_moved(
        &self,
        file: NewFile,
        mut moved: impl FnMut(&str, u64) -> Result<(String, u64, u64)>,
    ) -> Result<Finished> {
        let mut order = OrderWriter::new(file, Files::default())?;
        for (index, run) in self.runs().enumerate() {
            let missing = index >= self.listed_runs;
            let path = self.path(run);
            let mut done = 0;
            while done < run.rows {
                let (path, first, rows) = moved(path, run.first + done)?;
                let rows = rows.clamp(1, run.rows - done);
                let file = order.files.number(&path);
                order.push(Run { file, first, rows }, missing)?;
                done += rows;
            }
        }
        order.finish()
    }
}

fn too_long(path: &Path) -> Error {
    // Their positions have 32 bits in the index, too. Such a list would take ten years to read.
    unreadable(path, &"it has more than four billion records")
}
