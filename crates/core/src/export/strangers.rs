//! Keeps apart the files of an export and those of somebody else.

use super::checkpoint::Checkpoint;
use super::groups::groups;
use super::place::Place;
use crate::error::{Error, ErrorKind, Result};
use std::fs;
use std::path::Path;

/// Refuses what stands at the names of work files and is not ours, which must neither be removed nor written to.
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

/// Whether what is written to `path` would be written to a file of this export: under another name of
/// the final file, or at a name that a work file takes sooner or later.
pub(super) fn would_meet(place: &Place, path: &Path) -> bool {
    let other = Place::at(path);
    // Nothing but a file is opened, because a pipe would wait for its other end.
    let is_file = |place: &Place| fs::metadata(&place.path).is_ok_and(|found| found.is_file());
    let one_file = || same_file::is_same_file(&place.path, &other.path).unwrap_or(false);
    if is_file(place) && is_file(&other) && one_file() {
        return true;
    }
    let folders = (place.folder().canonicalize(), other.folder().canonicalize());
    let one_folder = matches!(folders, (Ok(ours), Ok(theirs)) if ours == theirs);
    let name = other.path.file_name();
    one_folder && name.is_some_and(|name| place.takes(name))
}
