//! What is decided when all types are known: what occurs in responses, what closes a cycle, what no language can name, what
//! the client needs.

use super::api::{Api, Model, TOKEN, Type};
use super::cursor::{Document, pointer};
use super::findings::{RAW, UNNAMED};
use crate::names;
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
    for known in &mut api.enums {
        known.answered = seen.contains(&known.name);
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

/// Makes any value of a field that would close a cycle: neither a C handle nor a Python class can hold itself. Then each model
/// comes before those that hold it.
pub(super) fn open_cycles(api: &mut Api, document: &Document) {
    let names = api.models.iter().enumerate();
    let names = names.map(|(index, model)| (model.name.clone(), index));
    let names: BTreeMap<String, usize> = names.collect();
    let mut done = Vec::new();
    for index in 0..api.models.len() {
        visit(api, &names, index, &mut Vec::new(), &mut done, document);
    }
    let models = std::mem::take(&mut api.models).into_iter();
    let mut models: Vec<Option<Model>> = models.map(Some).collect();
    let ordered = done.iter().filter_map(|index| models[*index].take());
    api.models = ordered.collect();
}

fn visit(
    api: &mut Api,
    names: &BTreeMap<String, usize>,
    index: usize,
    above: &mut Vec<usize>,
    done: &mut Vec<usize>,
    document: &Document,
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
            let at = model.place_of(&model.fields[position].wire);
            document.note(RAW, format!("{at}: it leads back to a model that holds it"));
            let kind = &mut model.fields[position].kind;
            *kind = kind.with_named(&Type::Json);
        } else {
            visit(api, names, target, above, done, document);
        }
    }
    above.pop();
    done.push(index);
}

/// Leaves out fields that no language can name and nobody has to send: they are delivered like what the document does not show.
pub(super) fn leave_out(api: &mut Api, document: &Document) {
    let bodies = api.operations.iter().filter_map(|one| one.body.as_ref());
    let bodies = bodies.filter_map(|body| body.kind.named());
    let sent = reachable(api, bodies.map(str::to_owned).collect());
    for model in &mut api.models {
        let sent = sent.contains(&model.name) && !model.answered;
        let mut taken = BTreeSet::new();
        if model.field("extra").is_some() {
            taken.insert(("Rust", "unknown_fields".to_owned()));
        }
        let place = model.place.clone();
        model.fields.retain(|field| {
            let wire = &field.wire;
            let kept = [("Rust", names::RUST_FIELD), ("Python", names::PYTHON_FIELD)];
            let own = kept.map(|(language, kept)| (language, names::name(wire, kept)));
            let fits = names::is_a_name(wire) && own.iter().all(|name| !taken.contains(name));
            let is_kept = fits || (sent && field.required);
            match is_kept {
                true => taken.extend(own),
                false => document.note(UNNAMED, place.clone() + &pointer(&["properties", wire])),
            }
            is_kept
        });
    }
}

/// The fields of the request for a token, which the client writes out by hand.
const REQUEST: [(&str, &str); 2] = [
    ("clientId", "clientId: text"),
    ("clientSecret", "clientSecret: secret text"),
];

/// Refuses a spec that lacks what the hand-written code takes from it.
pub(super) fn check_needed(api: &Api, document: &Document) {
    let way = "keep it as it was, or change the hand-written code in crates/ with it";
    let refuse = |at: &str, reason: &str| document.refuse(at, reason, way);
    let request = Type::Model("TokenRequest".to_owned());
    match api.operations.iter().find(|one| one.id == TOKEN) {
        None => refuse(
            "/paths",
            "there is no operation createToken, with which the client gets its token",
        ),
        Some(operation) => match operation.body.as_ref().map(|body| &body.kind) {
            Some(kind) if *kind == request => {}
            _ => refuse(
                &operation.place(),
                "the request of createToken is not the schema TokenRequest",
            ),
        },
    }
    if let Some(model) = api.model("TokenRequest") {
        for (wire, shown) in REQUEST {
            if !model.fields.iter().any(|one| one.to_string() == shown) {
                let reason = "the client sends this field, as it was documented";
                refuse(&model.place_of(wire), reason);
            }
        }
        for field in &model.fields {
            if REQUEST.iter().all(|(wire, _)| field.wire != *wire) {
                let reason = "the client does not send this field";
                refuse(&model.place_of(&field.wire), reason);
            }
        }
    }
    if api.lists().next().is_some() && api.model("Pagination").is_none() {
        let reason = "the pagination object of lists is not the schema Pagination";
        refuse("/components/schemas", reason);
    }
}
