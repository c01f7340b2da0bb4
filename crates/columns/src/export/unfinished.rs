//! An export to a file: data first, then the checkpoint that describes them, and the final name at the end.

use super::checkpoint::{Checkpoint, Progress};
use super::encoder::{Encoder, lost};
use super::key::ExportKey;
use super::paths::{directory_of, failed, sync_directory};
use super::work::{DATA, Growing, IDS, JOINED, WorkDirectory};
use crate::digest::FileDigest;
use crate::format::{Format, Held, join};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use talentdata_core::scan::{Batch, Receipt, Resume, ScanState};
use talentdata_core::{Error, ErrorKind, Result};

/// How often a checkpoint is written: the work that a crash can cost.
const INTERVAL: Duration = Duration::from_secs(1);

/// An export to a file.
pub(super) struct Unfinished {
    pub(super) path: PathBuf,
    work: WorkDirectory,
    format: Format,
    key: ExportKey,
    /// Whether it can be resumed: by its format, and because its records come from a scan.
    pub(super) keeps: bool,
    /// How many records the stored checkpoint is behind, if it is of this export, and when it was stored.
    stored: Option<(u64, Instant)>,
    /// Whether an earlier export has left something that is not resumed; it stays until there is something to write.
    leftover: bool,
    /// None until there is something to write or to resume from.
    files: Option<Files>,
    /// Whether the files are as the checkpoint says, ready to be written to.
    ready: bool,
    /// Where the row groups end that are complete.
    ends: Vec<u64>,
    /// What the records written since the last checkpoint add to the identities.
    entries: Vec<u8>,
    /// How far the encoder has come.
    state: ScanState,
    /// What this run has done up to there.
    receipt: Receipt,
    /// What the runs before have done, and where the scan goes on until that is asked for.
    pub(super) earlier: Option<Receipt>,
    resume: Option<Resume>,
    /// The digest of the output, once it is whole.
    digest: Option<FileDigest>,
    /// Whether the file has its final name.
    finished: bool,
}

struct Files {
    data: Growing,
    ids: Growing,
}

impl Unfinished {
    /// Takes the path, and decides whether to resume.
    ///
    /// # Errors
    /// `Io` when another export is writing to it, when `PATH.part` is not ours, when what is to be resumed has
    /// changed, or when the system refuses; `InvalidArgument` when that is of another export.
    pub(super) fn open(
        path: &Path,
        format: Format,
        key: ExportKey,
        (keeps, resume): (bool, bool),
        encoder: &mut Encoder,
    ) -> Result<Self> {
        let (work, found) = WorkDirectory::claim(path)?;
        // Without its data, an export was killed before its first page or after its last rename.
        let found = found.filter(|_| work.file(DATA).exists());
        let mut unfinished = Unfinished {
            path: path.to_owned(),
            leftover: found.is_some(),
            keeps: keeps && format.can_resume(),
            work,
            format,
            key,
            stored: None,
            files: None,
            ready: false,
            ends: Vec::new(),
            entries: Vec::new(),
            state: ScanState::default(),
            receipt: Receipt::default(),
            earlier: None,
            resume: None,
            digest: None,
            finished: false,
        };
        if let Some(checkpoint) = found {
            match checkpoint.progress {
                Some(progress) if resume => {
                    let resumed = unfinished.resume_from(&checkpoint.key, progress, encoder);
                    resumed.map_err(|error| unfinished.with_way_out(error))?;
                }
                _ => {
                    let part = unfinished.work.path.display();
                    tracing::info!(%part, "the data of an unfinished export will be replaced");
                }
            }
        }
        Ok(unfinished)
    }

    /// Takes over what an earlier export has left, if that is still as its checkpoint says.
    fn resume_from(
        &mut self,
        found: &ExportKey,
        progress: Progress,
        encoder: &mut Encoder,
    ) -> Result<()> {
        if let Some([setting, before, now]) = self.key.difference(found) {
            let path = self.path.display();
            let message = format!(
                "{setting}: the unfinished export to {path} has {before}, but this one has {now}"
            );
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        let data = Growing::open(&self.work, DATA, &progress.data)?;
        let ids = Growing::open(&self.work, IDS, &progress.ids)?;
        let path = self.work.file(IDS);
        let mut entries = fs::read(&path).map_err(|error| failed("read", &path, &error))?;
        entries.truncate(usize::try_from(progress.ids.bytes).unwrap_or(usize::MAX));
        self.resume = Some(Resume::new(progress.state.clone(), entries)?);
        encoder.go_on(progress.table, progress.records);
        self.files = Some(Files { data, ids });
        self.stored = Some((progress.receipt.records, Instant::now()));
        (self.state, self.ends) = (progress.state, progress.ends);
        self.earlier = Some(progress.receipt);
        self.leftover = false;
        Ok(())
    }

    fn with_way_out(&self, error: Error) -> Error {
        let message = format!(
            "{}; to begin again, export without resume, or delete {}",
            error.message(),
            self.work.path.display()
        );
        error.with_message(message)
    }

    /// Where the scan continues, and how many records the runs before have written; none at the beginning.
    pub(super) fn resume(&mut self) -> Option<(Resume, u64)> {
        let earlier = self.earlier.as_ref().map_or(0, |earlier| earlier.records);
        self.resume.take().map(|resume| (resume, earlier))
    }

    /// The receipt of this run and those before.
    pub(super) fn with_earlier(&self, receipt: Receipt) -> Receipt {
        match &self.earlier {
            Some(earlier) => receipt.after(earlier),
            None => receipt,
        }
    }

    /// The digest of the output, once it is whole.
    pub(super) fn digest(&self) -> Option<&FileDigest> {
        self.digest.as_ref()
    }

    /// Gives the encoder something to write to, if it has nothing.
    pub(super) fn open_encoder(&mut self, encoder: &mut Encoder) -> Result<()> {
        self.prepare()?;
        if encoder.sink.is_some() {
            return Ok(());
        }
        let Files { data, .. } = self.files.as_ref().ok_or_else(lost)?;
        let file = data.file.try_clone();
        let file = file.map_err(|error| failed("open", &data.path, &error))?;
        let held = match data.kept.bytes {
            0 => Held::Nothing,
            _ => Held::Some,
        };
        let continued = self.format.can_resume().then_some(held);
        let opened = encoder.open(data.digest.through(file), continued);
        opened.map_err(|error| self.named(error))
    }

    /// Brings the work directory into the state that the checkpoint describes. The first checkpoint is stored before
    /// there is anything else, because without it nothing says whose the files are.
    fn prepare(&mut self) -> Result<()> {
        if self.ready {
            return Ok(());
        }
        match &mut self.files {
            Some(files) => {
                files.data.cut_back()?;
                files.ids.cut_back()?;
                self.work.remove_file(JOINED)?;
            }
            none => {
                self.work.clear()?;
                self.work.store(&Checkpoint {
                    key: self.key.clone(),
                    progress: None,
                })?;
                self.leftover = false;
                *none = Some(Files {
                    data: Growing::create(&self.work, DATA)?,
                    ids: Growing::create(&self.work, IDS)?,
                });
            }
        }
        self.ready = true;
        Ok(())
    }

    /// The encoder has written a batch; writes a checkpoint when it is time.
    pub(super) fn note(&mut self, batch: &Batch, encoder: &mut Encoder) -> Result<()> {
        self.state.clone_from(batch.state());
        batch.append_entries(&mut self.entries);
        self.receipt = batch.full_receipt();
        let is_recent = |(_, at): (u64, Instant)| at.elapsed() < INTERVAL;
        let is_due = self.format.has_groups() || !self.stored.is_some_and(is_recent);
        match is_due && self.keeps {
            true => self.save(encoder),
            false => Ok(()),
        }
    }

    /// Syncs all that was written, and then the checkpoint; nothing within a group.
    fn save(&mut self, encoder: &mut Encoder) -> Result<()> {
        if encoder.sink()?.held() > 0 {
            return Ok(());
        }
        let flushed = encoder.sink()?.flush();
        flushed.map_err(|error| self.named(error))?;
        let Files { data, ids } = self.files.as_mut().ok_or_else(lost)?;
        data.sync()?;
        let end = data.kept.bytes;
        if end > self.ends.last().copied().unwrap_or_default() && self.format.has_groups() {
            self.ends.push(end);
        }
        ids.append(&std::mem::take(&mut self.entries))?;
        ids.sync()?;
        let (data, ids) = (data.kept.clone(), ids.kept.clone());
        let receipt = self.with_earlier(self.receipt.clone());
        let records = receipt.records;
        self.work.store(&Checkpoint {
            key: self.key.clone(),
            progress: Some(Progress {
                table: encoder.table(),
                state: self.state.clone(),
                receipt,
                records: encoder.records,
                data,
                ids,
                ends: self.ends.clone(),
            }),
        })?;
        self.stored = Some((records, Instant::now()));
        Ok(())
    }

    /// Writes the end, and gives the file its final name.
    pub(super) fn finish(&mut self, encoder: &mut Encoder) -> Result<()> {
        self.open_encoder(encoder)?;
        let finished = encoder.sink()?.finish();
        encoder.sink = None;
        finished.map_err(|error| self.named(error))?;
        let Files { data, .. } = self.files.as_ref().ok_or_else(lost)?;
        let (name, file, digest) = match self.format.has_groups() {
            true => {
                let file = self.work.create(JOINED)?;
                let digest = FileDigest::new();
                let mut ends = self.ends.clone();
                ends.push(data.digest.bytes());
                ends.dedup();
                let joined = join(&data.file, &ends, digest.through(&file));
                joined.map_err(|error| in_file(&self.work.file(JOINED), &error))?;
                (JOINED, file, digest)
            }
            false => {
                let file = data.file.try_clone();
                let file = file.map_err(|error| failed("open", &data.path, &error))?;
                (DATA, file, data.digest.clone())
            }
        };
        let ready = set_final_mode(&file, &self.path).and_then(|()| file.sync_all());
        ready.map_err(|error| failed("write", &self.work.file(name), &error))?;
        self.work.publish(name, &file, &self.path)?;
        (self.finished, self.digest) = (true, Some(digest));
        sync_directory(directory_of(&self.path))?;
        self.work.remove()
    }

    /// Keeps what can be resumed, and says what that is; `why` has been said already.
    pub(super) fn abandon(&mut self, encoder: &mut Encoder, failed: bool, why: &str) -> String {
        let part = self.work.path.display().to_string();
        if self.finished {
            return format!("{} is complete", self.path.display());
        }
        if self.work.check().is_err() {
            return "nothing can be resumed".to_owned();
        }
        if self.leftover {
            return format!("{part}, which an earlier export has left, is unchanged");
        }
        let settled = self.settle(encoder, failed);
        let trouble = match settled {
            Err(error) if error.message() != why => format!(" ({})", error.message()),
            _ => String::new(),
        };
        if let Some((records, _)) = self.stored {
            return format!("{records} records are kept in {part} to be resumed{trouble}");
        }
        match self.work.remove() {
            Ok(()) => format!("no partial file was kept{trouble}"),
            Err(error) => format!("nothing can be resumed, and {}", error.message()),
        }
    }

    /// Writes a last checkpoint if writing has not failed, and drops what it does not describe.
    fn settle(&mut self, encoder: &mut Encoder, failed: bool) -> Result<()> {
        if !self.ready {
            return Ok(());
        }
        let is_behind = !self.entries.is_empty() && encoder.sink.is_some();
        let saved = match is_behind && self.keeps && !failed {
            true => self.save(encoder),
            false => Ok(()),
        };
        // What is buffered may reach the file only before it is cut back.
        encoder.sink = None;
        let Files { data, ids } = self.files.as_mut().ok_or_else(lost)?;
        let removed = self.work.remove_file(JOINED);
        saved.and(removed).and(data.cut_back()).and(ids.cut_back())
    }

    /// An error of the encoder, with the name of the file.
    pub(super) fn named(&self, error: Error) -> Error {
        in_file(&self.work.file(DATA), &error)
    }
}

/// Gives the finished file the permissions of the file that it replaces. A new one has those that the umask gave it
/// when it was created.
fn set_final_mode(file: &File, target: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let bits = |found: &fs::Metadata| found.permissions().mode() & 0o777;
        let replaced = fs::symlink_metadata(target).ok();
        if let Some(wanted) = replaced.filter(fs::Metadata::is_file).as_ref().map(bits)
            && bits(&file.metadata()?) != wanted
        {
            file.set_permissions(fs::Permissions::from_mode(wanted))?;
        }
    }
    Ok(())
}

fn in_file(path: &Path, error: &Error) -> Error {
    let message = format!("{}: {}", path.display(), error.message());
    error.clone().with_message(message)
}
