//! A file that has not yet its final name: data first, then the checkpoint that speaks of them.

mod resume;

use super::Format;
use super::checkpoint::{Checkpoint, Question};
use super::encoder::Encoder;
use super::format::Layout;
use super::groups::{join_groups, remove_groups, remove_groups_behind};
use super::mode::take_over;
use super::part::Part;
use super::piece::Piece;
use super::place::{Place, failed, remove};
use super::strangers::refuse_strangers;
use crate::error::{Error, Result};
use crate::scan::{Batch, Position, Receipt, Unknown};
use std::fs::{self, File};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How often a checkpoint is written: the work that a crash may cost.
const INTERVAL: Duration = Duration::from_secs(1);

/// An export that goes into a file.
pub(super) struct Unfinished {
    place: Place,
    pub(super) question: Question,
    layout: Layout,
    part: Part,
    /// The group that is being written.
    group: Option<File>,
    /// What is synced and can be resumed from.
    pub(super) pieces: Vec<Piece>,
    /// How far the encoder has come.
    pub(super) position: Position,
    /// What this run has done up to there.
    receipt: Receipt,
    unknown: Unknown,
    /// What the runs before have done.
    pub(super) earlier: Option<Receipt>,
    /// Whether what an earlier export has left, beyond what is resumed, is gone.
    cleared: bool,
    /// Whether it has its final name.
    finished: bool,
    saved: Option<Saved>,
}

/// The checkpoint that is there.
struct Saved {
    records: u64,
    at: Instant,
}

impl Unfinished {
    /// Keeps others away from the file, and changes nothing yet.
    ///
    /// # Errors
    /// `Io` when another export is writing to it, when the names of work files are taken by
    /// something else, or when the system refuses.
    pub(super) fn open(place: Place, question: Question, format: Format) -> Result<Self> {
        refuse_strangers(&place)?;
        Ok(Unfinished {
            part: Part::open(&place)?,
            place,
            question,
            layout: format.layout(),
            group: None,
            pieces: Vec::new(),
            position: Position::default(),
            receipt: Receipt::default(),
            unknown: Unknown::default(),
            earlier: None,
            cleared: false,
            finished: false,
            saved: None,
        })
    }

    /// Gives the encoder something to write to, if it has nothing.
    pub(super) fn open_encoder(&mut self, encoder: &mut Encoder) -> Result<()> {
        self.clear()?;
        if encoder.is_open() {
            return Ok(());
        }
        let path = self.written();
        let file = match self.layout {
            Layout::Groups => {
                let created = self.place.create(&path);
                created.and_then(|file| self.group.insert(file).try_clone())
            }
            Layout::Growing | Layout::Whole => self.part.file.try_clone(),
        };
        let file = file.map_err(|error| failed("create", &path, &error))?;
        let opened = encoder.open(file, self.kept_bytes());
        opened.map_err(|error| self.named(error))
    }

    /// Removes what an earlier export has left beyond what is resumed.
    fn clear(&mut self) -> Result<()> {
        if self.cleared {
            return Ok(());
        }
        if self.saved.is_none() {
            // First of all, because it speaks of data that are going to be overwritten.
            remove(&self.place.checkpoint())?;
            self.place.sync_folder()?;
        }
        remove_groups_behind(&self.place, self.kept_groups())?;
        remove(&self.place.next_checkpoint())?;
        self.part.cut(self.kept_bytes())?;
        self.cleared = true;
        Ok(())
    }

    /// The encoder has taken a batch; writes a checkpoint when it is time.
    pub(super) fn note(&mut self, batch: Batch, encoder: &mut Encoder) -> Result<()> {
        self.position.advance(&batch);
        (self.receipt, self.unknown) = (batch.receipt, batch.unknown);
        let due = |saved: &Saved| saved.at.elapsed() >= INTERVAL;
        match self.layout {
            Layout::Growing if self.saved.as_ref().is_none_or(due) => self.save(encoder),
            Layout::Groups if encoder.sink()?.held() == 0 => {
                self.end_group(encoder)?;
                self.store(encoder)
            }
            _ => Ok(()),
        }
    }

    /// Brings all that was taken to the disk, and the checkpoint after it.
    fn save(&mut self, encoder: &mut Encoder) -> Result<()> {
        let sink = encoder.sink()?;
        let flushed = sink.flush();
        let bytes = sink.position();
        flushed.map_err(|error| self.named(error))?;
        let file = &self.part.file;
        let synced = file.sync_all().and_then(|()| Piece::of(file, bytes));
        self.pieces = vec![synced.map_err(|error| failed("write", &self.part.path, &error))?];
        self.store(encoder)
    }

    fn end_group(&mut self, encoder: &mut Encoder) -> Result<()> {
        let path = self.written();
        encoder.finish().map_err(|error| self.named(error))?;
        let Some(group) = &self.group else {
            return Ok(());
        };
        let length = group.sync_all().and_then(|()| group.metadata());
        let piece = length.and_then(|metadata| Piece::of(group, metadata.len()));
        self.pieces
            .push(piece.map_err(|error| failed("write", &path, &error))?);
        self.group = None;
        Ok(())
    }

    fn store(&mut self, encoder: &Encoder) -> Result<()> {
        let receipt = self.receipt();
        let records = receipt.records;
        Checkpoint::of(self, encoder.columns.clone(), receipt).store(&self.place)?;
        self.saved = Some(Saved {
            records,
            at: Instant::now(),
        });
        Ok(())
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

    /// Writes the end, and gives the file its final name.
    pub(super) fn finish(&mut self, encoder: &mut Encoder) -> Result<()> {
        match self.layout {
            Layout::Growing | Layout::Whole => {
                self.open_encoder(encoder)?;
                encoder.finish().map_err(|error| self.named(error))?;
            }
            Layout::Groups => {
                if encoder.is_open() || self.pieces.is_empty() {
                    self.open_encoder(encoder)?;
                    self.end_group(encoder)?;
                }
                self.clear()?;
                join_groups(&self.place, self.kept_groups(), &self.part)?;
            }
        }
        let (file, path) = (&self.part.file, &self.place.path);
        let ready = take_over(file, path).and_then(|()| file.sync_all());
        ready.map_err(|error| failed("write", &self.part.path, &error))?;
        fs::rename(&self.part.path, path).map_err(|error| failed("create", path, &error))?;
        self.finished = true;
        self.place.sync_folder()?;
        // The checkpoint goes last, because it tells that the groups are ours.
        remove_groups(&self.place, self.kept_groups())?;
        remove(&self.place.checkpoint())
    }

    /// Keeps what can be resumed, and tells what that is; `why` is known already.
    pub(super) fn abandon(&mut self, encoder: &mut Encoder, failed: bool, why: &str) -> String {
        if self.finished {
            return format!("{} is whole", self.place.path.display());
        }
        let mut trouble = String::new();
        if let Err(error) = self.settle(encoder, failed)
            && error.message() != why
        {
            trouble = format!(" ({})", error.message());
        }
        let part = self.part.path.display();
        if let Some(Saved { records, .. }) = self.saved {
            return format!("{records} records are kept in {part}, to be resumed{trouble}");
        }
        if self.part.found && !self.cleared {
            return format!("{part}, left by an earlier export, is as it was");
        }
        let removed = remove_groups(&self.place, self.kept_groups());
        let removed = removed.and_then(|()| remove(&self.part.path));
        match removed {
            Ok(()) => format!("nothing is left behind{trouble}"),
            Err(error) => format!("nothing can be resumed, and {}", error.message()),
        }
    }

    /// Writes a last checkpoint if writing has not failed, and drops what none speaks of.
    fn settle(&mut self, encoder: &mut Encoder, failed: bool) -> Result<()> {
        if !self.cleared {
            return Ok(());
        }
        let saved = self.saved.as_ref().map_or(0, |saved| saved.records);
        let more = self.layout == Layout::Growing && saved < self.receipt().records;
        let outcome = match more && !failed && encoder.is_open() {
            true => self.save(encoder),
            false => Ok(()),
        };
        // What is buffered may reach the file only before it is cut.
        encoder.close();
        if self.group.take().is_some() {
            remove(&self.written())?;
        }
        outcome.and(self.part.cut(self.kept_bytes()))
    }

    /// How much of the part file is kept.
    fn kept_bytes(&self) -> u64 {
        match self.layout {
            Layout::Growing => self.pieces.first().map_or(0, |piece| piece.bytes),
            Layout::Groups | Layout::Whole => 0,
        }
    }

    /// How many groups are kept.
    fn kept_groups(&self) -> usize {
        match self.layout {
            Layout::Groups => self.pieces.len(),
            Layout::Growing | Layout::Whole => 0,
        }
    }

    /// The file that is being written.
    fn written(&self) -> PathBuf {
        match self.layout {
            Layout::Groups => self.place.group(self.pieces.len() + 1),
            Layout::Growing | Layout::Whole => self.part.path.clone(),
        }
    }

    /// An error of the encoder, with the name of the file.
    pub(super) fn named(&self, error: Error) -> Error {
        let message = format!("{}: {}", self.written().display(), error.message());
        error.with_message(message)
    }
}
