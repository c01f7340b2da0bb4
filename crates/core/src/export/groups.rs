//! The finished groups of an unfinished export: joined at the end, removed afterwards.

use super::part::Part;
use super::place::{Place, failed, remove};
use crate::error::Result;
use std::fs::File;

/// Joins the groups in the part file.
pub(super) fn join_groups(place: &Place, count: usize, part: &Part) -> Result<()> {
    let mut unreadable = None;
    let paths = (1..=count).map(|number| place.group(number));
    let groups = paths.map_while(|path| match File::open(&path) {
        Ok(file) => Some(file),
        Err(error) => {
            unreadable = Some(failed("read", &path, &error));
            None
        }
    });
    let joined = join(groups, &part.file);
    unreadable.map_or(Ok(()), Err)?;
    joined.map_err(|error| {
        let message = format!("{}: {}", part.path.display(), error.message());
        error.with_message(message)
    })
}

#[cfg(feature = "arrow")]
use crate::format::join;

/// Without Arrow there are no groups.
#[cfg(not(feature = "arrow"))]
fn join(_groups: impl IntoIterator<Item = File>, _part: &File) -> Result<()> {
    Ok(())
}

/// Removes all groups, the last first, so that no gap hides any.
pub(super) fn remove_groups(place: &Place) -> Result<()> {
    let is_there = |number: &usize| place.group(*number).exists();
    let count = (1..).take_while(is_there).count();
    let mut numbers = (1..=count).rev();
    numbers.try_for_each(|number| remove(&place.group(number)))
}
