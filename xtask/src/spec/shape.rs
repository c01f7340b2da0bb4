//! What is decided when all types are known: what occurs in responses, what closes a cycle, what the client needs.

use super::api::{Api, Field, Model, TOKEN, Type};
use super::cursor::pointer;
use super::findings::{Findings, Topic};
use std::collections::{BTreeMap, BTreeSet};

/// Marks what the responses hold, directly or through others; there null counts as absent.
pub(super) fn mark_answered(api: &mut Api, roots: BTreeSet<String>) {
    let seen = reachable(api, roots);
    for model in api.models.iter_mut().filter(|one| seen.contains(&one.name)) {
        model.answered = true;
        for field in model.fields.iter_mut().filter(|field| field.nullable) {
            (field.required, field.nullable) = (false, false);
        }
    }
    for known in api.enums.iter_mut().filter(|one| seen.contains(&one.name)) {
        known.answered = true;
    }
}

/// These models and enums, and all that they hold.
pub(crate) fn reachable(api: &Api, roots: BTreeSet<String>) -> BTreeSet<String> {
    let models = api.models.iter().map(|model| (model.name.as_str(), model));
    let models: BTreeMap<&str, &Model> = models.collect();
    let mut waiting: Vec<String> = roots.into_iter().collect();
    let mut seen = BTreeSet::new();
    while let Some(name) = waiting.pop() {
        let fields = models.get(name.as_str()).map(|model| &model.fields);
        if seen.insert(name) {
            let fields = fields.into_iter().flatten();
            let held =
                fields.flat_map(|one| one.kind.named().into_iter().chain(one.keys.as_deref()));
            waiting.extend(held.map(str::to_owned));
        }
    }
    seen
}

/// Makes any value of a field that would close a cycle: neither a C handle nor a Python class can hold itself.
pub(super) fn open_cycles(api: &mut Api, findings: &mut Findings) {
    let names = api.models.iter().enumerate();
    let names = names.map(|(index, model)| (model.name.clone(), index));
    let names: BTreeMap<String, usize> = names.collect();
    let mut done = BTreeSet::new();
    for index in 0..api.models.len() {
        visit(api, &names, index, &mut Vec::new(), &mut done, findings);
    }
}

fn visit(
    api: &mut Api,
    names: &BTreeMap<String, usize>,
    index: usize,
    above: &mut Vec<usize>,
    done: &mut BTreeSet<usize>,
    findings: &mut Findings,
) {
    if done.contains(&index) {
        return;
    }
    above.push(index);
    for position in 0..api.models[index].fields.len() {
        let field = &api.models[index].fields[position];
        let target = field.kind.named().and_then(|name| names.get(name));
        let Some(&target) = target else { continue };
        if above.contains(&target) {
            let model = &mut api.models[index];
            let field = &mut model.fields[position];
            let at = format!("{}{}", model.place, pointer(&["properties", &field.wire]));
            field.kind = field.kind.with_named(&Type::Json);
            let text = format!("{at}: it leads back to a model that holds it");
            findings.note(Topic::Raw, text);
        } else {
            visit(api, names, target, above, done, findings);
        }
    }
    above.pop();
    done.insert(index);
}

/// The model of the request for a token, and what each of its fields is; there may be no other.
const REQUEST: (&str, [(&str, Type); 2]) = (
    "TokenRequest",
    [("clientId", Type::Text), ("clientSecret", Type::Secret)],
);

const WAY: &str = "keep it as it was, or change the hand-written code in crates/ with it";

/// Refuses a spec that lacks what the hand-written code takes from it.
pub(super) fn check_needed(api: &Api, findings: &mut Findings) {
    match api.operations.iter().find(|one| one.id == TOKEN) {
        None => {
            let reason =
                format!("there is no operation {TOKEN}, with which the client gets its token");
            findings.refuse("/paths", &reason, WAY);
        }
        Some(operation) => {
            let model = Type::Model(REQUEST.0.to_owned());
            if operation.body.as_ref().map(|body| &body.kind) == Some(&model) {
                request(api, findings);
            } else {
                let reason = format!("the request of {TOKEN} is not the schema {}", REQUEST.0);
                findings.refuse(&operation.place(), &reason, WAY);
            }
        }
    }
    if api.lists().next().is_some() && api.model("Pagination").is_none() {
        let reason = "the pagination object of lists is not the schema Pagination";
        findings.refuse(&pointer(&["components", "schemas"]), reason, WAY);
    }
}

/// The request is written out by hand, field by field.
fn request(api: &Api, findings: &mut Findings) {
    let (name, wanted) = &REQUEST;
    let Some(model) = api.model(name) else {
        return;
    };
    for (wire, kind) in wanted {
        let fits = |field: &Field| field.kind == *kind && field.required && !field.nullable;
        if !model.field(wire).is_some_and(fits) {
            let at = format!("{}{}", model.place, pointer(&["properties", wire]));
            let reason = "the client sends this field, as it was documented";
            findings.refuse(&at, reason, WAY);
        }
    }
    for field in &model.fields {
        if !wanted.iter().any(|(wire, _)| *wire == field.wire) {
            let at = format!("{}{}", model.place, pointer(&["properties", &field.wire]));
            findings.refuse(&at, "the client does not send this field", WAY);
        }
    }
}
