//! Names of lists on the command line, all from the generated table.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use talentdata_core::types::{Resource, UnknownResource};

/// Reads the name of a list, with `-` or `_`; help, errors and completions show all names.
pub(crate) fn resource() -> impl TypedValueParser<Value = Resource> {
    let names = Resource::ALL.map(|resource| {
        PossibleValue::new(dashed(resource))
            .alias(resource.name())
            .help(resource.shape().operation.summary)
    });
    PossibleValuesParser::new(names)
        .try_map(|name| -> Result<Resource, UnknownResource> { name.parse() })
}

/// The list's name as it is typed: `ja-skills`.
pub(crate) fn dashed(resource: Resource) -> String {
    resource.name().replace('_', "-")
}
