//! Refuses names that are none, and names that two things of the spec would share, in any language.

use super::kept::CPP;
use super::{
    camel, constant, cpp_class, cpp_list, cpp_member, list_variant, operation, python_field,
    python_list, python_value, rust_field, rust_list, snake, value_variant,
};
use crate::c::shapes;
use crate::normalise::open_enum;
use crate::spec::{Spec, pointer, refused};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

const LEAVE_FIELD: &str =
    "leave it out: it is still delivered, with the fields that the document does not show";
const LEAVE_VALUE: &str = "leave it out: values that are not listed are delivered as they come";
const LEAVE_LIST: &str = "leave its operation out";
const RENAME_SCHEMA: &str = "rename the schema; its name is never sent";

/// Checks the names of everything that the spec shows.
pub(crate) fn check(spec: &Spec) -> Result<(), String> {
    let mut claims = Claims::default();
    for (name, schema) in &spec.schemas {
        let at = spec.place(name);
        let properties = schema.get("properties").and_then(Value::as_object);
        for wire in properties.into_iter().flat_map(Map::keys) {
            let at = format!("{at}{}", pointer(&["properties", wire]));
            a_name(&snake(wire), wire, &at, LEAVE_FIELD)?;
            printable(wire, &at, LEAVE_FIELD)?;
            claims.field(name, wire, &at)?;
        }
        if let Some(known) = open_enum(name, schema) {
            for value in &known.values {
                a_name(&snake(value), value, at, LEAVE_VALUE)?;
                printable(value, at, LEAVE_VALUE)?;
                claims.value(name, value, at)?;
            }
        }
        claims.schema(spec, name, at)?;
    }
    for model in shapes::models(spec) {
        claims.c_model(spec, &model)?;
    }
    stays_in_c(spec)?;
    for operation in &spec.operations {
        claims.operation(spec, operation)?;
    }
    if spec.lists().next().is_none() {
        let way = "name limit and offset as parameters and pagination in the response of each list";
        return Err(refused("/paths", "no operation is a paginated list", way));
    }
    Ok(())
}

/// Refuses what would keep a model from C that hand-written functions give: secrets, which never leave
/// the core, and what makes it a page.
fn stays_in_c(spec: &Spec) -> Result<(), String> {
    for name in shapes::held(spec) {
        let properties = spec
            .schema(&name)
            .and_then(|schema| schema.get("properties"));
        for (wire, field) in properties.and_then(Value::as_object).into_iter().flatten() {
            let what = match wire.as_str() {
                _ if field["format"] == "password" => "a secret is not given to C",
                "pagination" => "a page is no part of another answer",
                _ => continue,
            };
            let at = format!("{}{}", spec.place(&name), pointer(&["properties", wire]));
            return Err(refused(&at, what, LEAVE_FIELD));
        }
    }
    Ok(())
}

/// Refuses what has no letters or digits, or others than C takes.
fn a_name(name: &str, written: &str, at: &str, way: &str) -> Result<(), String> {
    let what = match name {
        "" => format!("{written:?} has no letter or digit to be named by"),
        _ if !name.is_ascii() => format!("{written:?} has letters that no name in C can have"),
        _ => return Ok(()),
    };
    Err(refused(at, &what, way))
}

/// Refuses what would end the texts it is written in.
fn printable(written: &str, at: &str, way: &str) -> Result<(), String> {
    let ends = written.contains(['"', '\\', '`']) || written.contains("*/");
    if ends || written.contains(char::is_control) {
        let what = format!("{written:?} has a character that generated texts cannot hold");
        return Err(refused(at, &what, way));
    }
    Ok(())
}

/// Who has each name, by the place that the name is in.
#[derive(Default)]
struct Claims(BTreeMap<(String, String), (String, String)>);

impl Claims {
    /// `thing` is what the spec calls it.
    fn claim(
        &mut self,
        scope: &str,
        name: String,
        (thing, at): (&str, &str),
        way: &str,
    ) -> Result<(), String> {
        let owner = (thing.to_owned(), at.to_owned());
        let key = (scope.to_owned(), name);
        let Some((other, place)) = self.0.get(&key) else {
            self.0.insert(key, owner);
            return Ok(());
        };
        let what = format!(
            "{thing:?} becomes {} {scope}, and so does {other:?} of {place}",
            key.1
        );
        Err(refused(at, &what, way))
    }

    fn field(&mut self, model: &str, wire: &str, at: &str) -> Result<(), String> {
        let thing = (wire, at);
        let rust = format!("in the Rust struct {model}");
        if wire == "extra" {
            self.claim(&rust, "unknown_fields".into(), thing, LEAVE_FIELD)?;
        }
        self.claim(&rust, rust_field(wire), thing, LEAVE_FIELD)?;
        let python = format!("in the Python class {model}");
        self.claim(&python, python_field(wire), thing, LEAVE_FIELD)
    }

    fn value(&mut self, name: &str, value: &str, at: &str) -> Result<(), String> {
        let thing = (value, at);
        let variant = value_variant(value);
        let c = format!("TALENTDATA_{}_{}", constant(name), constant(&variant));
        self.claim(
            &format!("in the Rust enum {name}"),
            variant,
            thing,
            LEAVE_VALUE,
        )?;
        self.claim("in C", c, thing, LEAVE_VALUE)?;
        let python = format!("in the Python class {name}");
        self.claim(&python, python_value(value), thing, LEAVE_VALUE)
    }

    fn schema(&mut self, spec: &Spec, name: &str, at: &str) -> Result<(), String> {
        let fit = camel(name);
        if name != fit || !name.is_ascii() {
            let what = format!("{name:?} is no name of a type");
            return Err(refused(
                at,
                &what,
                &format!("write {fit:?}; it is never sent"),
            ));
        }
        let class = cpp_class(name);
        let kept = [
            (&spec.taken.types, name, "in Rust and C"),
            (&spec.taken.python, name, "in Python"),
            (&spec.taken.cpp, class.as_str(), "in C++"),
        ];
        let taken = kept.iter().find(|(taken, name, _)| taken.contains(*name));
        let keyword = super::is_kept(&class, &[CPP]);
        if let Some(scope) = taken.map(|kept| kept.2).or(keyword.then_some("in C++")) {
            let what = format!("{name} is taken {scope}");
            return Err(refused(at, &what, RENAME_SCHEMA));
        }
        self.claim("in C++", class, (name, at), RENAME_SCHEMA)?;
        self.claim(
            "in C",
            format!("talentdata_{}", snake(name)),
            (name, at),
            RENAME_SCHEMA,
        )
    }

    fn c_model(&mut self, spec: &Spec, model: &shapes::Model) -> Result<(), String> {
        let cpp = format!("in the C++ class {}", cpp_class(&model.name));
        let whole = (model.name.as_str(), spec.place(&model.name));
        if !model.is_record() {
            for suffix in ["json", "free"] {
                let name = format!("{}_{suffix}", model.prefix());
                self.claim("in C", name, whole, RENAME_SCHEMA)?;
            }
        }
        for field in &model.fields {
            let at = format!("{}{}", whole.1, pointer(&["properties", &field.wire]));
            let thing = (field.wire.as_str(), at.as_str());
            for suffix in model.suffixes(field) {
                let function = format!("{}_{}", model.prefix(), field.function(suffix));
                self.claim("in C", function, thing, LEAVE_FIELD)?;
                let member = cpp_member(&model.name, &field.wire, suffix);
                if model.is_record() {
                    self.claim(&cpp, format!("try_{member}"), thing, LEAVE_FIELD)?;
                }
                self.claim(&cpp, member, thing, LEAVE_FIELD)?;
            }
        }
        Ok(())
    }

    fn operation(&mut self, spec: &Spec, one: &crate::spec::Operation) -> Result<(), String> {
        let at = one.place();
        let rename = "change the operationId; it is never sent";
        a_name(&snake(&one.id), &one.id, &at, rename)?;
        let name = operation(&one.id);
        if name == "OPERATIONS" {
            return Err(refused(&at, "OPERATIONS is taken in Rust", rename));
        }
        self.claim("in Rust", name, (&one.id, &at), rename)?;
        let Some(list) = &one.list else {
            return Ok(());
        };
        a_name(&list.name, &one.path, &at, LEAVE_LIST)?;
        printable(&one.path, &at, LEAVE_LIST)?;
        let thing = (one.path.as_str(), at.as_str());
        let variant = list_variant(&list.name);
        let c = format!("TALENTDATA_RESOURCE_{}", constant(&variant));
        let names = [
            ("on the command line", list.name.clone()),
            ("in the Rust enum Resource", variant),
            ("in C", c),
            ("in the Rust client", rust_list(&list.name, &spec.taken)),
            ("in C++", cpp_list(&list.name, &spec.taken)),
            ("in the Python client", python_list(&list.name, &spec.taken)),
        ];
        for (scope, name) in names {
            self.claim(scope, name, thing, LEAVE_LIST)?;
        }
        Ok(())
    }
}
