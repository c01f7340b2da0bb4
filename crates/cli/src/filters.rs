//! The parameters of lists as flags of the commands that read them: one flag for each, whichever lists have it.

use crate::names;
use clap::builder::NonEmptyStringValueParser;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use talentdata_core::types::{Parameter, Resource};
use talentdata_core::{Arguments, Error, ErrorKind};

/// What was given: flags of the table, and their values.
#[derive(Debug)]
pub(crate) struct Filters(Vec<(&'static str, Vec<String>)>);

impl Filters {
    /// What was given, as the arguments of this list.
    ///
    /// # Errors
    /// `InvalidArgument` where the list has no such parameter, or it takes no such value.
    pub(crate) fn of(&self, resource: Resource) -> Result<Arguments, Error> {
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

impl Args for Filters {
    /// Must come after the command's own flags: a parameter of the same name gets a `-` behind.
    fn augment_args(mut command: Command) -> Command {
        for (one, lists) in flags() {
            let mut flag = one.flag.to_owned();
            while command
                .get_arguments()
                .any(|own| own.get_long() == Some(&flag))
            {
                flag.push('-');
            }
            let mut help = one.description.trim_end_matches('.').to_owned();
            if !one.known_values.is_empty() {
                help += &format!("; such as {}", one.known_values.join(", "));
            }
            let lists: Vec<String> = lists.into_iter().map(names::dashed).collect();
            help += &format!(" (for {})", lists.join(", "));
            let argument = Arg::new(id(one.flag))
                .long(flag)
                .help(help)
                .help_heading("Filters")
                .value_name(one.argument.to_uppercase())
                .allow_negative_numbers(true)
                .action(ArgAction::Append)
                .value_parser(NonEmptyStringValueParser::new());
            command = command.arg(argument);
        }
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Filters {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = |(one, _): (&'static Parameter, _)| {
            let values = matches.get_many::<String>(&id(one.flag))?;
            Some((one.flag, values.cloned().collect()))
        };
        Ok(Filters(flags().into_iter().filter_map(given).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
