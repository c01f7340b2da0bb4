//! Refuses names that are none, and names that two things of the spec would share, in any language.

use super::unnamed::ends_texts;
use super::{
    argument, c_call, command, constant, cpp_call, cpp_class, cpp_list, cpp_member, flag,
    list_variant, operation, options, python_call, python_field, python_list, python_value,
    rust_call, rust_field, rust_list, rust_list_with, snake, value_variant,
};
use crate::c::cpp_bodies::structs;
use crate::c::shapes;
use crate::models;
use crate::spec::api::{self, Type};
use crate::spec::{Findings, Spec, pointer};
use std::collections::BTreeMap;

const LEAVE_FIELD: &str =
    "leave it out: it is still delivered, with the fields that the document does not show";
const LEAVE_VALUE: &str = "leave it out: values that are not listed are delivered as they come";
const LEAVE_LIST: &str = "leave its operation out";
const RENAME_SCHEMA: &str = "rename the schema; its name is never sent";
const RENAME_CALL: &str = "give the operation another name in x-talentdata-name";
const RENAME_OPERATION: &str = "change the operationId; it is never sent";

/// Checks the names of everything that the spec shows.
pub(crate) fn check(spec: &Spec, findings: &mut Findings) {
    let mut claims = Claims {
        owners: BTreeMap::new(),
        findings,
    };
    for model in &spec.api.models {
        for field in &model.fields {
            let at = format!("{}{}", model.place, pointer(&["properties", &field.wire]));
            claims.name(&snake(&field.wire), &field.wire, &at, LEAVE_FIELD);
            claims.field(&model.name, &field.wire, &at);
        }
        claims.schema(&model.name, &model.place);
    }
    for known in &spec.api.enums {
        for value in &known.values {
            claims.name(&snake(value), value, &known.place, LEAVE_VALUE);
            claims.value(&known.name, value, &known.place);
        }
        claims.schema(&known.name, &known.place);
        let thing = (known.name.as_str(), known.place.as_str());
        claims.claim("in Rust", models::known_name(known), thing, RENAME_SCHEMA);
    }
    for model in shapes::models(spec) {
        claims.c_model(spec, model);
    }
    claims.stays_in_c(spec);
    for (name, model) in structs(spec) {
        if let Some(model) = spec.api.model(&model).filter(|model| model.answered) {
            claims.claim("in C++", name, (&model.name, &model.place), RENAME_SCHEMA);
        }
    }
    for operation in &spec.api.operations {
        claims.operation(operation);
    }
    if spec.lists().next().is_none() {
        let way = "name limit and offset as parameters and pagination in the response of each list";
        findings.refuse("/paths", "no operation is a paginated list", way);
    }
}

/// Who has each name, by the place that the name is in.
struct Claims<'a> {
    owners: BTreeMap<(String, String), (String, String)>,
    findings: &'a mut Findings,
}

impl Claims<'_> {
    /// `thing` is what the spec calls it.
    fn claim(&mut self, scope: &str, name: String, (thing, at): (&str, &str), way: &str) {
        let owner = (thing.to_owned(), at.to_owned());
        let key = (scope.to_owned(), name);
        let Some((other, place)) = self.owners.get(&key) else {
            self.owners.insert(key, owner);
            return;
        };
        let reason = format!(
            "{thing:?} becomes {} {scope}, and so does {other:?} of {place}",
            key.1
        );
        self.findings.refuse(at, &reason, way);
    }

    /// Refuses what has no letters or digits, or others than C takes, or would end the texts it is
    /// written in.
    fn name(&mut self, name: &str, written: &str, at: &str, way: &str) {
        let reason = match name {
            "" => format!("{written:?} has no letter or digit to be named by"),
            _ if !name.is_ascii() => format!("{written:?} has letters that no name in C can have"),
            _ if ends_texts(written) => {
                format!("{written:?} has a character that generated texts cannot hold")
            }
            _ => return,
        };
        self.findings.refuse(at, &reason, way);
    }

    fn field(&mut self, model: &str, wire: &str, at: &str) {
        let thing = (wire, at);
        let rust = format!("in the Rust struct {model}");
        if wire == "extra" {
            self.claim(&rust, "unknown_fields".into(), thing, LEAVE_FIELD);
        }
        self.claim(&rust, rust_field(wire), thing, LEAVE_FIELD);
        let python = format!("in the Python class {model}");
        self.claim(&python, python_field(wire), thing, LEAVE_FIELD);
    }

    fn value(&mut self, name: &str, value: &str, at: &str) {
        let thing = (value, at);
        let variant = value_variant(value);
        let c = format!("TALENTDATA_{}_{}", constant(name), constant(&variant));
        let rust = format!("in the Rust enum {name}");
        self.claim(&rust, variant, thing, LEAVE_VALUE);
        self.claim("in C", c, thing, LEAVE_VALUE);
        let python = format!("in the Python class {name}");
        self.claim(&python, python_value(value), thing, LEAVE_VALUE);
    }

    fn schema(&mut self, name: &str, at: &str) {
        if name.is_empty() || !name.is_ascii() {
            let reason = format!("{name:?} cannot be the name of a type");
            self.findings.refuse(at, &reason, RENAME_SCHEMA);
        }
        self.claim("in Rust", name.to_owned(), (name, at), RENAME_SCHEMA);
        self.claim("in C++", cpp_class(name), (name, at), RENAME_SCHEMA);
        let c = format!("talentdata_{}", snake(name));
        self.claim("in C", c, (name, at), RENAME_SCHEMA);
    }

    fn c_model(&mut self, spec: &Spec, model: &shapes::Model) {
        let cpp = format!("in the C++ class {}", cpp_class(&model.name));
        let place = spec
            .api
            .model(&model.name)
            .map(|model| model.place.as_str());
        let whole = (model.name.as_str(), place.unwrap_or_default());
        if model.is_record() {
            let view = format!("{}_view", cpp_class(&model.name));
            self.claim("in C++", view, whole, RENAME_SCHEMA);
        } else {
            for suffix in ["json", "free"] {
                let name = format!("{}_{suffix}", model.prefix());
                self.claim("in C", name, whole, RENAME_SCHEMA);
            }
        }
        for field in &model.fields {
            let at = format!("{}{}", whole.1, pointer(&["properties", &field.wire]));
            let thing = (field.wire.as_str(), at.as_str());
            for suffix in model.suffixes(field) {
                let function = format!("{}_{}", model.prefix(), field.function(suffix));
                self.claim("in C", function, thing, LEAVE_FIELD);
                let member = cpp_member(&model.name, &field.wire, suffix);
                if model.is_record() {
                    self.claim(&cpp, format!("try_{member}"), thing, LEAVE_FIELD);
                }
                self.claim(&cpp, member, thing, LEAVE_FIELD);
            }
        }
    }

    /// Refuses secrets in what C is given: they never leave the core.
    fn stays_in_c(&mut self, spec: &Spec) {
        for name in shapes::held(spec) {
            let Some(model) = spec.api.model(&name) else {
                continue;
            };
            for field in model.fields.iter().filter(|one| one.kind == Type::Secret) {
                let at = format!("{}{}", model.place, pointer(&["properties", &field.wire]));
                self.findings
                    .refuse(&at, "a secret is not given to C", LEAVE_FIELD);
            }
        }
    }

    fn operation(&mut self, one: &api::Operation) {
        let at = one.place();
        self.name(&snake(&one.id), &one.id, &at, RENAME_OPERATION);
        let name = operation(&one.id);
        if name == "OPERATIONS" {
            let reason = "OPERATIONS is taken in Rust";
            self.findings.refuse(&at, reason, RENAME_OPERATION);
        }
        self.claim("in Rust", name, (&one.id, &at), RENAME_OPERATION);
        if one.is_call() {
            self.call(one, &at);
        }
        let Some(list) = &one.list else {
            return;
        };
        self.name(&list.name, &one.path, &at, LEAVE_LIST);
        let thing = (one.path.as_str(), at.as_str());
        let variant = list_variant(&list.name);
        let c = format!("TALENTDATA_RESOURCE_{}", constant(&variant));
        let names = [
            ("on the command line", list.name.clone()),
            ("in the Rust enum Resource", variant),
            ("in C", c),
            ("in the Rust client", rust_list(&list.name)),
            ("in C++", cpp_list(&list.name)),
            ("in the Python client", python_list(&list.name)),
        ];
        for (scope, name) in names {
            self.claim(scope, name, thing, LEAVE_LIST);
        }
        if one.optional().next().is_some() {
            let with = rust_list_with(&list.name);
            self.claim("in the Rust client", with, thing, LEAVE_LIST);
        }
        self.parameters(one, &at);
    }

    fn call(&mut self, one: &api::Operation, at: &str) {
        for name in [&one.name, &one.command] {
            self.name(&snake(name), name, at, RENAME_CALL);
        }
        let thing = (one.id.as_str(), at);
        let c = format!("talentdata_client_{}", c_call(one));
        let cpp = cpp_call(one);
        let python = python_call(one);
        let rust = rust_call(one);
        let names = [
            ("among the commands", command(one)),
            ("in the Rust client", rust),
            ("in C", format!("{c}_n")),
            ("in C", c),
            ("in the C++ client", format!("try_{cpp}")),
            ("in the C++ client", cpp),
            ("in the Python client", python),
        ];
        for (scope, name) in names {
            self.claim(scope, name, thing, RENAME_CALL);
        }
        self.parameters(one, at);
    }

    /// The options of a call or a list, and its arguments.
    fn parameters(&mut self, one: &api::Operation, at: &str) {
        let thing = (one.id.as_str(), at);
        let has_options = match one.list {
            // In C++ those that are required are among them.
            Some(_) => one.taken().next().is_some(),
            None => one.optional().next().is_some(),
        };
        if has_options {
            let options = options(one);
            self.claim("in C++", snake(&options), thing, RENAME_CALL);
            self.claim("in Rust", options, thing, RENAME_CALL);
        }
        let scope = format!("as an argument of {}", one.name);
        for parameter in one.taken() {
            self.name(&snake(&parameter.name), &parameter.name, at, RENAME_CALL);
            let thing = (parameter.name.as_str(), at);
            self.claim(&scope, argument(parameter), thing, RENAME_CALL);
            let flags = format!("among the flags of {}", one.command);
            self.claim(&flags, flag(&parameter.name), thing, RENAME_CALL);
        }
    }
}
