//! Pages kept in a temporary file without a name, so that a list of any length takes no memory.

use crate::error::{Error, ErrorKind, Result};
use crate::page::Page;
use crate::request::transport::Response;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};

/// The pages of one pass, in order. The system removes the file with the process at the latest.
///
/// Writing and reading block the calling task, as writing an export does.
pub(super) struct Spool {
    file: BufWriter<File>,
    pages: u64,
}

impl Spool {
    /// # Errors
    /// `Io`, when there is no temporary file to be had.
    pub(super) fn new() -> Result<Self> {
        let file = tempfile::tempfile().map_err(|error| failed(&error))?;
        Ok(Spool {
            file: BufWriter::new(file),
            pages: 0,
        })
    }

    /// Adds a page, and which of its records are new.
    ///
    /// # Errors
    /// `Io`, when the disk is full, for example.
    pub(super) fn push(&mut self, page: &Page, fresh: &[usize]) -> Result<()> {
        let Some(record) = page.records.first().filter(|_| !fresh.is_empty()) else {
            return Ok(());
        };
        let page = record.page();
        let text = page.text();
        let mut write = || {
            self.put(page.offset)?;
            self.put(text.len() as u64)?;
            self.file.write_all(text)?;
            self.put(fresh.len() as u64)?;
            fresh.iter().try_for_each(|index| self.put(*index as u64))
        };
        write().map_err(|error| failed(&error))?;
        self.pages += 1;
        Ok(())
    }

    /// Goes back to the first page, to read them all.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub(super) fn rewind(self) -> Result<Replay> {
        let file = self.file.into_inner();
        let file = file.map_err(io::IntoInnerError::into_error);
        let rewound = file.and_then(|mut file| file.rewind().map(|()| file));
        Ok(Replay {
            file: BufReader::new(rewound.map_err(|error| failed(&error))?),
            pages: self.pages,
        })
    }

    fn put(&mut self, number: u64) -> io::Result<()> {
        self.file.write_all(&number.to_le_bytes())
    }
}

/// The pages of a spool, read one after the other.
pub(super) struct Replay {
    file: BufReader<File>,
    pages: u64,
}

impl Replay {
    /// The next page and which of its records are new; `key` is where the records stand.
    ///
    /// # Errors
    /// `Io`, when it cannot be read.
    pub(super) fn next(&mut self, key: Option<&str>) -> Result<Option<(Page, Vec<usize>)>> {
        if self.pages == 0 {
            return Ok(None);
        }
        self.pages -= 1;
        let mut read = || {
            let offset = self.get()?;
            let mut text = vec![0; self.size()?];
            self.file.read_exact(&mut text)?;
            let fresh = (0..self.get()?).map(|_| self.size());
            Ok((offset, text, fresh.collect::<io::Result<_>>()?))
        };
        let (offset, text, fresh) = read().map_err(|error| failed(&error))?;
        let page = Page::read(&Response::of_json(text), key, offset)?;
        Ok(Some((page, fresh)))
    }

    fn get(&mut self) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.file.read_exact(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn size(&mut self) -> io::Result<usize> {
        usize::try_from(self.get()?).map_err(io::Error::other)
    }
}

fn failed(error: &io::Error) -> Error {
    let directory = std::env::temp_dir();
    let message = format!(
        "the snapshot cannot be kept in a temporary file in {}: {error}",
        directory.display()
    );
    Error::new(ErrorKind::Io, message)
}
