//! The operations of the service that are no lists: a command each, with a flag for every parameter and field.

use crate::args::Common;
use crate::connect::connect;
use crate::output;
use crate::output::Ending;
use clap::builder::{NonEmptyStringValueParser, PossibleValuesParser};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use serde_json::{Map, Value};
use std::io::Read;
use std::path::{Path, PathBuf};
use talentdata_core::types::{FieldKind, OPERATIONS, Operation, Parameter};
use talentdata_core::{Arguments, Error, ErrorKind};

/// The flag that gives the whole body.
const BODY: &str = "body";

/// An operation, and what was given for it.
#[derive(Debug)]
pub(crate) struct Verb {
    operation: &'static Operation,
    arguments: Arguments,
    body: Option<PathBuf>,
}

/// A command for each operation that is no list.
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
    let mut command = Command::new(operation.command)
        .about(format!("{}{deprecated}", operation.summary))
        .long_about(format!(
            "{}{deprecated} ({} {})\n\n{}\n\nPrints the response as JSON.",
            operation.summary,
            operation.method.as_str(),
            operation.path,
            operation.description
        ))
        .after_help(example(operation));
    for one in operation.parameters {
        command = command.arg(placed(one).required(one.required));
    }
    let Some(body) = &operation.body else {
        return command;
    };
    let mut whole = Arg::new(BODY)
        .long(BODY)
        .value_name("FILE")
        .value_parser(value_parser!(PathBuf))
        .help("A file that holds the request body as JSON; - reads standard input");
    if body.fields.is_empty() {
        whole = whole.required(body.required);
    }
    for one in body.fields {
        // Where the values are known and nothing is given, all of them are meant.
        let has_default = one.positional && !one.known_values.is_empty();
        let argument = placed(one).conflicts_with(BODY);
        command = command.arg(match one.required && !has_default {
            true => argument.required_unless_present(BODY),
            false => argument,
        });
    }
    command.arg(whole)
}

/// A call with everything that it needs.
fn example(operation: &Operation) -> String {
    let fields = operation.body.iter().flat_map(|body| body.fields);
    let needed = operation.parameters.iter().chain(fields);
    let needed = needed.filter(|one| one.required && !one.positional);
    let needed: Vec<String> = needed
        .map(|one| format!(" --{} {}", one.flag, one.argument.to_uppercase()))
        .collect();
    let body = operation.body.as_ref();
    let body = body.filter(|body| body.required && body.fields.is_empty());
    let body = body.map_or("", |_| " --body request.json");
    format!(
        "Example:\n  talentdata {}{}{body}",
        operation.command,
        needed.concat()
    )
}

/// The argument that gives a parameter, or a field of a body; `more` follows its help.
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

/// The same as a flag, or by its place.
fn placed(one: &'static Parameter) -> Arg {
    let takes_all = one.positional && !one.known_values.is_empty();
    let mut argument = argument(
        one,
        if takes_all {
            "; without any, all of these"
        } else {
            ""
        },
    );
    if one.repeated {
        argument = argument.action(ArgAction::Append);
    }
    match one.positional {
        true if one.repeated => argument.num_args(0..),
        true => argument,
        false => argument.long(one.flag),
    }
}

/// What was given, if this is the command of an operation.
pub(crate) fn read(name: &str, given: &ArgMatches) -> Result<Option<Verb>, clap::Error> {
    let mut operations = OPERATIONS.iter().copied();
    let found = operations.find(|one| one.callable && one.command == name);
    let Some(operation) = found else {
        return Ok(None);
    };
    let wrong = |error: Error| {
        let mut command = grammar(operation).bin_name(format!("talentdata {}", operation.command));
        command.error(clap::error::ErrorKind::InvalidValue, error.message())
    };
    let texts = |one: &Parameter| -> Vec<String> {
        let values = given.get_many::<String>(one.name);
        values.into_iter().flatten().cloned().collect()
    };
    let mut arguments = Arguments::default();
    for one in operation.parameters {
        for text in texts(one) {
            arguments
                .add_text(operation, one.name, &text)
                .map_err(wrong)?;
        }
    }
    let body = operation.body.as_ref();
    let file = body.and_then(|_| given.get_one::<PathBuf>(BODY).cloned());
    if let (Some(body), None) = (body, &file) {
        let mut fields = Map::new();
        for one in body.fields {
            let mut texts = texts(one);
            if texts.is_empty() && one.positional {
                texts = one
                    .known_values
                    .iter()
                    .map(|&text| text.to_owned())
                    .collect();
            }
            let values = texts.iter().map(|text| one.value_of_text(text));
            let values = values.collect::<Result<Vec<Value>, _>>();
            let mut values =
                values.map_err(|text| wrong(Error::new(ErrorKind::InvalidArgument, text)))?;
            if one.repeated && (one.required || !values.is_empty()) {
                fields.insert(one.name.to_owned(), Value::Array(values));
            } else if let Some(value) = values.pop() {
                fields.insert(one.name.to_owned(), value);
            }
        }
        if body.required || !fields.is_empty() {
            arguments = arguments.with_json(Value::Object(fields).to_string());
        }
    }
    Ok(Some(Verb {
        operation,
        arguments,
        body: file,
    }))
}

pub(crate) async fn run(verb: &Verb, common: &Common) -> Result<(), Ending> {
    let mut arguments = verb.arguments.clone();
    if let Some(file) = &verb.body {
        arguments = arguments.with_json(body(file)?);
    }
    let connection = connect(common)?;
    let response = connection.client.invoke(verb.operation, arguments).await?;
    let Some(json) = response else {
        return Ok(());
    };
    // Numbers keep their digits, and fields their order.
    let value: Value = serde_json::from_str(&json).map_err(output::unwritable)?;
    output::json(&value)
}

/// The request body that a file, or standard input, holds.
fn body(file: &Path) -> Result<String, Error> {
    let mut text = String::new();
    let read = match file == Path::new("-") {
        true => std::io::stdin().read_to_string(&mut text),
        false => std::fs::File::open(file).and_then(|mut file| file.read_to_string(&mut text)),
    };
    let failed = |error| {
        let message = format!(
            "cannot read the request body from {}: {error}",
            file.display()
        );
        Error::new(ErrorKind::Io, message)
    };
    read.map_err(failed)?;
    Ok(text)
}
