//! What the templates are filled with: the interface, with every name in the case of each language.
//!
//! Whatever is named here is registered at once, with what users of the name rest on.

use crate::c::numbers::Numbers;
use crate::languages::{
    annotation, borrowed, cpp_body, cpp_scalar, cpp_sent, is_seen, read_by_python, rust, table,
};
use crate::models::known_name;
use crate::names::registry::{Registry, Surface, Thing};
use crate::names::{self, sentence};
use crate::shapes::{self, Shape};
use crate::spec::api::{Api, Body, Enum, List, Model, Operation, Parameter, TokenUse, Type};
use crate::spec::{pointer, reachable};
use heck::ToUpperCamelCase;
use minijinja::{Value, context};
use std::collections::{BTreeMap, BTreeSet};

const LEAVE_FIELD: &str =
    "leave it out: it is still delivered, with the fields that the document does not show";
const LEAVE_VALUE: &str = "leave it out: values that are not listed are delivered as they come";
const LEAVE_LIST: &str = "leave its operation out";
const RENAME_SCHEMA: &str = "rename the schema; its name is never sent";
const RENAME_CALL: &str = "give the operation another name in x-talentdata-name";
const RENAME_PARAMETER: &str =
    "give one of the parameters another name, or the operation a request body";
const RENAME_OPERATION: &str = "change the operationId; it is never sent";

/// The data for every template, and the names in it.
pub(crate) fn view(api: &Api, numbers: &Numbers) -> (Value, Registry) {
    let mut view = View {
        api,
        exposed: shapes::models(api),
        numbers,
        names: Registry::default(),
    };
    let operations: Vec<(Value, Option<Value>)> = api
        .operations
        .iter()
        .map(|one| view.operation(one))
        .collect();
    let (operations, lists): (Vec<Value>, Vec<Option<Value>>) = operations.into_iter().unzip();
    let lists: Vec<Value> = lists.into_iter().flatten().collect();
    if lists.is_empty() {
        let thing = thing(
            "lists",
            "",
            "/paths",
            "name limit and offset as parameters and pagination in the response of each list",
        );
        view.names
            .refuse(&thing, "no operation is a paginated list".to_owned());
    }
    let sent = view.sent();
    let models: Vec<Value> = api
        .models
        .iter()
        .map(|one| view.model(one, sent.contains(&one.name)))
        .collect();
    let enums: Vec<Value> = api.enums.iter().map(|one| view.enumeration(one)).collect();
    let exposed = std::mem::take(&mut view.exposed);
    let c_models: Vec<Value> = exposed.iter().map(|one| view.exposed_model(one)).collect();
    // Secrets never leave the core.
    for model in shapes::held(api).iter().filter_map(|name| api.model(name)) {
        for field in model.fields.iter().filter(|one| one.kind == Type::Secret) {
            let at = format!("{}{}", model.place, pointer(&["properties", &field.wire]));
            let own = thing("", &field.wire, &at, LEAVE_FIELD);
            view.names
                .refuse(&own, "a secret is not given to C".to_owned());
        }
    }
    let by_name: BTreeMap<&str, &Value> = api
        .models
        .iter()
        .map(|one| one.name.as_str())
        .zip(&models)
        .collect();
    let of_models = |names: Vec<&str>| -> Vec<Value> {
        names
            .iter()
            .filter_map(|name| by_name.get(name).map(|one| (*one).clone()))
            .collect()
    };
    let bodies = in_order(api, &|one| sent.contains(&one.name));
    let classes = in_order(api, &has_class);
    let c_by_name: BTreeMap<&str, &Value> = exposed
        .iter()
        .map(|one| one.name.as_str())
        .zip(&c_models)
        .collect();
    let cpp = in_order(api, &|one| c_by_name.contains_key(one.name.as_str()));
    let cpp: Vec<Value> = cpp.iter().map(|name| c_by_name[name].clone()).collect();
    let calls = || api.operations.iter().filter(|one| one.is_call());
    let call_models: BTreeSet<&str> = calls().filter_map(|one| class_of(api, one)).collect();
    let list_models: BTreeSet<&str> = api.lists().filter_map(|(_, list)| list.model()).collect();
    let is_call = |value: &&Value| value.get_attr("callable").is_ok_and(|one| one.is_true());
    let data = context! {
        calls => operations.iter().filter(is_call).cloned().collect::<Vec<_>>(),
        operations, lists, enums, c_models,
        models => &models,
        python_models => of_models(classes),
        bodies => of_models(bodies),
        cpp_models => cpp,
        call_models, list_models,
        optionals => shapes::optionals(&exposed).map(|one| context! {
            name => one.name, c => one.c, rust => one.rust, cpp => one.cpp,
        }).collect::<Vec<_>>(),
    };
    (data, view.names)
}

/// Whether Python has a class for a model.
fn has_class(model: &Model) -> bool {
    model.answered && is_seen(model)
}

/// The class of a response in Python.
fn class_of<'a>(api: &'a Api, operation: &Operation) -> Option<&'a str> {
    match &operation.response {
        Some(Type::Model(name)) => api
            .model(name)
            .filter(|one| has_class(one))
            .map(|one| one.name.as_str()),
        _ => None,
    }
}

/// The names of models, each before those that hold it; none holds itself.
fn in_order<'a>(api: &'a Api, among: &dyn Fn(&Model) -> bool) -> Vec<&'a str> {
    fn visit<'a>(
        api: &'a Api,
        model: &'a Model,
        among: &dyn Fn(&Model) -> bool,
        out: &mut Vec<&'a str>,
    ) {
        if out.contains(&model.name.as_str()) || !among(model) {
            return;
        }
        for name in model.fields.iter().filter_map(|field| field.kind.named()) {
            api.model(name)
                .into_iter()
                .for_each(|held| visit(api, held, among, out));
        }
        out.push(&model.name);
    }
    let mut out = Vec::new();
    api.models
        .iter()
        .for_each(|model| visit(api, model, among, &mut out));
    out
}

fn thing(key: &str, written: &str, at: &str, way: &'static str) -> Thing {
    Thing {
        key: key.to_owned(),
        written: written.to_owned(),
        at: at.to_owned(),
        way,
    }
}

/// What C gets of a response: the type of a handle, the function that frees it, and how it is made.
struct Given {
    kind: String,
    free: String,
    make: String,
    cpp: String,
}

struct View<'a> {
    api: &'a Api,
    exposed: Vec<shapes::Model>,
    numbers: &'a Numbers,
    names: Registry,
}

impl View<'_> {
    /// The models of request bodies, and all that these hold.
    fn sent(&self) -> BTreeSet<String> {
        let calls = self.api.operations.iter().filter(|one| one.is_call());
        let bodies = calls.filter_map(|one| one.body.as_ref()?.kind.named());
        let sent = reachable(self.api, bodies.map(str::to_owned).collect());
        sent.into_iter()
            .filter(|name| self.api.model(name).is_some())
            .collect()
    }

    /// The operation, and the list that it is, if it is one.
    fn operation(&mut self, operation: &Operation) -> (Value, Option<Value>) {
        let api = self.api;
        let (id, at) = (&operation.id, operation.place());
        let constant = names::operation(id);
        let key = format!("operation {id}");
        let own = thing(&key, id, &at, RENAME_OPERATION);
        let (method, is_call) = (operation.method.to_uppercase(), operation.is_call());
        let (demand, token) = match operation.token {
            TokenUse::Never => (0, "without a token"),
            TokenUse::WhenThereIsOne => (1, "with a token if there is one"),
            TokenUse::Always => (2, "with a token"),
        };
        let path = &operation.path;
        let repeatable = !["POST", "PATCH"].contains(&method.as_str());
        let marks = [
            (operation.deprecated, ", deprecated"),
            (operation.idempotent && !repeatable, ", idempotent"),
            (!operation.idempotent && repeatable, ", not idempotent"),
        ];
        let marks = marks.iter().filter(|(one, _)| *one).map(|(_, text)| *text);
        let subject = self.names.subject(&key);
        subject.shown = format!("{method} {path}, {token}{}", marks.collect::<String>());
        subject.prose = format!(
            "{} {} {}",
            operation.group, operation.summary, operation.description
        );
        self.names.check(&own, id);
        if constant == "OPERATIONS" {
            self.names
                .refuse(&own, "OPERATIONS is taken in Rust".to_owned());
        }
        self.names
            .declare(&own, Surface::Rust, "in Rust", &constant, "");
        let parameters: Vec<(Value, bool)> = operation
            .taken()
            .map(|one| (self.parameter(operation, one, &key), one.required))
            .collect();
        for one in operation
            .parameters
            .iter()
            .filter(|one| !operation.taken().any(|other| other.place == one.place))
        {
            self.parameter_subject(operation, one, &key);
        }
        let body = operation
            .body
            .as_ref()
            .map(|body| self.body(operation, body, &key));
        if let Some(response) = &operation.response {
            let subject = self.names.subject(&format!("response of {id}"));
            subject.shown = response.to_string();
            subject.part_of = Some(key.clone());
        }
        let given = self.given(operation);
        let call = thing(&key, id, &at, RENAME_CALL);
        let rust_name = names::rust_call(operation);
        let c = format!("talentdata_client_{}", names::c_call(operation));
        let (cpp, python) = (names::cpp_call(operation), names::python_call(operation));
        let command = names::command(operation);
        let options = names::options(operation);
        let has_optional = operation.optional().next().is_some();
        if is_call {
            self.names.check(&call, &operation.name);
            self.names.check(&call, &operation.command);
            let signature = signature(operation);
            let with_options = format!("{signature}, options: {has_optional}");
            let on_command_line = format!("{signature}, {:?}", operation.positional);
            for (surface, scope, name, signature) in [
                (
                    Surface::Rust,
                    "in the Rust client",
                    &rust_name,
                    &with_options,
                ),
                (Surface::C, "in C", &c, &with_options),
                (Surface::Cpp, "in the C++ client", &cpp, &signature),
                (Surface::Python, "in the Python client", &python, &signature),
                (
                    Surface::CommandLine,
                    "among the commands",
                    &command,
                    &on_command_line,
                ),
            ] {
                self.names.declare(&call, surface, scope, name, signature);
                self.names.fact(&call, surface, "token", "", "", demand);
            }
            self.names.claim(&call, "in C", &format!("{c}_n"));
            self.names
                .claim(&call, "in the C++ client", &format!("try_{cpp}"));
        }
        if operation.is_generated()
            && (has_optional || (operation.list.is_some() && !parameters.is_empty()))
        {
            // In C++ those that a list requires are among them.
            self.names.claim(&call, "in Rust", &options);
            self.names.claim(&call, "in C++", &names::snake(&options));
        }
        let of = |required: bool| -> Vec<Value> {
            parameters
                .iter()
                .filter(|(_, one)| *one == required)
                .map(|(one, _)| one.clone())
                .collect()
        };
        let (required, optional) = (of(true), of(false));
        let parameters: Vec<Value> = parameters.iter().map(|(one, _)| one.clone()).collect();
        let mut arguments = parameters.clone();
        let (body, fields) = body.map_or((Value::from(()), Vec::new()), |(body, fields)| {
            (body, fields)
        });
        arguments.extend(fields);
        let answers = operation.response.is_some();
        let gives = operation
            .response
            .as_ref()
            .map_or("()".to_owned(), |of| rust(of, "types::"));
        let is_text = |one: &Parameter| {
            matches!(
                one.kind.present(),
                Type::Text | Type::Enum(_) | Type::Array(_)
            )
        };
        let value = context! {
            id, constant, path, method, answers, required, optional, parameters, body, arguments,
            gives, options, c, cpp, python, token => format!("{:?}", operation.token),
            name => names::snake(&operation.name),
            command, rust => rust_name,
            variant => operation.method.to_upper_camel_case(),
            group => operation.group, summary => operation.summary,
            sentence => sentence(&operation.summary),
            description => operation.description, idempotent => operation.idempotent,
            deprecated => operation.deprecated, callable => is_call,
            generated => operation.is_generated(), title => operation.title(),
            verb => if answers { "invoke_as" } else { "invoke_without" },
            class => class_of(api, operation),
            cpp_options => names::snake(&names::options(operation)),
            takes_text => operation.body.is_some() || operation.required().any(is_text),
            c_function => if operation.body.is_some() || operation.required().any(is_text) {
                format!("talentdata_client_{}_n", names::c_call(operation))
            } else {
                format!("talentdata_client_{}", names::c_call(operation))
            },
            cpp_class => given.as_ref().map(|one| one.cpp.clone()),
            c_out => given.map(|one| context! { kind => one.kind, free => one.free, make => one.make }),
        };
        let list = operation
            .list
            .as_ref()
            .map(|list| self.list(operation, list, &value, (demand, token)));
        (value, list)
    }

    /// What the diff says of a parameter.
    fn parameter_subject(&mut self, operation: &Operation, one: &Parameter, whole: &str) -> String {
        let key = format!(
            "{} parameter {} of {}",
            one.location, one.name, operation.id
        );
        let needed = if one.required { "" } else { ", optional" };
        let subject = self.names.subject(&key);
        subject.shown = format!("{}{needed}", one.kind);
        subject.prose.clone_from(&one.description);
        subject.part_of = Some(whole.to_owned());
        key
    }

    fn parameter(&mut self, operation: &Operation, one: &Parameter, whole: &str) -> Value {
        let key = self.parameter_subject(operation, one, whole);
        let name = names::argument(one);
        if operation.is_generated() {
            let own = thing(&key, &one.name, &one.place, RENAME_PARAMETER);
            self.names.check(&own, &one.name);
            let scope = format!("as an argument of {}", operation.name);
            let flags = format!("among the flags of {}", operation.command);
            self.names.claim(&own, &scope, &name);
            self.names.claim(&own, &flags, &names::flag(&one.name));
            let kind = one.kind.to_string();
            for surface in Surface::ALL.into_iter().filter(|_| !one.required) {
                self.names.fact(&own, surface, &scope, &name, &kind, 0);
            }
            if one.required && operation.is_call() {
                let scope = format!("{scope} in C");
                let further = match one.kind.present() {
                    Type::Array(_) => Some(count(&name)),
                    Type::Text | Type::Enum(_) => Some(length(&name)),
                    _ => None,
                };
                for name in further.into_iter().chain([name.clone()]) {
                    self.names.claim(&own, &scope, &name);
                }
            }
        }
        let kind = one.kind.present();
        let location = one.location.to_upper_camel_case();
        argument(
            self.api,
            operation,
            &Told {
                wire: &one.name,
                name,
                location: &location,
                required: one.required,
                kind,
                annotation: annotation(kind),
                description: &one.description,
            },
        )
    }

    /// The body of a request, and its arguments in Python.
    fn body(&mut self, operation: &Operation, body: &Body, whole: &str) -> (Value, Vec<Value>) {
        let api = self.api;
        let needed = if body.required { "" } else { ", optional" };
        let subject = self.names.subject(&format!("request of {}", operation.id));
        subject.shown = format!("{}{needed}", body.kind);
        subject.part_of = Some(whole.to_owned());
        let model = body_model(api, operation, body);
        let fields = model.into_iter().flat_map(|model| &model.fields);
        let fields: Vec<Value> = fields
            .map(|one| {
                let kind = one.kind.present();
                let annotation = match one.nullable && one.required {
                    true => format!("{} | None", annotation(kind)),
                    false => annotation(kind),
                };
                argument(
                    api,
                    operation,
                    &Told {
                        wire: &one.wire,
                        name: names::body_argument(&one.wire),
                        location: "Body",
                        required: one.required && body.required,
                        kind,
                        annotation,
                        description: api.about(one).unwrap_or("Not described."),
                    },
                )
            })
            .collect();
        let whole = context! {
            wire => "body", name => "body", required => body.required,
            annotation => annotation(&body.kind), description => "The request body.",
        };
        let cpp = match &body.kind {
            Type::Model(name) => cpp_body(api, name),
            _ => "raw_json".to_owned(),
        };
        let words = match &body.kind {
            Type::Model(name) => format!(", a {name}"),
            other => format!(": {other}"),
        };
        let value = context! {
            required => body.required, fields => &fields, cpp, words,
            model => model.map(|model| model.name.clone()),
            borrowed => borrowed(&body.kind), rust => rust(&body.kind, "types::"),
        };
        let arguments = if model.is_some() { fields } else { vec![whole] };
        (value, arguments)
    }

    /// What C and C++ get of a response; nothing where there is none.
    fn given(&self, operation: &Operation) -> Option<Given> {
        let exposed = match operation.response.as_ref()? {
            Type::Model(name) => self.exposed.iter().find(|one| one.name == *name),
            Type::Map(_) | Type::Object => None,
            _ => {
                return Some(Given {
                    kind: "JsonText".to_owned(),
                    free: "talentdata_json_text_free".to_owned(),
                    make: "Ok(Box::new(JsonText::new(call.json(client)?)))".to_owned(),
                    cpp: "talentdata::json_text".to_owned(),
                });
            }
        };
        let class =
            |model: &shapes::Model| format!("talentdata::{}", names::cpp_class(&model.name));
        Some(match exposed {
            Some(model) if model.root && !model.is_record() => Given {
                kind: model.name.clone(),
                free: format!("{}_free", model.prefix()),
                make: format!("Ok(Box::new({}::new(call.read(client)?)?))", model.name),
                cpp: class(model),
            },
            other => {
                let record = other.filter(|model| model.is_record());
                let list = record.and_then(|model| model.lists.first());
                let list = list.map_or("None".to_owned(), |list| format!("Some(Lists::{list})"));
                Given {
                    kind: "Record".to_owned(),
                    free: "talentdata_record_free".to_owned(),
                    make: format!("Ok(Box::new(call.record(client, {list})?))"),
                    cpp: record.map_or("talentdata::record".to_owned(), class),
                }
            }
        })
    }

    fn list(
        &mut self,
        operation: &Operation,
        list: &List,
        of: &Value,
        (demand, token): (u64, &str),
    ) -> Value {
        let (path, name) = (&operation.path, &list.name);
        let key = format!("list {name}");
        let own = thing(&key, path, &operation.place(), LEAVE_LIST);
        self.names.check_as(&own, path, name);
        let variant = names::list_variant(name);
        let number = names::constant(&variant);
        let (rust_name, rust_with) = (names::rust_list(name), names::rust_list_with(name));
        let (cpp, python) = (names::cpp_list(name), names::python_list(name));
        self.names.subject(&key).shown = format!("{path}, {token}");
        for (surface, scope, name) in [
            (Surface::CommandLine, "on the command line", name),
            (Surface::Rust, "in the Rust enum Resource", &variant),
            (Surface::C, "in C", &format!("TALENTDATA_RESOURCE_{number}")),
            (Surface::Rust, "in the Rust client", &rust_name),
            (Surface::Cpp, "in C++", &cpp),
            (Surface::Python, "in the Python client", &python),
        ] {
            self.names.declare(&own, surface, scope, name, "");
            self.names.fact(&own, surface, "token", "", "", demand);
        }
        if operation.optional().next().is_some() {
            self.names
                .declare(&own, Surface::Rust, "in the Rust client", &rust_with, "");
        }
        let model = list.model();
        let record = model.unwrap_or("Record");
        let mut part = |what: &str, shown: String, facts: Vec<(Surface, &str, &str, u64)>| {
            let own = thing(&format!("{what} of {key}"), "", "", LEAVE_LIST);
            let subject = self.names.subject(&own.key);
            subject.shown = shown;
            subject.part_of = Some(key.clone());
            for (surface, name, signature, demand) in facts {
                self.names
                    .fact(&own, surface, what, name, signature, demand);
            }
        };
        let records = list.records.as_ref().map(|records| records.key.clone());
        part(
            "record key",
            records.clone().unwrap_or("found at run time".to_owned()),
            Vec::new(),
        );
        // To say more than nothing breaks nothing where records keep what they have.
        let mut kinds = vec![
            (Surface::Rust, "", record, 0),
            (Surface::Cpp, "", record, 0),
        ];
        let detail = [Surface::C, Surface::Python]
            .into_iter()
            .filter(|_| model.is_some());
        kinds.extend(detail.map(|surface| (surface, record, "", 0)));
        part("record type", record.to_owned(), kinds);
        let max = list.max_limit.unwrap_or(u64::MAX);
        let shown = list
            .max_limit
            .map_or("not shown".to_owned(), |max| max.to_string());
        part(
            "largest limit",
            shown,
            Surface::ALL.map(|one| (one, "", "", u64::MAX - max)).into(),
        );
        let needed = required(operation);
        let shown = if needed.is_empty() {
            "none".to_owned()
        } else {
            needed.clone()
        };
        part(
            "required parameters",
            shown,
            Surface::ALL.map(|one| (one, "", needed.as_str(), 0)).into(),
        );
        let fields = model
            .and_then(|model| self.api.model(model))
            .map(|one| &one.fields);
        let fields = fields.into_iter().flatten().map(|field| {
            context! {
                wire => field.wire, table => table(&field.kind), required => field.required,
                known => known(self.api, &field.kind),
            }
        });
        let exposed = self.exposed.iter().find(|one| one.lists.contains(&variant));
        context! {
            name, variant, number, record, cpp, python, key => records, max => list.max_limit,
            rust => rust_name, rust_with, class => names::camel(name),
            discriminant => self.list_number(&variant),
            cpp_record => exposed.map_or("record".to_owned(), |one| names::cpp_class(&one.name)),
            fields => fields.collect::<Vec<_>>(),
            ..of.clone()
        }
    }

    fn list_number(&self, variant: &str) -> u32 {
        let variants = self
            .api
            .lists()
            .map(|(_, list)| names::list_variant(&list.name));
        let variants: Vec<String> = variants.collect();
        let numbers = self.numbers.of("Resource", &variants);
        variants
            .iter()
            .zip(numbers)
            .find(|(one, _)| *one == variant)
            .map_or(0, |(_, number)| number)
    }

    fn model(&mut self, model: &Model, sent: bool) -> Value {
        let (api, name) = (self.api, &model.name);
        let key = format!("model {name}");
        let own = thing(&key, name, &model.place, RENAME_SCHEMA);
        let subject = self.names.subject(&key);
        subject.shown = if model.answered {
            "of responses"
        } else {
            "of no response"
        }
        .to_owned();
        subject.prose.clone_from(&model.description);
        self.schema(&own, name);
        let body = cpp_body(api, name);
        let fields = |all: bool| {
            let fields = model.fields.iter().filter(|field| all || field.required);
            fields
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(", ")
        };
        // A literal of a structure of requests names every field.
        let literal = if model.answered {
            "of responses".to_owned()
        } else {
            fields(true)
        };
        self.names
            .fact(&own, Surface::Rust, "in Rust", name, &literal, 0);
        if sent {
            if body != names::cpp_class(name) {
                self.names.claim(&own, "in C++", &body);
            }
            self.names
                .fact(&own, Surface::Cpp, "in C++", &body, &fields(true), 0);
            for surface in [Surface::C, Surface::Python, Surface::CommandLine] {
                self.names
                    .fact(&own, surface, "sent", name, &fields(false), 0);
            }
        }
        let class = has_class(model);
        if class {
            self.names
                .fact(&own, Surface::Python, "in Python", name, "", 0);
        }
        let mut values = Vec::new();
        for field in &model.fields {
            let wire = &field.wire;
            let at = format!("{}{}", model.place, pointer(&["properties", wire]));
            let own = thing(&format!("field {name}.{wire}"), wire, &at, LEAVE_FIELD);
            self.names.check(&own, wire);
            let subject = self.names.subject(&own.key);
            let shown = field.to_string();
            subject.shown = shown
                .split_once(": ")
                .map_or("", |(_, shown)| shown)
                .to_owned();
            subject.prose = api.about(field).unwrap_or_default().to_owned();
            subject.part_of = Some(key.clone());
            let scope = format!("in the Rust struct {name}");
            if wire == "extra" {
                self.names.claim(&own, &scope, names::unknown_fields(model));
            }
            let rust_name = names::rust_field(wire);
            let kind = crate::models::signature(field, model.answered);
            self.names
                .declare(&own, Surface::Rust, &scope, &rust_name, &kind);
            let python = names::python_field(wire);
            let (python_kind, mut annotation, of) = read_by_python(api, &field.kind);
            if !field.required && annotation != "Any" {
                annotation += " | None";
            }
            let scope = format!("in the Python class {name}");
            self.names.claim(&own, &scope, &python);
            if class {
                self.names
                    .fact(&own, Surface::Python, &scope, &python, &annotation, 0);
            }
            let cpp = names::cpp_member(name, wire, "");
            let optional = !field.required || field.nullable;
            let cpp_kind = cpp_sent(api, field.kind.present());
            let cpp_kind = if optional {
                format!("std::optional<{cpp_kind}>")
            } else {
                cpp_kind
            };
            if sent {
                self.names.declare(
                    &own,
                    Surface::Cpp,
                    &format!("in the C++ struct {body}"),
                    &cpp,
                    &cpp_kind,
                );
                for surface in [Surface::C, Surface::Python, Surface::CommandLine] {
                    self.names.fact(
                        &own,
                        surface,
                        "sent",
                        &names::body_argument(wire),
                        &field.kind.to_string(),
                        0,
                    );
                }
            }
            values.push(context! {
                wire, python, annotation, python_kind, cpp, class => of,
                required => field.required,
                about => api.about(field).unwrap_or("Not described."),
                cpp_sent => cpp_kind,
            });
        }
        context! { name, description => model.description, cpp => body, fields => values }
    }

    /// The names that every schema has.
    fn schema(&mut self, own: &Thing, name: &str) {
        if name.is_empty() || !name.is_ascii() {
            let reason = format!("{name:?} cannot be the name of a type");
            self.names.refuse(own, reason);
        }
        self.names.claim(own, "in Rust", name);
        self.names.claim(own, "in C++", &names::cpp_class(name));
        self.names
            .claim(own, "in C", &format!("talentdata_{}", names::snake(name)));
    }

    fn enumeration(&mut self, known: &Enum) -> Value {
        let name = &known.name;
        let key = format!("enum {name}");
        let own = thing(&key, name, &known.place, RENAME_SCHEMA);
        let subject = self.names.subject(&key);
        subject.prose.clone_from(&known.description);
        // The order is that of comparisons in Rust; numbers in C stay.
        subject.shown = known.values.join(", ");
        self.schema(&own, name);
        self.names.claim(&own, "in Rust", &known_name(known));
        let in_c = shapes::has_enum(&self.exposed, name);
        let surfaces = [
            (Surface::Rust, true),
            (Surface::C, in_c),
            (Surface::Cpp, in_c),
            (Surface::Python, known.answered),
        ];
        let surfaces: Vec<Surface> = surfaces
            .iter()
            .filter(|(_, has)| *has)
            .map(|(one, _)| *one)
            .collect();
        for surface in &surfaces {
            self.names.fact(&own, *surface, "enum", name, "", 0);
        }
        let variants: Vec<String> = known
            .values
            .iter()
            .map(|one| names::value_variant(one))
            .collect();
        let numbers = self.numbers.of(name, &variants);
        let values =
            known
                .values
                .iter()
                .zip(&variants)
                .zip(numbers)
                .map(|((wire, variant), number)| {
                    let own = thing(
                        &format!("value {name}.{wire}"),
                        wire,
                        &known.place,
                        LEAVE_VALUE,
                    );
                    self.names.check(&own, wire);
                    self.names.subject(&own.key).part_of = Some(key.clone());
                    let python = names::python_value(wire);
                    self.names
                        .claim(&own, &format!("in the Rust enum {name}"), variant);
                    self.names
                        .claim(&own, &format!("in the Python class {name}"), &python);
                    let c = format!(
                        "TALENTDATA_{}_{}",
                        names::constant(name),
                        names::constant(variant)
                    );
                    self.names.claim(&own, "in C", &c);
                    for surface in &surfaces {
                        self.names.fact(&own, *surface, "value", variant, "", 0);
                    }
                    context! { wire, variant, python, discriminant => number }
                });
        let values: Vec<Value> = values.collect();
        context! {
            name, in_c, values, known => known_name(known),
            description => known.description, answered => known.answered,
        }
    }

    /// A model as C and C++ see it.
    fn exposed_model(&mut self, model: &shapes::Model) -> Value {
        let (name, prefix, is_record) = (&model.name, model.prefix(), model.is_record());
        let class = names::cpp_class(name);
        let place = self.api.model(name).map_or("", |one| &one.place);
        let own = thing(&format!("model {name}"), name, place, RENAME_SCHEMA);
        for surface in [Surface::C, Surface::Cpp] {
            self.names
                .fact(&own, surface, "model", name, &format!("{is_record}"), 0);
        }
        if is_record {
            self.names.claim(&own, "in C++", &format!("{class}_view"));
            self.names
                .fact(&own, Surface::CommandLine, "columns", "", "", 0);
        } else {
            for suffix in ["json", "free"] {
                self.names
                    .claim(&own, "in C", &format!("{prefix}_{suffix}"));
            }
        }
        let (mut fields, mut values) = (Vec::new(), Vec::new());
        for field in &model.fields {
            let at = format!("{place}{}", pointer(&["properties", &field.wire]));
            let own = thing(
                &format!("field {name}.{}", field.wire),
                &field.wire,
                &at,
                LEAVE_FIELD,
            );
            let in_class = format!("in the C++ class {class}");
            let (mut c, mut cpp) = (BTreeMap::new(), BTreeMap::new());
            let sure = field.required || !field.shape.is_scalar();
            for suffix in model.suffixes(field) {
                let function = format!("{prefix}_{}", field.function(suffix));
                let shape = format!("{:?} {sure}", field.shape);
                self.names
                    .declare(&own, Surface::C, "in C", &function, &shape);
                let member = names::cpp_member(name, &field.wire, suffix);
                if is_record {
                    self.names.claim(&own, &in_class, &format!("try_{member}"));
                }
                let shape = format!("{:?} {}", field.shape, field.required);
                self.names
                    .declare(&own, Surface::Cpp, &in_class, &member, &shape);
                c.insert(*suffix, function);
                cpp.insert(*suffix, member);
            }
            if is_record {
                let kind = self.api.model(name).and_then(|one| one.field(&field.wire));
                let column = kind.map_or("", |field| table(&field.kind));
                self.names
                    .fact(&own, Surface::CommandLine, "column", &field.wire, column, 0);
            }
            let read = cpp_values(model, field, &c, &cpp);
            values.extend(read.clone());
            fields.push(exposed_field(model, field, c, cpp, read));
        }
        let lists: Vec<String> = model
            .lists
            .iter()
            .map(|list| format!("Lists::{list}"))
            .collect();
        let handle = if is_record {
            "record".to_owned()
        } else {
            names::parameter(name)
        };
        let owner = match (is_record, model.root) {
            (true, _) => "record",
            (false, true) => "handle",
            (false, false) => "handle that holds it",
        };
        context! {
            name, prefix, is_record, fields, values, handle, owner,
            root => model.root, cpp => class, description => model.description,
            rust_handle => if is_record { "Record" } else { name.as_str() },
            noun => if is_record { "record".to_owned() } else { names::snake(name).replace('_', " ") },
            lists => format!("&[{}]", lists.join(", ")),
        }
    }
}

/// A field as C and C++ see it.
fn exposed_field(
    model: &shapes::Model,
    field: &shapes::Field,
    c: BTreeMap<&str, String>,
    cpp: BTreeMap<&str, String>,
    values: Vec<Value>,
) -> Value {
    let is_record = model.is_record();
    let (value, child) = (
        names::rust_field(&field.wire),
        names::rust_child(&field.wire),
    );
    let held = field.shape.held().unwrap_or_default();
    let (child_kind, child_made) = match &field.shape {
        _ if is_record => (None, None),
        Shape::Map(_) => (
            Some(format!("Vec<(String, {held})>")),
            Some(format!("named(&model.{value}, {held}::new)?")),
        ),
        Shape::Models(_) => (
            Some(format!("Vec<{held}>")),
            Some(format!(
                "each(&model.{value}, |one| {held}::new(one.clone()))?"
            )),
        ),
        Shape::Items => (
            Some("Vec<String>".to_owned()),
            Some(format!("each(&model.{value}, json)?")),
        ),
        Shape::Model(_) if field.required => (
            Some(held.to_owned()),
            Some(format!("{held}::new(model.{value}.clone())?")),
        ),
        Shape::Model(_) => (
            Some(format!("Option<{held}>")),
            Some(format!(
                "model.{value}.clone().map({held}::new).transpose()?"
            )),
        ),
        Shape::Json => (
            Some("String".to_owned()),
            Some(format!("json(&model.{value})?")),
        ),
        _ => (None, None),
    };
    let scalar = match (&field.shape, field.required) {
        (Shape::Integer, true) => Some("i64"),
        (Shape::Number, true) => Some("f64"),
        (Shape::Boolean, true) => Some("bool"),
        (Shape::Integer, false) => Some("OptionalInteger"),
        (Shape::Number, false) => Some("OptionalNumber"),
        (Shape::Boolean, false) => Some("OptionalBoolean"),
        _ => None,
    };
    let means = match (&field.shape, field.required) {
        (_, true) => "its value",
        (Shape::Enum(_), _) => {
            "its value; OTHER when the field is absent, in which case the text is absent as well"
        }
        (Shape::Model(_), _) if !is_record => "its value; NULL when the field is absent",
        _ => "its value; absent when the service sends none",
    };
    let means = match &field.shape {
        Shape::Model(_) if !field.required => "its value; NULL when the field is absent",
        _ => means,
    };
    let item = match &field.shape {
        _ if is_record => None,
        Shape::Texts | Shape::Items => Some("std::string_view".to_owned()),
        Shape::Models(held) | Shape::Map(held) => {
            Some(format!("talentdata::{}", names::cpp_class(held)))
        }
        _ => None,
    };
    context! {
        wire => field.wire, description => field.description,
        sentence => field.description.trim_end_matches('.'),
        required => field.required, shape => field.shape.name(),
        rust => value, child, child_kind, child_made, scalar, means, item, held, c, cpp, values,
    }
}

/// The members of a class of C++ that read one value.
fn cpp_values(
    model: &shapes::Model,
    field: &shapes::Field,
    c: &BTreeMap<&str, String>,
    cpp: &BTreeMap<&str, String>,
) -> Vec<Value> {
    let class = |held: &str| format!("talentdata::{}", names::cpp_class(held));
    let value = |kind: &str, suffix: &str, is_enum: bool| {
        context! {
            kind => if field.required || is_enum { kind.to_owned() } else { format!("std::optional<{kind}>") },
            name => cpp.get(suffix), function => c.get(suffix), doc => field.description,
        }
    };
    match &field.shape {
        Shape::Text => vec![value("std::string_view", "", false)],
        Shape::Integer => vec![value("std::int64_t", "", false)],
        Shape::Number => vec![value("double", "", false)],
        Shape::Boolean => vec![value("bool", "", false)],
        // An absent value is one that the document does not show; the text tells the two apart.
        Shape::Enum(name) => vec![
            value(&format!("talentdata_{}", names::snake(name)), "", true),
            value("std::string_view", "_text", false),
        ],
        Shape::Model(name) if !model.is_record() => vec![value(&class(name), "", false)],
        Shape::Texts | Shape::Items | Shape::Models(_) | Shape::Map(_) if !model.is_record() => {
            Vec::new()
        }
        // A value without a type of its own is JSON.
        _ => vec![value("std::string_view", "_json", false)],
    }
}

fn count(name: &str) -> String {
    format!("{name}_count")
}

fn length(name: &str) -> String {
    format!("{}_length", name.trim_end_matches('_'))
}

/// The values of an open enum.
fn known<'a>(api: &'a Api, kind: &Type) -> &'a [String] {
    match kind {
        Type::Enum(name) => api.enumeration(name).map_or(&[], |known| &known.values),
        _ => &[],
    }
}

/// The model of a body whose fields are arguments of their own: each has a name that nothing else has.
fn body_model<'a>(api: &'a Api, operation: &Operation, body: &Body) -> Option<&'a Model> {
    let Type::Model(name) = &body.kind else {
        return None;
    };
    let model = api.model(name)?;
    let mut names: BTreeSet<String> = operation.taken().map(names::argument).collect();
    let mut fields = model.fields.iter();
    let distinct = fields.all(|one| names.insert(names::body_argument(&one.wire)));
    distinct.then_some(model)
}

/// A parameter, or a field of a body.
struct Told<'a> {
    wire: &'a str,
    name: String,
    location: &'a str,
    required: bool,
    kind: &'a Type,
    annotation: String,
    description: &'a str,
}

/// An argument in every language.
fn argument(api: &Api, operation: &Operation, told: &Told) -> Value {
    let Told {
        wire,
        name,
        location,
        required,
        kind,
        annotation,
        description,
    } = told;
    let held = match kind {
        Type::Array(held) if held.present().is_scalar() => Some(held.present()),
        _ => None,
    };
    let is_text = |kind: &Type| matches!(kind, Type::Text | Type::Enum(_));
    let (cpp_argument, cpp_member) = match held {
        Some(held) => (
            format!(
                "const std::vector<{}> &",
                cpp_scalar(held, "std::string_view")
            ),
            format!("std::vector<{}>", cpp_scalar(held, "std::string")),
        ),
        None => (
            cpp_scalar(kind, "std::string_view").to_owned(),
            format!("std::optional<{}>", cpp_scalar(kind, "std::string")),
        ),
    };
    let value = |from: &str| match kind {
        Type::Enum(_) => format!("{from}.as_str()"),
        Type::Array(held) if matches!(held.present(), Type::Enum(_)) => {
            format!("{from}.iter().map(|one| one.as_str().to_owned()).collect::<Vec<String>>()")
        }
        Type::Array(_) => format!("{from}.to_vec()"),
        _ => from.to_owned(),
    };
    let member = format!("options.{name}");
    let option_value = match kind {
        Type::Array(_) => value(&member),
        Type::Enum(_) => format!("{member}.as_ref().map(|one| one.as_str())"),
        Type::Text => format!("{member}.as_deref()"),
        _ => member,
    };
    let rust_kind = rust(kind, "crate::");
    context! {
        wire, name, location, required, annotation, description, option_value,
        flag => names::flag(wire), repeated => held.is_some(),
        positional => operation.positional.as_deref() == Some(*wire),
        nonblank => operation.nonblank.iter().any(|one| one == wire),
        table => table(held.unwrap_or(kind)), known => known(api, held.unwrap_or(kind)),
        about => description.trim_end_matches('.'),
        kind => if held.is_some() { "array" } else if is_text(kind) { "text" } else { "scalar" },
        secret => **kind == Type::Secret,
        held_text => held.is_some_and(is_text),
        held_cpp => held.map(|held| cpp_scalar(held, "")),
        rust_member => match held { Some(_) => rust_kind, None => format!("::std::option::Option<{rust_kind}>") },
        borrowed => borrowed(kind), value => value(name),
        cpp_argument, cpp_member, count => count(name), length => length(name),
    }
}

/// The parameters that an operation cannot do without.
fn required(operation: &Operation) -> String {
    let takes = operation.required();
    let takes = takes.map(|one| format!("{}: {}", names::argument(one), one.kind));
    takes.collect::<Vec<_>>().join(", ")
}

/// What a call cannot do without, and what it gives.
fn signature(operation: &Operation) -> String {
    let mut takes = vec![required(operation)];
    takes.retain(|one| !one.is_empty());
    if let Some(body) = &operation.body {
        let needed = if body.required { "" } else { " or none" };
        takes.push(format!("body: {}{needed}", body.kind));
    }
    let gives = operation.response.as_ref().map(ToString::to_string);
    let nonblank = operation.nonblank.join(", ");
    format!(
        "({}) -> {}, nonblank: {nonblank}",
        takes.join(", "),
        gives.unwrap_or_default()
    )
}
