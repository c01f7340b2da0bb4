//! Detects that the file of a mirror was copied or restored. A sync writes a mark into the lock file, and the next sync
//! compares it with the mirror.
//!
//! A copy continues with the numbers of its original, so two different syncs may have the same number. Once a file is
//! not the one that the last sync left at its path, or the mark is missing, numbers can no longer be used. Bookmarks
//! distinguish all syncs.

use crate::file::{Claim, MirrorResult, open_lock};
use crate::sql::sql;
use rusqlite::{Connection, OptionalExtension};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Result, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

/// The maximum size of the marks, which take a few hundred bytes for each list.
const MAX_BYTES: u64 = 1 << 20;

/// The state of a list in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ListState {
    pub(crate) mirror: String,
    /// The id that the list got when it was created.
    pub(crate) epoch: String,
    /// The highest number of a sync.
    pub(crate) last: i64,
    /// The id of the last sync; `None` after the list was removed.
    pub(crate) sync: Option<String>,
    /// The number of the last sync that copies have, too; `None` if there is no copy.
    pub(crate) fork: Option<i64>,
    /// True if a sync wrote a mark.
    #[serde(skip)]
    pub(crate) is_marked: bool,
}

impl ListState {
    /// Reads the state from a mirror. It is not compared with a mark yet.
    pub(crate) fn read(connection: &Connection, list: &str) -> MirrorResult<Self> {
        let state = connection.query_row(sql!("list_state"), &[(":list", list)], |row| {
            Ok(ListState {
                mirror: row.get(0)?,
                epoch: row.get(1)?,
                last: row.get(2)?,
                fork: row.get(3)?,
                is_marked: row.get(4)?,
                sync: row.get(5)?,
            })
        });
        Ok(state.optional()?.unwrap_or_default())
    }

    /// Compares the state with the mark in the lock file, and returns it with the resulting fork.
    pub(crate) fn compared(mut self, path: &Path, list: &str) -> Self {
        let marks = open_lock(path, &mut File::options())
            .and_then(|file| Marks::read(&file))
            .unwrap_or_default();
        self.fork = match marks.0.get(list) {
            Some(mark) => mark.fork(&self, path),
            // The mark is missing although a sync wrote one. Mirrors of earlier versions never had a mark.
            None if self.is_marked => lower(self.fork, Some(self.last)),
            None => self.fork,
        };
        self
    }
}

fn lower(one: Option<i64>, other: Option<i64>) -> Option<i64> {
    one.into_iter().chain(other).min()
}

/// The mark of a list.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Mark {
    /// The number of the file's inode, and the time of its creation in microseconds.
    file: (u64, u64),
    /// The state after the last sync.
    state: ListState,
    /// The id of the sync that was about to be committed when the mark was written.
    next: Option<String>,
}

impl Mark {
    /// Returns the fork of a list that is in the state `now`.
    fn fork(&self, now: &ListState, path: &Path) -> Option<i64> {
        let (known, marked) = (lower(now.fork, self.state.fork), &self.state);
        if now.mirror != marked.mirror {
            return Some(0);
        }
        let is_next = now.sync.is_some() && now.sync == self.next;
        // Numbers from before a list was forgotten are refused anyway.
        let is_same = now.last == marked.last && (now.sync.is_none() || now.sync == marked.sync);
        if self.file == identity(path) && (is_same || is_next) {
            known
        } else {
            lower(known, Some(now.last))
        }
    }
}

/// The marks of all lists of a mirror.
#[derive(Default, Serialize, Deserialize)]
#[serde(transparent)]
struct Marks(BTreeMap<String, Mark>);

impl Marks {
    fn read(mut file: &File) -> Result<Self> {
        let mut bytes = Vec::new();
        file.rewind()?;
        file.take(MAX_BYTES).read_to_end(&mut bytes)?;
        Ok(Self::last_complete(&bytes))
    }

    /// Returns the marks of the last complete line.
    fn last_complete(bytes: &[u8]) -> Self {
        let mut lines = bytes.rsplit(|byte| matches!(byte, b'\0' | b'\n'));
        let found = lines.find_map(|line| serde_json::from_slice(line).ok());
        found.unwrap_or_default()
    }

    fn write(&self, mut file: &File) -> Result<()> {
        let text = serde_json::to_vec(self)?;
        let length = file.metadata()?.len();
        write_twice(&mut file, length, &text)?;
        file.set_len(text.len() as u64)
    }
}

/// Writes a text behind the present ones of a file, and then over its beginning, so that the rest can be cut off. If the
/// process ends at any time, the last complete line is still the earlier text, or is already the new one.
fn write_twice(file: &mut (impl Write + Seek), length: u64, text: &[u8]) -> Result<()> {
    file.seek(SeekFrom::Start(length.max(text.len() as u64)))?;
    file.write_all(&[b"\n", text].concat())?;
    file.rewind()?;
    file.write_all(text)
}

/// Writes the marks of a mirror that a sync claimed.
pub(crate) struct Marker {
    lock: Arc<File>,
    path: PathBuf,
}

impl Marker {
    pub(crate) fn new(claim: &Claim) -> Self {
        Marker {
            lock: Arc::clone(&claim.lock),
            path: claim.path.clone(),
        }
    }

    /// Writes the state of a list, and the sync that is about to be committed. If this fails, the earlier mark remains.
    pub(crate) fn note(&self, list: &str, state: &ListState, next: Option<&str>) {
        let mut marks = Marks::read(&self.lock).unwrap_or_default();
        let mark = Mark {
            file: identity(&self.path),
            state: state.clone(),
            next: next.map(str::to_owned),
        };
        marks.0.insert(list.to_owned(), mark);
        let _ = marks.write(&self.lock);
    }
}

/// Returns the inode and the creation time, by which a file differs from its copies. A value is 0 if the system does
/// not know it.
fn identity(path: &Path) -> (u64, u64) {
    let Ok(found) = std::fs::metadata(path) else {
        return (0, 0);
    };
    let created = found.created().ok();
    let age = created.and_then(|created| created.duration_since(UNIX_EPOCH).ok());
    #[cfg(unix)]
    let inode = std::os::unix::fs::MetadataExt::ino(&found);
    #[cfg(not(unix))]
    let inode = 0;
    let micros = age.map_or(0, |age| age.as_micros() as u64);
    (inode, micros)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Cursor, Error};

    /// A file, and the number of bytes that its process writes before it ends.
    struct Torn(Cursor<Vec<u8>>, usize);

    impl Write for Torn {
        fn write(&mut self, bytes: &[u8]) -> Result<usize> {
            let count = bytes.len().min(self.1);
            self.1 -= count;
            if count == 0 {
                return Err(Error::other("the process ended"));
            }
            self.0.write(&bytes[..count])
        }

        fn flush(&mut self) -> Result<()> {
            Ok(())
        }
    }

    impl Seek for Torn {
        fn seek(&mut self, at: SeekFrom) -> Result<u64> {
            self.0.seek(at)
        }
    }

    #[test]
    fn a_write_that_ends_early_leaves_the_earlier_marks_or_the_new_ones() {
        let text = |list: &str| {
            let marks = Marks([(list.to_owned(), Mark::default())].into());
            serde_json::to_vec(&marks).unwrap()
        };
        for (old, new) in [("a", "a-longer-name"), ("a-longer-name", "a")] {
            let (old, new) = (text(old), text(new));
            for bytes in 0..=2 * new.len() + 1 {
                let mut file = Torn(Cursor::new(old.clone()), bytes);
                let _ = write_twice(&mut file, old.len() as u64, &new);
                let read = Marks::last_complete(file.0.get_ref());
                let read = serde_json::to_vec(&read).unwrap();
                let expected = if bytes > new.len() { &new } else { &old };
                assert!(read == *expected, "{bytes}");
            }
        }
    }
}
