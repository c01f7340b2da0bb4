//! The argument of the command line for a parameter of an operation.

use clap::Arg;
use clap::builder::{NonEmptyStringValueParser, PossibleValuesParser};
use talentdata_core::types::{FieldKind, Parameter};

/// The argument that gives a parameter, or a field of a request body; `more` follows its help.
pub(crate) fn argument(one: &'static Parameter, more: &str) -> Arg {
    let mut help = one.description.trim_end_matches('.').to_owned();
    if !one.known_values.is_empty() {
        help += &format!("; such as {}", one.known_values.join(", "));
    }
    let argument = Arg::new(one.name)
        .help(help + more)
        .value_name(match one.kind {
            FieldKind::Json => "JSON".to_owned(),
            _ => one.argument.to_uppercase(),
        });
    match one.kind {
        FieldKind::Boolean => argument.value_parser(PossibleValuesParser::new(["true", "false"])),
        // An empty value is a variable that is not set, rather than what was meant.
        _ => argument
            .value_parser(NonEmptyStringValueParser::new())
            .allow_negative_numbers(true),
    }
}
