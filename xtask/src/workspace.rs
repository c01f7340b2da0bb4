//! The place of the workspace whose files are read and written.

use std::path::{Path, PathBuf};

/// Returns the directory of the workspace.
pub(crate) fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own).to_owned()
}
