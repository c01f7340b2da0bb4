//! Both files of a first sync, in which all that is current is new: the columns that they share are encoded once.

use super::files::{Finished, NewFile};
use super::parquet_file::{GROUP, MOST_BYTES, properties, refused};
use crate::error::Result;
use crate::format::parquet_closed;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};

/// `current.parquet` and the changes of a first sync.
pub(super) struct Together {
    current: SerializedFileWriter<NewFile>,
    changes: SerializedFileWriter<NewFile>,
    /// The columns of both.
    shared: Group,
    /// Those of the changes alone.
    own: Group,
    rows: usize,
    bytes: usize,
}

impl Together {
    /// `changed` is the schema of the changes: all but the last of `own`, then `shared`, then the last of `own`.
    pub(super) fn new(
        current: NewFile,
        changes: NewFile,
        shared: SchemaRef,
        own: SchemaRef,
        changed: SchemaRef,
    ) -> Result<Self> {
        let writer = |file, schema| {
            let writer = ArrowWriter::try_new(file, schema, Some(properties()));
            let (writer, _) = writer.and_then(ArrowWriter::into_serialized_writer)?;
            Ok::<_, parquet::errors::ParquetError>(writer)
        };
        Ok(Together {
            current: writer(current, shared.clone()).map_err(refused)?,
            changes: writer(changes, changed).map_err(refused)?,
            shared: Group::new(shared)?,
            own: Group::new(own)?,
            rows: 0,
            bytes: 0,
        })
    }

    /// Adds the same rows to both, with about so many bytes of text.
    pub(super) fn write(
        &mut self,
        shared: &RecordBatch,
        own: &RecordBatch,
        bytes: usize,
    ) -> Result<()> {
        self.shared.writer.write(shared).map_err(refused)?;
        self.own.writer.write(own).map_err(refused)?;
        self.rows += shared.num_rows();
        self.bytes += bytes;
        if self.rows >= GROUP || self.bytes >= MOST_BYTES {
            self.end_group()?;
        }
        Ok(())
    }

    fn end_group(&mut self) -> Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        (self.rows, self.bytes) = (0, 0);
        let (shared, own) = (self.shared.take()?, self.own.take()?);
        let last = own.columns.len().saturating_sub(1);
        let mut append = || {
            let mut group = self.current.next_row_group()?;
            shared.append(&shared.columns, &mut group)?;
            group.close()?;
            let mut group = self.changes.next_row_group()?;
            own.append(&own.columns[..last], &mut group)?;
            shared.append(&shared.columns, &mut group)?;
            own.append(&own.columns[last..], &mut group)?;
            group.close()
        };
        append().map(drop).map_err(refused)
    }

    /// Ends both files: `current.parquet`, then the changes.
    pub(super) fn finish(mut self) -> Result<(Finished, Finished)> {
        self.end_group()?;
        let current = self.current.into_inner().map_err(refused)?.finish()?;
        let changes = self.changes.into_inner().map_err(refused)?.finish()?;
        Ok((current, changes))
    }
}

/// A row group that is encoded in memory.
struct Group {
    schema: SchemaRef,
    writer: ArrowWriter<Vec<u8>>,
}

/// Its columns.
struct Encoded {
    bytes: Bytes,
    rows: u64,
    columns: Vec<ColumnChunkMetaData>,
}

impl Group {
    fn new(schema: SchemaRef) -> Result<Self> {
        let writer = ArrowWriter::try_new(Vec::new(), schema.clone(), Some(properties()));
        Ok(Group {
            schema,
            writer: writer.map_err(refused)?,
        })
    }

    /// Ends it, and begins the next one.
    fn take(&mut self) -> Result<Encoded> {
        let next = Group::new(self.schema.clone())?;
        let mut writer = std::mem::replace(self, next).writer;
        writer.flush().map_err(refused)?;
        let groups = writer.flushed_row_groups();
        let rows = groups.iter().map(|group| group.num_rows().unsigned_abs());
        let (rows, columns) = (
            rows.sum(),
            groups.iter().flat_map(|it| it.columns()).cloned(),
        );
        Ok(Encoded {
            rows,
            columns: columns.collect(),
            bytes: writer.into_inner().map_err(refused)?.into(),
        })
    }
}

impl Encoded {
    fn append(
        &self,
        columns: &[ColumnChunkMetaData],
        group: &mut SerializedRowGroupWriter<'_, NewFile>,
    ) -> parquet::errors::Result<()> {
        (columns.iter()).try_for_each(|column| {
            group.append_column(&self.bytes, parquet_closed(self.rows, column.clone()))
        })
    }
}
