//! What the templates are filled with: the interface, with every name in the case of each language.
//!
//! Whatever is named here is registered at once, with what users of the name rest on.

mod arguments;
mod base;
mod exposed;
mod schemas;

use crate::languages::{rust, table};
use crate::names::registry::{Registry, Surface};
use crate::names::{self, sentence};
use crate::shapes;
use crate::spec::api::{Api, List, Model, Operation, TokenUse, Type};
use crate::spec::{pointer, reachable};
use base::{LEAVE_FIELD, LEAVE_LIST, RENAME_CALL, RENAME_OPERATION, View, has_class, known, thing};
use heck::ToUpperCamelCase;
use minijinja::{Value, context};
use std::collections::{BTreeMap, BTreeSet};

/// The data for every template, and the names in it.
pub(crate) fn view(api: &Api) -> (Value, Registry) {
    let mut view = View {
        api,
        exposed: shapes::models(api),
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
    };
    (data, view.names)
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

/// What C and C++ get of a response: the type of a handle, and the class.
struct Given {
    c: String,
    cpp: String,
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
            cpp_class => given.as_ref().map(|one| one.cpp.clone()),
            c_out => given.map(|one| one.c),
        };
        let list = operation
            .list
            .as_ref()
            .map(|list| self.list(operation, list, &value, (demand, token)));
        (value, list)
    }

    /// What C and C++ get of a response; nothing where there is none.
    fn given(&self, operation: &Operation) -> Option<Given> {
        let exposed = match operation.response.as_ref()? {
            Type::Model(name) => self.exposed.iter().find(|one| one.name == *name),
            _ => None,
        };
        Some(Given {
            c: exposed
                .filter(|model| !model.is_record())
                .map_or("talentdata_record".to_owned(), shapes::Model::prefix),
            cpp: exposed.map_or("talentdata::record".to_owned(), |model| {
                format!("talentdata::{}", names::cpp_class(&model.name))
            }),
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
            (Surface::C, "in C", &format!("TALENTDATA_LIST_{number}")),
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
            cpp_record => exposed.map_or("record".to_owned(), |one| names::cpp_class(&one.name)),
            fields => fields.collect::<Vec<_>>(),
            ..of.clone()
        }
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
