//! The checkpoint of an unfinished export: which files belong to it, and how far it has come.

use super::encoder::Table;
use super::files::FileIdentity;
use super::fingerprint::FileFingerprint;
use super::format::Layout;
use super::key::ExportKey;
use super::paths::{OutputPaths, WorkName, failed, is_id, new_id};
use crate::digest::RecordsDigest;
use crate::error::{Error, ErrorKind, Result};
use crate::scan::{Receipt, ScanState};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, Write};

/// Changes whenever older checkpoints can no longer be resumed from.
const VERSION: u32 = 6;

/// A larger file is not a checkpoint, which has some hundred kilobytes, and must not fill the memory.
const MAX_BYTES: u64 = 64 << 20;

/// What is written to `PATH.checkpoint`.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Checkpoint {
    version: u32,
    /// Tells this export from others to the same path.
    pub(super) id: String,
    pub(super) key: ExportKey,
    pub(super) part: Option<WorkFile>,
    /// `PATH.part.ids`: what records were delivered.
    pub(super) ids: Option<WorkFile>,
    /// `PATH.part.1` and so on.
    pub(super) row_groups: Vec<WorkFile>,
    /// None until there is something to resume from.
    pub(super) progress: Option<Progress>,
}

/// A file that the export has created.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct WorkFile {
    pub(super) identity: FileIdentity,
    /// Of what has been synced and can be resumed from.
    pub(super) synced: Option<FileFingerprint>,
    /// A digest of all of that, where it is not kept elsewhere.
    pub(super) blake3: Option<String>,
}

/// How far an export has come.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Progress {
    /// The columns, in formats that have them, and how records differed from those that were given.
    pub(super) table: Table,
    /// Where the scan stands.
    pub(super) state: ScanState,
    /// What has been done up to there.
    pub(super) receipt: Receipt,
    /// Of the records up to there.
    pub(super) records: RecordsDigest,
    /// Of what has been synced in a part file that grows.
    pub(super) blake3: String,
}

impl WorkFile {
    pub(super) fn new(file: &File) -> io::Result<Self> {
        Ok(WorkFile {
            identity: FileIdentity::of(file)?,
            synced: None,
            blake3: None,
        })
    }

    /// Whether `file` is this one: the same file, or, where file systems number their files anew,
    /// one with the same data.
    fn is(&self, file: &File) -> io::Result<bool> {
        if self.identity.matches(&FileIdentity::of(file)?) {
            return Ok(true);
        }
        match &self.synced {
            Some(synced) if synced.bytes > 0 => Ok(synced.mismatch(file)?.is_none()),
            _ => Ok(false),
        }
    }
}

impl Checkpoint {
    pub(super) fn new(key: ExportKey) -> Self {
        Checkpoint {
            version: VERSION,
            id: new_id(),
            key,
            part: None,
            ids: None,
            row_groups: Vec::new(),
            progress: None,
        }
    }

    /// Reads an open file.
    ///
    /// # Errors
    /// `Io` when it is not a checkpoint, or one of another version.
    pub(super) fn read(mut file: &File, paths: &OutputPaths) -> Result<Self> {
        #[derive(Deserialize)]
        struct Versioned {
            version: u32,
        }
        let path = paths.checkpoint();
        let mut text = Vec::new();
        file.rewind()
            .and_then(|()| file.take(MAX_BYTES).read_to_end(&mut text))
            .map_err(|error| failed("read", &path, &error))?;
        let refuse = |why: String| {
            let message = format!(
                "{} {why}, so the files of {} are left alone; move it and {} away, or choose another output path",
                path.display(),
                paths.path.display(),
                paths.part().display(),
            );
            Error::new(ErrorKind::Io, message)
        };
        let damaged = |error| refuse(format!("is damaged, or not a checkpoint ({error})"));
        let Versioned { version } = serde_json::from_slice(&text).map_err(damaged)?;
        if version != VERSION {
            return Err(refuse(format!(
                "has version {version}, but this program writes version {VERSION}"
            )));
        }
        let checkpoint: Self = serde_json::from_slice(&text).map_err(damaged)?;
        match is_id(&checkpoint.id) {
            true => Ok(checkpoint),
            false => Err(refuse("is damaged: its id is not valid".into())),
        }
    }

    /// Writes it piece by piece: it has some hundred kilobytes, which need not be in memory at once.
    pub(super) fn write(&self, file: &File) -> io::Result<()> {
        let mut buffered = BufWriter::new(file);
        serde_json::to_writer(&mut buffered, self)?;
        buffered.flush()
    }

    /// Whether there is something to resume from.
    pub(super) fn is_resumable(&self) -> bool {
        let synced = match self.layout() {
            Layout::Growing => self.part.as_ref().is_some_and(|part| part.synced.is_some()),
            Layout::RowGroups => self.finished_row_groups() > 0,
            Layout::Whole => false,
        };
        synced && self.progress.is_some()
    }

    /// Whether what was synced is still there.
    pub(super) fn is_intact(&self, paths: &OutputPaths) -> bool {
        let part = self.part.iter().map(|file| (WorkName::Part, file));
        let ids = self.ids.iter().map(|file| (WorkName::Ids, file));
        let groups = self.row_groups.iter().zip(1..);
        let groups = groups.map(|(file, number)| (WorkName::RowGroup(number), file));
        part.chain(ids).chain(groups).all(|(name, file)| {
            let Some(synced) = &file.synced else {
                return true;
            };
            let path = paths.work(name);
            // Opening a pipe would wait for its other end.
            let mismatch = || File::open(&path).and_then(|file| synced.mismatch(&file));
            path.is_file() && mismatch().is_ok_and(|mismatch| mismatch.is_none())
        })
    }

    /// How many row-group files are complete.
    pub(super) fn finished_row_groups(&self) -> usize {
        let groups = self.row_groups.iter();
        groups.take_while(|group| group.synced.is_some()).count()
    }

    /// Whether this export has created the open file of this name.
    ///
    /// A checkpoint announces a file before it is created, and knows by what to recognise it before
    /// anything is written to it. In between the file is empty.
    pub(super) fn vouches_for(&self, name: WorkName, file: &File) -> io::Result<bool> {
        let (known, announced) = match name {
            WorkName::Part => (self.part.as_ref(), true),
            WorkName::Ids => (self.ids.as_ref(), true),
            WorkName::RowGroup(number) => (
                number
                    .checked_sub(1)
                    .and_then(|index| self.row_groups.get(index)),
                self.layout() == Layout::RowGroups && number == self.row_groups.len() + 1,
            ),
        };
        let is_empty = file.metadata()?.len() == 0;
        match known {
            Some(known) => Ok(known.is(file)? || (known.synced.is_none() && is_empty)),
            None => Ok(announced && is_empty),
        }
    }

    fn layout(&self) -> Layout {
        self.key.layout()
    }
}
