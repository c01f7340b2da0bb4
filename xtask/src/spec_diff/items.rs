//! What users of each surface can see of a spec, one item each, with the facts that their code rests on.

use super::calls::{of_operation, required};
use crate::c::shapes;
use crate::names;
use crate::spec::Spec;
use crate::spec::api::{Field, List, Model, Operation, TokenUse, Type};
use crate::{models, python};
use std::collections::BTreeSet;

/// Who uses what is generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Surface {
    Rust,
    C,
    Python,
    CommandLine,
}

impl Surface {
    pub(super) const ALL: [Surface; 4] = [Self::Rust, Self::C, Self::Python, Self::CommandLine];

    pub(super) fn title(self) -> &'static str {
        match self {
            Surface::Rust => "Rust",
            Surface::C => "C ABI",
            Surface::Python => "Python",
            Surface::CommandLine => "command line",
        }
    }
}

/// What code of a user rests on.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fact {
    /// Any change breaks it.
    Exact(String),
    /// No change breaks it.
    Loose(String),
    /// More breaks it, less does not.
    Demand(u64),
    /// Less breaks it, more does not.
    Allowance(u64),
    /// To say more than nothing breaks nothing; any other change does.
    Detail(Option<String>),
    /// Nothing breaks while what both have stands in the same order.
    Order(Vec<String>),
}

/// A thing of the interface.
pub(super) struct Item {
    /// What it is and how it is called: the same before and after.
    pub(super) key: String,
    /// What it says, in short.
    pub(super) shown: String,
    /// Prose, which breaks nothing.
    pub(super) prose: String,
    pub(super) facts: Vec<(Surface, Fact)>,
    /// Surfaces where a new one breaks code: struct literals name every field.
    pub(super) breaks_when_new: Vec<Surface>,
    /// The item that it is a part of: with that one new or gone, nothing more is said of it.
    pub(super) part_of: Option<String>,
}

/// Everything that a spec shows.
pub(super) fn items(spec: &Spec) -> Vec<Item> {
    let mut out = Vec::new();
    let crossing = shapes::models(spec);
    let enums: BTreeSet<&str> = shapes::enums(spec, crossing)
        .into_iter()
        .map(|known| known.name.as_str())
        .collect();
    for operation in &spec.api.operations {
        of_operation(operation, &mut out);
        if let Some(list) = &operation.list {
            of_list(operation, list, &mut out);
        }
    }
    for model in &spec.api.models {
        let c = crossing.iter().find(|one| one.name == model.name);
        of_model(spec, model, c, &mut out);
    }
    for known in &spec.api.enums {
        let mut surfaces = vec![Surface::Rust];
        surfaces.extend(enums.contains(known.name.as_str()).then_some(Surface::C));
        surfaces.extend(known.answered.then_some(Surface::Python));
        let key = format!("enum {}", known.name);
        let mut facts = exact(&surfaces, &known.name);
        // The order is that of comparisons in Rust; numbers in C stay.
        facts.push((Surface::Rust, Fact::Order(known.values.clone())));
        out.push(item(&key, "", &known.description, facts));
        for value in &known.values {
            let name = names::value_variant(value);
            let mut value = item(
                &format!("value {}.{value}", known.name),
                "",
                "",
                exact(&surfaces, &name),
            );
            value.part_of = Some(key.clone());
            out.push(value);
        }
    }
    out
}

pub(super) fn item(key: &str, shown: &str, prose: &str, facts: Vec<(Surface, Fact)>) -> Item {
    Item {
        key: key.to_owned(),
        shown: shown.to_owned(),
        prose: prose.to_owned(),
        facts,
        breaks_when_new: Vec::new(),
        part_of: None,
    }
}

pub(super) fn exact(surfaces: &[Surface], text: &str) -> Vec<(Surface, Fact)> {
    let fact = |surface: &Surface| (*surface, Fact::Exact(text.to_owned()));
    surfaces.iter().map(fact).collect()
}

/// How much an operation demands of a token, and in words.
pub(super) fn token(operation: &Operation) -> (u64, &'static str) {
    match operation.token {
        TokenUse::Never => (0, "without a token"),
        TokenUse::WhenThereIsOne => (1, "with a token if there is one"),
        TokenUse::Always => (2, "with a token"),
    }
}

pub(super) fn mark(deprecated: bool) -> &'static str {
    if deprecated { ", deprecated" } else { "" }
}

fn of_list(operation: &Operation, list: &List, out: &mut Vec<Item>) {
    let key = format!("list {}", list.name);
    let mut facts = exact(&Surface::ALL, &list.name);
    let (demand, token) = token(operation);
    facts.extend(Surface::ALL.map(|surface| (surface, Fact::Demand(demand))));
    let shown = format!("{}, {token}", operation.path);
    out.push(item(&key, &shown, "", facts));
    let mut part = |name: &str, shown: &str, facts| {
        let mut part = item(&format!("{name} of {key}"), shown, "", facts);
        part.part_of = Some(key.clone());
        out.push(part);
    };
    let records = list.records.as_ref().map(|records| records.key.clone());
    let facts = Surface::ALL.map(|surface| (surface, Fact::Loose(format!("{records:?}"))));
    let found = "found at run time".to_owned();
    part("record key", &records.unwrap_or(found), facts.into());
    let model = list.model().map(str::to_owned);
    let record = model.clone().unwrap_or_else(|| "Record".to_owned());
    let facts = vec![
        (Surface::Rust, Fact::Exact(record.clone())),
        (Surface::C, Fact::Detail(model.clone())),
        (Surface::Python, Fact::Detail(model)),
    ];
    part("record type", &record, facts);
    let most = list.max_limit.unwrap_or(u64::MAX);
    let shown = list
        .max_limit
        .map_or("not shown".to_owned(), |most| most.to_string());
    let facts = Surface::ALL.map(|surface| (surface, Fact::Allowance(most)));
    part("largest limit", &shown, facts.into());
    let needed = required(operation);
    let shown = if needed.is_empty() { "none" } else { &needed };
    let facts = exact(&Surface::ALL, &needed);
    part("required parameters", shown, facts);
    let rust = names::rust_list(&list.name);
    part("method", &rust, exact(&[Surface::Rust], &rust));
}

fn of_model(spec: &Spec, model: &Model, c: Option<&shapes::Model>, out: &mut Vec<Item>) {
    let python = python::has_class(model);
    let is_record = c.is_some_and(shapes::Model::is_record);
    let mut surfaces = vec![Surface::Rust];
    surfaces.extend(c.map(|_| Surface::C));
    surfaces.extend(python.then_some(Surface::Python));
    let key = format!("model {}", model.name);
    let mut facts = exact(&surfaces, &model.name);
    // Unknown fields are kept in responses only.
    facts.push((Surface::Rust, Fact::Exact(model.answered.to_string())));
    facts.extend(is_record.then(|| (Surface::CommandLine, Fact::Loose("columns".to_owned()))));
    let shown = if model.answered {
        "of responses"
    } else {
        "of no response"
    };
    out.push(item(&key, shown, &model.description, facts));
    for field in &model.fields {
        let mut facts = vec![(
            Surface::Rust,
            Fact::Exact(models::signature(field, model.answered)),
        )];
        if let Some(field) = c.and_then(|c| c.fields.iter().find(|one| one.wire == field.wire)) {
            let c = c.map(|c| c.signatures(field)).unwrap_or_default();
            facts.push((Surface::C, Fact::Exact(c)));
            facts.push((Surface::C, Fact::Loose(field.required.to_string())));
        }
        if python {
            let (attribute, may_lack) = python::signature(&spec.api, field);
            facts.push((Surface::Python, Fact::Exact(attribute)));
            facts.push((Surface::Python, Fact::Demand(may_lack.into())));
        }
        if is_record {
            facts.push((Surface::CommandLine, Fact::Exact(column(field).to_owned())));
            facts.push((
                Surface::CommandLine,
                Fact::Loose(field.required.to_string()),
            ));
        }
        let about = spec.api.about(field).unwrap_or_default();
        let name = format!("field {}.{}", model.name, field.wire);
        let shown = field.to_string();
        let shown = shown.split_once(": ").map_or("", |(_, shown)| shown);
        let shown = shown.to_owned();
        let mut field = item(&name, &shown, about, facts);
        field.breaks_when_new = vec![Surface::Rust];
        field.part_of = Some(key.clone());
        out.push(field);
    }
}

/// What a column of an export holds.
fn column(field: &Field) -> &'static str {
    match field.kind {
        Type::Text | Type::Secret | Type::Enum(_) => "text",
        Type::Integer | Type::Unsigned => "integer",
        Type::Number => "number",
        Type::Boolean => "boolean",
        _ => "json",
    }
}
