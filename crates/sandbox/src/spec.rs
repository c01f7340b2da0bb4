//! What the spec says of the service, as the generated table has it.

mod route;

use std::sync::OnceLock;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use crate::schema::Schemas;
pub(crate) use route::{Found, find};

/// Operations and schemas, read from the OpenAPI document and not from what the client is generated from.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Spec {
    rate_limit: Option<String>,
    pub(crate) operations: Vec<Operation>,
    pub(crate) schemas: Schemas,
}

/// A method of a path.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Operation {
    pub(crate) id: Option<String>,
    /// In capitals.
    pub(crate) method: String,
    /// With its parameters in braces.
    pub(crate) path: String,
    pub(crate) bearer: Bearer,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) request: Option<Request>,
    pub(crate) success: Success,
}

/// What a token is to an operation (section 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Bearer {
    Never,
    /// May be missing, but a wrong one is refused. The sandbox's choice for the version check (section 5: not shown).
    Optional,
    Always,
}

/// A parameter of an operation.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    /// `path`, `query`, `header` or `cookie`.
    #[serde(rename = "in")]
    pub(crate) location: String,
    pub(crate) required: bool,
    /// Whether its text is JSON.
    pub(crate) json: bool,
    pub(crate) style: Option<String>,
    pub(crate) explode: Option<bool>,
    pub(crate) schema: Value,
}

/// The body of a request.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Request {
    pub(crate) required: bool,
    /// Otherwise it may be anything.
    pub(crate) json: bool,
    pub(crate) schema: Value,
}

/// The successful response.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Success {
    pub(crate) status: u16,
    /// Without one it has no body.
    content_type: Option<String>,
    pub(crate) schema: Value,
}

/// The table of the service that this sandbox is.
pub(crate) fn spec() -> &'static Spec {
    static SPEC: OnceLock<Spec> = OnceLock::new();
    SPEC.get_or_init(|| {
        // It is a part of the program, and a test reads it.
        serde_json::from_str(include_str!("generated/spec.json")).unwrap_or_default()
    })
}

impl Spec {
    pub(crate) fn operation(&self, method: &str, path: &str) -> Option<&Operation> {
        let mut all = self.operations.iter();
        all.find(|one| one.method == method && one.path == path)
    }

    /// Requests per window, and the length of the window, where the spec states them as `40;w=1`.
    pub(crate) fn rate_limit(&self) -> Option<(u32, Duration)> {
        let first = self.rate_limit.as_ref()?.split(',').next()?;
        let mut parts = first.split(';').map(str::trim);
        let limit = parts.next()?.parse().ok().filter(|limit| *limit > 0)?;
        let seconds = parts.find_map(|part| part.strip_prefix("w="))?;
        let seconds = seconds.parse().ok().filter(|seconds| *seconds > 0)?;
        Some((limit, Duration::from_secs(seconds)))
    }
}

impl Operation {
    pub(crate) fn is(&self, id: &str) -> bool {
        self.id.as_deref() == Some(id)
    }

    /// Its query parameter of this name.
    pub(crate) fn query(&self, name: &str) -> Option<&Parameter> {
        let mut queries = self.parameters.iter().filter(|one| one.location == "query");
        queries.find(|one| one.name == name)
    }
}

impl Success {
    /// The media type of the body; none where there is no body.
    pub(crate) fn content_type(&self) -> Option<&str> {
        let documented = self.content_type.as_deref().filter(|_| self.status != 204);
        documented.map(|kind| {
            if kind == "*/*" {
                "application/json"
            } else {
                kind
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_can_be_read() {
        let spec: Spec = serde_json::from_str(include_str!("generated/spec.json")).unwrap();
        assert!(!spec.operations.is_empty());
        for id in [
            "createToken",
            "getTokenPermissions",
            "getVersion",
            "checkVersion",
        ] {
            assert!(spec.operations.iter().any(|one| one.is(id)), "{id}");
        }
        for list in crate::list::lists() {
            assert!(spec.operation("GET", list.path).is_some(), "{}", list.path);
        }
    }

    #[test]
    fn the_rate_limit_is_read_where_it_is_stated() {
        for (text, limit) in [
            (Some("40;w=1"), Some((40, 1))),
            (Some("100; w=10"), Some((100, 10))),
            (Some("5;w=60, 1000;w=86400"), Some((5, 60))),
            (Some("40"), None),
            (Some("0;w=1"), None),
            (Some("40;w=soon"), None),
            (None, None),
        ] {
            let spec = Spec {
                rate_limit: text.map(str::to_owned),
                ..Spec::default()
            };
            let limit = limit.map(|(limit, seconds)| (limit, Duration::from_secs(seconds)));
            assert_eq!(spec.rate_limit(), limit, "{text:?}");
        }
    }
}
