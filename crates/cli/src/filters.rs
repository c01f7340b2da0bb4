//! Which lists are read and how: the parameters of lists are flags of the commands that read them, one flag for each,
//! whichever lists have it.

use crate::names;
use crate::operation::argument;
use clap::{ArgAction, ArgMatches, Args, Command};
use std::path::PathBuf;
use talentdata_core::types::{Parameter, Resource};
use talentdata_core::{Arguments, Error, ErrorKind, ScanOptions};

/// Lists that are read to their end.
#[derive(Debug, Args)]
pub(crate) struct Lists {
    /// The lists
    #[arg(required = true, value_name = "RESOURCE", value_parser = names::resource())]
    pub(crate) names: Vec<Resource>,
    /// Write what was done, and whether completeness is proven, to this file as JSON; for several
    /// lists an array. It says "unfinished" while the command runs and after it has failed
    #[arg(long, value_name = "PATH")]
    pub(crate) receipt: Option<PathBuf>,
    /// Records per page to ask for; the list's maximum by default
    #[arg(long, value_name = "N")]
    page_size: Option<u64>,
}

impl Lists {
    /// How each of them is read.
    ///
    /// # Errors
    /// `InvalidArgument` where a list is named twice, and for a page size or a parameter that it does not have.
    pub(crate) fn scans(&self, filters: &Filters) -> Result<Vec<(Resource, ScanOptions)>, Error> {
        names::refuse_twice(&self.names)?;
        let scan = |resource: &Resource| {
            let most = resource.shape().max_limit.unwrap_or(u64::MAX);
            if let Some(size) = self.page_size.filter(|size| !(1..=most).contains(size)) {
                let message = format!("--page-size must be between 1 and {most} (got {size})");
                return Err(Error::new(ErrorKind::InvalidArgument, message));
            }
            let scan = ScanOptions {
                page_size: self.page_size,
                arguments: filters.arguments(*resource)?,
                ..ScanOptions::default()
            };
            Ok((*resource, scan))
        };
        self.names.iter().map(scan).collect()
    }
}

/// What was given: flags of the table, and their values.
#[derive(Debug)]
pub(crate) struct Filters(Vec<(&'static str, Vec<String>)>);

impl Filters {
    /// Those that were given for a command.
    pub(crate) fn of(matches: Option<&ArgMatches>) -> Self {
        let given = |(one, _): (&'static Parameter, _)| {
            let values = matches?.try_get_many::<String>(&id(one.flag));
            Some((one.flag, values.ok()??.cloned().collect()))
        };
        Filters(flags().into_iter().filter_map(given).collect())
    }

    /// What was given, as the arguments of this list.
    ///
    /// # Errors
    /// `InvalidArgument` where the list has no such parameter, or it takes no such value.
    pub(crate) fn arguments(&self, resource: Resource) -> Result<Arguments, Error> {
        let operation = resource.shape().operation;
        let mut arguments = Arguments::default();
        for (flag, texts) in &self.0 {
            let mut parameters = operation.parameters.iter();
            let found = parameters.find(|one| one.flag == *flag);
            let found = found.ok_or_else(|| {
                let list = names::dashed(resource);
                let message = format!("--{flag}: {list} has no such parameter");
                Error::new(ErrorKind::InvalidArgument, message)
            })?;
            for text in texts {
                arguments.add_text(operation, found.name, text)?;
            }
        }
        Ok(arguments)
    }
}

/// Every parameter once per flag, and the lists that have it.
fn flags() -> Vec<(&'static Parameter, Vec<Resource>)> {
    let mut flags: Vec<(&Parameter, Vec<Resource>)> = Vec::new();
    for resource in Resource::ALL {
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

/// Adds them to a command: where it has a flag of that name itself, with a `-` behind.
pub(crate) fn add(mut command: Command) -> Command {
    for (one, lists) in flags() {
        let mut flag = one.flag.to_owned();
        let is_taken = |flag: &str| {
            let mut own = command.get_arguments();
            own.any(|own| own.get_long() == Some(flag))
        };
        while is_taken(&flag) {
            flag.push('-');
        }
        let lists: Vec<String> = lists.into_iter().map(names::dashed).collect();
        let argument = argument(one, &format!(" (for {})", lists.join(", ")));
        let argument = argument.id(id(one.flag)).long(flag).help_heading("Filters");
        command = command.arg(argument.action(ArgAction::Append));
    }
    command
}
