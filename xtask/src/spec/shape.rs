//! What is decided when all types are known: what occurs in responses, what closes a cycle, what the client needs.

use super::api::{Api, Model, TOKEN, Type};
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

/// The fields of the request for a token, which the client writes out by hand.
const REQUEST: [(&str, &str); 2] = [
    ("clientId", "clientId: text"),
    ("clientSecret", "clientSecret: secret text"),
];

/// Refuses a spec that lacks what the hand-written code takes from it.
pub(super) fn check_needed(api: &Api, findings: &mut Findings) {
    let way = "keep it as it was, or change the hand-written code in crates/ with it";
    let mut refuse = |at: &str, reason: &str| findings.refuse(at, reason, way);
    let operation = api.operations.iter().find(|one| one.id == TOKEN);
    let body = operation.and_then(|one| one.body.as_ref());
    let is_sent = |name: &str| body.is_some_and(|one| one.kind == Type::Model(name.to_owned()));
    match (operation, api.model("TokenRequest")) {
        (None, _) => {
            let reason = "there is no operation createToken, with which the client gets its token";
            refuse("/paths", reason);
        }
        (Some(_), Some(model)) if is_sent(&model.name) => {
            let at = |wire: &str| model.place.clone() + &pointer(&["properties", wire]);
            for (wire, shown) in REQUEST {
                if !model.fields.iter().any(|one| one.to_string() == shown) {
                    let reason = "the client sends this field, as it was documented";
                    refuse(&at(wire), reason);
                }
            }
            for field in &model.fields {
                if REQUEST.iter().all(|(wire, _)| field.wire != *wire) {
                    refuse(&at(&field.wire), "the client does not send this field");
                }
            }
        }
        (Some(operation), _) => {
            let reason = "the request of createToken is not the schema TokenRequest";
            refuse(&operation.place(), reason);
        }
    }
    if api.lists().next().is_some() && api.model("Pagination").is_none() {
        let reason = "the pagination object of lists is not the schema Pagination";
        refuse("/components/schemas", reason);
    }
}
