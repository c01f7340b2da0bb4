//! Sees that the names of work files are not taken by files of somebody else.

use super::checkpoint::Checkpoint;
use super::groups::groups;
use super::place::Place;
use crate::error::{Error, ErrorKind, Result};
use std::fs;
use std::path::Path;

/// Refuses what stands at these names and is not ours, which must neither be removed nor written to.
///
/// While an export is unfinished it has a part file, and one that ended while it tidied up has left
/// its checkpoint. Where neither is, all these names have to be free.
///
/// # Errors
/// `Io`, naming the file.
pub(super) fn refuse_strangers(place: &Place) -> Result<()> {
    // Links count, whether they lead anywhere or not.
    let is_there = |path: &Path| fs::symlink_metadata(path).is_ok();
    if is_there(&place.part()) || matches!(Checkpoint::load(place), Ok(Some(_))) {
        return Ok(());
    }
    let mut names = vec![place.checkpoint(), place.next_checkpoint()];
    names.extend(groups(place)?.into_iter().map(|number| place.group(number)));
    match names.iter().find(|path| is_there(path)) {
        None => Ok(()),
        Some(path) => {
            let message = format!(
                "{} is there and belongs to no unfinished export, which would need this name; \
                 move it away, or export to another name",
                path.display()
            );
            Err(Error::new(ErrorKind::Io, message))
        }
    }
}
