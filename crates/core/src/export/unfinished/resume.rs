//! Takes over what an earlier export has left, if it is still as its checkpoint says.

use super::{Saved, Unfinished, digest_of, synced_bytes};
use crate::digest::in_chunks;
use crate::error::{Error, ErrorKind, Result};
use crate::export::checkpoint::{Checkpoint, Progress, WorkFile};
use crate::export::encoder::Encoder;
use crate::export::files::FileIdentity;
use crate::export::foreign_files::open_vouched;
use crate::export::part_file::PartFile;
use crate::export::paths::{WorkName, failed};
use crate::export::row_groups::missing;
use crate::scan::Resume;
use std::fs::File;
use std::io::{Read, Seek};
use std::time::Instant;

impl Unfinished {
    /// Decides whether to resume or to begin again.
    pub(super) fn take_over(
        &mut self,
        found: Checkpoint,
        resume: bool,
        encoder: &mut Encoder,
    ) -> Result<()> {
        let Some(part) = open_vouched(&self.paths, &self.new, &found, WorkName::Part)? else {
            // The export was killed before it wrote anything, or after the file got its final name.
            self.leftover = Some(found);
            return self.discard_leftover();
        };
        if !resume || !found.is_resumable() {
            let part = self.paths.part();
            tracing::info!(part = %part.display(), "the data of an unfinished export will be replaced");
            self.leftover = Some(found);
            return Ok(());
        }
        let checked = self.check(&found, &part);
        let resumed = checked.and_then(|()| self.resume_from(found, part, encoder));
        resumed.map_err(|error| {
            let (part, checkpoint) = (self.paths.part(), self.paths.checkpoint());
            let message = format!(
                "{}; to begin again, export without resume, or delete {} and {}",
                error.message(),
                part.display(),
                checkpoint.display()
            );
            error.with_message(message)
        })
    }

    /// Refuses an export that requests something else, and files that have changed.
    fn check(&self, found: &Checkpoint, part: &File) -> Result<()> {
        if let Some(difference) = self.checkpoint.key.difference(&found.key) {
            let message = format!(
                "{}: the unfinished export to {} has {}, but this one has {}",
                difference.setting,
                self.paths.path.display(),
                difference.before,
                difference.now
            );
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        if let Some(recorded) = &found.part {
            self.check_file(WorkName::Part, recorded, part)?;
        }
        let finished = 1..=found.finished_row_groups();
        for (recorded, number) in found.row_groups.iter().zip(finished) {
            let name = WorkName::RowGroup(number);
            let file = open_vouched(&self.paths, &self.new, found, name)?;
            let file = file.ok_or_else(|| missing(&self.paths, name))?;
            self.check_file(name, recorded, &file)?;
            let path = self.paths.work(name);
            let digest = digest_of(&file).map_err(|error| failed("read", &path, &error))?;
            if recorded.blake3.as_ref() != Some(&digest) {
                return Err(self.changed(name));
            }
        }
        Ok(())
    }

    fn check_file(&self, name: WorkName, recorded: &WorkFile, file: &File) -> Result<()> {
        let path = self.paths.work(name);
        let Some(synced) = &recorded.synced else {
            return Ok(());
        };
        match synced.mismatch(file) {
            Ok(None) => Ok(()),
            Ok(Some(why)) => {
                let message = format!("{} {why}", path.display());
                Err(Error::new(ErrorKind::Io, message))
            }
            Err(error) => Err(failed("read", &path, &error)),
        }
    }

    /// Digests what is kept of the part file, and refuses one that is not as it was written.
    fn digest_kept(
        &self,
        mut file: &File,
        bytes: u64,
        blake3: &str,
        encoder: &Encoder,
    ) -> Result<()> {
        let path = self.paths.part();
        let read = file
            .rewind()
            .and_then(|()| in_chunks(file.take(bytes), |chunk| encoder.file.update(chunk)));
        read.map_err(|error| failed("read", &path, &error))?;
        if encoder.file.to_hex() != blake3 {
            return Err(self.changed(WorkName::Part));
        }
        Ok(())
    }

    fn changed(&self, name: WorkName) -> Error {
        let path = self.paths.work(name);
        let message = format!(
            "{} was changed after its checkpoint was written",
            path.display()
        );
        Error::new(ErrorKind::Io, message)
    }

    /// Takes over which records were delivered.
    fn resume_ids(&mut self, found: &Checkpoint, progress: &Progress) -> Result<()> {
        let name = WorkName::Ids;
        let file = open_vouched(&self.paths, &self.new, found, name)?;
        let (Some(mut file), Some(recorded)) = (file, &found.ids) else {
            return Err(missing(&self.paths, name));
        };
        let path = self.paths.work(name);
        let mut entries = Vec::new();
        let read = file.rewind().and_then(|()| {
            (&file)
                .take(synced_bytes(Some(recorded)))
                .read_to_end(&mut entries)
        });
        read.map_err(|error| failed("read", &path, &error))?;
        self.ids_digest.update(&entries);
        if recorded.blake3 != Some(self.ids_digest.to_hex()) {
            return Err(self.changed(name));
        }
        self.resume = Some(Resume::new(progress.state.clone(), entries)?);
        self.state = progress.state.clone();
        self.ids = Some(PartFile { file, path });
        Ok(())
    }

    fn resume_from(&mut self, found: Checkpoint, file: File, encoder: &mut Encoder) -> Result<()> {
        let path = self.paths.part();
        if let Some(progress) = found.progress.clone() {
            if let Some(synced) = found.part.as_ref().and_then(|part| part.synced.as_ref()) {
                self.digest_kept(&file, synced.bytes, &progress.blake3, encoder)?;
            }
            self.resume_ids(&found, &progress)?;
            encoder.records = progress.records;
            encoder.go_on(progress.table);
            self.saved = Some(Saved {
                records: progress.receipt.records,
                at: Instant::now(),
            });
            self.earlier = Some(progress.receipt);
        }
        if encoder.is_undecided() {
            let message = format!("{} has no columns", self.paths.checkpoint().display());
            return Err(Error::new(ErrorKind::Io, message));
        }
        let synced = found.part.as_ref().and_then(|part| part.synced.clone());
        self.checkpoint = found;
        let recorded = WorkFile::new(&file).map_err(|error| failed("read", &path, &error))?;
        self.checkpoint.part = Some(WorkFile { synced, ..recorded });
        if let (Some(ids), Some(recorded)) = (&self.ids, &mut self.checkpoint.ids) {
            let identity = FileIdentity::of(&ids.file);
            recorded.identity = identity.map_err(|error| failed("read", &ids.path, &error))?;
        }
        self.part = Some(PartFile { file, path });
        Ok(())
    }
}
