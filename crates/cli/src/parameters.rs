//! The command line argument for a parameter of an operation.

use clap::Arg;
use clap::builder::{NonEmptyStringValueParser, PossibleValuesParser};
use talentdata_core::types::{FieldKind, Parameter};

/// Returns the argument for a parameter, or for a field of a request body. `more` is appended to its help.
pub(crate) fn argument(one: &'static Parameter, more: &str) -> Arg {
    let mut help = one.description.trim_end_matches('.').to_owned();
    if !one.known_values.is_empty() {
        help += &format!("; for example {}", one.known_values.join(", "));
    }
    let argument = Arg::new(one.name)
        .help(help + more)
        .value_name(match one.kind {
            FieldKind::Json => "JSON".to_owned(),
            _ => one.argument.to_uppercase(),
        });
    match one.kind {
        FieldKind::Boolean => argument.value_parser(PossibleValuesParser::new(["true", "false"])),
        // An empty value is most likely a shell variable that is not set.
        _ => argument
            .value_parser(NonEmptyStringValueParser::new())
            .allow_negative_numbers(true),
    }
}
