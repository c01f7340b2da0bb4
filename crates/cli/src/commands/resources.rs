//! `resources`: prints the names, paths and groups of the lists.

use crate::lists::dashed;
use crate::output::{self, Ending};
use talentdata_core::types::ListName;

/// Prints the lists.
pub(crate) fn run() -> Result<(), Ending> {
    let line = |name: &str, path: &str, group: &str| format!("{name:<16}  {path:<22}  {group}\n");
    let rows = ListName::ALL.map(|resource| {
        let operation = resource.shape().operation;
        line(&dashed(resource), operation.path, operation.group)
    });
    output::data(&(line("NAME", "PATH", "GROUP") + &rows.concat()))
}
