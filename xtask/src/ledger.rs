//! The committed numbers and lists that the C library ever had. Programs are compiled with them.

use std::collections::BTreeMap;
use std::path::Path;

/// The file with the numbers of enum values, and the lists, that the library ever had.
pub(crate) const LEDGER: &str = "bindings/c/symbols.txt";

/// Returns the names of all lists that the library ever had.
pub(crate) fn lists(root: &Path) -> Result<Vec<String>, String> {
    let lines = numbers(root)?.into_iter();
    let names = lines.filter(|(_, kind)| kind == "list");
    Ok(names.map(|(name, _)| name).collect())
}

/// Returns the committed lines `name = number` and `name = list`.
pub(crate) fn numbers(root: &Path) -> Result<BTreeMap<String, String>, String> {
    let text = std::fs::read_to_string(root.join(LEDGER)).map_err(|error| {
        format!("{LEDGER}, which has the numbers and lists so far: {error}; get it back from git")
    })?;
    let pairs = text.lines().filter_map(|line| line.split_once(" = "));
    Ok(pairs
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect())
}
