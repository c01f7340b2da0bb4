//! What the hand-written code takes from the spec: without it, what is generated would not compile or not work.

use super::api::{Api, Field, Operation, Type};
use super::findings::Findings;
use super::pointer;

/// An operation that has a method written by hand, and a route of the sandbox.
struct Call {
    id: &'static str,
    method: &'static str,
    path: &'static str,
    /// The model of the request, and what each of its fields is; there may be no other.
    request: Option<(&'static str, &'static [(&'static str, Kind)])>,
    /// The model of the response, where bindings name it.
    response: Option<&'static str>,
}

#[derive(Clone, Copy)]
enum Kind {
    Text,
    Secret,
    /// An array of this enum.
    Enums(&'static str),
}

const CALLS: [Call; 4] = [
    Call {
        id: "createToken",
        method: "post",
        path: "/v1/oauth/token",
        request: Some((
            "TokenRequest",
            &[("clientId", Kind::Text), ("clientSecret", Kind::Secret)],
        )),
        response: None,
    },
    Call {
        id: "getTokenPermissions",
        method: "get",
        path: "/v1/oauth/token/permissions",
        request: None,
        response: Some("TokenPermissions"),
    },
    Call {
        id: "getVersion",
        method: "get",
        path: "/v1/version",
        request: None,
        response: Some("VersionResponse"),
    },
    Call {
        id: "checkVersion",
        method: "post",
        path: "/v1/version/check",
        request: Some((
            "VersionCheckRequest",
            &[
                ("clientVersion", Kind::Text),
                ("endpoints", Kind::Enums("CategoryName")),
            ],
        )),
        response: Some("VersionCheckResponse"),
    },
];

const WAY: &str = "keep it as it was, or change the hand-written code in crates/ with it";

impl Operation {
    /// Whether a method of the client, written by hand, calls it.
    pub(crate) fn is_written_by_hand(&self) -> bool {
        CALLS.iter().any(|call| call.id == self.id)
    }
}

/// Refuses a spec that lacks what the hand-written code takes from it.
pub(super) fn check(api: &Api, findings: &mut Findings) {
    for call in &CALLS {
        let Some(operation) = api.operations.iter().find(|one| one.id == call.id) else {
            let reason = format!("there is no operation {}, which the client calls", call.id);
            findings.refuse("/paths", &reason, WAY);
            continue;
        };
        let at = operation.place();
        if (operation.method.as_str(), operation.path.as_str()) != (call.method, call.path) {
            let method = call.method.to_uppercase();
            let reason = format!("the sandbox serves {} at {method} {}", call.id, call.path);
            findings.refuse(&at, &reason, WAY);
        }
        let named = |kind: Option<&Type>, name: &str| kind == Some(&Type::Model(name.to_owned()));
        let response = call
            .response
            .filter(|name| !named(operation.response.as_ref(), name));
        if let Some(name) = response {
            let reason = format!("the response of {} is not the schema {name}", call.id);
            findings.refuse(&at, &reason, WAY);
        }
        let Some((name, fields)) = call.request else {
            continue;
        };
        if !named(operation.body.as_ref().map(|body| &body.kind), name) {
            let reason = format!("the request of {} is not the schema {name}", call.id);
            findings.refuse(&at, &reason, WAY);
        } else {
            request(api, name, fields, findings);
        }
    }
    if api.lists().next().is_some() && api.model("Pagination").is_none() {
        let reason = "the pagination object of lists is not the schema Pagination";
        findings.refuse(&pointer(&["components", "schemas"]), reason, WAY);
    }
}

/// A request is written out by hand, field by field.
fn request(api: &Api, name: &str, wanted: &[(&str, Kind)], findings: &mut Findings) {
    let Some(model) = api.model(name) else {
        return;
    };
    for (wire, kind) in wanted {
        let fits = |field: &Field| {
            let kind_fits = match kind {
                Kind::Text => field.kind == Type::Text,
                Kind::Secret => field.kind == Type::Secret,
                Kind::Enums(name) => {
                    field.kind == Type::Array(Type::Enum((*name).to_owned()).into())
                }
            };
            kind_fits && field.required && !field.nullable
        };
        if !model.field(wire).is_some_and(fits) {
            let at = format!("{}{}", model.place, pointer(&["properties", wire]));
            findings.refuse(
                &at,
                "the client sends this field, as it was documented",
                WAY,
            );
        }
    }
    for field in &model.fields {
        if !wanted.iter().any(|(wire, _)| *wire == field.wire) {
            let at = format!("{}{}", model.place, pointer(&["properties", &field.wire]));
            findings.refuse(&at, "the client does not send this field", WAY);
        }
    }
}
