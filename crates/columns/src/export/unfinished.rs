//! An export to a file: data first, then the checkpoint that describes them, and the final name at the end.

use super::Export;
use super::checkpoint::{Checkpoint, ExportKey, Progress};
use super::paths::{directory_of, failed, sync_directory};
use super::work::{DATA, Growing, IDS, JOINED, WorkDirectory};
use crate::arrow::{Counts, TableSchema};
use crate::digest::{Digesting, FileDigest, RecordsDigest};
use crate::format::join;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use talentdata_core::scan::{Batch, Receipt, Resume};
use talentdata_core::{Config, Error, ErrorKind, Result};

/// How often a checkpoint is written: the work that a crash can cost.
const INTERVAL: Duration = Duration::from_secs(1);

/// An export to a file.
pub(super) struct Unfinished {
    pub(super) path: PathBuf,
    work: WorkDirectory,
    /// Whether it can be resumed: by its format, and because its records come from a scan.
    keeps: bool,
    /// Whether the data are row groups, which are joined at the end.
    has_groups: bool,
    /// What the next checkpoint says, as far as the encoder has come.
    checkpoint: Checkpoint,
    /// How many records the stored checkpoint covers, if it is of this export, and when it was stored.
    stored: Option<(u64, Instant)>,
    /// Whether an earlier export has left something that is not resumed; it stays until there is something to write.
    leftover: bool,
    /// None until there is something to write or to resume from.
    files: Option<Files>,
    /// What the records written since the last checkpoint add to the identities.
    entries: Vec<u8>,
    /// What the runs before have done, and where the scan goes on until that is asked for.
    earlier: Option<Receipt>,
    resume: Option<Resume>,
    /// Whether the file has its final name.
    finished: bool,
}

struct Files {
    data: Growing,
    ids: Growing,
}

impl Unfinished {
    /// Takes the path, and decides whether to resume. Only what comes from a client can be, by its `config`.
    ///
    /// # Errors
    /// `Io` when another export is writing to it, when `PATH.part` is not ours, when what is to be resumed has
    /// changed, or when the system refuses; `InvalidArgument` when that is of another export.
    pub(super) fn open(path: PathBuf, export: &Export, config: Option<&Config>) -> Result<Self> {
        let (work, found) = WorkDirectory::claim(&path)?;
        // Without its data, an export was killed before its first page or after its last rename.
        let found = found.filter(|_| work.file(DATA).exists());
        let keeps = config.is_some() && export.format.can_resume();
        let mut unfinished = Unfinished {
            path,
            work,
            keeps,
            has_groups: keeps && export.format.has_groups(),
            checkpoint: Checkpoint {
                key: ExportKey::new(export, config),
                progress: None,
            },
            stored: None,
            leftover: found.is_some(),
            files: None,
            entries: Vec::new(),
            earlier: None,
            resume: None,
            finished: false,
        };
        match found.map(|found| (found.progress, found.key)) {
            Some((Some(progress), key)) if export.resume => {
                let resumed = unfinished.resume_from(&key, progress);
                resumed.map_err(|error| unfinished.with_way_out(error))?;
            }
            Some(_) => {
                let part = unfinished.work.path.display();
                tracing::info!(%part, "the data of an unfinished export will be replaced");
            }
            None => {}
        }
        Ok(unfinished)
    }

    /// Takes over what an earlier export has left, if that is still as its checkpoint says, and drops what is behind that.
    fn resume_from(&mut self, found: &ExportKey, progress: Progress) -> Result<()> {
        if let Some([setting, before, now]) = self.checkpoint.key.difference(found) {
            let path = self.path.display();
            let message = format!(
                "{setting}: the unfinished export to {path} has {before}, but this one has {now}"
            );
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        let mut data = Growing::open(&self.work, DATA, &progress.data)?;
        let mut ids = Growing::open(&self.work, IDS, &progress.ids)?;
        let mut entries = fs::read(&ids.path).map_err(|error| failed("read", &ids.path, &error))?;
        entries.truncate(usize::try_from(ids.kept).unwrap_or(usize::MAX));
        self.resume = Some(Resume::new(progress.state.clone(), entries)?);
        data.cut_back()?;
        ids.cut_back()?;
        self.work.remove_file(JOINED)?;
        self.files = Some(Files { data, ids });
        self.stored = Some((progress.receipt.records, Instant::now()));
        self.earlier = Some(progress.receipt.clone());
        self.checkpoint.progress = Some(progress);
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

    /// How far it has come; none where there is nothing to resume from.
    pub(super) fn progress(&self) -> Option<&Progress> {
        self.checkpoint.progress.as_ref()
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

    /// What the encoder writes to, and how many bytes that has held before where it can be continued.
    pub(super) fn writer(&mut self) -> Result<(Digesting<File>, Option<u64>)> {
        let keeps = self.keeps;
        let Files { data, .. } = self.files()?;
        let writer = data.digest.through(data.handle()?);
        Ok((writer, keeps.then_some(data.kept)))
    }

    /// The files that are written. The first checkpoint is stored before there is anything else, because without it
    /// nothing says whose the files are.
    fn files(&mut self) -> Result<&mut Files> {
        let files = match self.files.take() {
            Some(files) => files,
            None => {
                self.work.clear()?;
                self.work.store(&self.checkpoint)?;
                self.leftover = false;
                Files {
                    data: Growing::create(&self.work, DATA)?,
                    ids: Growing::create(&self.work, IDS)?,
                }
            }
        };
        Ok(self.files.insert(files))
    }

    /// Notes that the encoder has written a batch; whether it is time for a checkpoint.
    pub(super) fn note(&mut self, batch: &Batch) -> bool {
        if !self.keeps {
            return false;
        }
        let receipt = self.with_earlier(batch.receipt.clone());
        let progress = self.checkpoint.progress.get_or_insert_default();
        progress.state.clone_from(&batch.state);
        progress.receipt = receipt;
        self.entries.extend_from_slice(&batch.entries);
        let is_recent = |(_, at): (u64, Instant)| at.elapsed() < INTERVAL;
        self.has_groups || !self.stored.is_some_and(is_recent)
    }

    /// Whether records were written that the checkpoint does not cover.
    pub(super) fn is_behind(&self) -> bool {
        !self.entries.is_empty()
    }

    /// Syncs all that was written, and then the checkpoint.
    pub(super) fn save(
        &mut self,
        records: RecordsDigest,
        schema: Option<TableSchema>,
        counts: Option<Counts>,
    ) -> Result<()> {
        let entries = std::mem::take(&mut self.entries);
        let has_groups = self.has_groups;
        let Files { data, ids } = self.files()?;
        let (data, ids) = (data.sync(&[])?, ids.sync(&entries)?);
        let mut progress = self.checkpoint.progress.take().unwrap_or_default();
        if has_groups && data.bytes > progress.ends.last().copied().unwrap_or_default() {
            progress.ends.push(data.bytes);
        }
        let covered = progress.receipt.records;
        self.checkpoint.progress = Some(Progress {
            schema,
            counts,
            records,
            data,
            ids,
            ..progress
        });
        self.work.store(&self.checkpoint)?;
        self.stored = Some((covered, Instant::now()));
        Ok(())
    }

    /// Gives the file, whose end was written, its final name; returns its digest.
    pub(super) fn finish(&mut self) -> Result<FileDigest> {
        let mut ends = self
            .progress()
            .map_or(Vec::new(), |progress| progress.ends.clone());
        let has_groups = self.has_groups;
        let Files { data, .. } = self.files()?;
        let (mut name, mut file, mut digest) = (DATA, data.handle()?, data.digest.clone());
        if has_groups {
            ends.push(digest.bytes());
            ends.dedup();
            let groups = file;
            (name, file, digest) = (JOINED, self.work.create(JOINED)?, FileDigest::new());
            let joined = join(&groups, &ends, digest.through(&file));
            joined.map_err(|error| in_file(&self.work.file(JOINED), &error))?;
        }
        let ready = set_final_mode(&file, &self.path).and_then(|()| file.sync_all());
        ready.map_err(|error| failed("write", &self.work.file(name), &error))?;
        self.work.publish(name, &file, &self.path)?;
        self.finished = true;
        sync_directory(directory_of(&self.path))?;
        self.work.remove()?;
        Ok(digest)
    }

    /// Keeps what was saved, drops everything else, and says what can be resumed; `why` has been said already.
    pub(super) fn abandon(&mut self, saved: Result<()>, why: &str) -> String {
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
        let settled = match &mut self.files {
            None => saved,
            Some(Files { data, ids }) => {
                let removed = self.work.remove_file(JOINED);
                saved.and(removed).and(data.cut_back()).and(ids.cut_back())
            }
        };
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

    /// An error of the encoder, with the name of the file.
    pub(super) fn named(&self, error: &Error) -> Error {
        in_file(&self.work.file(DATA), error)
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
