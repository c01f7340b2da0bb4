//! Models and enums in every language, and what reads each field.

use super::View;
use crate::languages::{cpp_body, cpp_scalar, cpp_sent, read_by_python, table};
use crate::models::{known_name, signature};
use crate::names::registry::{Surface::*, Thing};
use crate::names::{self, ARGUMENT, PYTHON_FIELD, RUST_FIELD};
use crate::spec::api::{Enum, Field, Model, Type};
use crate::spec::pointer;
use minijinja::{Value, context, value::merge_maps};

const LEAVE_FIELD: &str =
    "leave it out: it is still delivered, with the fields that the document does not show";
const LEAVE_VALUE: &str = "leave it out: values that are not listed are delivered as they come";
const RENAME_SCHEMA: &str = "rename the schema; its name is never sent";

impl View<'_> {
    pub(super) fn model(&mut self, model: &Model) -> Value {
        let (api, name) = (self.api, &model.name);
        let key = format!("model {name}");
        let own = Thing::new(&key, name, &model.place, RENAME_SCHEMA);
        let of = if model.answered {
            "of responses"
        } else {
            "of no response"
        };
        self.describe(&key, of, &model.description, None);
        self.schema(&own, name);
        let fields = |all: bool| {
            let fields = model.fields.iter().filter(|field| all || field.required);
            fields
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(", ")
        };
        // A literal of a structure of requests names every field.
        let literal = if model.answered {
            of.to_owned()
        } else {
            fields(true)
        };
        self.facts(&own, &[Rust], "in Rust", name, &literal);
        let (sent, body) = (self.sent.contains(name), cpp_body(api, name));
        if sent {
            if body != names::cpp_class(name) {
                self.claim(&own, "in C++", &body);
            }
            self.facts(&own, &[Cpp], "in C++", &body, &fields(true));
            // There bodies are texts or arguments.
            self.facts(
                &own,
                &[C, Python, CommandLine],
                "sent",
                name,
                &fields(false),
            );
        }
        if model.has_class() {
            self.facts(&own, &[Python], "in Python", name, "");
        }
        let (exposed, is_record) = (self.exposed.contains(name), api.is_record(name));
        let c = names::c_type(name);
        if exposed {
            self.facts(&own, &[C, Cpp], "model", name, &is_record.to_string());
        }
        let mut calls = api.operations.iter().filter(|one| one.is_call());
        let freed = calls.any(|one| one.response.as_ref().and_then(Type::named) == Some(name));
        let functions = [("json", exposed && !is_record), ("free", exposed && freed)];
        for (suffix, _) in functions.iter().filter(|(_, there)| *there) {
            self.claim(&own, "in C", &format!("{c}_{suffix}"));
        }
        if exposed && is_record {
            self.facts(&own, &[CommandLine], "columns", "", "");
        }
        let fields = model.fields.iter();
        let fields = fields.map(|field| self.field(model, field, &key, exposed));
        context! {
            fields => fields.collect::<Vec<_>>(), exposed, is_record, freed, sent, body, c,
            has_class => model.has_class(), cpp => names::cpp_class(name),
            ..Value::from_serialize(model)
        }
    }

    fn field(&mut self, model: &Model, field: &Field, whole: &str, exposed: bool) -> Value {
        let (api, name, wire) = (self.api, &model.name, &field.wire);
        let key = format!("field {name}.{wire}");
        let own = Thing::new(&key, wire, &model.place_of(wire), LEAVE_FIELD);
        self.check(&own, wire);
        let shown = field.to_string();
        let (_, shown) = shown.split_once(": ").unwrap_or_default();
        self.describe(&key, shown, &field.description, Some(whole));
        let scope = format!("in the Rust struct {name}");
        if wire == "extra" {
            self.claim(&own, &scope, names::unknown_fields(model));
        }
        let kind = signature(field, model.answered);
        self.declare(&own, Rust, &scope, &names::name(wire, RUST_FIELD), &kind);
        let python = names::name(wire, PYTHON_FIELD);
        let (python_kind, mut annotation, class) = read_by_python(api, &field.kind);
        if !field.required && annotation != "Any" {
            annotation += " | None";
        }
        let scope = format!("in the Python class {name}");
        self.claim(&own, &scope, &python);
        if model.has_class() {
            self.facts(&own, &[Python], &scope, &python, &annotation);
        }
        let cpp = names::cpp_member(name, wire, "");
        let plain = cpp_sent(api, field.kind.present());
        let cpp_sent = match field.required && !field.nullable {
            true => plain,
            false => format!("std::optional<{plain}>"),
        };
        if self.sent.contains(name) {
            let scope = format!("in the C++ struct {}", cpp_body(api, name));
            self.declare(&own, Cpp, &scope, &cpp, &cpp_sent);
            let (argument, kind) = (names::name(wire, ARGUMENT), field.kind.to_string());
            self.facts(&own, &[C, Python, CommandLine], "sent", &argument, &kind);
        }
        // Secrets never leave the core.
        if field.kind == Type::Secret && self.given.contains(name) {
            self.refuse(&own, "a secret is not given to C".to_owned());
        }
        let own = match exposed {
            true => self.exposed_field(&own, model, field),
            false => context! {},
        };
        context! {
            python, annotation, python_kind, cpp, class, cpp_sent,
            ..merge_maps([own, Value::from_serialize(field)])
        }
    }

    /// What C and C++ read a field with.
    fn exposed_field(&mut self, own: &Thing, model: &Model, field: &Field) -> Value {
        let (name, wire) = (&model.name, &field.wire);
        let (read, c_kind) = self.read_by_c(&field.kind, self.api.is_record(name));
        let kind = self.read_by_cpp(&field.kind);
        let kind = match field.required {
            true => kind,
            false => format!("std::optional<{kind}>"),
        };
        let required = field.required || !matches!(read, "integer" | "number" | "boolean");
        let described = format!("{c_kind} {required}");
        let text = kind.replace(&c_kind, "std::string");
        // The text of an enum's value is there beside it, for values that are not documented.
        let suffixes: &[&str] = match read {
            "enum" => &["", "_text"],
            "texts" | "items" | "models" => &["_count", "_at"],
            "map" => &["_count", "_at", "_name", "_find"],
            _ => &[""],
        };
        let mut c = Vec::new();
        for suffix in suffixes {
            let mut function = format!("{}_{}{suffix}", names::c_type(name), names::snake(wire));
            while self.types.contains(&function) {
                function.push('_');
            }
            self.declare(own, C, "in C", &function, &described);
            c.push(function);
        }
        let class = format!("in the C++ class {}", names::cpp_class(name));
        let members = [("", kind), ("_text", text)];
        let mut values = Vec::new();
        for (suffix, kind) in members.into_iter().take(1 + usize::from(read == "enum")) {
            let member = names::cpp_member(name, wire, suffix);
            self.claim(own, &class, &format!("try_{member}"));
            self.declare(own, Cpp, &class, &member, &kind);
            values.push(context! { kind, name => member });
        }
        if self.api.is_record(name) {
            self.facts(own, &[CommandLine], "column", wire, table(&field.kind));
        }
        let path = match wire.is_empty() || wire.contains('/') {
            true => pointer(&[wire]),
            false => wire.clone(),
        };
        context! { path, values, c, read, c_kind }
    }

    /// How C reads a field, and the type of its value, or of each of its elements.
    fn read_by_c(&self, of: &Type, of_record: bool) -> (&'static str, String) {
        let model = |of: &Type| {
            let model = self.exposed(Some(of)).filter(|_| !of_record);
            model.map(|one| format!("const {} *", names::c_type(&one.name)))
        };
        let (read, kind) = match of {
            Type::Text => ("text", "talentdata_text"),
            Type::Integer => ("integer", "int64_t"),
            Type::Number => ("number", "double"),
            Type::Boolean => ("boolean", "bool"),
            Type::Enum(name) => return ("enum", names::c_type(name)),
            Type::Array(held) if !of_record => match (&**held, model(held)) {
                (_, Some(kind)) => return ("models", kind),
                (Type::Text, None) => ("texts", "talentdata_text"),
                _ => ("items", "talentdata_text"),
            },
            Type::Map(held) if model(held).is_some() => {
                return ("map", model(held).unwrap_or_default());
            }
            // Taken apart like any JSON.
            _ => ("value", "const talentdata_record *"),
        };
        (read, model(of).unwrap_or(kind.to_owned()))
    }

    /// What C++ makes of a value. Without a type of its own it is a record, and so are integers that an int64_t cannot hold.
    fn read_by_cpp(&self, of: &Type) -> String {
        let held = |of: &Type| match of {
            // Only the enums of fields have a type.
            Type::Enum(_) => "std::string".to_owned(),
            of => self.read_by_cpp(of),
        };
        match of {
            Type::Text => "std::string".to_owned(),
            Type::Integer | Type::Number | Type::Boolean => cpp_scalar(of, "").to_owned(),
            Type::Enum(name) => names::c_type(name),
            Type::Model(name) if self.exposed(Some(of)).is_some() => {
                format!("talentdata::{}", names::cpp_class(name))
            }
            Type::Array(of) => format!("std::vector<{}>", held(of)),
            Type::Map(of) => format!("std::map<std::string, {}>", held(of)),
            _ => "talentdata::record".to_owned(),
        }
    }

    /// The names that every schema has.
    fn schema(&mut self, own: &Thing, name: &str) {
        if name.is_empty() || !name.is_ascii() {
            self.refuse(own, format!("{name:?} cannot be the name of a type"));
        }
        self.claim(own, "in Rust", name);
        self.claim(own, "in C++", &names::cpp_class(name));
        self.claim(own, "in C", &names::c_type(name));
    }

    pub(super) fn enumeration(&mut self, known: &Enum) -> Value {
        let name = &known.name;
        let key = format!("enum {name}");
        let own = Thing::new(&key, name, &known.place, RENAME_SCHEMA);
        // The order is that of comparisons in Rust; those in C come after it.
        self.describe(&key, &known.values.join(", "), &known.description, None);
        self.schema(&own, name);
        self.claim(&own, "in Rust", &known_name(known));
        let is_field = |one: &Field| matches!(&one.kind, Type::Enum(of) if of == name);
        let exposed = |one: &&Model| self.exposed.contains(&one.name);
        let mut models = self.api.models.iter().filter(exposed);
        let in_c = models.any(|one| one.fields.iter().any(is_field));
        let mut surfaces = vec![Rust];
        surfaces.extend([C, Cpp].iter().filter(|_| in_c));
        surfaces.extend(known.answered.then_some(Python));
        self.facts(&own, &surfaces, "enum", name, "");
        let mut values = Vec::new();
        for (number, wire) in (1_u32..).zip(&known.values) {
            let part = format!("value {name}.{wire}");
            let own = Thing::new(&part, wire, &known.place, LEAVE_VALUE);
            let (variant, python) = (names::value_variant(wire), names::python_value(wire));
            let constant = names::constant(&variant);
            let c = format!("TALENTDATA_{}_{constant}", names::constant(name));
            self.check(&own, wire);
            self.describe(&part, "", "", Some(&key));
            self.claim(&own, &format!("in the Rust enum {name}"), &variant);
            self.claim(&own, &format!("in the Python class {name}"), &python);
            self.claim(&own, "in C", &c);
            self.facts(&own, &surfaces, "value", &variant, "");
            values.push(context! { wire, python, c, discriminant => number });
        }
        context! {
            in_c, values, constant => names::constant(name), c => names::c_type(name),
            ..Value::from_serialize(known)
        }
    }
}
