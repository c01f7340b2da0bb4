//! A class per model and per open enum of the answers.

use super::shape::{Shape, is_seen, shape};
use super::{all, header, quoted, samples};
use crate::names;
use crate::spec::Spec;
use crate::spec::api::{Api, Enum, Field, Model};

/// `_models.py`: a class per model and per open enum of the answers.
pub(crate) fn models(spec: &Spec) -> Result<String, String> {
    let mut text = header("Models of the answers.", "spec/openapi.json");
    text += "\nfrom __future__ import annotations\n\nfrom typing import Any\n\n";
    text += "from ._open_enum import OpenEnum\nfrom ._talentdata import Field, Record\n";
    let mut names = Vec::new();
    for known in spec.api.enums.iter().filter(|known| known.answered) {
        text += &enum_class(known);
        names.push(known.name.clone());
    }
    let models = spec.api.models.iter();
    let mut waiting: Vec<&Model> = models.filter(|model| has_class(model)).collect();
    while !waiting.is_empty() {
        let ready = waiting
            .iter()
            .position(|model| waiting.iter().all(|other| !model.refers_to(&other.name)));
        // There always is one: no model holds itself.
        let model = waiting.remove(ready.unwrap_or_default());
        text += &model_class(spec, model);
        names.push(model.name.clone());
    }
    Ok(text + &all(&names))
}

fn enum_class(known: &Enum) -> String {
    let mut text = format!(
        "\n\nclass {}(OpenEnum):\n    \"\"\"{}\n\n{}    \"\"\"\n\n",
        known.name,
        quoted(&known.description),
        samples::of_enum(&known.name, &known.values)
    );
    for value in &known.values {
        text += &format!("    {} = \"{value}\"\n", names::python_value(value));
    }
    text
}

fn model_class(spec: &Spec, model: &Model) -> String {
    let wire = model
        .fields
        .iter()
        .map(|field| format!("\"{}\",", field.wire));
    let wire: Vec<String> = wire.collect();
    let mut text = format!(
        "\n\nclass {}(Record):\n    \"\"\"{}\n\n{}    \"\"\"\n\n    __slots__ = ()\n    _documented = ({})\n\n",
        model.name,
        quoted(&model.description),
        samples::of_model(spec, model),
        wire.join(" ")
    );
    for field in &model.fields {
        let Shape { kind, class, .. } = shape(&spec.api, &field.kind);
        let annotation = annotation(&spec.api, field);
        let required = if field.required {
            ", required=True"
        } else {
            ""
        };
        let class = class.map(|class| format!(", of={class}"));
        let about = spec.api.about(field);
        text += &format!(
            "    {}: Field[{annotation}] = Field(\"{}\", \"{kind}\"{required}{})\n    \"\"\"{}\"\"\"\n",
            names::python_field(&field.wire),
            field.wire,
            class.unwrap_or_default(),
            quoted(about.unwrap_or("Not described."))
        );
    }
    text
}

fn annotation(api: &Api, field: &Field) -> String {
    let annotation = shape(api, &field.kind).annotation;
    match field.required || annotation == "Any" {
        true => annotation,
        false => format!("{annotation} | None"),
    }
}

/// Whether Python has a class for a model.
pub(crate) fn has_class(model: &Model) -> bool {
    model.answered && is_seen(model)
}

/// The attribute and type that code of a user rests on, and whether it can be None.
pub(crate) fn signature(api: &Api, field: &Field) -> (String, bool) {
    let annotation = annotation(api, field);
    let plain = annotation.trim_end_matches(" | None");
    let attribute = names::python_field(&field.wire);
    (format!("{attribute}: {plain}"), plain != annotation)
}
