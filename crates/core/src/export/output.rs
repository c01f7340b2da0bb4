//! An output in the making: data first, then the checkpoint that speaks of them, at last the final name.

use super::Target;
use super::checkpoint::{Checkpoint, Question};
use super::lines::write_lines;
use super::part::Part;
use super::place::{Destination, Place, failed, remove};
use crate::error::{Error, ErrorKind, Result};
use crate::scan::{Batch, Position, Receipt};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How often a checkpoint is written: the work that a crash may cost.
const INTERVAL: Duration = Duration::from_secs(1);

/// Where records are written to.
pub(super) struct Output {
    to: To,
    buffer: Vec<u8>,
    /// What all runs have done, up to the last batch.
    receipt: Receipt,
    /// What the runs before this one have done.
    earlier: Option<Receipt>,
}

enum To {
    File(Unfinished),
    Stream(Box<dyn Write + Send>, PathBuf),
}

/// A file that has not yet its final name.
struct Unfinished {
    place: Place,
    question: Question,
    part: Part,
    /// Whether what an earlier export has left, beyond what is resumed, is gone.
    cleared: bool,
    /// Whether it has its final name.
    finished: bool,
    /// Length of the part file up to the last batch.
    bytes: u64,
    position: Position,
    saved: Option<Saved>,
}

/// The checkpoint that is there.
struct Saved {
    records: u64,
    bytes: u64,
    at: Instant,
}

impl Output {
    /// Finds the place and keeps others away from it. What an earlier export has left there stays
    /// until there is something to write.
    pub(super) fn open(target: &Target, question: Question, resume: bool) -> Result<Self> {
        let mut output = Output {
            to: To::Stream(Box::new(std::io::stdout()), "standard output".into()),
            buffer: Vec::new(),
            receipt: Receipt::default(),
            earlier: None,
        };
        let Target::File(path) = target else {
            return Ok(output);
        };
        let Destination::File(place) = Place::look(path)? else {
            let opened = OpenOptions::new().write(true).open(path);
            let stream = opened.map_err(|error| failed("open", path, &error))?;
            output.to = To::Stream(Box::new(stream), path.clone());
            return Ok(output);
        };
        let mut unfinished = Unfinished {
            part: Part::open(&place)?,
            place,
            question,
            cleared: false,
            finished: false,
            bytes: 0,
            position: Position::default(),
            saved: None,
        };
        if unfinished.part.found {
            output.earlier = match resume {
                true => unfinished.resume()?,
                false => {
                    tracing::info!(path = %unfinished.part.path.display(), "an unfinished export is overwritten");
                    None
                }
            };
        }
        output.receipt = output.earlier.clone().unwrap_or_default();
        output.to = To::File(unfinished);
        Ok(output)
    }

    /// Where the scan goes on; none at the beginning.
    pub(super) fn position(&self) -> Option<Position> {
        match &self.to {
            To::File(unfinished) if self.earlier.is_some() => Some(unfinished.position.clone()),
            _ => None,
        }
    }

    /// What all runs have done.
    pub(super) fn receipt(&self) -> &Receipt {
        &self.receipt
    }

    pub(super) fn write(&mut self, batch: Batch) -> Result<()> {
        self.buffer.clear();
        write_lines(&batch.records, &mut self.buffer);
        match &mut self.to {
            To::Stream(stream, path) => {
                let written = stream.write_all(&self.buffer);
                written.map_err(|error| failed("write", path, &error))?;
            }
            To::File(unfinished) => {
                unfinished.clear()?;
                unfinished.append(&self.buffer)?;
                unfinished.position.advance(&batch);
            }
        }
        self.receipt = self.whole(batch.receipt);
        if let To::File(unfinished) = &mut self.to
            && unfinished.is_due()
        {
            unfinished.save(&self.receipt)?;
        }
        Ok(())
    }

    /// Gives the file its final name; `receipt` is that of this run.
    pub(super) fn finish(&mut self, receipt: Receipt) -> Result<Receipt> {
        match &mut self.to {
            To::Stream(stream, path) => {
                let flushed = stream.flush();
                flushed.map_err(|error| failed("write", path, &error))?;
            }
            To::File(unfinished) => unfinished.finish()?,
        }
        Ok(self.whole(receipt))
    }

    /// Keeps what can be resumed, leaves nothing else, and says so.
    pub(super) fn abandon(mut self, error: Error) -> Error {
        let kept = match &mut self.to {
            To::Stream(_, path) => format!("what {} has got is not the whole", path.display()),
            To::File(unfinished) => unfinished.abandon(&self.receipt, error.message()),
        };
        let message = format!("{}; {kept}", error.message());
        error.with_message(message)
    }

    fn whole(&self, receipt: Receipt) -> Receipt {
        match &self.earlier {
            Some(earlier) => receipt.after(earlier),
            None => receipt,
        }
    }
}

impl Unfinished {
    /// Takes up what the checkpoint says, if there is one; returns the receipt up to there.
    fn resume(&mut self) -> Result<Option<Receipt>> {
        let Some(checkpoint) = Checkpoint::load(&self.place)? else {
            return Ok(None);
        };
        checkpoint.check(&self.question, &self.place)?;
        let length = self.part.length()?;
        let why = if length < checkpoint.bytes {
            let expected = checkpoint.bytes;
            format!("has {length} bytes, and its checkpoint speaks of {expected}")
        } else if self.part.tail(checkpoint.bytes)? != checkpoint.tail {
            "was changed since its checkpoint was written".to_owned()
        } else {
            String::new()
        };
        if !why.is_empty() {
            let part = self.part.path.display();
            let message = format!("{part} {why}; {}", self.place.way_out());
            return Err(Error::new(ErrorKind::Io, message));
        }
        self.bytes = checkpoint.bytes;
        self.position = checkpoint.position;
        self.saved = Some(Saved {
            records: checkpoint.receipt.records,
            bytes: checkpoint.bytes,
            at: Instant::now(),
        });
        Ok(Some(checkpoint.receipt))
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
        self.part.cut(self.bytes)?;
        self.cleared = true;
        Ok(())
    }

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        let written = self.part.write_all(bytes);
        written.map_err(|error| failed("write", &self.part.path, &error))?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    fn is_due(&self) -> bool {
        self.saved
            .as_ref()
            .is_none_or(|saved| saved.at.elapsed() >= INTERVAL)
    }

    fn save(&mut self, receipt: &Receipt) -> Result<()> {
        self.part.sync()?;
        let tail = self.part.tail(self.bytes)?;
        let checkpoint = Checkpoint::new(
            self.question.clone(),
            (self.bytes, tail),
            self.position.clone(),
            receipt.clone(),
        );
        checkpoint.store(&self.place)?;
        self.saved = Some(Saved {
            records: receipt.records,
            bytes: self.bytes,
            at: Instant::now(),
        });
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        self.clear()?;
        self.part.sync()?;
        let path = &self.place.path;
        fs::rename(&self.part.path, path).map_err(|error| failed("create", path, &error))?;
        self.finished = true;
        self.place.sync_folder()?;
        remove(&self.place.checkpoint())
    }

    /// Keeps what can be resumed, and tells what that is; `why` is known already.
    fn abandon(&mut self, receipt: &Receipt, why: &str) -> String {
        if self.finished {
            return format!("{} is whole", self.place.path.display());
        }
        let mut trouble = String::new();
        if let Err(error) = self.settle(receipt)
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
        match remove(&self.part.path) {
            Ok(()) => format!("nothing is left behind{trouble}"),
            Err(error) => format!("nothing can be resumed, and {}", error.message()),
        }
    }

    /// Brings part file and checkpoint to where the last whole batch ended.
    fn settle(&mut self, receipt: &Receipt) -> Result<()> {
        if !self.cleared {
            return Ok(());
        }
        // Half a batch may be what fills the disk.
        self.part.cut(self.bytes)?;
        let saved = self.saved.as_ref().map_or(0, |saved| saved.bytes);
        match saved < self.bytes {
            true => self.save(receipt),
            false => Ok(()),
        }
    }
}
