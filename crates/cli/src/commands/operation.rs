//! Commands for the operations that are not lists, with a flag for every parameter and field.

use crate::common::Common;
use crate::connect::with_client;
use crate::output::{self, Ending};
use crate::parameters::argument;
use clap::{Arg, ArgAction, Command, value_parser};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use talentdata_core::internal::streams::Patient;
use talentdata_core::types::{OPERATIONS, Operation, Parameter};
use talentdata_core::{Arguments, Error};

/// The flag for the whole body.
const BODY: &str = "body";

/// Returns the operation with this command.
pub(crate) fn find(name: &str) -> Option<&'static Operation> {
    let mut callable = OPERATIONS.iter().filter(|one| one.callable);
    callable.find(|one| one.command == name).copied()
}

/// Returns a command for each operation that is not a list.
pub(crate) fn commands() -> impl Iterator<Item = Command> {
    let callable = OPERATIONS.iter().copied().filter(|one| one.callable);
    callable.map(grammar)
}

fn grammar(operation: &'static Operation) -> Command {
    let deprecated = if operation.deprecated {
        " (deprecated)"
    } else {
        ""
    };
    let about = format!("{}{deprecated}", operation.summary);
    let mut command = Command::new(operation.command)
        .long_about(format!(
            "{about} ({} {})\n\n{}\n\nPrints the response as JSON.",
            operation.method.as_str(),
            operation.path,
            operation.description
        ))
        .about(about)
        .after_help(example(operation));
    for one in operation.parameters {
        command = command.arg(placed(one).required(one.required));
    }
    let Some(body) = &operation.body else {
        return command;
    };
    for one in body.fields {
        let argument = placed(one).conflicts_with(BODY);
        command = command.arg(if one.required && !has_default(one) {
            argument.required_unless_present(BODY)
        } else {
            argument
        });
    }
    command.arg(
        Arg::new(BODY)
            .long(BODY)
            .value_name("FILE")
            .value_parser(value_parser!(PathBuf))
            .required(body.required && body.fields.is_empty())
            .help("A file with the request body as JSON; - is standard input"),
    )
}

/// Returns an example of a call with every required flag.
fn example(operation: &Operation) -> String {
    let fields = operation.body.iter().flat_map(|body| body.fields);
    let needed = operation.parameters.iter().chain(fields);
    let needed = needed.filter(|one| one.required && !one.positional);
    let needed = needed.map(|one| format!(" --{} {}", one.flag, one.argument.to_uppercase()));
    format!(
        "Example:\n  talentdata {}{}",
        operation.command,
        needed.collect::<String>()
    )
}

/// Returns whether the default is all known values.
fn has_default(one: &Parameter) -> bool {
    one.positional && !one.known_values.is_empty()
}

/// Returns the argument for a parameter, as a flag or positional.
fn placed(one: &'static Parameter) -> Arg {
    let more = if has_default(one) {
        "; by default all of these"
    } else {
        ""
    };
    // The flag is unique, but a setting may have the same name as the parameter.
    let mut argument = argument(one, more).id(one.flag);
    if one.repeated {
        argument = argument.action(ArgAction::Append);
    }
    if !one.positional {
        argument.long(one.flag)
    } else if one.repeated {
        argument.num_args(0..)
    } else {
        argument
    }
}

pub(crate) async fn run(operation: &'static Operation, common: &Common) -> Result<(), Ending> {
    let texts = |one: &Parameter| -> Vec<&str> {
        let values = common.matches.get_many::<String>(one.flag);
        values.into_iter().flatten().map(String::as_str).collect()
    };
    let mut arguments = Arguments::default();
    for one in operation.parameters {
        for text in texts(one) {
            arguments.add_text(operation, one.name, text)?;
        }
    }
    if let Some(body) = &operation.body {
        let mut fields = Map::new();
        for one in body.fields {
            let mut texts = texts(one);
            if texts.is_empty() && has_default(one) {
                texts = one.known_values.to_vec();
            }
            let values = texts.into_iter().map(|text| one.value_of_text(text));
            let values = values.collect::<Result<Vec<Value>, _>>();
            let mut values = values.map_err(Error::invalid)?;
            if one.repeated && (one.required || !values.is_empty()) {
                fields.insert(one.name.to_owned(), Value::Array(values));
            } else if let Some(value) = values.pop() {
                fields.insert(one.name.to_owned(), value);
            }
        }
        if let Some(file) = common.matches.get_one::<PathBuf>(BODY) {
            arguments = arguments.with_json(read(file)?);
        } else if body.required || !fields.is_empty() {
            arguments = arguments.with_json(Value::Object(fields).to_string());
        }
    }
    let response = with_client(common, vec![operation], async |client| {
        Ok(client.invoke(operation, arguments).await?)
    });
    let Some(json) = response.await? else {
        return Ok(());
    };
    // Numbers keep their digits, and fields their order.
    let value: Value = serde_json::from_str(&json).map_err(output::unwritable)?;
    output::json(&value)
}

/// Reads the request body from a file, or from standard input.
fn read(file: &Path) -> Result<String, Error> {
    let text = if file == Path::new("-") {
        std::io::read_to_string(Patient(std::io::stdin()))
    } else {
        std::fs::read_to_string(file)
    };
    text.map_err(|error| {
        let file = file.display();
        let message = format!("cannot read the request body from {file}: {error}");
        Error::of_io(&error, message)
    })
}
