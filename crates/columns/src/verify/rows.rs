//! How many records there are in a file.

use memchr::memchr2_iter;
use std::fs::File;

/// How the records in a file of a format are counted.
#[derive(Clone, Copy)]
pub(crate) enum Rows {
    /// Each line is a record, as the service sent it.
    Lines,
    /// A row ends at a line break outside quotes, and the first one is the header.
    Csv,
    /// The file says how many it has.
    Told(fn(&File) -> Result<u64, String>),
}

/// Counts the rows of CSV, chunk by chunk: line breaks outside quotes.
#[derive(Default)]
pub(super) struct CsvRows {
    ended: u64,
    quoted: bool,
    last: Option<u8>,
}

impl CsvRows {
    pub(super) fn push(&mut self, chunk: &[u8]) {
        for at in memchr2_iter(b'"', b'\n', chunk) {
            match chunk.get(at) {
                // A quote within quotes is doubled, and changes nothing.
                Some(b'"') => self.quoted = !self.quoted,
                _ if !self.quoted => self.ended += 1,
                _ => {}
            }
        }
        self.last = chunk.last().copied().or(self.last);
    }

    /// The rows below the header.
    ///
    /// # Errors
    /// In words, where it ends within a row.
    pub(super) fn end(&self) -> Result<u64, String> {
        if self.quoted || self.last.is_some_and(|last| last != b'\n') {
            return Err("it ends within a row".into());
        }
        let rows = self.ended.checked_sub(1);
        rows.ok_or_else(|| "it is empty: not even the header is there".into())
    }
}

/// Counts the rows of a Parquet file, as its footer tells them.
///
/// # Errors
/// In words, where it is not a Parquet file, or not whole.
pub(crate) fn parquet(file: &File) -> Result<u64, String> {
    let metadata = parquet::file::metadata::ParquetMetaDataReader::new().parse_and_finish(file);
    let metadata = metadata.map_err(|error| format!("it is not a whole Parquet file ({error})"))?;
    let rows = metadata.file_metadata().num_rows();
    u64::try_from(rows).map_err(|_| "its number of rows is negative".into())
}

/// Counts the rows of an Arrow IPC file, as its record batches tell them; their columns are not read.
///
/// # Errors
/// In words, where it is not an Arrow IPC file, or not whole.
pub(crate) fn arrow(file: &File) -> Result<u64, String> {
    ipc::rows(file).ok_or_else(|| "it is not a whole Arrow IPC file".into())
}

mod ipc {
    use arrow_ipc::{root_as_footer, root_as_message};
    use std::fs::File;
    use std::io::{Read, Seek, SeekFrom};

    const MAGIC: &[u8; 6] = b"ARROW1";

    /// The length of the footer and the magic bytes behind it.
    const END: u64 = 10;

    /// In front of a message: the mark of a length, and the length.
    const PREFIX: usize = 8;

    /// The rows of all record batches; none where this is not such a file.
    pub(super) fn rows(file: &File) -> Option<u64> {
        let length = file.metadata().ok()?.len();
        let end = read(file, length.checked_sub(END)?, END, length)?;
        let (footer_length, magic) = end.split_first_chunk::<4>()?;
        let footer_length = u64::try_from(i32::from_le_bytes(*footer_length)).ok()?;
        if magic != MAGIC || read(file, 0, MAGIC.len() as u64, length)? != MAGIC {
            return None;
        }
        let start = length.checked_sub(END + footer_length)?;
        let footer = read(file, start, footer_length, length)?;
        let footer = root_as_footer(&footer).ok()?;
        let mut rows = 0_u64;
        for block in footer.recordBatches()? {
            let offset = u64::try_from(block.offset()).ok()?;
            let size = u64::try_from(block.metaDataLength()).ok()?;
            let message = read(file, offset, size, length)?;
            let message = root_as_message(message.get(PREFIX..)?).ok()?;
            let batch = message.header_as_record_batch()?;
            rows = rows.checked_add(u64::try_from(batch.length()).ok()?)?;
        }
        Some(rows)
    }

    /// So many bytes at `start`, if the file has them.
    fn read(mut file: &File, start: u64, bytes: u64, length: u64) -> Option<Vec<u8>> {
        if start.checked_add(bytes)? > length {
            return None;
        }
        let mut piece = vec![0; usize::try_from(bytes).ok()?];
        file.seek(SeekFrom::Start(start)).ok()?;
        file.read_exact(&mut piece).ok()?;
        Some(piece)
    }
}
