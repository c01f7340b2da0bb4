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
use std::io::{Read, Result, Seek, Write};
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
        let is_same = (now.last, &now.sync) == (marked.last, &marked.sync);
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
        let mut text = String::new();
        file.rewind()?;
        file.take(MAX_BYTES).read_to_string(&mut text)?;
        Ok(serde_json::from_str(&text).unwrap_or_default())
    }

    fn write(&self, mut file: &File) -> Result<()> {
        let text = serde_json::to_string(self)?;
        file.set_len(0)?;
        file.rewind()?;
        file.write_all(text.as_bytes())
    }
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

    /// Writes the state of a list, and the sync that is about to be committed. If this fails, the mark is missing.
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
