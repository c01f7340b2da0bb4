//! Reads the lists and their parameters from the command line. Lists that have the same parameter share its flag.

use crate::common::Common;
use crate::parameters::argument;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, ArgAction, Args, Command};
use std::ffi::OsStr;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use talentdata_columns::export::{Format, Target};
use talentdata_core::types::{ListName, Parameter};
use talentdata_core::{Arguments, Error};
use talentdata_mirror::Mirror;
use talentdata_mirror::internal::JobOptions;

/// The name that stands for all lists.
const ALL: &str = "all";

/// The arguments of a command that reads whole lists.
#[derive(Debug, Args)]
pub(crate) struct Lists {
    /// The lists; all means every list, or every list of the mirror
    #[arg(required = true, value_name = "RESOURCE", value_parser = selection())]
    pub(crate) names: Vec<Selection>,
    /// Write the receipts to this file as a JSON array, one for each list. They have the counts and say if completeness
    /// is proven. While the command runs and after a failure, they say "unfinished"; error has the reason
    #[arg(long, value_name = "PATH")]
    pub(crate) receipt: Option<PathBuf>,
}

impl Lists {
    /// Returns each list with its options, which include the list's arguments.
    ///
    /// # Errors
    /// `InvalidArgument` if a list is named twice, or does not take the page size or a parameter.
    pub(crate) fn options_of_each(
        &self,
        options: &JobOptions,
        common: &Common,
        mirror: Option<&Path>,
    ) -> Result<Vec<(ListName, JobOptions)>, Error> {
        let lists = arguments_of_all(&self.names, common, mirror)?.into_iter();
        let with_arguments = |(list, arguments): (ListName, Arguments)| {
            let max = list.shape().max_limit.unwrap_or(u64::MAX);
            if let Some(size) = options.scan.page_size.filter(|size| *size > max) {
                let message = format!("--page-size must be between 1 and {max} (got {size})");
                return Err(Error::invalid(message));
            }
            let mut options = options.clone();
            options.scan.arguments = arguments;
            Ok((list, options))
        };
        lists.map(with_arguments).collect()
    }
}

/// A list, or all lists.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Selection {
    One(ListName),
    All,
}

/// Returns the selected lists. With a mirror, `Selection::All` means all lists of the mirror.
///
/// # Errors
/// See [`Mirror::open`].
pub(crate) fn selected(names: &[Selection], mirror: Option<&Path>) -> Result<Vec<ListName>, Error> {
    let lists = names.iter().map(|name| match (name, mirror) {
        (Selection::One(list), _) => Ok(vec![*list]),
        (Selection::All, Some(mirror)) => Mirror::open(mirror)?.resources(),
        (Selection::All, None) => Ok(ListName::ALL.to_vec()),
    });
    Ok(lists.collect::<Result<Vec<_>, Error>>()?.concat())
}

/// The place of the output: a file for one list, a directory for several.
pub(crate) struct OutputPlace<'a> {
    path: &'a Path,
    pub(crate) is_one: bool,
    pub(crate) format: Format,
}

impl<'a> OutputPlace<'a> {
    /// Creates the place for the selected lists from `--out` and `--format`.
    ///
    /// # Errors
    /// `InvalidArgument` if standard output would get several lists, or if no format has the file's extension.
    pub(crate) fn new(
        path: &'a Path,
        names: &[Selection],
        format: Option<Format>,
    ) -> Result<Self, Error> {
        let is_one = matches!(names, [Selection::One(_)]);
        if is_stdout(path) && !is_one {
            let message = "--out -: standard output takes one list; give a directory";
            return Err(Error::invalid(message));
        }
        let format = match format {
            Some(format) => format,
            None if is_one => Format::of_path(path)?,
            None if path.extension().is_some() && !path.is_dir() => {
                let message = "--out: with several lists, PATH is a directory, and its name has no extension; select the format of its files with --format";
                return Err(Error::invalid(message));
            }
            None => Format::Jsonl,
        };
        Ok(OutputPlace {
            path,
            is_one,
            format,
        })
    }

    /// Returns the output of a list.
    pub(crate) fn of(&self, list: ListName) -> Target {
        if is_stdout(self.path) {
            Target::Stdout
        } else if self.is_one {
            Target::File(self.path.to_owned())
        } else {
            let file = format!("{list}.{}", self.format.name());
            Target::File(self.path.join(file))
        }
    }

    /// Creates the directory if there are several lists.
    ///
    /// # Errors
    /// The error of the system, with the path.
    pub(crate) fn prepare(&self) -> Result<(), Error> {
        if self.is_one {
            return Ok(());
        }
        std::fs::create_dir_all(self.path).map_err(|error| {
            let path = self.path.display();
            let message = format!("cannot create directory {path}: {error}");
            Error::of_io(&error, message)
        })
    }
}

/// Returns whether the path stands for standard output. A file at it is not opened a second time: that could succeed
/// for a standard output that is closed.
pub(crate) fn is_stdout(path: &Path) -> bool {
    ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"]
        .map(Path::new)
        .contains(&path)
}

/// Returns each selected list with its arguments.
///
/// # Errors
/// `InvalidArgument` if a list is named twice. See also [`arguments`].
pub(crate) fn arguments_of_all(
    names: &[Selection],
    common: &Common,
    mirror: Option<&Path>,
) -> Result<Vec<(ListName, Arguments)>, Error> {
    let lists = selected(names, mirror)?;
    let with_arguments = |(index, resource): (usize, &ListName)| {
        if lists[..index].contains(resource) {
            let message = format!("{} is named twice", dashed(*resource));
            return Err(Error::invalid(message));
        }
        Ok((*resource, arguments(*resource, common)?))
    };
    lists.iter().enumerate().map(with_arguments).collect()
}

/// Returns the arguments of a list from the command line.
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

/// Returns one parameter for each flag, with the lists that have it.
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

/// Adds the filters to a command. If the command has a flag with a filter's name, the filter's flag ends with `-`.
pub(crate) fn add(mut command: Command) -> Command {
    for (one, lists) in flags() {
        let mut flag = one.flag.to_owned();
        while command
            .get_arguments()
            .any(|own| own.get_long() == Some(&flag))
        {
            flag.push('-');
        }
        let names: Vec<String> = lists.into_iter().map(dashed).collect();
        let filter = argument(one, &format!(" (for {})", names.join(", ")))
            .id(id(one.flag))
            .long(flag)
            .help_heading("Filters");
        command = command.arg(filter.action(ArgAction::Append));
    }
    command
}

/// A parser for a list's name, with underscores or hyphens. Help and completions show all names.
#[derive(Clone)]
struct NameParser<T> {
    read: fn(&str) -> Result<T, String>,
    takes_all: bool,
}

impl<T: Clone + Send + Sync + 'static> TypedValueParser for NameParser<T> {
    type Value = T;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<T, clap::Error> {
        let read = self.read;
        let parser = move |text: &str| read(text).map_err(|why| why.replace('_', "-"));
        parser.parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let names = ListName::ALL
            .into_iter()
            .map(|list| PossibleValue::new(dashed(list)).help(list.shape().operation.summary));
        let all = PossibleValue::new(ALL).help("every list");
        Some(Box::new(names.chain(self.takes_all.then_some(all))))
    }
}

/// Returns the parser for the name of a list.
pub(crate) fn resource() -> impl TypedValueParser<Value = ListName> {
    NameParser {
        read: |text| text.parse(),
        takes_all: false,
    }
}

/// Returns the parser for the name of a list or the word `all`.
pub(crate) fn selection() -> impl TypedValueParser<Value = Selection> {
    NameParser {
        read: |text| match text.parse() {
            Err(_) if text == ALL => Ok(Selection::All),
            named => named.map(Selection::One),
        },
        takes_all: true,
    }
}

/// Returns the list's name as users type it: `ja-skills`.
pub(crate) fn dashed(resource: ListName) -> String {
    resource.name().replace('_', "-")
}

/// Returns the parser for one of these values, by its name.
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
