//! Reads the texts of records from the Parquet files of a mirror, by file and row.

use super::RECORD;
use super::files::place;
use super::manifest::FileEntry;
use crate::error::{Error, ErrorKind, Result};
use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch, StringArray};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::path::{Path, PathBuf};

/// Row groups with so many bytes of text are kept at hand: runs of an order alternate between files.
const KEPT: usize = 32 * 1024 * 1024;

/// Files kept open.
const FILES: usize = 64;

/// A Parquet file, and where its row groups begin.
pub(super) struct Table {
    file: File,
    path: PathBuf,
    metadata: ArrowReaderMetadata,
    /// The first row of each group, and the number of rows.
    starts: Vec<u64>,
}

impl Table {
    pub(super) fn open(path: PathBuf) -> Result<Self> {
        let file =
            File::open(&path).map_err(|error| super::files::failed("open", &path, &error))?;
        let options = ArrowReaderOptions::new();
        let metadata = ArrowReaderMetadata::load(&file, options);
        let metadata = metadata.map_err(|error| unreadable(&path, &error))?;
        let mut starts = vec![0];
        for group in metadata.metadata().row_groups() {
            starts.push(starts.last().copied().unwrap_or(0) + group.num_rows().unsigned_abs());
        }
        Ok(Table {
            file,
            path,
            metadata,
            starts,
        })
    }

    /// The names of its columns.
    pub(super) fn columns(&self) -> impl Iterator<Item = &str> {
        let fields = self.metadata.schema().fields().iter();
        fields.map(|field| field.name().as_str())
    }

    /// How many row groups there are.
    pub(super) fn groups(&self) -> usize {
        self.starts.len() - 1
    }

    /// The group of a row.
    fn group_of(&self, row: u64) -> Option<usize> {
        let after = self.starts.partition_point(|start| *start <= row);
        (after < self.starts.len()).then(|| after - 1)
    }

    /// These columns of a row group.
    pub(super) fn group(&self, group: usize, columns: &[&str]) -> Result<RecordBatch> {
        let read = || -> std::result::Result<_, Box<dyn std::error::Error>> {
            let file = self.file.try_clone()?;
            let builder =
                ParquetRecordBatchReaderBuilder::new_with_metadata(file, self.metadata.clone());
            let mask = ProjectionMask::columns(builder.parquet_schema(), columns.iter().copied());
            let rows = self.starts[group + 1] - self.starts[group];
            let mut batches = builder
                .with_projection(mask)
                .with_row_groups(vec![group])
                .with_batch_size(usize::try_from(rows)?.max(1))
                .build()?;
            Ok(batches.next().ok_or("a row group is empty")??)
        };
        read().map_err(|error| unreadable(&self.path, &error))
    }

    /// A column of texts.
    pub(super) fn texts(&self, batch: &RecordBatch, column: &str) -> Result<StringArray> {
        let found = batch.column_by_name(column);
        let found = found.and_then(|array| array.as_string_opt::<i32>());
        found.cloned().ok_or_else(|| self.lacks(column))
    }

    /// The error for a column that every file of its kind has.
    pub(super) fn lacks(&self, column: &str) -> Error {
        unreadable(
            &self.path,
            &format!("it has no column {column} of the right type"),
        )
    }
}

/// The texts of records.
pub(super) struct Texts {
    root: PathBuf,
    /// Files that were not read yet.
    unread: HashMap<String, FileEntry>,
    tables: HashMap<String, Table>,
    groups: VecDeque<Group>,
}

struct Group {
    path: String,
    first: u64,
    texts: StringArray,
}

impl Texts {
    /// In these files of a mirror.
    pub(super) fn new<'a>(root: &Path, files: impl Iterator<Item = &'a FileEntry>) -> Self {
        Texts {
            root: root.to_owned(),
            unread: files
                .map(|file| (file.path.clone(), file.clone()))
                .collect(),
            tables: HashMap::new(),
            groups: VecDeque::new(),
        }
    }

    /// The text in a row of a file.
    ///
    /// # Errors
    /// `Io`, when the file cannot be read, was changed, or has no such row.
    pub(super) fn get(&mut self, path: &str, row: u64) -> Result<&str> {
        let within = |group: &Group| {
            let rows = group.texts.len() as u64;
            group.path == path && (group.first..group.first + rows).contains(&row)
        };
        let known = self.groups.iter().position(within);
        if let Some(at) = known
            && at > 0
            && let Some(group) = self.groups.remove(at)
        {
            self.groups.push_front(group);
        }
        if known.is_none() {
            let group = self.read(path, row)?;
            self.groups.push_front(group);
            let mut bytes = 0;
            let fits = |group: &&Group| {
                bytes += group.texts.value_data().len();
                bytes <= KEPT
            };
            let kept = self.groups.iter().take_while(fits).count();
            self.groups.truncate(kept.max(1));
        }
        let group = self.groups.front();
        let text = group.and_then(|group| {
            let at = usize::try_from(row - group.first).ok()?;
            (at < group.texts.len()).then(|| group.texts.value(at))
        });
        text.ok_or_else(|| unreadable(&place(&self.root, path), &"it has too few rows"))
    }

    fn read(&mut self, path: &str, row: u64) -> Result<Group> {
        if !self.tables.contains_key(path) {
            if self.tables.len() == FILES {
                self.tables.clear();
            }
            if let Some(entry) = self.unread.remove(path) {
                super::files::open_intact(&self.root, &entry)?;
            }
            let table = Table::open(place(&self.root, path))?;
            self.tables.insert(path.to_owned(), table);
        }
        let table = self.tables.get(path);
        let found = table.and_then(|table| Some((table, table.group_of(row)?)));
        let (table, group) =
            found.ok_or_else(|| unreadable(&place(&self.root, path), &"it has too few rows"))?;
        let batch = table.group(group, &[RECORD])?;
        Ok(Group {
            path: path.to_owned(),
            first: table.starts[group],
            texts: table.texts(&batch, RECORD)?,
        })
    }
}

pub(super) fn unreadable(path: &Path, error: &impl std::fmt::Display) -> Error {
    let message = format!("cannot read {}: {error}", path.display());
    Error::new(ErrorKind::Io, message)
}
