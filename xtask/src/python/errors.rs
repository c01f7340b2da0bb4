//! An exception per kind of error of the core.

use super::{all, header, sentence};
use crate::spec::Spec;

/// The kinds of error, from the file that declares them; a dependency on all of the core would turn
/// the order of building round.
#[path = "../../../crates/core/src/error/kind.rs"]
#[allow(dead_code, unreachable_pub, reason = "the core uses the rest of it")]
mod kind;

/// `_errors.py`: an exception per kind of error of the core.
pub(crate) fn errors(_: &Spec) -> Result<String, String> {
    let kinds = kind::ErrorKind::ALL.map(|kind| (kind.name(), kind.summary()));
    let names: Vec<String> = kinds
        .iter()
        .map(|(name, _)| format!("{name}Error"))
        .collect();
    let mut text = header(
        "An exception per kind of error.",
        "crates/core/src/error/kind.rs",
    );
    text += "\nfrom ._error import Error\n";
    for ((kind, summary), class) in kinds.iter().zip(&names) {
        text += &format!(
            "\n\nclass {class}(Error):\n    \"\"\"{}.\"\"\"\n\n    kind = \"{kind}\"\n",
            sentence(summary)
        );
    }
    Ok(text + &all(&names))
}
