//! The fingerprints of a generation in a file: those of the list in its order, then those of missing records.
//!
//! A list that has hardly changed is compared by reading the file from the beginning to the end. Only for
//! records that are new or stand elsewhere is there an index, of five to ten bytes a record; it is made when the first
//! of them is met. The file is never in memory as a whole.

use super::between::{Absence, BESIDE, Between, beside, read_beside};
use super::fingerprint::{BYTES, Fingerprint};
use super::index::Index;
use crate::error::{Error, ErrorKind, Result};
use block::{Block, Source};
use std::collections::HashMap;
use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use tempfile::SpooledTempFile;

mod block;

/// The end of a state file: what it is, and which version.
const MAGIC: [u8; 8] = *b"tdstate1";
/// The magic, and how many fingerprints there are of the list, of missing records, and of strays.
const FOOT: usize = 32;
/// Fingerprints read at once, from one to the next and here and there.
const AHEAD: u64 = 4096;
const AROUND: u64 = 64;
/// What is known of missing records is kept in memory up to so many bytes, and then in a temporary file.
const SPOOL: usize = 1024 * 1024;

/// Writes the state of a generation.
pub(super) struct StateWriter<W> {
    file: W,
    listed: u64,
    missing: u64,
    /// What is known of missing records, which follows the fingerprints.
    absences: SpooledTempFile,
    strays: Vec<(u64, Between)>,
}

impl<W: Write> StateWriter<W> {
    pub(super) fn new(file: W) -> Self {
        StateWriter {
            file,
            listed: 0,
            missing: 0,
            absences: tempfile::spooled_tempfile(SPOOL),
            strays: Vec::new(),
        }
    }

    /// Adds the next record of the scan; of a stray, which was delivered later than its turn was, with where it stood.
    pub(super) fn push(&mut self, fingerprint: Fingerprint, stray: Option<Between>) -> Result<()> {
        self.strays
            .extend(stray.map(|between| (self.listed, between)));
        self.listed += 1;
        let written = self.file.write_all(&fingerprint.to_bytes());
        written.map_err(|error| unwritable(&error))
    }

    /// Adds a missing record; these come after all of the list.
    pub(super) fn push_missing(
        &mut self,
        fingerprint: Fingerprint,
        absence: Absence,
    ) -> Result<()> {
        self.missing += 1;
        let number = absence.last_seen.to_le_bytes();
        let kept = self.absences.write_all(&beside(number, absence.between));
        let written = kept.and_then(|()| self.file.write_all(&fingerprint.to_bytes()));
        written.map_err(|error| unwritable(&error))
    }

    /// Writes the end.
    pub(super) fn finish(mut self) -> Result<W> {
        let mut write = || {
            self.absences.rewind()?;
            io::copy(&mut self.absences, &mut self.file)?;
            for (position, between) in &self.strays {
                let number = position.to_le_bytes();
                self.file.write_all(&beside(number, *between))?;
            }
            self.file.write_all(&MAGIC)?;
            self.file.write_all(&self.listed.to_le_bytes())?;
            for count in [self.missing, self.strays.len() as u64] {
                self.file.write_all(&count.to_le_bytes())?;
            }
            Ok(())
        };
        write().map_err(|error: io::Error| unwritable(&error))?;
        Ok(self.file)
    }
}

/// Reads the state of a generation.
pub(super) struct State {
    file: Box<dyn Source>,
    path: PathBuf,
    listed: u64,
    missing: u64,
    strays: HashMap<u64, Between>,
    next: Block<BYTES>,
    other: Block<BYTES>,
    absences: Block<BESIDE>,
    index: Option<Index>,
}

impl State {
    /// The state of a list that was never read.
    pub(super) fn empty() -> Self {
        let nothing = Cursor::new(Vec::new());
        State {
            file: Box::new(nothing),
            path: PathBuf::new(),
            listed: 0,
            missing: 0,
            strays: HashMap::new(),
            next: Block::default(),
            other: Block::default(),
            absences: Block::default(),
            index: None,
        }
    }

    /// # Errors
    /// `Io`, when it is no state file.
    pub(super) fn open(mut file: Box<dyn Source>, path: PathBuf) -> Result<Self> {
        let mut read = || {
            let length = file.seek(SeekFrom::End(0))?;
            let mut foot = [0; FOOT];
            file.seek(SeekFrom::Start(length.saturating_sub(FOOT as u64)))?;
            file.read_exact(&mut foot)?;
            let count = |at: usize| {
                let mut count = [0; 8];
                count.copy_from_slice(&foot[at..at + 8]);
                u64::from_le_bytes(count)
            };
            let (listed, missing, strays) = (count(8), count(16), count(24));
            let rows = u128::from(listed) + u128::from(missing);
            let more = u128::from(missing) + u128::from(strays);
            let expected = rows * BYTES as u128 + more * BESIDE as u128;
            if foot[..8] != MAGIC || expected + FOOT as u128 != u128::from(length) {
                return Err(io::Error::other("it is damaged"));
            }
            let absences = (listed + missing) * BYTES as u64;
            file.seek(SeekFrom::Start(absences + missing * BESIDE as u64))?;
            let stray = |_| {
                let mut bytes = [0; BESIDE];
                file.read_exact(&mut bytes)?;
                let (number, between) = read_beside(&bytes);
                Ok((u64::from_le_bytes(number), between))
            };
            let strays = (0..strays).map(stray).collect::<io::Result<_>>()?;
            Ok((listed, missing, strays))
        };
        let (listed, missing, strays) = read().map_err(|error| unreadable(&path, &error))?;
        Ok(State {
            file,
            path,
            listed,
            missing,
            strays,
            ..Self::empty()
        })
    }

    /// How many records the list had; missing ones have the positions behind them.
    pub(super) fn listed(&self) -> u64 {
        self.listed
    }

    /// How many records there are, missing ones included.
    pub(super) fn len(&self) -> u64 {
        self.listed + self.missing
    }

    /// What is known of the missing record at this position; none for those of the list.
    pub(super) fn absence(&mut self, position: u64) -> Result<Option<Absence>> {
        let Some(row) = position.checked_sub(self.listed) else {
            return Ok(None);
        };
        if self.absences.get(row).is_none() {
            let start = self.len() * BYTES as u64;
            let rows = AROUND.min(self.missing.saturating_sub(row));
            let read = self.absences.read(&mut *self.file, start, row, rows);
            read.map_err(|error| unreadable(&self.path, &error))?;
        }
        Ok(self.absences.get(row).map(|bytes| {
            let (number, between) = read_beside(bytes);
            let last_seen = i64::from_le_bytes(number);
            Absence { last_seen, between }
        }))
    }

    /// Where the stray at this position stood; none for the others of the list, which follow each other.
    pub(super) fn stray(&self, position: u64) -> Option<Between> {
        self.strays.get(&position).copied()
    }

    /// The fingerprint at a position, which must be one of the file's.
    pub(super) fn at(&mut self, position: u64) -> Result<Fingerprint> {
        let known = self.next.get(position);
        if let Some(found) = known.or_else(|| self.other.get(position)) {
            return Ok(Fingerprint::from_bytes(*found));
        }
        let left = self.len().saturating_sub(position);
        // From one to the next, unless they are looked up.
        let ahead = position.checked_sub(self.next.end());
        let (block, most) = match ahead.is_some_and(|ahead| ahead < AHEAD) {
            true => (&mut self.next, AHEAD),
            false => (&mut self.other, AROUND),
        };
        let read = block.read(&mut *self.file, 0, position, most.min(left));
        read.map_err(|error| unreadable(&self.path, &error))?;
        let found = block.get(position);
        let found = found.map(|bytes| Fingerprint::from_bytes(*bytes));
        found.ok_or_else(|| unreadable(&self.path, &io::ErrorKind::UnexpectedEof.into()))
    }

    /// The positions of an identity, most often one or none.
    pub(super) fn find(&mut self, identity: u128) -> Result<Vec<u64>> {
        if self.index.is_none() {
            self.index = Some(self.make_index()?);
        }
        let candidates = match &self.index {
            Some(index) => index.candidates(identity),
            None => Vec::new(),
        };
        let mut found = Vec::new();
        for position in candidates {
            if self.at(position)?.identity == identity {
                found.push(position);
            }
        }
        Ok(found)
    }

    fn make_index(&mut self) -> Result<Index> {
        let count = self.len();
        let mut index = Index::new(count);
        let mut bytes = Vec::new();
        let mut position = 0;
        let mut read = || -> io::Result<()> {
            self.file.rewind()?;
            while position < count {
                let rows = AHEAD.min(count - position);
                bytes.resize(rows as usize * BYTES, 0);
                self.file.read_exact(&mut bytes)?;
                for row in bytes.chunks_exact(BYTES) {
                    let mut identity = [0; 16];
                    identity.copy_from_slice(&row[..16]);
                    index.insert(u128::from_le_bytes(identity), position);
                    position += 1;
                }
            }
            Ok(())
        };
        read().map_err(|error| unreadable(&self.path, &error))?;
        Ok(index)
    }
}

fn unwritable(error: &io::Error) -> Error {
    let message = format!("the mirror could not be written: {error}");
    Error::new(ErrorKind::Io, message)
}

fn unreadable(path: &Path, error: &io::Error) -> Error {
    let message = format!("cannot read {}: {error}", path.display());
    Error::new(ErrorKind::Io, message)
}
