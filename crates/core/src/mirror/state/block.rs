//! Rows of a state file, read a block at a time.

use std::io::{self, Read, Seek, SeekFrom};

/// What a state is read from.
pub(in crate::mirror) trait Source: Read + Seek + Send {}

impl<S: Read + Seek + Send> Source for S {}

/// Rows of so many bytes that were read, from this one on.
#[derive(Default)]
pub(super) struct Block<const SIZE: usize> {
    from: u64,
    bytes: Vec<u8>,
}

impl<const SIZE: usize> Block<SIZE> {
    pub(super) fn get(&self, row: u64) -> Option<&[u8; SIZE]> {
        let at = usize::try_from(row.checked_sub(self.from)?).ok()?;
        self.bytes.get(at.checked_mul(SIZE)?..)?.first_chunk()
    }

    pub(super) fn end(&self) -> u64 {
        self.from + (self.bytes.len() / SIZE) as u64
    }

    /// Reads so many rows of those that begin at `start`.
    pub(super) fn read(
        &mut self,
        file: &mut dyn Source,
        start: u64,
        from: u64,
        rows: u64,
    ) -> io::Result<()> {
        self.from = from;
        self.bytes.resize(rows as usize * SIZE, 0);
        file.seek(SeekFrom::Start(start + from * SIZE as u64))?;
        let read = file.read_exact(&mut self.bytes);
        if read.is_err() {
            self.bytes.clear();
        }
        read
    }
}
