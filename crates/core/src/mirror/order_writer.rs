//! Writes an order while its list is read: a list that has changed all over has as many runs as records.

use super::files::{Finished, NewFile};
use super::order::{COLUMNS, Files, Run};
use super::parquet_file::ParquetFile;
use super::texts::unreadable;
use crate::error::Result;
use arrow_array::{ArrayRef, BooleanArray, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use std::path::Path;
use std::sync::Arc;

/// Runs written at once.
const RUNS: usize = 8192;

/// An order that is being written.
pub(super) struct OrderWriter {
    pub(super) files: Files,
    file: ParquetFile,
    schema: SchemaRef,
    /// Runs, and whether they are missing; the last one may still grow.
    waiting: Vec<(Run, bool)>,
}

impl OrderWriter {
    /// `files` are those that it is known to refer to.
    pub(super) fn new(file: NewFile, files: Files) -> Result<Self> {
        let [path, first, rows, missing] = COLUMNS;
        let schema = Arc::new(Schema::new(vec![
            Field::new(path, DataType::Utf8, false),
            Field::new(first, DataType::Int64, false),
            Field::new(rows, DataType::Int64, false),
            Field::new(missing, DataType::Boolean, false),
        ]));
        Ok(OrderWriter {
            files,
            file: ParquetFile::new(file, Arc::clone(&schema))?,
            schema,
            waiting: Vec::with_capacity(RUNS),
        })
    }

    /// Adds rows of a file; missing ones come after all others.
    pub(super) fn push(&mut self, run: Run, missing: bool) -> Result<()> {
        let joins = |(last, was_missing): &&mut (Run, bool)| {
            last.file == run.file && last.first + last.rows == run.first && *was_missing == missing
        };
        if let Some((last, _)) = self.waiting.last_mut().filter(joins) {
            last.rows += run.rows;
            return Ok(());
        }
        if self.waiting.len() == RUNS {
            self.write()?;
        }
        self.waiting.push((run, missing));
        Ok(())
    }

    fn write(&mut self) -> Result<()> {
        let runs = std::mem::take(&mut self.waiting);
        let paths = runs.iter();
        let paths = paths.map(|(run, _)| self.files.paths[run.file as usize].as_str());
        let number_of = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let first = runs.iter().map(|(run, _)| number_of(run.first));
        let rows = runs.iter().map(|(run, _)| number_of(run.rows));
        let missing = runs.iter().map(|(_, missing)| Some(*missing));
        let columns: Vec<ArrayRef> = vec![
            Arc::new(StringArray::from_iter_values(paths)),
            Arc::new(Int64Array::from_iter_values(first)),
            Arc::new(Int64Array::from_iter_values(rows)),
            Arc::new(missing.collect::<BooleanArray>()),
        ];
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns);
        let batch = batch.map_err(|error| unreadable(Path::new("an order"), &error))?;
        self.file.write(&batch, 0)
    }

    /// Ends the file.
    pub(super) fn finish(mut self) -> Result<Finished> {
        self.write()?;
        self.file.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::super::order::Order;
    use super::*;

    #[test]
    fn records_are_found_by_their_position() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("order");
        let file = NewFile::create(path, "order".into()).unwrap();
        let mut order = OrderWriter::new(file, Files::default()).unwrap();
        let (base, changes) = (order.files.number("base"), order.files.number("changes"));
        assert_eq!(order.files.number("base"), base);
        for (file, first, missing) in [
            (base, 0, false),
            (base, 1, false),
            (changes, 0, false),
            (base, 3, false),
            (base, 4, true),
            (base, 5, true),
        ] {
            let run = Run {
                file,
                first,
                rows: 1,
            };
            order.push(run, missing).unwrap();
        }
        let written = order.finish().unwrap();
        let order = Order::read(directory.path(), &written.entry).unwrap();
        assert_eq!((order.len(), order.listed_runs), (4, 3));
        let rows: Vec<u64> = order.runs().map(|run| run.rows).collect();
        assert_eq!(rows, [2, 1, 1, 2]);
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
    }

    #[test]
    fn runs_that_do_not_follow_each_other_are_all_kept() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("order");
        let file = NewFile::create(path, "order".into()).unwrap();
        let mut order = OrderWriter::new(file, Files::default()).unwrap();
        let file = order.files.number("base");
        let rows = 2 * RUNS as u64 + 7;
        for first in (0..rows).rev() {
            let run = Run {
                file,
                first,
                rows: 1,
            };
            order.push(run, false).unwrap();
        }
        let written = order.finish().unwrap();
        let order = Order::read(directory.path(), &written.entry).unwrap();
        assert_eq!(order.len() as u64, rows);
        let all = (0..rows).all(|at| order.locate(at) == Some((file, rows - 1 - at)));
        assert!(all);
    }
}
