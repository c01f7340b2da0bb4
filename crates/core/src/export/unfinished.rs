//! A file that does not have its final name yet: data first, then the checkpoint that describes them.

mod finish;
mod resume;

use super::checkpoint::{Checkpoint, Progress, WorkFile};
use super::claim::Claim;
use super::encoder::Encoder;
use super::files::{NewFile, create_new};
use super::fingerprint::FileFingerprint;
use super::foreign_files::remove_vouched;
use super::format::Layout;
use super::key::ExportKey;
use super::part_file::PartFile;
use super::paths::{OutputPaths, WorkName, failed};
use crate::digest::{FileDigest, in_chunks};
use crate::error::{Error, Result};
use crate::scan::{Batch, Receipt, Resume, ScanState, Unknown};
use std::fs::{self, File};
use std::io::{self, Seek, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How often a checkpoint is written: the work that a crash can cost.
const INTERVAL: Duration = Duration::from_secs(1);

/// An export to a file.
pub(super) struct Unfinished {
    pub(super) paths: OutputPaths,
    new: NewFile,
    layout: Layout,
    claim: Claim,
    /// What the next checkpoint is going to say.
    checkpoint: Checkpoint,
    /// What an earlier export has left that is not resumed; it stays until there is something to write.
    leftover: Option<Checkpoint>,
    /// None until there is something to write.
    part: Option<PartFile>,
    /// The row group that is being written.
    row_group: Option<File>,
    /// `PATH.part.ids`, made together with the part file, its digest, and what is still to be written to it.
    ids: Option<PartFile>,
    ids_digest: FileDigest,
    entries: Vec<u8>,
    /// How far the encoder has come.
    state: ScanState,
    /// Where the scan goes on, until that is asked for.
    resume: Option<Resume>,
    /// What this run has done up to there.
    receipt: Receipt,
    unknown: Unknown,
    /// What the runs before have done.
    earlier: Option<Receipt>,
    /// Whether files have been prepared for writing.
    ready: bool,
    /// Whether the file has its final name.
    finished: bool,
    saved: Option<Saved>,
}

/// The checkpoint with progress that was stored last.
struct Saved {
    records: u64,
    at: Instant,
}

impl Unfinished {
    /// Takes the path, and decides whether to resume.
    ///
    /// # Errors
    /// `Io` when another export is writing to it, when the names of work files are taken, when what
    /// is to be resumed has changed, or when the system refuses; `InvalidArgument` when that is of another export.
    pub(super) fn open(
        paths: OutputPaths,
        key: ExportKey,
        resume: bool,
        encoder: &mut Encoder,
    ) -> Result<Self> {
        let new = NewFile::probe(&paths)?;
        let checkpoint = Checkpoint::new(key);
        let (claim, found) = Claim::acquire(&paths, &new, &checkpoint)?;
        let mut unfinished = Unfinished {
            layout: checkpoint.key.layout(),
            paths,
            new,
            claim,
            checkpoint,
            leftover: None,
            part: None,
            row_group: None,
            ids: None,
            ids_digest: FileDigest::new(),
            entries: Vec::new(),
            state: ScanState::default(),
            resume: None,
            receipt: Receipt::default(),
            unknown: Unknown::default(),
            earlier: None,
            ready: false,
            finished: false,
            saved: None,
        };
        if let Some(found) = found {
            unfinished.take_over(found, resume, encoder)?;
        }
        Ok(unfinished)
    }

    /// Gives the encoder something to write to, if it has nothing.
    pub(super) fn open_encoder(&mut self, encoder: &mut Encoder) -> Result<()> {
        self.prepare()?;
        if encoder.is_open() {
            return Ok(());
        }
        let target = self
            .row_group
            .as_ref()
            .or(self.part.as_ref().map(|part| &part.file));
        let Some(target) = target else {
            return Ok(());
        };
        let path = self.written();
        let file = target
            .try_clone()
            .map_err(|error| failed("open", &path, &error))?;
        let opened = match self.layout {
            // Its bytes are digested when the row groups are joined.
            Layout::RowGroups => encoder.open(file, 0),
            Layout::Growing | Layout::Whole => {
                let file = encoder.file.through(file);
                encoder.open(file, self.kept_bytes())
            }
        };
        opened.map_err(|error| self.named(error))
    }

    /// Creates what is written to. Each file is announced by a checkpoint before it exists, and
    /// recorded in one before anything is written to it.
    fn prepare(&mut self) -> Result<()> {
        if self.ready {
            return Ok(());
        }
        self.discard_leftover()?;
        self.discard_unfinished_row_groups()?;
        let kept = self.kept_bytes();
        match &mut self.part {
            Some(part) => part.truncate(kept)?,
            none => {
                let part = none.insert(PartFile::create(self.paths.part())?);
                let recorded = WorkFile::new(&part.file);
                let recorded = recorded.map_err(|error| failed("read", &part.path, &error))?;
                self.checkpoint.part = Some(recorded);
            }
        }
        let kept = synced_bytes(self.checkpoint.ids.as_ref());
        match &mut self.ids {
            Some(ids) => ids.truncate(kept)?,
            none => {
                let ids = none.insert(PartFile::create(self.paths.work(WorkName::Ids))?);
                let recorded = WorkFile::new(&ids.file);
                let recorded = recorded.map_err(|error| failed("read", &ids.path, &error))?;
                self.checkpoint.ids = Some(recorded);
            }
        }
        if self.layout == Layout::RowGroups {
            self.begin_row_group()?;
        }
        self.claim.store(&self.checkpoint)?;
        self.ready = true;
        Ok(())
    }

    /// Removes what an earlier export has left that is not resumed, and announces the files of this one.
    fn discard_leftover(&mut self) -> Result<()> {
        if let Some(leftover) = &self.leftover {
            // The part file goes first: without it the others count for nothing.
            remove_vouched(&self.paths, &self.new, leftover, |_| true)?;
            // Its name is known to nobody else; mostly it does not exist.
            let _ = fs::remove_file(self.paths.temporary(&leftover.id));
            self.paths.sync_directory()?;
            self.claim.store(&self.checkpoint)?;
            self.leftover = None;
        }
        Ok(())
    }

    /// Removes the row-group files that were not complete when the export was interrupted.
    fn discard_unfinished_row_groups(&mut self) -> Result<()> {
        let kept = self.kept_row_groups();
        let unfinished = |name| matches!(name, WorkName::RowGroup(number) if number > kept);
        remove_vouched(&self.paths, &self.new, &self.checkpoint, unfinished)?;
        self.checkpoint.row_groups.truncate(kept);
        Ok(())
    }

    fn begin_row_group(&mut self) -> Result<()> {
        let path = self.written();
        let created = create_new(&path).and_then(|file| Ok((WorkFile::new(&file)?, file)));
        let (recorded, file) = created.map_err(|error| failed("create", &path, &error))?;
        self.checkpoint.row_groups.push(recorded);
        self.row_group = Some(file);
        Ok(())
    }

    /// The encoder has taken a batch; writes a checkpoint when it is time.
    pub(super) fn note(&mut self, batch: Batch, encoder: &mut Encoder) -> Result<()> {
        self.state.clone_from(batch.state());
        batch.append_entries(&mut self.entries);
        (self.receipt, self.unknown) = (batch.receipt, batch.unknown);
        let due = |saved: &Saved| saved.at.elapsed() >= INTERVAL;
        match self.layout {
            Layout::Growing if self.saved.as_ref().is_none_or(due) => self.save(encoder),
            Layout::RowGroups if encoder.sink()?.held() == 0 => {
                self.end_row_group(encoder)?;
                let begun = self.begin_row_group();
                self.store(encoder).and(begun)
            }
            _ => Ok(()),
        }
    }

    /// Syncs all that was taken, and then the checkpoint.
    fn save(&mut self, encoder: &mut Encoder) -> Result<()> {
        let sink = encoder.sink()?;
        let flushed = sink.flush();
        let bytes = sink.position();
        flushed.map_err(|error| self.named(error))?;
        if let (Some(part), Some(recorded)) = (&self.part, &mut self.checkpoint.part) {
            let synced = part.file.sync_all();
            let synced = synced.and_then(|()| FileFingerprint::of(&part.file, bytes));
            recorded.synced = Some(synced.map_err(|error| failed("write", &part.path, &error))?);
        }
        self.store(encoder)
    }

    fn end_row_group(&mut self, encoder: &mut Encoder) -> Result<()> {
        encoder.finish().map_err(|error| self.named(error))?;
        let path = self.written();
        let (Some(file), Some(recorded)) = (&self.row_group, self.checkpoint.row_groups.last_mut())
        else {
            return Ok(());
        };
        let synced = file.sync_all().and_then(|()| file.metadata());
        let synced = synced.and_then(|metadata| FileFingerprint::of(file, metadata.len()));
        recorded.synced = Some(synced.map_err(|error| failed("write", &path, &error))?);
        let digest = digest_of(file).map_err(|error| failed("read", &path, &error))?;
        recorded.blake3 = Some(digest);
        self.row_group = None;
        Ok(())
    }

    fn store(&mut self, encoder: &Encoder) -> Result<()> {
        self.save_ids()?;
        let receipt = self.receipt();
        let records = receipt.records;
        self.checkpoint.progress = Some(Progress {
            table: encoder.table(),
            state: self.state.clone(),
            receipt,
            records: encoder.records,
            blake3: encoder.file.to_hex(),
        });
        self.claim.store(&self.checkpoint)?;
        self.saved = Some(Saved {
            records,
            at: Instant::now(),
        });
        Ok(())
    }

    /// Writes and syncs which records were delivered.
    fn save_ids(&mut self) -> Result<()> {
        let (Some(ids), Some(recorded)) = (&mut self.ids, &mut self.checkpoint.ids) else {
            return Ok(());
        };
        let bytes = synced_bytes(Some(recorded)) + self.entries.len() as u64;
        let written = ids.file.write_all(&self.entries);
        let synced = written
            .and_then(|()| ids.file.sync_all())
            .and_then(|()| FileFingerprint::of(&ids.file, bytes));
        recorded.synced = Some(synced.map_err(|error| failed("write", &ids.path, &error))?);
        self.ids_digest.update(&self.entries);
        recorded.blake3 = Some(self.ids_digest.to_hex());
        self.entries.clear();
        Ok(())
    }

    /// Where the scan goes on; none at the beginning.
    pub(super) fn position(&mut self) -> Option<Resume> {
        self.resume.take()
    }

    /// How many records the runs before have written.
    pub(super) fn earlier(&self) -> u64 {
        self.earlier.as_ref().map_or(0, |earlier| earlier.records)
    }

    /// What all runs have done, up to where the encoder has come.
    fn receipt(&self) -> Receipt {
        let mut receipt = self.receipt.clone();
        self.unknown.read(&mut receipt);
        self.with_earlier(receipt)
    }

    /// The receipt of this run and those before.
    pub(super) fn with_earlier(&self, receipt: Receipt) -> Receipt {
        match &self.earlier {
            Some(earlier) => receipt.after(earlier),
            None => receipt,
        }
    }

    /// How much of the part file is kept.
    fn kept_bytes(&self) -> u64 {
        synced_bytes(self.checkpoint.part.as_ref())
    }

    /// How many row-group files are kept.
    fn kept_row_groups(&self) -> usize {
        self.checkpoint.finished_row_groups()
    }

    /// The file that is being written.
    fn written(&self) -> PathBuf {
        match self.layout {
            Layout::RowGroups => {
                let number = self.kept_row_groups() + 1;
                self.paths.work(WorkName::RowGroup(number))
            }
            Layout::Growing | Layout::Whole => self.paths.part(),
        }
    }

    /// An error of the encoder, with the name of the file.
    pub(super) fn named(&self, error: Error) -> Error {
        let message = format!("{}: {}", self.written().display(), error.message());
        error.with_message(message)
    }
}

fn synced_bytes(file: Option<&WorkFile>) -> u64 {
    let synced = file.and_then(|file| file.synced.as_ref());
    synced.map_or(0, |synced| synced.bytes)
}

/// The digest of a whole file.
fn digest_of(mut file: &File) -> io::Result<String> {
    let digest = FileDigest::new();
    file.rewind()?;
    in_chunks(file, |chunk| digest.update(chunk))?;
    Ok(digest.to_hex())
}
