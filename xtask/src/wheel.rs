//! Builds the wheel of the Python package.

use crate::environment::Environment;
use crate::test::succeed;
use std::path::{Path, PathBuf};

/// Where the Python project is.
pub(crate) const PROJECT: &str = "bindings/python";

/// How the wheel of the tests is built; Cargo.toml of the crate says what the feature is for.
pub(crate) const FOR_TESTS: &[&str] = &["--profile", "dev", "--features", "tests"];

/// Builds the wheel with these options, by the maturin of `tools`; the only one in `directory` then.
pub(crate) fn build(
    root: &Path,
    tools: &Environment,
    directory: &Path,
    options: &[&str],
) -> Result<PathBuf, String> {
    // What an earlier build left would be taken for this one's.
    let _ = std::fs::remove_dir_all(directory);
    let mut build = tools.command("maturin");
    build.args(["build", "--quiet", "--locked"]).args(options);
    build.arg("--out").arg(directory);
    succeed(build.current_dir(root.join(PROJECT)))?;
    only(directory, "whl")
}

/// The one file in `directory` whose name ends so.
pub(crate) fn only(directory: &Path, extension: &str) -> Result<PathBuf, String> {
    let entries = std::fs::read_dir(directory)
        .map_err(|error| format!("{}: {error}", directory.display()))?;
    let files = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut files = files.filter(|path| path.extension().is_some_and(|one| one == extension));
    match (files.next(), files.next()) {
        (Some(file), None) => Ok(file),
        _ => Err(format!(
            "{} does not hold one .{extension} file",
            directory.display()
        )),
    }
}
