//! Security requirements: whether the bearer token goes with an operation.

use super::api::TokenUse;
use super::findings::Topic;
use super::pointer;
use super::references::resolve;
use super::types::Types;
use serde_json::{Map, Value};

/// Whether the bearer token goes with the operation; other schemes are noted.
pub(super) fn token(types: &mut Types<'_>, body: &Value, whose: &str) -> TokenUse {
    let document = types.document();
    let security = body.get("security").or(document.get("security"));
    let (mut with, mut without) = (false, false);
    for requirement in security.and_then(Value::as_array).into_iter().flatten() {
        let names: Vec<&String> = requirement
            .as_object()
            .into_iter()
            .flat_map(Map::keys)
            .collect();
        without |= names.is_empty();
        for name in names {
            let at = pointer(&["components", "securitySchemes", name]);
            let scheme = document
                .pointer(&at)
                .map(|scheme| resolve(document, scheme));
            let scheme = scheme.unwrap_or(&Value::Null);
            let http = scheme["scheme"].as_str().map(str::to_ascii_lowercase);
            match scheme["type"].as_str() {
                Some("http") if http.as_deref() == Some("bearer") => with = true,
                Some("oauth2" | "openIdConnect") => with = true,
                Some(kind) => types
                    .findings
                    .note(Topic::Security, format!("{whose}: {name} ({kind})")),
                None => {
                    let way = "add it to /components/securitySchemes, or correct the name";
                    types
                        .findings
                        .refuse(&at, "there is no such security scheme", way);
                }
            }
        }
    }
    match (with, without) {
        (false, _) => TokenUse::Never,
        (true, false) => TokenUse::Always,
        (true, true) => TokenUse::WhenThereIsOne,
    }
}
