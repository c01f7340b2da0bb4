//! An exception per kind of error of the core.

use super::examples::{Example, example, of_spec};
use super::{all, header, sentence};
use crate::error_kind::ErrorKind;
use crate::spec::Spec;

/// `_errors.py`: an exception per kind of error of the core.
pub(crate) fn errors(spec: &Spec) -> Result<String, String> {
    let names = ErrorKind::ALL.map(|kind| format!("{}Error", kind.name()));
    let mut text = header(
        "An exception per kind of error.",
        "crates/core/src/error/kind.rs",
    );
    text += "\nfrom ._error import Error\n";
    for (kind, class) in ErrorKind::ALL.into_iter().zip(&names) {
        let later = match kind.is_retryable() {
            true => " The same call may succeed later.",
            false => "",
        };
        text += &format!(
            "\n\nclass {class}(Error):\n    \"\"\"{}.{later}\n\n{}    \"\"\"\n\n    kind = \"{}\"\n",
            sentence(kind.summary()),
            of_spec(spec, &shown(kind, class)),
            kind.name(),
        );
    }
    Ok(text + &all(&names))
}

/// The lines of the docstring that show how the error comes about and is caught.
fn shown(kind: ErrorKind, class: &str) -> String {
    let (client, rule, call, facts, printed) = match example(kind) {
        None => return String::new(),
        Some(Example::Never(note)) => return format!("    {note}\n"),
        Some(Example::Call {
            client,
            rule,
            call,
            facts,
            shown,
        }) => (client, rule, call, facts, shown),
    };
    let (faults, rule) = match rule {
        "" => ("", String::new()),
        rule => (
            "faults=True",
            format!("    ...     sandbox.set_faults({rule})\n"),
        ),
    };
    format!(
        "    >>> import talentdata
    >>> with talentdata.Sandbox({faults}) as sandbox, sandbox.client({client}) as client:
{rule}    ...     try:
    ...         {call}
    ...     except talentdata.{class} as error:
    ...         print(error.kind, {facts})
    {} {printed}
",
        kind.name()
    )
}
