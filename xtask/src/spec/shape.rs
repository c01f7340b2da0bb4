//! Decisions that need all types: those that occur in responses, those that no language can name, and those that the
//! client needs.

use super::api::{Api, ApiField, ApiOperation, TOKEN, Type, joined};
use super::cursor::{Document, NO_LIST, SECRET, UNNAMED};
use super::lists::PAGINATION_MEMBERS;
use crate::names;
use std::collections::{BTreeMap, BTreeSet};

/// The request for a token, which the client builds with hand-written code.
const REQUEST: &str = "TokenRequest: clientId: text, clientSecret: secret text";

/// Removes fields that only requests have from responses, and fields that only responses have from requests. If the two
/// differ, a model in both becomes two models. The name of the one for requests ends with `Request`.
pub(super) fn part(api: &mut Api, in_responses: &BTreeSet<String>) {
    let mut sent: BTreeSet<String> = BTreeSet::new();
    let bodies = api.operations.iter().filter_map(|one| one.body.as_ref());
    sent.extend(bodies.filter_map(|one| one.kind.named()).map(str::to_owned));
    let [in_responses, sent] = [in_responses.clone(), sent].map(|roots| reachable(api, roots));
    let mut taken: BTreeSet<String> = api.models.iter().map(|one| one.name.clone()).collect();
    taken.extend(api.enums.iter().map(|one| one.name.clone()));
    // The names of the models for requests, by the names of the models that they replace.
    let mut parted: BTreeMap<String, String> = BTreeMap::new();
    let mut models = Vec::new();
    for mut model in std::mem::take(&mut api.models) {
        let (is_given, is_sent) = (
            in_responses.contains(&model.name),
            sent.contains(&model.name),
        );
        let differs = |field: &ApiField| {
            let held = field.kind.named().and_then(|name| parted.get(name));
            field.read_only || field.write_only || held.is_some()
        };
        let mut request = model.clone();
        request.fields.retain(|field| !field.read_only);
        for field in &mut request.fields {
            field.kind.rename(&parted);
        }
        let is_parted = is_given && is_sent && model.fields.iter().any(differs);
        match (is_given, is_sent) {
            _ if is_parted => {
                model.fields.retain(|field| !field.write_only);
                let name = format!("{}Request", model.name);
                let numbered = (2..).map(|number| format!("{name}{number}"));
                let mut names = std::iter::once(name.clone()).chain(numbered);
                let free = names.find(|name| taken.insert(name.clone()));
                request.name = free.unwrap_or(name);
                parted.insert(model.name.clone(), request.name.clone());
                models.extend([model, request]);
            }
            (true, false) => {
                model.fields.retain(|field| !field.write_only);
                models.push(model);
            }
            (false, true) => models.push(request),
            _ => models.push(model),
        }
    }
    api.models = models;
    let bodies = api
        .operations
        .iter_mut()
        .filter_map(|one| one.body.as_mut());
    bodies.for_each(|body| body.kind.rename(&parted));
}

/// Marks what responses, requests and C functions contain, directly or through others. In responses null counts as
/// absent.
pub(super) fn mark(api: &mut Api, in_responses: BTreeSet<String>) {
    let calls = || api.operations.iter().filter(|one| one.is_call());
    let sent = calls().filter_map(|one| one.body.as_ref()?.kind.named());
    // Pages have a handle of their own, and a function that returns their pagination.
    let given = calls().filter_map(|one| api.model_of(one.response.as_ref()?));
    let given = given.filter(|one| !one.is_page()).map(|one| &*one.name);
    let sent = sent.map(str::to_owned).collect();
    let given = given.chain(["Pagination"]).map(str::to_owned).collect();
    let records = api.lists().filter_map(|(_, list)| list.model.clone());
    let records: BTreeSet<String> = records.collect();
    let [in_responses, sent, given] =
        [in_responses, sent, given].map(|roots| reachable(api, roots));
    for model in &mut api.models {
        model.in_responses = in_responses.contains(&model.name);
        model.sent = sent.contains(&model.name);
        model.given = given.contains(&model.name);
        model.is_record = records.contains(&model.name);
        for field in model.fields.iter_mut().filter(|_| model.in_responses) {
            field.required &= !matches!(field.kind, Type::Nullable(_));
            field.kind = field.kind.present().clone();
        }
    }
    for known in &mut api.enums {
        known.in_responses = in_responses.contains(&known.name);
    }
}

/// Returns these models and enums, and all that they contain.
fn reachable(api: &Api, mut seen: BTreeSet<String>) -> BTreeSet<String> {
    let held = |one: &ApiField| [one.kind.named().map(str::to_owned), one.keys.clone()];
    // A model comes before those that contain it.
    for model in api.models.iter().rev() {
        if seen.contains(&model.name) {
            seen.extend(model.fields.iter().flat_map(held).flatten());
        }
    }
    seen
}

/// Removes fields that no language can name and that no request needs. They are delivered like undocumented fields.
pub(super) fn leave_out(api: &mut Api, document: &Document) {
    for model in &mut api.models {
        let sent = model.sent && !model.in_responses;
        // If these names differ, so do the names in every language.
        let mut taken = BTreeSet::new();
        let mut fields = std::mem::take(&mut model.fields);
        for field in fields.iter_mut().filter(|one| one.kind == Type::Secret) {
            if model.given || model.is_record {
                let (cause, fix) = ("what responses tell is no secret", "it is an ordinary text");
                document.note(SECRET, &field.place, cause, fix);
                field.kind = Type::Text;
            }
        }
        fields.retain(|field| {
            let wire = &field.wire;
            let is_named = names::is_a_name(wire) && taken.insert(names::snake(&field.name));
            let is_kept = is_named || sent && field.required;
            if !is_kept {
                let cause = format!("{wire:?} is no name, or that of another field");
                let fix = "read it by its JSON, or leave it out of the description";
                document.note(UNNAMED, &field.place, &cause, fix);
            }
            is_kept
        });
        model.fields = fields;
    }
}

/// Refuses a spec that lacks parts that the hand-written code needs.
pub(crate) fn check_needed(api: &Api, document: &Document) {
    let refuse = |at: &str, reason: &str| {
        let fix = "keep it as it was, or change the hand-written code in crates/ with it";
        document.refuse(at, reason, fix);
    };
    let token = api.operations.iter().find(|one| one.id == TOKEN);
    let request = token.and_then(|one| api.model_of(&one.body.as_ref()?.kind));
    let shown = request.map(|one| format!("{}: {}", one.name, joined(&one.fields)));
    if shown.as_deref() != Some(REQUEST) {
        let at = token.map_or("/paths".to_owned(), ApiOperation::place);
        let reason = format!("the client gets its token with {TOKEN}, to which it sends {REQUEST}");
        refuse(&at, &reason);
    }
    let pagination = api.model("Pagination");
    let fields = pagination.map_or(Vec::new(), |model| model.fields.iter().collect());
    let has = |one: &str| fields.iter().any(|field| field.to_string() == one);
    if !PAGINATION_MEMBERS.split(", ").all(has) {
        let reason =
            format!("the client reads pages by the schema Pagination: {PAGINATION_MEMBERS}");
        refuse("/components/schemas", &reason);
    }
    if api.lists().next().is_none() {
        let fix = "name limit and offset as parameters and pagination in the response of each list";
        document.note(NO_LIST, "/paths", "no operation is a paginated list", fix);
    }
}
