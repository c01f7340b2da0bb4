//! An export to a file: data first, then the checkpoint that describes them, and the final name at the end.

use super::checkpoint::{Checkpoint, Kept, Progress};
use super::encoder::Encoder;
use super::format::Layout;
use super::key::ExportKey;
use super::paths::{directory_of, failed, sync_directory};
use super::work::{DATA, Growing, IDS, WorkDirectory};
use crate::digest::{FileDigest, in_chunks};
use crate::format::join;
use std::fs::{self, File};
use std::io::Seek;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use talentdata_core::scan::{Batch, Receipt, Resume, ScanState};
use talentdata_core::{Error, ErrorKind, Result};

/// How often a checkpoint is written: the work that a crash can cost.
const INTERVAL: Duration = Duration::from_secs(1);

/// An export to a file.
pub(super) struct Unfinished {
    path: PathBuf,
    work: WorkDirectory,
    layout: Layout,
    key: ExportKey,
    /// What the stored checkpoint says, if that is of this export.
    stored: Option<Progress>,
    stored_at: Instant,
    /// Whether an earlier export has left something that is not resumed; it stays until there is something to write.
    leftover: bool,
    /// None until there is something to write or to resume from.
    files: Option<Files>,
    /// Whether the files are as the checkpoint says, ready to be written to.
    ready: bool,
    /// The row groups that are complete.
    row_groups: Vec<Kept>,
    /// What the records written since the last checkpoint add to the identities.
    entries: Vec<u8>,
    /// How far the encoder has come.
    state: ScanState,
    /// What this run has done up to there.
    receipt: Receipt,
    /// What the runs before have done.
    earlier: Option<Receipt>,
    /// Where the scan goes on, until that is asked for.
    resume: Option<Resume>,
    /// Whether the file has its final name.
    finished: bool,
}

struct Files {
    data: Growing,
    ids: Growing,
    /// The row group that is being written.
    row_group: Option<File>,
}

impl Unfinished {
    /// Takes the path, and decides whether to resume.
    ///
    /// # Errors
    /// `Io` when another export is writing to it, when `PATH.part` is not ours, when what is to be resumed has
    /// changed, or when the system refuses; `InvalidArgument` when that is of another export.
    pub(super) fn open(
        path: &Path,
        layout: Layout,
        key: ExportKey,
        resume: bool,
        encoder: &mut Encoder,
    ) -> Result<Self> {
        let (work, found) = WorkDirectory::claim(path)?;
        let mut unfinished = Unfinished {
            path: path.to_owned(),
            work,
            layout,
            key,
            stored: None,
            stored_at: Instant::now(),
            leftover: false,
            files: None,
            ready: false,
            row_groups: Vec::new(),
            entries: Vec::new(),
            state: ScanState::default(),
            receipt: Receipt::default(),
            earlier: None,
            resume: None,
            finished: false,
        };
        // Without its data, an export was killed before its first page or after its last rename.
        let has_data = unfinished.work.file(DATA).exists();
        match found {
            Some(Checkpoint {
                key,
                progress: Some(progress),
            }) if resume && has_data => {
                let resumed = unfinished.resume_from(&key, progress, encoder);
                resumed.map_err(|error| unfinished.with_way_out(error))?;
            }
            Some(_) if has_data => {
                let part = unfinished.work.path.display();
                tracing::info!(%part, "the data of an unfinished export will be replaced");
                unfinished.leftover = true;
            }
            _ => {}
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
        for (kept, number) in progress.row_groups.iter().zip(1_u32..) {
            let (file, _) = self.work.open_kept(&number.to_string(), kept)?;
            let path = self.work.file(&number.to_string());
            let length = file
                .metadata()
                .map_err(|error| failed("read", &path, &error))?
                .len();
            if length != kept.bytes {
                let (path, bytes) = (path.display(), kept.bytes);
                let message =
                    format!("{path} has {length} bytes, but its checkpoint expects {bytes}");
                return Err(Error::new(ErrorKind::Io, message));
            }
        }
        let data = Growing::open(&self.work, DATA, &progress.data)?;
        let ids = Growing::open(&self.work, IDS, &progress.ids)?;
        let path = self.work.file(IDS);
        let mut entries = fs::read(&path).map_err(|error| failed("read", &path, &error))?;
        entries.truncate(usize::try_from(progress.ids.bytes).unwrap_or(usize::MAX));
        self.resume = Some(Resume::new(progress.state.clone(), entries)?);
        encoder.go_on(progress.table.clone(), progress.records);
        self.files = Some(Files {
            data,
            ids,
            row_group: None,
        });
        self.state = progress.state.clone();
        self.row_groups.clone_from(&progress.row_groups);
        self.earlier = Some(progress.receipt.clone());
        self.stored = Some(progress);
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

    /// The name that the file is going to have, without its directory.
    pub(super) fn name(&self) -> Option<String> {
        let name = self.path.file_name();
        name.map(|name| name.to_string_lossy().into_owned())
    }

    /// Where the scan continues, and how many records the runs before have written; none at the beginning.
    pub(super) fn resume(&mut self) -> Option<(Resume, u64)> {
        let resume = self.resume.take()?;
        Some((
            resume,
            self.earlier.as_ref().map_or(0, |earlier| earlier.records),
        ))
    }

    /// The receipt of this run and those before.
    pub(super) fn with_earlier(&self, receipt: Receipt) -> Receipt {
        match &self.earlier {
            Some(earlier) => receipt.after(earlier),
            None => receipt,
        }
    }

    /// The digest of the output so far.
    pub(super) fn digest(&self) -> Option<&FileDigest> {
        self.files.as_ref().map(|files| &files.data.digest)
    }

    /// Gives the encoder something to write to, if it has nothing.
    pub(super) fn open_encoder(&mut self, encoder: &mut Encoder) -> Result<()> {
        self.prepare()?;
        if encoder.is_open() {
            return Ok(());
        }
        let name = self.written();
        let Some(files) = &self.files else {
            return Err(lost());
        };
        let target = files.row_group.as_ref().unwrap_or(&files.data.file);
        let target = target.try_clone();
        let target = target.map_err(|error| failed("open", &self.work.file(&name), &error))?;
        let opened = match self.layout {
            // Its bytes are digested when the row groups are joined.
            Layout::RowGroups => encoder.open(target, 0),
            Layout::Growing | Layout::Whole => {
                let digested = files.data.digest.through(target);
                encoder.open(digested, files.data.kept.bytes)
            }
        };
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
                let kept = self.row_groups.len();
                let is_unfinished = |number: usize| number > kept;
                self.work
                    .remove_files(|name| name.parse().is_ok_and(is_unfinished))?;
            }
            none => {
                self.work.clear()?;
                let key = self.key.clone();
                self.work.store(&Checkpoint {
                    key,
                    progress: None,
                })?;
                self.leftover = false;
                *none = Some(Files {
                    data: Growing::create(&self.work, DATA)?,
                    ids: Growing::create(&self.work, IDS)?,
                    row_group: None,
                });
            }
        }
        if self.layout == Layout::RowGroups {
            self.begin_row_group()?;
        }
        self.ready = true;
        Ok(())
    }

    fn begin_row_group(&mut self) -> Result<()> {
        let file = self.work.create(&self.written())?;
        if let Some(files) = &mut self.files {
            files.row_group = Some(file);
        }
        Ok(())
    }

    /// The encoder has taken a batch; writes a checkpoint when it is time.
    pub(super) fn note(&mut self, batch: Batch, encoder: &mut Encoder) -> Result<()> {
        self.state.clone_from(batch.state());
        batch.append_entries(&mut self.entries);
        self.receipt = batch.full_receipt();
        let is_due = || self.stored.is_none() || self.stored_at.elapsed() >= INTERVAL;
        match self.layout {
            Layout::Growing if is_due() => self.save(encoder),
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
        let flushed = encoder.sink()?.flush();
        flushed.map_err(|error| self.named(error))?;
        if let Some(files) = &mut self.files {
            files.data.sync()?;
        }
        self.store(encoder)
    }

    fn end_row_group(&mut self, encoder: &mut Encoder) -> Result<()> {
        encoder.finish().map_err(|error| self.named(error))?;
        let path = self.work.file(&self.written());
        let Some(mut file) = self.files.as_mut().and_then(|files| files.row_group.take()) else {
            return Err(lost());
        };
        let synced = file.sync_all();
        synced.map_err(|error| failed("write", &path, &error))?;
        let digest = FileDigest::new();
        let read = file.rewind();
        let read = read.and_then(|()| in_chunks(file, |chunk| digest.update(chunk)));
        read.map_err(|error| failed("read", &path, &error))?;
        self.row_groups.push(Kept {
            bytes: digest.bytes(),
            blake3: digest.to_hex(),
        });
        Ok(())
    }

    fn store(&mut self, encoder: &Encoder) -> Result<()> {
        let Some(files) = &mut self.files else {
            return Err(lost());
        };
        files.ids.append(&std::mem::take(&mut self.entries))?;
        files.ids.sync()?;
        let (data, ids) = (files.data.kept.clone(), files.ids.kept.clone());
        let progress = Progress {
            table: encoder.table(),
            state: self.state.clone(),
            receipt: self.with_earlier(self.receipt.clone()),
            records: encoder.records,
            data,
            ids,
            row_groups: self.row_groups.clone(),
        };
        let mut checkpoint = Checkpoint {
            key: self.key.clone(),
            progress: Some(progress),
        };
        self.work.store(&checkpoint)?;
        self.stored = checkpoint.progress.take();
        self.stored_at = Instant::now();
        Ok(())
    }

    /// Writes the end, and gives the file its final name.
    pub(super) fn finish(&mut self, encoder: &mut Encoder) -> Result<()> {
        self.prepare()?;
        match self.layout {
            Layout::Growing | Layout::Whole => {
                self.open_encoder(encoder)?;
                encoder.finish().map_err(|error| self.named(error))?;
            }
            Layout::RowGroups => {
                if encoder.is_open() || self.row_groups.is_empty() {
                    self.open_encoder(encoder)?;
                    self.end_row_group(encoder)?;
                }
                self.join_row_groups()?;
            }
        }
        let Some(Files { data, .. }) = &self.files else {
            return Err(lost());
        };
        let ready = set_final_mode(&data.file, &self.path).and_then(|()| data.file.sync_all());
        ready.map_err(|error| failed("write", &self.work.file(DATA), &error))?;
        self.work.publish(&data.file, &self.path)?;
        self.finished = true;
        sync_directory(directory_of(&self.path))?;
        self.work.remove()
    }

    fn join_row_groups(&mut self) -> Result<()> {
        let Some(Files { data, .. }) = &self.files else {
            return Err(lost());
        };
        let mut unreadable = None;
        let groups = (1..=self.row_groups.len()).map_while(|number| {
            let path = self.work.file(&number.to_string());
            let opened = File::open(&path);
            let opened = opened.map_err(|error| unreadable = Some(failed("open", &path, &error)));
            opened.ok()
        });
        let joined = join(groups, data.digest.through(&data.file));
        unreadable.map_or(Ok(()), Err)?;
        joined.map_err(|error| in_file(&self.work.file(DATA), &error))
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
        let settled = match self.ready {
            true => self.settle(encoder, failed),
            false => Ok(()),
        };
        let trouble = match settled {
            Err(error) if error.message() != why => format!(" ({})", error.message()),
            _ => String::new(),
        };
        if let Some(stored) = &self.stored {
            let records = stored.receipt.records;
            return format!("{records} records are kept in {part} to be resumed{trouble}");
        }
        match self.work.remove() {
            Ok(()) => format!("no partial file was kept{trouble}"),
            Err(error) => format!("nothing can be resumed, and {}", error.message()),
        }
    }

    /// Writes a last checkpoint if writing has not failed, and drops what it does not describe.
    fn settle(&mut self, encoder: &mut Encoder, failed: bool) -> Result<()> {
        let saved = match self.layout == Layout::Growing && !failed && encoder.is_open() {
            true if !self.entries.is_empty() => self.save(encoder),
            _ => Ok(()),
        };
        // What is buffered may reach the file only before it is cut back.
        encoder.close();
        let kept = self.row_groups.len();
        let is_unfinished = |number: usize| number > kept;
        let removed = self
            .work
            .remove_files(|name| name.parse().is_ok_and(is_unfinished));
        let Some(files) = &mut self.files else {
            return saved.and(removed);
        };
        saved
            .and(removed)
            .and(files.data.cut_back())
            .and(files.ids.cut_back())
    }

    /// The name of the file that is being written.
    fn written(&self) -> String {
        match self.layout {
            Layout::RowGroups => (self.row_groups.len() + 1).to_string(),
            Layout::Growing | Layout::Whole => DATA.to_owned(),
        }
    }

    /// An error of the encoder, with the name of the file.
    pub(super) fn named(&self, error: Error) -> Error {
        in_file(&self.work.file(&self.written()), &error)
    }
}

/// Gives the finished file the permissions of the file that it replaces. A new one has those that the umask gave it
/// when it was created.
pub(super) fn set_final_mode(file: &File, target: &Path) -> std::io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let bits = |found: &fs::Metadata| found.permissions().mode() & 0o777;
        let replaced = fs::symlink_metadata(target)
            .ok()
            .filter(fs::Metadata::is_file);
        if let Some(wanted) = replaced.as_ref().map(bits)
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

fn lost() -> Error {
    let message = "internal error; please report it (an export has lost its files)";
    Error::new(ErrorKind::Internal, message)
}
