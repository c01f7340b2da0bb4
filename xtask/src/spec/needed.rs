//! What the hand-written code takes from the spec: without it, what is generated would not compile or not work.

use super::api::{Api, Field, TOKEN, Type};
use super::findings::Findings;
use super::pointer;

/// The model of the request for a token, and what each of its fields is; there may be no other.
const REQUEST: (&str, [(&str, Type); 2]) = (
    "TokenRequest",
    [("clientId", Type::Text), ("clientSecret", Type::Secret)],
);

const WAY: &str = "keep it as it was, or change the hand-written code in crates/ with it";

/// Refuses a spec that lacks what the hand-written code takes from it.
pub(super) fn check(api: &Api, findings: &mut Findings) {
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
