//! Writes an export to a file: first records, then a checkpoint that covers them, and at the end the final name.

use super::Export;
use super::checkpoint::{Checkpoint, Resumable, key};
use super::kept::{KeptDecision, WaysOut, decide};
use super::mode::{FileMode, open_private, set_final_mode};
use super::work::{AppendFile, DATA, Found, IDS, OUTPUT, WorkDirectory, damaged};
use crate::arrow::Counts;
use crate::digest::RecordsDigest;
use crate::format::Format;
use crate::paths::{IoContext, directory_of, sync_directory};
use blake3::Hasher;
use std::fs::File;
use std::io::{BufRead, Read};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use talentdata_core::scan::{Batch, Receipt, Resume};
use talentdata_core::{Config, ErrorKind, RawRecord, Result};

/// The interval between checkpoints. A crash loses at most the work of one interval.
const INTERVAL: Duration = Duration::from_secs(1);

/// The byte that ends a record. JSON may contain line breaks, but never this byte.
const SEPARATOR: u8 = 0x1E;

/// The output of an export to a file, and the work that is kept until it is complete.
pub(super) struct ResumableFile {
    pub(super) path: PathBuf,
    pub(super) work: WorkDirectory,
    /// True if the records themselves are the output.
    is_plain: bool,
    /// The permissions of a new file.
    mode: FileMode,
    /// True if the export can be resumed, because a scan delivers its records.
    is_resumable: bool,
    /// The content of the next checkpoint.
    pub(super) checkpoint: Checkpoint,
    /// The number of records that the stored checkpoint covers, and the time when it was stored.
    stored: Option<(u64, Instant)>,
    /// The reason for discarding the work of an earlier export, which happens at the first write.
    discard_reason: Option<String>,
    /// The open files; `None` until the first write, unless an earlier export is resumed.
    files: Option<Files>,
    /// The receipt of earlier runs.
    pub(super) earlier: Option<Receipt>,
    /// The place where the scan continues, until the scan takes it.
    pub(super) resume: Option<Resume>,
    /// True after the file got its final name.
    is_finished: bool,
}

struct Files {
    data: AppendFile,
    ids: AppendFile,
    output: Option<File>,
}

impl ResumableFile {
    /// Claims the path, and decides what to do with the work that an earlier export kept. Without the `config` of a
    /// client, the export cannot be resumed.
    ///
    /// # Errors
    /// `Busy` if another export is writing to the path; `Path` if `PATH.part` is not ours; `Io` if the system refuses;
    /// `InvalidArgument` if an earlier export kept work that this export must not discard.
    pub(super) fn open(path: PathBuf, export: &Export, config: Option<&Config>) -> Result<Self> {
        let (work, found) = WorkDirectory::claim(&path)?;
        let (mut covered, mut restarted) = (None, None);
        if let Found::Checkpoint(found) = &found {
            covered = found.progress.as_ref().map(Resumable::records);
            restarted.clone_from(&found.restarted);
        }
        let decision = decide(export, config, found, &work.path, &WaysOut::PLAIN);
        let mut file = ResumableFile {
            path,
            work,
            is_plain: export.format == Format::Jsonl,
            mode: export.mode,
            is_resumable: config.is_some(),
            checkpoint: Checkpoint {
                key: key(export, config),
                progress: None,
                restarted,
            },
            stored: covered.map(|records| (records, Instant::now())),
            discard_reason: None,
            files: None,
            earlier: None,
            resume: None,
            is_finished: false,
        };
        file.discard_reason = match decision {
            KeptDecision::Begin => None,
            KeptDecision::Discard(why) => Some(why),
            KeptDecision::Refuse(refusal) => return Err(refusal.into_error()),
            KeptDecision::Continue(progress) => match file.resume_from(*progress) {
                Err(error) if error.kind() == ErrorKind::Mismatch => {
                    Some(error.message().to_owned())
                }
                resumed => resumed.map(|()| None)?,
            },
        };
        Ok(file)
    }

    /// Takes over the work of an earlier export, and drops the bytes after its last checkpoint.
    ///
    /// # Errors
    /// `Mismatch` if the work does not match its checkpoint; `Io` if the system refuses.
    fn resume_from(&mut self, progress: Resumable) -> Result<()> {
        let mut data = AppendFile::open(self.work.file(DATA), Some(&progress.data))?;
        let mut ids = AppendFile::open(self.work.file(IDS), Some(&progress.ids))?;
        let mut entries = Vec::new();
        ids.kept()
            .and_then(|mut kept| kept.read_to_end(&mut entries))
            .at("read", &ids.path)?;
        let resume = Resume::new(progress.state.clone(), entries);
        self.resume = Some(resume.map_err(|error| damaged(error.message().to_owned()))?);
        data.truncate_to_checkpoint()?;
        ids.truncate_to_checkpoint()?;
        self.files = Some(Files {
            data,
            ids,
            output: None,
        });
        self.earlier = Some(progress.receipt.clone());
        self.checkpoint.progress = Some(progress);
        Ok(())
    }

    /// Returns the files, and creates them if they do not exist. The first checkpoint is stored before the files are
    /// created, because it proves that they are ours.
    fn files(&mut self) -> Result<&mut Files> {
        // Moving the files out and back for each record would copy some kilobytes.
        match self.files {
            Some(ref mut files) => Ok(files),
            None => {
                self.note_discarded();
                self.work.clear()?;
                self.work.store(&self.checkpoint)?;
                self.stored = None;
                let files = Files {
                    data: AppendFile::open(self.work.file(DATA), None)?,
                    ids: AppendFile::open(self.work.file(IDS), None)?,
                    output: None,
                };
                Ok(self.files.insert(files))
            }
        }
    }

    /// Records and logs that the work of an earlier export is discarded, if there is any.
    fn note_discarded(&mut self) {
        let Some(why) = self.discard_reason.take() else {
            return;
        };
        let what = match self.stored {
            Some((records, _)) => format!("{records} kept records were discarded"),
            None => "kept records were discarded".to_owned(),
        };
        let restarted = format!("the export began again, and {what}: {why}");
        tracing::warn!(path = %self.path.display(), "{restarted}");
        self.checkpoint.restarted = Some(restarted);
    }

    /// Returns the file to encode to, and the kept records, which must be encoded first.
    pub(super) fn encode(
        &mut self,
    ) -> Result<(File, impl Iterator<Item = Result<RawRecord>> + use<>)> {
        self.files()?;
        // An export that was killed leaves this file.
        self.work.remove_file(OUTPUT)?;
        let path = self.work.file(OUTPUT);
        let output = open_private(File::options().write(true).create_new(true), &path)
            .at("create", &path)?;
        let files = self.files()?;
        let data = files.data.path.clone();
        let kept = files.data.kept().at("read", &data)?.split(SEPARATOR);
        files.output = Some(output.try_clone().at("open", &path)?);
        let records = kept.enumerate().map(move |(offset, record)| {
            let record = record.at("read", &data)?;
            RawRecord::parse_at(&String::from_utf8_lossy(&record), offset as u64)
        });
        Ok((output, records))
    }

    /// Appends a record. `line` is its line in JSON Lines.
    pub(super) fn add(&mut self, record: &RawRecord, line: &[u8]) -> Result<()> {
        let (text, end) = if self.is_plain {
            (line, b'\n')
        } else if self.is_resumable {
            (record.as_bytes(), SEPARATOR)
        } else {
            return Ok(());
        };
        self.files()?.data.append(text, end)
    }

    /// Records that a batch was written. Returns whether it is time for a checkpoint.
    pub(super) fn note(&mut self, batch: &Batch) -> bool {
        if !self.is_resumable {
            return false;
        }
        let mut receipt = batch.receipt.clone();
        if let Some(earlier) = &self.earlier {
            receipt = receipt.after(earlier);
        }
        let progress = self.checkpoint.progress.get_or_insert_default();
        progress.state.clone_from(&batch.state);
        progress.receipt = receipt;
        if let Some(files) = &mut self.files {
            files.ids.pending.extend_from_slice(&batch.entries);
        }
        self.stored.is_none_or(|(_, at)| at.elapsed() >= INTERVAL)
    }

    /// Returns whether the checkpoint does not cover all records.
    pub(super) fn is_behind(&self) -> bool {
        let ids = self.files.as_ref().map(|files| &files.ids);
        ids.is_some_and(|ids| !ids.pending.is_empty())
    }

    /// Syncs all records, and then stores a checkpoint that covers them.
    pub(super) fn save(&mut self, records: RecordsDigest, counts: Option<Counts>) -> Result<()> {
        let Files { data, ids, .. } = self.files()?;
        let (data, ids) = (data.sync()?, ids.sync()?);
        let progress = self.checkpoint.progress.get_or_insert_default();
        (progress.data, progress.ids) = (data, ids);
        (progress.records, progress.counts) = (records, counts);
        let covered = progress.receipt.records;
        self.work.store(&self.checkpoint)?;
        self.stored = Some((covered, Instant::now()));
        Ok(())
    }

    /// Gives the complete file its final name, and returns its digest. If the output is not the file of the records,
    /// `encoded` has the digest of the output.
    pub(super) fn finish(&mut self, encoded: Option<Hasher>) -> Result<Hasher> {
        let Files { data, output, .. } = self.files()?;
        data.write_pending()?;
        let (name, file, digest) = match (output.take(), encoded) {
            (Some(output), Some(encoded)) => (OUTPUT, output, encoded),
            _ => (DATA, data.handle()?, data.hasher.clone()),
        };
        let ready = set_final_mode(&file, &self.path, self.mode).and_then(|()| file.sync_all());
        ready.at("write", &self.work.file(name))?;
        self.work.publish(name, &file, &self.path)?;
        self.is_finished = true;
        sync_directory(directory_of(&self.path))?;
        self.work.remove()?;
        Ok(digest)
    }

    /// Ends the export without a result. Returns a sentence about the work that is kept.
    pub(super) fn abandon(&mut self) -> String {
        let part = self.work.path.display();
        if self.is_finished {
            return format!("{} is complete", self.path.display());
        }
        if self.work.check().is_err() {
            return "nothing can be resumed".to_owned();
        }
        if self.discard_reason.is_some() {
            return match self.stored {
                Some((records, _)) => {
                    format!("the {records} records of an earlier export are still kept in {part}")
                }
                None => format!("the work that an earlier export kept in {part} was not changed"),
            };
        }
        if let Some((records, _)) = self.stored {
            // If this fails, the export that resumes the work removes the file.
            let _ = self.work.remove_file(OUTPUT);
            return format!("{records} records are kept in {part} to be resumed");
        }
        match self.work.remove() {
            Ok(()) => "no partial file was kept".to_owned(),
            Err(error) => format!("nothing can be resumed, and {}", error.message()),
        }
    }
}
