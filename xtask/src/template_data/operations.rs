//! Operations and lists, with their parameters and bodies, in every language.

use super::View;
use crate::languages::{annotation, borrowed, cpp_body, cpp_number, rust, table};
use crate::names::registry::{Surface, Surface::*};
use crate::names::{self, ARGUMENT, COMMAND, CPP_METHOD, PYTHON_METHOD, RUST_METHOD};
use crate::spec::api::{
    Api, ApiList, ApiOperation, ApiParameter, Body, Model, Type, joined, unless,
};
use crate::spec::{LIST, NAME, id_of};
use crate::text::sentence;
use heck::ToUpperCamelCase;
use minijinja::{Value, context};
use std::collections::BTreeSet;

const LEAVE_LIST: &str = "leave one of the two out";
const RENAME_PARAMETER: &str = "it is sent under its own name all the same";

impl View<'_> {
    pub(super) fn operation(&self, operation: &ApiOperation) -> Value {
        let (id, name, at) = (&operation.id, &operation.name, operation.place());
        let key = format!("operation {id}");
        let other = id_of(&operation.method.to_lowercase(), &operation.path);
        let fix = format!("give it one of its own there: \"x-talentdata-name\": {other:?}");
        let own = self.item(&key, id, &at, &fix);
        let constant = names::constant(&names::snake(id));
        let method = operation.method.as_str();
        let repeatable = !["POST", "PATCH"].contains(&method);
        let repeated = match (operation.idempotent, repeatable) {
            (true, false) => ", idempotent",
            (false, true) => ", not idempotent",
            _ => "",
        };
        let deprecated = ["", ", deprecated"][usize::from(operation.deprecated)];
        let token = operation.token.words();
        let shown = format!("{method} {}, {token}{deprecated}{repeated}", operation.path);
        let (group, summary) = (&operation.group, &operation.summary);
        let prose = format!("{group} {summary} {}", operation.description);
        own.describe(&shown, &prose, None);
        own.declare(Rust, "in Rust", &constant, "");
        let parameters = operation.parameters.iter();
        let parameters = parameters.filter_map(|one| self.parameter(operation, one, &key));
        let is_required = |one: &Value| one.get_attr("required").is_ok_and(|one| one.is_true());
        let (required, optional): (Vec<Value>, Vec<Value>) = parameters.partition(is_required);
        let parameters = [required.clone(), optional.clone()].concat();
        let body = operation.body.as_ref();
        let (body, fields) = body.map(|body| self.body(operation, body, &key)).unzip();
        let response = operation.response.as_ref();
        if let Some(response) = response {
            let shown = response.to_string() + &as_media(&operation.accept);
            self.part(&format!("response of {id}"), &shown, &key);
        }
        let [rust_name, cpp, python] =
            [&RUST_METHOD, &CPP_METHOD, &PYTHON_METHOD].map(|kept| names::name(name, kept));
        let c = names::c_call(name);
        let command = names::name(&operation.command, &COMMAND).replace('_', "-");
        let options = format!("{}Options", names::camel(name));
        let cpp_options = names::snake(&options);
        let mut call = self.item(&key, id, &at, &fix);
        call.own += NAME;
        let has_optional = !optional.is_empty();
        if operation.is_call() {
            let signature = signature(operation);
            let with_options = format!("{signature}, options: {has_optional}");
            let line = format!("{signature}, {:?}", operation.positional);
            call.declare(Rust, "in the Rust client", &rust_name, &with_options);
            call.declare(C, "in C", &c, &with_options);
            call.declare(Cpp, "in the C++ client", &cpp, &signature);
            call.declare(Python, "in the Python client", &python, &signature);
            call.declare(CommandLine, "among the commands", &command, &line);
            call.facts(&Surface::ALL, "token", "", &operation.token.demand());
            call.claim("in the C++ client", &format!("try_{cpp}"));
        }
        // In C++, the required parameters of a list are among the options.
        let of_list = operation.list.is_some() && !parameters.is_empty();
        if operation.is_generated() && (has_optional || of_list) {
            call.claim("in Rust", &options);
            call.claim("in C++", &cpp_options);
        }
        let arguments = [parameters.clone(), fields.unwrap_or_default()].concat();
        let exposed = response.and_then(|kind| self.api.exposed(kind));
        let cpp_class = exposed.map_or("record".to_owned(), |one| names::snake(&one.name));
        let model = exposed.filter(|one| !one.is_record);
        let c_response = names::c_type(model.map_or("record", |one| &one.name));
        let class = exposed.map(|one| &one.name);
        context! {
            constant, required, optional, parameters, body, arguments, options, c, cpp, python, command,
            c_response, cpp_options, class, rust => rust_name, name => names::snake(name),
            answers => response.is_some(), gives => response.map_or("()".to_owned(), |of| rust(of, "types::")),
            variant => operation.method.to_upper_camel_case(), sentence => sentence(summary),
            callable => operation.is_call(), generated => operation.is_generated(), title => operation.title(),
            cpp_class => response.map(|_| format!("talentdata::{cpp_class}")),
            ..Value::from_serialize(operation)
        }
    }

    /// Returns the data of a list and its operation.
    pub(super) fn list(&self, operation: &ApiOperation, list: &ApiList) -> Value {
        let (api, path, name) = (self.api, &operation.path, &list.name);
        let key = format!("list {name}");
        let mut own = self.item(&key, path, &operation.place(), LEAVE_LIST);
        own.own += LIST;
        let variant = names::variant(name, &names::LIST_VARIANT);
        let [rust_name, python] =
            [&RUST_METHOD, &PYTHON_METHOD].map(|kept| names::name(name, kept));
        let rust_with = names::name(&format!("{name}_with"), &RUST_METHOD);
        let cpp = names::cpp_list(name);
        let c = format!("TALENTDATA_LIST_{}", names::constant(&variant));
        own.describe(&format!("{path}, {}", operation.token.words()), "", None);
        own.declare(CommandLine, "on the command line", name, "");
        own.declare(Rust, "in the Rust enum ListName", &variant, "");
        own.declare(C, "in C", &c, "");
        own.declare(Rust, "in the Rust client", &rust_name, "");
        own.declare(Cpp, "in C++", &cpp, "");
        own.declare(Python, "in the Python client", &python, "");
        own.facts(&Surface::ALL, "token", "", &operation.token.demand());
        if operation.taken().any(|one| !one.required) {
            own.declare(Rust, "in the Rust client", &rust_with, "");
        }
        let part = |what: &str, shown: &str| self.part(&format!("{what} of {key}"), shown, &key);
        let found = "found at run time";
        part("record key", list.key.as_deref().unwrap_or(found));
        let record = list.model.as_deref().unwrap_or("Record");
        let kind = part("record type", record);
        kind.facts(&[Rust, Cpp], "", "", record);
        // A type for a value without one breaks nothing if records keep their methods.
        if list.model.is_some() {
            kind.facts(&[C, Python], "", record, "");
        }
        let max = operation.query("limit").and_then(|one| one.maximum);
        let largest = max.map_or("not shown".to_owned(), |max| max.to_string());
        let demand = (u64::MAX - max.unwrap_or(u64::MAX)).to_string();
        part("largest limit", &largest).facts(&Surface::ALL, "", "", &demand);
        let needed = required(operation);
        let shown = if needed.is_empty() { "none" } else { &needed };
        part("required parameters", shown).facts(&Surface::ALL, "", "", &needed);
        let model = list.model.as_ref().and_then(|model| api.model(model));
        let class = model.filter(|one| one.is_exposed());
        context! {
            name, variant, record, cpp, python, max, rust_with, c, key => list.key, model => list.model,
            rust => rust_name, class => names::camel(name),
            cpp_record => class.map_or("record".to_owned(), |one| names::snake(&one.name)),
        }
    }

    /// Returns the data of a parameter. Parameters that no call takes are described only for the diff.
    fn parameter(
        &self,
        operation: &ApiOperation,
        one: &ApiParameter,
        whole: &str,
    ) -> Option<Value> {
        let key = format!(
            "{} parameter {} of {}",
            one.location, one.name, operation.id
        );
        let mut own = self.item(&key, &one.name, &one.place, RENAME_PARAMETER);
        own.own = format!("{} {} {}", operation.place(), one.location, one.name);
        let separated = one.separator.map(|one| format!(", separated by {one}"));
        let shown = one.kind.to_string() + unless(one.required);
        let shown = shown + &separated.unwrap_or_default();
        own.describe(&shown, &one.description, Some(whole));
        let (name, kind) = (names::name(&one.argument, &ARGUMENT), one.kind.present());
        let mut taken = operation.taken();
        taken.find(|other| other.place == one.place)?;
        if operation.is_generated() {
            let scope = format!("as an argument of {}", operation.name);
            own.claim(&scope, &name);
            if !one.required {
                own.facts(&Surface::ALL, &scope, &name, &one.kind.to_string());
            } else if operation.is_call() {
                let scope = format!("{scope} in C");
                if matches!(kind, Type::Array(_)) {
                    own.claim(&scope, &format!("{name}_count"));
                }
                own.claim(&scope, &name);
            }
        }
        // The first of several parameters with the same name in the API keeps that name as its key.
        let mut same = operation
            .parameters
            .iter()
            .filter(|other| other.name == one.name);
        let is_first = same.next().is_none_or(|first| first.place == one.place);
        let own = context! {
            key => if is_first { &one.name } else { &one.argument }, separator => one.separator,
            location => one.location.to_upper_camel_case(), annotation => annotation(kind),
            required => one.required, description => one.description,
        };
        Some(argument(
            self.api,
            operation,
            [&one.name, &one.argument],
            kind,
            own,
        ))
    }

    /// Returns the data of a request body, and its arguments in Python.
    fn body(&self, operation: &ApiOperation, body: &Body, whole: &str) -> (Value, Vec<Value>) {
        let (api, required) = (self.api, body.required);
        let shown = body.kind.to_string() + unless(required) + &as_media(&body.media_type);
        self.part(&format!("request of {}", operation.id), &shown, whole);
        let model = body_model(api, operation, body);
        let fields = model.into_iter().flat_map(|model| &model.fields);
        let fields = fields.map(|one| {
            let is_nullable = matches!(one.kind, Type::Nullable(_));
            let null = ["", " | None"][usize::from(is_nullable && one.required)];
            let kind = one.kind.present();
            let own = context! {
                location => "Body", annotation => annotation(kind) + null,
                required => one.required && required, description => one.description,
            };
            argument(api, operation, [&one.wire, &one.name], kind, own)
        });
        let fields: Vec<Value> = fields.collect();
        let whole = context! {
            wire => "body", name => "body", description => "The request body.",
            annotation => annotation(&body.kind), required,
        };
        let (cpp, words) = match &body.kind {
            Type::Model(name) => (cpp_body(api, name), format!(", a {name}")),
            other => ("raw_json".to_owned(), format!(": {other}")),
        };
        let value = context! {
            required, cpp, words, media_type => body.media_type, fields => &fields, model => model.map(|model| &model.name),
            borrowed => borrowed(&body.kind), rust => rust(&body.kind, "types::"),
        };
        (value, if model.is_some() { fields } else { vec![whole] })
    }
}

/// Returns the note for a media type, if it is not the usual one.
fn as_media(media: &str) -> String {
    match media {
        "application/json" => String::new(),
        other => format!(", as {other}"),
    }
}

/// Returns the required parameters of an operation.
fn required(operation: &ApiOperation) -> String {
    let takes = operation.taken().filter(|one| one.required);
    joined(takes.map(|one| format!("{}: {}", names::name(&one.argument, &ARGUMENT), one.kind)))
}

/// Returns the signature of a call: its required arguments and its result.
fn signature(operation: &ApiOperation) -> String {
    let mut takes = vec![required(operation)];
    takes.retain(|one| !one.is_empty());
    if let Some(body) = &operation.body {
        let needed = if body.required { "" } else { " or none" };
        takes.push(format!("body: {}{needed}", body.kind));
    }
    let (takes, gives) = (joined(takes), joined(&operation.response));
    format!(
        "({takes}) -> {gives}, nonblank: {}",
        joined(&operation.nonblank)
    )
}

/// Returns the model of a body whose fields are separate arguments, which requires that each has a unique name.
fn body_model<'a>(api: &'a Api, operation: &ApiOperation, body: &Body) -> Option<&'a Model> {
    let model = api.model_of(&body.kind)?;
    let parameters = operation.taken().map(|one| &one.argument);
    let arguments = parameters.chain(model.fields.iter().map(|one| &one.name));
    let mut names = BTreeSet::new();
    let mut fresh = arguments.map(|one| names.insert(names::name(one, &ARGUMENT)));
    fresh.all(|fresh| fresh).then_some(model)
}

/// Returns the data of a parameter, or of a field of a body, in every language. `own` is the data that only one of the
/// two has.
fn argument(
    api: &Api,
    operation: &ApiOperation,
    [wire, words]: [&str; 2],
    kind: &Type,
    own: Value,
) -> Value {
    let name = names::name(words, &ARGUMENT);
    let held = match kind {
        Type::Array(held) if held.present().is_scalar() => Some(held.present()),
        _ => None,
    };
    let scalar = held.unwrap_or(kind);
    context! {
        wire, key => wire, separator => (), name, cpp_number => cpp_number(scalar), rust => rust(kind, "crate::"), borrowed => borrowed(kind),
        flag => names::flag(words), repeated => held.is_some(),
        positional => operation.positional.as_deref() == Some(wire),
        nonblank => operation.nonblank.iter().any(|one| one == wire),
        table => table(scalar), known => api.known_values(scalar), secret => *kind == Type::Secret,
        ..own
    }
}
