//! Builds the wheel of the Python package.

use crate::environment::Environment;
use crate::test::succeed;
use std::path::{Path, PathBuf};

/// Where the Python project is.
pub(crate) const PROJECT: &str = "bindings/python";

/// Builds the wheel in this profile, by the maturin of `tools`; the only one in `folder` then.
pub(crate) fn build(
    root: &Path,
    tools: &Environment,
    folder: &Path,
    profile: &str,
) -> Result<PathBuf, String> {
    // What an earlier build left would be taken for this one's.
    let _ = std::fs::remove_dir_all(folder);
    let mut build = tools.command("maturin");
    build.args(["build", "--quiet", "--locked"]);
    build.args(["--profile", profile, "--out"]).arg(folder);
    succeed(build.current_dir(root.join(PROJECT)))?;
    only(folder, "whl")
}

/// The one file in `folder` whose name ends so.
pub(crate) fn only(folder: &Path, extension: &str) -> Result<PathBuf, String> {
    let entries =
        std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let files = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut files = files.filter(|path| path.extension().is_some_and(|one| one == extension));
    match (files.next(), files.next()) {
        (Some(file), None) => Ok(file),
        _ => Err(format!(
            "{} does not hold one .{extension} file",
            folder.display()
        )),
    }
}
