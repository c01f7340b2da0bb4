//! Takes up what an unfinished export has left, if it is still what its checkpoint says.

use super::{Saved, Unfinished};
use crate::error::{Error, ErrorKind, Result};
use crate::export::checkpoint::Checkpoint;
use crate::export::encoder::Encoder;
use crate::export::format::Layout;
use crate::export::place::{failed, open};
use std::path::Path;
use std::time::Instant;

impl Unfinished {
    /// Decides whether to go on or to begin afresh.
    pub(in crate::export) fn begin(&mut self, resume: bool, encoder: &mut Encoder) -> Result<()> {
        if !self.part.found {
            return Ok(());
        }
        if !resume {
            let part = self.part.path.display();
            tracing::info!(%part, "an unfinished export is overwritten");
            return Ok(());
        }
        let Some(checkpoint) = Checkpoint::load(&self.place)? else {
            return Ok(());
        };
        checkpoint.check(&self.question, &self.place)?;
        encoder.columns = checkpoint.columns;
        self.pieces = checkpoint.pieces;
        let possible = match self.layout {
            Layout::Growing => self.pieces.len() == 1,
            Layout::Groups => !self.pieces.is_empty(),
            Layout::Whole => false,
        };
        if !possible || encoder.sample().is_some() {
            return Err(self.refuse(&self.place.checkpoint(), "is of no export that was begun"));
        }
        self.check_pieces()?;
        self.position = checkpoint.position;
        self.saved = Some(Saved {
            records: checkpoint.receipt.records,
            at: Instant::now(),
        });
        self.earlier = Some(checkpoint.receipt);
        Ok(())
    }

    /// Refuses files that are not as the checkpoint says.
    fn check_pieces(&self) -> Result<()> {
        for (piece, number) in self.pieces.iter().zip(1..) {
            let (path, missed) = match self.layout {
                Layout::Groups => {
                    let path = self.place.group(number);
                    let missed = open(&path).and_then(|file| piece.misses(&file));
                    (path, missed)
                }
                Layout::Growing | Layout::Whole => {
                    (self.part.path.clone(), piece.misses(&self.part.file))
                }
            };
            if let Some(why) = missed.map_err(|error| failed("read", &path, &error))? {
                return Err(self.refuse(&path, &why));
            }
        }
        Ok(())
    }

    fn refuse(&self, path: &Path, why: &str) -> Error {
        let message = format!("{} {why}; {}", path.display(), self.place.way_out());
        Error::new(ErrorKind::Io, message)
    }
}
