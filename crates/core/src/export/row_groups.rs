//! Row-group files: the Parquet files that an export joins at its end.

use super::checkpoint::Checkpoint;
use super::files::NewFile;
use super::foreign_files::open_vouched;
use super::part_file::PartFile;
use super::paths::{OutputPaths, WorkName};
use crate::digest::Digesting;
use crate::error::{Error, ErrorKind, Result};
use crate::format::join;
use std::fs::File;

/// Joins the complete row-group files in the part file, which is `output`.
pub(super) fn join_row_groups(
    paths: &OutputPaths,
    new: &NewFile,
    checkpoint: &Checkpoint,
    part: &PartFile,
    output: Digesting<&File>,
) -> Result<()> {
    let mut unreadable = None;
    let names = (1..=checkpoint.finished_row_groups()).map(WorkName::RowGroup);
    let files = names.map_while(|name| match open_vouched(paths, new, checkpoint, name) {
        Ok(Some(file)) => Some(file),
        Ok(None) => {
            unreadable = Some(missing(paths, name));
            None
        }
        Err(error) => {
            unreadable = Some(error);
            None
        }
    });
    let joined = join(files, output);
    unreadable.map_or(Ok(()), Err)?;
    joined.map_err(|error| {
        let message = format!("{}: {}", part.path.display(), error.message());
        error.with_message(message)
    })
}

/// A file that was there before is gone.
pub(super) fn missing(paths: &OutputPaths, name: WorkName) -> Error {
    let message = format!("{} is missing", paths.work(name).display());
    Error::new(ErrorKind::Io, message)
}
