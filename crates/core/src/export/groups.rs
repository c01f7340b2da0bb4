//! The groups of an unfinished export: joined at the end, removed afterwards.

use super::part::Part;
use super::place::{Place, failed, open, remove};
use crate::error::Result;
use std::io;

/// Joins the groups in the part file.
pub(super) fn join_groups(place: &Place, count: usize, part: &Part) -> Result<()> {
    let mut unreadable = None;
    let paths = (1..=count).map(|number| place.group(number));
    let groups = paths.map_while(|path| match open(&path) {
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
fn join(_: impl IntoIterator<Item = std::fs::File>, _: &std::fs::File) -> Result<()> {
    Ok(())
}

/// Removes the first `count` groups.
pub(super) fn remove_groups(place: &Place, count: usize) -> Result<()> {
    (1..=count).try_for_each(|number| remove(&place.group(number)))
}

/// Removes the groups that are there behind the first `kept`.
pub(super) fn remove_groups_behind(place: &Place, kept: usize) -> Result<()> {
    let numbers = groups(place)?.into_iter();
    let mut behind = numbers.filter(|number| *number > kept);
    behind.try_for_each(|number| remove(&place.group(number)))
}

/// The numbers of the groups that are there, whatever stands at their names. They are looked for in
/// the folder, because they need not follow each other.
pub(super) fn groups(place: &Place) -> Result<Vec<usize>> {
    let folder = place.folder();
    let look = || -> io::Result<Vec<usize>> {
        let mut numbers = Vec::new();
        for entry in folder.read_dir()? {
            numbers.extend(place.group_number(&entry?.file_name()));
        }
        Ok(numbers)
    };
    match look() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        numbers => numbers.map_err(|error| failed("read", folder, &error)),
    }
}
