//! Rules of the house that neither formatter nor linter knows.
use crate::Outcome;
use std::path::Path;
pub(crate) fn run(_root: &Path) -> Outcome {
    Ok(())
}
