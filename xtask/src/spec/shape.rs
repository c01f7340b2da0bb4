//! What is decided when all types are known: what occurs in responses, what no language can name, what the client
//! needs.

use super::api::{Api, ApiField, ApiOperation, TOKEN, Type, joined};
use super::cursor::{Document, UNNAMED};
use crate::names;
use std::collections::BTreeSet;

/// The request for a token, which the client writes out by hand.
const REQUEST: &str = "TokenRequest: clientId: text, clientSecret: secret text";

/// Marks what responses, requests and C functions hold, directly or through others; in responses null counts as absent.
pub(super) fn mark(api: &mut Api, in_responses: BTreeSet<String>) {
    let calls = || api.operations.iter().filter(|one| one.is_call());
    let sent = calls().filter_map(|one| one.body.as_ref()?.kind.named());
    // Pages have a handle of their own, and a function that gives their pagination.
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

/// These models and enums, and all that they hold.
fn reachable(api: &Api, mut seen: BTreeSet<String>) -> BTreeSet<String> {
    let held = |one: &ApiField| [one.kind.named().map(str::to_owned), one.keys.clone()];
    // A model stands before those that hold it.
    for model in api.models.iter().rev() {
        if seen.contains(&model.name) {
            seen.extend(model.fields.iter().flat_map(held).flatten());
        }
    }
    seen
}

/// Leaves out fields that no language can name and nobody has to send: they are delivered like what the document does not show.
pub(super) fn leave_out(api: &mut Api, document: &Document) {
    for model in &mut api.models {
        let sent = model.sent && !model.in_responses;
        // Where these differ, so do the names in every language.
        let mut taken = BTreeSet::new();
        let mut fields = std::mem::take(&mut model.fields);
        fields.retain(|field| {
            let wire = &field.wire;
            let is_named = names::is_a_name(wire) && taken.insert(names::snake(wire));
            let is_kept = is_named || sent && field.required;
            if !is_kept {
                document.note(UNNAMED, model.place_of(wire));
            }
            is_kept
        });
        model.fields = fields;
    }
}

/// Refuses a spec that lacks what the hand-written code takes from it.
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
    if api.lists().next().is_none() {
        let fix = "name limit and offset as parameters and pagination in the response of each list";
        document.refuse("/paths", "no operation is a paginated list", fix);
    } else if api.model("Pagination").is_none() {
        let reason = "the pagination object of lists is not the schema Pagination";
        refuse("/components/schemas", reason);
    }
}
