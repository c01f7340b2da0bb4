//! Tells the files of an export from those of somebody else.

use super::checkpoint::Checkpoint;
use super::files::{NewFile, foreign, remove_if_same};
use super::paths::{OutputPaths, WorkName, failed};
use crate::error::Result;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

/// Refuses files at the names of work files for which no checkpoint vouches. They must neither be
/// used nor removed.
///
/// # Errors
/// `Io` with the name of the file and the way out.
pub(super) fn refuse_foreign_files(
    paths: &OutputPaths,
    new: &NewFile,
    checkpoint: Option<&Checkpoint>,
) -> Result<()> {
    for name in paths.existing()? {
        match checkpoint {
            Some(checkpoint) => drop(open_vouched(paths, new, checkpoint, name)?),
            None => {
                let why = "already exists and belongs to no unfinished export";
                return Err(foreign(&paths.work(name), why));
            }
        }
    }
    Ok(())
}

/// Opens a file for which the checkpoint vouches, if it is there.
///
/// # Errors
/// `Io` when another one is there.
pub(super) fn open_vouched(
    paths: &OutputPaths,
    new: &NewFile,
    checkpoint: &Checkpoint,
    name: WorkName,
) -> Result<Option<File>> {
    let path = paths.work(name);
    let Some(file) = new.open_own(&path)? else {
        return Ok(None);
    };
    let vouched = checkpoint.vouches_for(name, &file);
    match vouched.map_err(|error| failed("read", &path, &error))? {
        true => Ok(Some(file)),
        false => {
            let shown = paths.checkpoint();
            let why = format!("is not the file that {} describes", shown.display());
            Err(foreign(&path, &why))
        }
    }
}

/// Removes the files with unfinished data for which the checkpoint vouches, those that `which` selects.
///
/// # Errors
/// `Io` when another one is there, which stays.
pub(super) fn remove_vouched(
    paths: &OutputPaths,
    new: &NewFile,
    checkpoint: &Checkpoint,
    which: impl Fn(WorkName) -> bool,
) -> Result<()> {
    for name in paths.existing()?.into_iter().filter(|name| which(*name)) {
        if let Some(file) = open_vouched(paths, new, checkpoint, name)? {
            let path = paths.work(name);
            remove_if_same(&path, &file).map_err(|error| failed("remove", &path, &error))?;
        }
    }
    Ok(())
}

/// Removes checkpoints that were not yet in use when their export was killed. Their names are random, and
/// their content says whose they are, unless they are empty.
pub(super) fn remove_temporaries(paths: &OutputPaths, new: &NewFile) -> Result<()> {
    for name in paths.names()? {
        let Some(id) = paths.temporary_id(&name) else {
            continue;
        };
        let path = paths.temporary(id);
        let Ok(Some(file)) = new.open_own(&path) else {
            continue;
        };
        let is_in_use = matches!(file.try_lock(), Err(fs::TryLockError::WouldBlock));
        let is_ours =
            || is_empty(&file) || Checkpoint::read(&file, paths).is_ok_and(|it| it.id == id);
        if !is_in_use && is_ours() {
            remove_if_same(&path, &file).map_err(|error| failed("remove", &path, &error))?;
        }
    }
    Ok(())
}

fn is_empty(mut file: &File) -> bool {
    matches!(file.read(&mut [0]), Ok(0))
}

/// Whether writing to `path` would write to a file of this export: to the final file under whatever
/// name, or to a name that a work file can have.
pub(super) fn would_meet(paths: &OutputPaths, path: &Path) -> bool {
    let other = OutputPaths::at(path);
    // Only files are opened, because a pipe would wait for its other end.
    let is_file =
        |paths: &OutputPaths| fs::metadata(&paths.path).is_ok_and(|found| found.is_file());
    let one_file = || same_file::is_same_file(&paths.path, &other.path).unwrap_or(false);
    if is_file(paths) && is_file(&other) && one_file() {
        return true;
    }
    let directories = (
        paths.directory().canonicalize(),
        other.directory().canonicalize(),
    );
    let one_directory = matches!(directories, (Ok(ours), Ok(theirs)) if ours == theirs);
    let name = other.path.file_name();
    one_directory && name.is_some_and(|name| paths.uses(name))
}
