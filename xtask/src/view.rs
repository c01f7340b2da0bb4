//! What the templates are filled with: the interface, with every name in the case of each language.
//!
//! Whatever is named here is registered at once, with what users of the name rest on.

mod arguments;
mod base;
mod exposed;
mod schemas;

use crate::languages::{rust, table};
use crate::names::registry::{Registry, Surface, Thing};
use crate::names::{self, sentence};
use crate::spec::api::{Api, List, Model, Operation, Parameter, TokenUse, Type};
use crate::spec::reachable;
use base::*;
use exposed::{exposed, held, prefix};
use heck::ToUpperCamelCase;
use minijinja::{Value, context};
use std::collections::{BTreeMap, BTreeSet};

/// The data for every template, and the names in it.
pub(crate) fn view(api: &Api) -> (Value, Registry) {
    let models = api.models.iter().map(|model| &model.name);
    let types = models.chain(api.enums.iter().map(|known| &known.name));
    let mut view = View {
        api,
        exposed: exposed(api),
        types: types.map(|name| prefix(name)).collect(),
        names: Registry::default(),
    };
    let operations = api.operations.iter().map(|one| view.operation(one));
    let (operations, lists): (Vec<Value>, Vec<Option<Value>>) = operations.unzip();
    let lists: Vec<Value> = lists.into_iter().flatten().collect();
    if lists.is_empty() {
        let way = "name limit and offset as parameters and pagination in the response of each list";
        let own = Thing::new("lists", "", "/paths", way);
        let reason = "no operation is a paginated list";
        view.names.refuse(&own, reason.to_owned());
    }
    let sent = view.sent();
    let mut models = BTreeMap::new();
    for one in &api.models {
        models.insert(&one.name, view.model(one, sent.contains(&one.name)));
    }
    let enums: Vec<Value> = api.enums.iter().map(|one| view.enumeration(one)).collect();
    let mut c_models = Vec::new();
    let mut classes = BTreeMap::new();
    for one in view.exposed.clone() {
        let value = view.exposed_model(one);
        classes.insert(&one.name, value.clone());
        c_models.push(value);
    }
    // Secrets never leave the core.
    for model in held(api).iter().filter_map(|name| api.model(name)) {
        for field in model.fields.iter().filter(|one| one.kind == Type::Secret) {
            let reason = "a secret is not given to C".to_owned();
            view.names.refuse(&field_thing(model, field), reason);
        }
    }
    let bodies = in_order(api, &models, &|one| sent.contains(&one.name));
    let python_models = in_order(api, &models, &has_class);
    let cpp_models = in_order(api, &classes, &|one| classes.contains_key(&one.name));
    let calls = || api.operations.iter().filter(|one| one.is_call());
    let call_models: BTreeSet<&str> = calls().filter_map(|one| class_of(api, one)).collect();
    let list_models: BTreeSet<&str> = api.lists().filter_map(|(_, list)| list.model()).collect();
    let is_call = |value: &&Value| value.get_attr("callable").is_ok_and(|one| one.is_true());
    let calls: Vec<Value> = operations.iter().filter(is_call).cloned().collect();
    let data = context! {
        calls, operations, lists, enums, c_models, python_models, bodies, cpp_models,
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

/// Models as templates see them, each before those that hold it; none holds itself.
fn in_order(
    api: &Api,
    values: &BTreeMap<&String, Value>,
    among: &dyn Fn(&Model) -> bool,
) -> Vec<Value> {
    fn visit<'a>(
        api: &'a Api,
        model: &'a Model,
        among: &dyn Fn(&Model) -> bool,
        out: &mut Vec<&'a String>,
    ) {
        if out.contains(&&model.name) || !among(model) {
            return;
        }
        for name in model.fields.iter().filter_map(|field| field.kind.named()) {
            if let Some(held) = api.model(name) {
                visit(api, held, among, out);
            }
        }
        out.push(&model.name);
    }
    let mut out = Vec::new();
    for model in &api.models {
        visit(api, model, among, &mut out);
    }
    out.iter().map(|name| values[name].clone()).collect()
}

impl View<'_> {
    /// The models of request bodies, and all that these hold.
    fn sent(&self) -> BTreeSet<String> {
        let calls = self.api.operations.iter().filter(|one| one.is_call());
        let bodies = calls.filter_map(|one| one.body.as_ref()?.kind.named());
        reachable(self.api, bodies.map(str::to_owned).collect())
    }

    /// The operation, and the list that it is, if it is one.
    fn operation(&mut self, operation: &Operation) -> (Value, Option<Value>) {
        let api = self.api;
        let (id, at, path) = (&operation.id, operation.place(), &operation.path);
        let constant = names::operation(id);
        let key = format!("operation {id}");
        let own = Thing::new(&key, id, &at, RENAME_OPERATION);
        let (method, is_call) = (operation.method.to_uppercase(), operation.is_call());
        let (demand, token) = match operation.token {
            TokenUse::Never => (0, "without a token"),
            TokenUse::WhenThereIsOne => (1, "with a token if there is one"),
            TokenUse::Always => (2, "with a token"),
        };
        let repeatable = !["POST", "PATCH"].contains(&method.as_str());
        let repeated = match (operation.idempotent, repeatable) {
            (true, false) => ", idempotent",
            (false, true) => ", not idempotent",
            _ => "",
        };
        let deprecated = if operation.deprecated {
            ", deprecated"
        } else {
            ""
        };
        let shown = format!("{method} {path}, {token}{deprecated}{repeated}");
        let (group, summary) = (&operation.group, &operation.summary);
        let prose = format!("{group} {summary} {}", operation.description);
        self.names.describe(&key, &shown, &prose, None);
        self.names.check(&own, id);
        if constant == "OPERATIONS" {
            let reason = "OPERATIONS is taken in Rust".to_owned();
            self.names.refuse(&own, reason);
        }
        self.names
            .declare(&own, Surface::Rust, "in Rust", &constant, "");
        let parameters: Vec<(Value, bool)> = operation
            .taken()
            .map(|one| (self.parameter(operation, one, &key), one.required))
            .collect();
        let is_taken = |one: &&Parameter| operation.taken().any(|other| other.place == one.place);
        for one in operation.parameters.iter().filter(|one| !is_taken(one)) {
            self.describe_parameter(operation, one, &key);
        }
        let body = operation.body.as_ref();
        let body = body.map(|body| self.body(operation, body, &key));
        let answers = operation.response.is_some();
        if let Some(response) = &operation.response {
            let (part, shown) = (format!("response of {id}"), response.to_string());
            self.names.describe(&part, &shown, "", Some(&key));
        }
        let call = Thing::new(&key, id, &at, RENAME_CALL);
        let rust_name = names::rust_call(operation);
        let c = format!("talentdata_client_{}", names::c_call(operation));
        let (cpp, python) = (names::cpp_call(operation), names::python_call(operation));
        let (command, options) = (names::command(operation), names::options(operation));
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
                self.names.demand(&call, surface, "token", demand);
            }
            let twin = format!("try_{cpp}");
            self.names.claim(&call, "in the C++ client", &twin);
        }
        // In C++ those that a list requires are among them.
        let of_list = operation.list.is_some() && !parameters.is_empty();
        if operation.is_generated() && (has_optional || of_list) {
            self.names.claim(&call, "in Rust", &options);
            self.names.claim(&call, "in C++", &names::snake(&options));
        }
        let of = |wanted: bool| -> Vec<Value> {
            let fitting = parameters
                .iter()
                .filter(|(_, required)| *required == wanted);
            fitting.map(|(one, _)| one.clone()).collect()
        };
        let (required, optional) = (of(true), of(false));
        let parameters: Vec<Value> = parameters.iter().map(|(one, _)| one.clone()).collect();
        let (body, fields) = body.unzip();
        let arguments = [parameters.clone(), fields.unwrap_or_default()].concat();
        let response = operation.response.as_ref();
        let gives = response.map_or("()".to_owned(), |of| rust(of, "types::"));
        let exposed = self.exposed.iter().find(|one| match response {
            Some(Type::Model(name)) => one.name == *name,
            _ => false,
        });
        let cpp_class = exposed.map_or("record".to_owned(), |one| names::cpp_class(&one.name));
        let value = context! {
            id, constant, path, method, answers, required, optional, parameters, body, arguments,
            gives, options, c, cpp, python, command, group, summary,
            token => format!("{:?}", operation.token),
            name => names::snake(&operation.name), rust => rust_name,
            variant => operation.method.to_upper_camel_case(), sentence => sentence(summary),
            description => operation.description, idempotent => operation.idempotent,
            deprecated => operation.deprecated, callable => is_call,
            generated => operation.is_generated(), title => operation.title(),
            verb => if answers { "invoke_as" } else { "invoke_without" },
            class => class_of(api, operation),
            cpp_options => names::snake(&names::options(operation)),
            model => exposed.map(|one| one.name.as_str()),
            cpp_class => answers.then(|| format!("talentdata::{cpp_class}")),
        };
        let list = operation.list.as_ref();
        let list = list.map(|list| self.list(operation, list, &value, (demand, token)));
        (value, list)
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
        let own = Thing::new(&key, path, &operation.place(), LEAVE_LIST);
        self.names.check_as(&own, path, name);
        let variant = names::list_variant(name);
        let number = names::constant(&variant);
        let (rust_name, rust_with) = (names::rust_list(name), names::rust_list_with(name));
        let (cpp, python) = (names::cpp_list(name), names::python_list(name));
        let shown = format!("{path}, {token}");
        self.names.describe(&key, &shown, "", None);
        for (surface, scope, name) in [
            (Surface::CommandLine, "on the command line", name),
            (Surface::Rust, "in the Rust enum Resource", &variant),
            (Surface::C, "in C", &format!("TALENTDATA_LIST_{number}")),
            (Surface::Rust, "in the Rust client", &rust_name),
            (Surface::Cpp, "in C++", &cpp),
            (Surface::Python, "in the Python client", &python),
        ] {
            self.names.declare(&own, surface, scope, name, "");
            self.names.demand(&own, surface, "token", demand);
        }
        if operation.optional().next().is_some() {
            self.names
                .declare(&own, Surface::Rust, "in the Rust client", &rust_with, "");
        }
        let model = list.model();
        let record = model.unwrap_or("Record");
        let mut part = |what: &str, shown: &str| {
            let own = Thing::new(&format!("{what} of {key}"), "", "", LEAVE_LIST);
            self.names.describe(&own.key, shown, "", Some(&key));
            own
        };
        let records = list.records.as_ref().map(|records| &records.key);
        part("record key", records.map_or("found at run time", |key| key));
        // To say more than nothing breaks nothing where records keep what they have.
        let kind = part("record type", record);
        let max = list.max_limit;
        let largest = max.map_or("not shown".to_owned(), |max| max.to_string());
        let limit = part("largest limit", &largest);
        let needed = required(operation);
        let shown = if needed.is_empty() { "none" } else { &needed };
        let takes = part("required parameters", shown);
        let rust_and_cpp = [Surface::Rust, Surface::Cpp];
        self.names.facts(&kind, &rust_and_cpp, "", "", record);
        if model.is_some() {
            let others = [Surface::C, Surface::Python];
            self.names.facts(&kind, &others, "", record, "");
        }
        self.names.facts(&takes, &Surface::ALL, "", "", &needed);
        for surface in Surface::ALL {
            let demand = u64::MAX - max.unwrap_or(u64::MAX);
            self.names.demand(&limit, surface, "", demand);
        }
        let api = self.api;
        let fields = model.and_then(|model| api.model(model));
        let fields = fields.into_iter().flat_map(|model| &model.fields);
        let fields = fields.map(|field| {
            context! {
                wire => field.wire, table => table(&field.kind), required => field.required,
                known => known(api, &field.kind),
            }
        });
        let exposed = self
            .exposed
            .iter()
            .find(|one| Some(one.name.as_str()) == model);
        context! {
            name, variant, number, record, cpp, python, max, rust_with, key => records,
            rust => rust_name, class => names::camel(name),
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
