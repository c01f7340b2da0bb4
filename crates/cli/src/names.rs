//! Names on the command line, which help, errors and completions show: lists, from the generated table, and choices.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use std::fmt::Display;
use std::str::FromStr;
use talentdata_core::types::{Resource, UnknownResource};
use talentdata_core::{Error, ErrorKind};

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

/// Each list may be asked for once.
///
/// # Errors
/// `InvalidArgument`, naming the one that comes twice.
pub(crate) fn refuse_twice(resources: &[Resource]) -> Result<(), Error> {
    let twice = resources
        .iter()
        .enumerate()
        .find(|(index, resource)| resources[..*index].contains(resource));
    match twice {
        None => Ok(()),
        Some((_, resource)) => Err(Error::new(
            ErrorKind::InvalidArgument,
            format!("{} is named twice", dashed(*resource)),
        )),
    }
}

/// Reads one of these values by its name.
pub(crate) fn one_of<T, const N: usize>(all: [T; N]) -> impl TypedValueParser<Value = T>
where
    T: Clone
        + Display
        + FromStr<Err: Into<Box<dyn std::error::Error + Send + Sync>> + Send + Sync + 'static>
        + Send
        + Sync
        + 'static,
{
    PossibleValuesParser::new(all.map(|value| value.to_string())).try_map(|name| name.parse::<T>())
}
