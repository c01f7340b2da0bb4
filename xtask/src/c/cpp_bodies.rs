//! Request bodies as structs of C++ that write themselves as JSON.

use crate::names;
use crate::spec::api::{self, Type};
use crate::spec::{Spec, reachable};
use std::collections::BTreeSet;

/// The models of request bodies, each before those that hold it.
pub(super) fn sent(spec: &Spec) -> Vec<&api::Model> {
    let calls = spec.api.operations.iter().filter(|one| one.is_call());
    let bodies = calls.filter_map(|one| one.body.as_ref()?.kind.named());
    let sent = reachable(&spec.api, bodies.map(str::to_owned).collect());
    let models = spec.api.models.iter();
    let mut waiting: Vec<&api::Model> = models.filter(|one| sent.contains(&one.name)).collect();
    let mut out = Vec::new();
    while !waiting.is_empty() {
        // There always is one: no model holds itself.
        let holds_none =
            |one: &&api::Model| waiting.iter().all(|other| !one.refers_to(&other.name));
        let ready = waiting.iter().position(holds_none).unwrap_or_default();
        out.push(waiting.remove(ready));
    }
    out
}

/// The struct of a request body.
pub(crate) fn struct_of(spec: &Spec, model: &str) -> String {
    let class = names::cpp_class(model);
    match spec.api.model(model).is_some_and(|one| one.answered) {
        true => format!("{class}_body"),
        false => class,
    }
}

/// The names of the structs, for what must not be named like them.
pub(crate) fn structs(spec: &Spec) -> BTreeSet<(String, String)> {
    let models = sent(spec).into_iter();
    models
        .map(|model| (struct_of(spec, &model.name), model.name.clone()))
        .collect()
}

/// The struct, with its fields.
pub(super) fn request(spec: &Spec, model: &api::Model) -> String {
    let class = struct_of(spec, &model.name);
    let (mut fields, mut written) = (String::new(), String::new());
    for field in &model.fields {
        let member = names::cpp_member(&model.name, &field.wire, "");
        let about = spec.api.about(field).unwrap_or("Not described.");
        let optional = !field.required || field.nullable;
        let plain = held(spec, field.kind.present());
        let kind = match optional {
            true => format!("std::optional<{plain}>"),
            false => plain,
        };
        fields += &format!("  /// {about}\n  {kind} {member}{{}};\n");
        let write = if field.required {
            "field"
        } else {
            "optional_field"
        };
        written += &format!("    out.{write}(\"{}\", {member});\n", field.wire);
    }
    format!(
        "/// {}\nstruct {class} {{\n{fields}\n  /// Appends it as JSON.\n  void write_json(std::string &to) const {{\n    \
         detail::object_writer out(to);\n{written}    out.end();\n  }}\n}};\n\n",
        model.description
    )
}

/// The type of a value that is sent.
fn held(spec: &Spec, kind: &Type) -> String {
    match kind {
        Type::Text | Type::Secret | Type::Enum(_) => "std::string".to_owned(),
        Type::Integer => "std::int64_t".to_owned(),
        Type::Unsigned => "std::uint64_t".to_owned(),
        Type::Number => "double".to_owned(),
        Type::Boolean => "bool".to_owned(),
        Type::Model(name) => format!("talentdata::{}", struct_of(spec, name)),
        Type::Array(one) => format!("std::vector<{}>", held(spec, one)),
        Type::Map(one) => format!("std::map<std::string, {}>", held(spec, one)),
        Type::Nullable(one) => format!("std::optional<{}>", held(spec, one)),
        Type::Object | Type::Json => "raw_json".to_owned(),
    }
}
