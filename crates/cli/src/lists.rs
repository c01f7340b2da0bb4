//! The lists to read, and their parameters: each parameter is one flag of the commands that read lists, even if several
//! lists have it.

use crate::common::Common;
use crate::parameters::argument;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{ArgAction, Args, Command};
use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;
use talentdata_core::types::{ListName, Parameter};
use talentdata_core::{Arguments, Error};
use talentdata_mirror::internal::JobOptions;

/// Lists that are read to their end.
#[derive(Debug, Args)]
pub(crate) struct Lists {
    /// The lists
    #[arg(required = true, value_name = "RESOURCE", value_parser = resource())]
    pub(crate) names: Vec<ListName>,
    /// Write what was done, and whether completeness is proven, to this file as JSON; for several
    /// lists an array. It says "unfinished" while the command runs and after it has failed
    #[arg(long, value_name = "PATH")]
    pub(crate) receipt: Option<PathBuf>,
}

impl Lists {
    /// Returns the options for each of the lists, with the arguments that it takes.
    ///
    /// # Errors
    /// `InvalidArgument` if a list is named twice, and for a page size or a parameter that it does not have.
    pub(crate) fn options_of_each(
        &self,
        options: &JobOptions,
        common: &Common,
    ) -> Result<Vec<(ListName, JobOptions)>, Error> {
        let lists = arguments_of_all(&self.names, common)?.into_iter();
        let with_arguments = |(list, arguments): (ListName, Arguments)| {
            let most = list.shape().max_limit.unwrap_or(u64::MAX);
            if let Some(size) = options.scan.page_size.filter(|size| *size > most) {
                let message = format!("--page-size must be between 1 and {most} (got {size})");
                return Err(Error::invalid(message));
            }
            let mut options = options.clone();
            options.scan.arguments = arguments;
            Ok((list, options))
        };
        lists.map(with_arguments).collect()
    }
}

/// Returns the lists, each with the arguments that were given.
///
/// # Errors
/// `InvalidArgument` if a list is named twice; otherwise see [`arguments`].
pub(crate) fn arguments_of_all(
    lists: &[ListName],
    common: &Common,
) -> Result<Vec<(ListName, Arguments)>, Error> {
    let each = |(index, resource): (usize, &ListName)| {
        if lists[..index].contains(resource) {
            let message = format!("{} is named twice", dashed(*resource));
            return Err(Error::invalid(message));
        }
        Ok((*resource, arguments(*resource, common)?))
    };
    lists.iter().enumerate().map(each).collect()
}

/// Returns the arguments of this list that were given.
///
/// # Errors
/// `InvalidArgument` if the list has no such parameter, or does not take the value.
pub(crate) fn arguments(resource: ListName, common: &Common) -> Result<Arguments, Error> {
    let operation = resource.shape().operation;
    let mut arguments = Arguments::default();
    for (one, _) in flags() {
        let mut parameters = operation.parameters.iter();
        let own = parameters.find(|own| own.flag == one.flag);
        let texts = common.matches.try_get_many::<String>(&id(one.flag));
        for text in texts.ok().flatten().into_iter().flatten() {
            arguments.add_text(operation, own.map_or(one.argument, |own| own.name), text)?;
        }
    }
    Ok(arguments)
}

/// Returns every parameter once per flag, and the lists that have it.
fn flags() -> Vec<(&'static Parameter, Vec<ListName>)> {
    let mut flags: Vec<(&Parameter, Vec<ListName>)> = Vec::new();
    for resource in ListName::ALL {
        for one in resource.shape().operation.parameters {
            match flags.iter_mut().find(|(other, _)| other.flag == one.flag) {
                Some((_, lists)) => lists.push(resource),
                None => flags.push((one, vec![resource])),
            }
        }
    }
    flags
}

fn id(flag: &str) -> String {
    format!("filter {flag}")
}

/// Adds the filters to a command. A filter gets a `-` at its end if the command has a flag with that name.
pub(crate) fn add(mut command: Command) -> Command {
    for (one, lists) in flags() {
        let mut flag = one.flag.to_owned();
        while command
            .get_arguments()
            .any(|own| own.get_long() == Some(&flag))
        {
            flag.push('-');
        }
        let lists: Vec<String> = lists.into_iter().map(dashed).collect();
        let argument = argument(one, &format!(" (for {})", lists.join(", ")));
        let argument = argument.id(id(one.flag)).long(flag).help_heading("Filters");
        command = command.arg(argument.action(ArgAction::Append));
    }
    command
}

/// Reads the name of a list, with `-` or `_`. Help, errors and completions show all names.
pub(crate) fn resource() -> impl TypedValueParser<Value = ListName> {
    let names = ListName::ALL.map(|resource| {
        PossibleValue::new(dashed(resource))
            .alias(resource.name())
            .help(resource.shape().operation.summary)
    });
    PossibleValuesParser::new(names).try_map(|name| name.parse::<ListName>())
}

/// Returns the list's name as it is typed: `ja-skills`.
pub(crate) fn dashed(resource: ListName) -> String {
    resource.name().replace('_', "-")
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
