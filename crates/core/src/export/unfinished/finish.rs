//! The end of an export to a file: complete, or given up with as much kept as can be resumed.

use super::{Unfinished, synced_bytes};
use crate::error::{Error, ErrorKind, Result};
use crate::export::encoder::Encoder;
use crate::export::files::remove_if_same;
use crate::export::foreign_files::remove_vouched;
use crate::export::format::Layout;
use crate::export::mode::set_final_mode;
use crate::export::paths::{WorkName, failed};
use crate::export::row_groups::join_row_groups;

impl Unfinished {
    /// Writes the end, and gives the file its final name.
    pub(in crate::export) fn finish(&mut self, encoder: &mut Encoder) -> Result<()> {
        self.prepare()?;
        match self.layout {
            Layout::Growing | Layout::Whole => {
                self.open_encoder(encoder)?;
                encoder.finish().map_err(|error| self.named(error))?;
            }
            Layout::RowGroups if encoder.is_open() || self.kept_row_groups() == 0 => {
                self.open_encoder(encoder)?;
                self.end_row_group(encoder)?;
            }
            Layout::RowGroups => {}
        }
        self.drop_row_group()?;
        let Some(part) = &self.part else {
            let message = "internal error; please report it (an export has no part file)";
            return Err(Error::new(ErrorKind::Internal, message));
        };
        if self.layout == Layout::RowGroups {
            let output = encoder.file.through(&part.file);
            join_row_groups(&self.paths, &self.new, &self.checkpoint, part, output)?;
        }
        let path = &self.paths.path;
        let ready = set_final_mode(&part.file, path, &self.new);
        let ready = ready.and_then(|()| part.file.sync_all());
        ready.map_err(|error| failed("write", &part.path, &error))?;
        self.claim.check()?;
        part.rename(path)?;
        self.finished = true;
        self.paths.sync_directory()?;
        // The checkpoint goes last: it vouches for the others, and its lock keeps other exports away.
        let is_row_group = |name| name != WorkName::Part;
        remove_vouched(&self.paths, &self.new, &self.checkpoint, is_row_group)?;
        self.claim.remove()
    }

    /// Keeps what can be resumed, and says what that is; `why` has been said already.
    pub(in crate::export) fn abandon(
        &mut self,
        encoder: &mut Encoder,
        failed: bool,
        why: &str,
    ) -> String {
        let part = self.paths.part();
        if self.finished {
            return format!("{} is complete", self.paths.path.display());
        }
        if self.leftover.is_some() && part.exists() {
            let part = part.display();
            return format!("{part}, which an earlier export has left, is unchanged");
        }
        if self.claim.check().is_err() {
            return match part.exists() {
                true => format!(
                    "{} cannot be resumed without its checkpoint",
                    part.display()
                ),
                false => "no partial file was kept".into(),
            };
        }
        let settled = self.settle(encoder, failed);
        let trouble = match settled {
            Err(error) if error.message() != why => format!(" ({})", error.message()),
            _ => String::new(),
        };
        if let Some(saved) = &self.saved {
            let (records, part) = (saved.records, part.display());
            return format!("{records} records are kept in {part} to be resumed{trouble}");
        }
        let removed = remove_vouched(&self.paths, &self.new, &self.checkpoint, |_| true);
        match removed.and_then(|()| self.claim.remove()) {
            Ok(()) => format!("no partial file was kept{trouble}"),
            Err(error) => format!("nothing can be resumed, and {}", error.message()),
        }
    }

    /// Writes a last checkpoint if writing has not failed, and drops what it does not describe.
    fn settle(&mut self, encoder: &mut Encoder, failed: bool) -> Result<()> {
        let saved = self.saved.as_ref().map_or(0, |saved| saved.records);
        let more = self.layout == Layout::Growing && saved < self.receipt().records;
        let outcome = match more && !failed && encoder.is_open() {
            true => self.save(encoder),
            false => Ok(()),
        };
        // What is buffered may reach the file only before it is truncated.
        encoder.close();
        self.drop_row_group()?;
        let kept = self.kept_bytes();
        let kept_ids = synced_bytes(self.checkpoint.ids.as_ref());
        let ids = match &mut self.ids {
            Some(ids) if self.ready => ids.truncate(kept_ids),
            _ => Ok(()),
        };
        let truncated = match &mut self.part {
            Some(part) if self.ready => part.truncate(kept),
            _ => Ok(()),
        };
        outcome.and(truncated).and(ids)
    }

    /// Removes the row-group file that is being written.
    fn drop_row_group(&mut self) -> Result<()> {
        let Some(file) = self.row_group.take() else {
            return Ok(());
        };
        let path = self.written();
        remove_if_same(&path, &file).map_err(|error| failed("remove", &path, &error))
    }
}
