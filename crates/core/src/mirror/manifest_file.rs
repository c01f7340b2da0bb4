//! Reads and replaces the file of the manifest, all at once.

use super::files::{failed, sync_directory};
use super::manifest::{self, Manifest};
use crate::error::Result;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// A manifest that is being written; the mirror's id follows.
pub(super) const UNFINISHED: &str = ".manifest-";

/// Where the next `current.parquet` waits until its generation is committed.
pub(super) fn next_path(list: &str, generation: u64) -> String {
    format!("{list}/.current-{generation:06}.parquet")
}

/// The manifest of a directory; none where it has none.
///
/// # Errors
/// `Io`, when it cannot be read, or is that of something else.
pub(super) fn read_manifest(root: &Path) -> Result<Option<Manifest>> {
    let path = root.join(manifest::NAME);
    match fs::read(&path) {
        Ok(text) => Manifest::read(&text, &path).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed("read", &path, &error)),
    }
}

/// Replaces the manifest; whatever happens, there is a complete one afterwards, this or the one before.
pub(super) fn write_manifest(root: &Path, manifest: &Manifest) -> Result<()> {
    let path = root.join(manifest::NAME);
    let unfinished = root.join(format!("{UNFINISHED}{}", manifest.id));
    let write = || {
        // Left by a sync that was killed here; the name is nobody else's.
        match fs::remove_file(&unfinished) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut text = serde_json::to_vec_pretty(manifest)?;
        text.push(b'\n');
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&unfinished)?;
        file.write_all(&text)?;
        file.sync_all()?;
        fs::rename(&unfinished, &path)
    };
    write().map_err(|error: io::Error| {
        // It may be what fills the disk.
        let _ = fs::remove_file(&unfinished);
        failed("write", &path, &error)
    })?;
    sync_directory(root)
}
