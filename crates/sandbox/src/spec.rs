//! The service as its OpenAPI document describes it: operations with their parameters, bodies and responses.
//!
//! The sandbox reads the document on its own, so that it shares no misreading with the client.

use crate::http::is_json;
use crate::schema::Schemas;
use percent_encoding::percent_decode_str;
use serde_json::Value;
use std::cmp::Reverse;
use std::sync::OnceLock;
use std::time::Duration;

mod list;

pub(crate) use list::PAGINATION;
use list::list;
pub use list::{ServedList, lists};

/// The HTTP methods that OpenAPI supports.
const METHODS: [&str; 8] = [
    "get", "post", "put", "patch", "delete", "head", "options", "trace",
];

/// Header parameters that OpenAPI leaves to other parts of the document.
const DESCRIBED_HEADERS: [&str; 3] = ["accept", "content-type", "authorization"];

/// Everything that the sandbox needs from an API description.
#[derive(Debug)]
pub(crate) struct ServiceSpec {
    pub(crate) schemas: Schemas,
    /// The operations, the most literal paths first.
    pub(crate) operations: Vec<DocumentedOperation>,
    pub(crate) lists: Vec<ServedList>,
    /// The number of requests per window, and the length of the window, if the document states them as `40;w=1`.
    pub(crate) rate_limit: Option<(u32, Duration)>,
}

/// A method of a path.
#[derive(Debug, Clone)]
pub(crate) struct DocumentedOperation {
    pub(crate) id: String,
    /// The method in capitals.
    pub(crate) method: String,
    /// The path, with its parameters in braces.
    pub(crate) path: String,
    pub(crate) bearer: Bearer,
    pub(crate) parameters: Vec<DocumentedParameter>,
    pub(crate) request: Option<DocumentedBody>,
    pub(crate) success: Success,
}

/// The use of the token by an operation (section 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bearer {
    Never,
    /// The token may be missing, but a wrong one is refused. The sandbox's choice for the version check (section 5: not
    /// shown).
    Optional,
    Always,
}

/// A parameter of an operation that is checked: a string, a number, a boolean, or an array of them.
#[derive(Debug, Clone)]
pub(crate) struct DocumentedParameter {
    pub(crate) name: String,
    /// `path`, `query` or `header`.
    pub(crate) location: String,
    pub(crate) required: bool,
    /// True if each element of an array is a parameter of its own, instead of all of them with commas in between.
    pub(crate) separate: bool,
    pub(crate) schema: Value,
}

impl DocumentedParameter {
    /// Returns whether a list uses the parameter to select a page.
    pub(crate) fn is_of_page(&self) -> bool {
        self.location == "query" && ["limit", "offset"].contains(&self.name.as_str())
    }
}

/// The body of a request. Without a schema it may be anything.
#[derive(Debug, Clone)]
pub(crate) struct DocumentedBody {
    pub(crate) required: bool,
    pub(crate) schema: Option<Value>,
}

/// The successful response.
#[derive(Debug, Clone)]
pub(crate) struct Success {
    pub(crate) status: u16,
    /// The media type of the body; `None` if there is no body.
    pub(crate) content_type: Option<String>,
    pub(crate) schema: Value,
}

impl ServiceSpec {
    /// Returns the API description that the sandbox is built with.
    pub(crate) fn embedded() -> &'static Self {
        static SPEC: OnceLock<ServiceSpec> = OnceLock::new();
        // The file is part of the program, and a test reads it.
        SPEC.get_or_init(|| {
            let text = include_str!("../openapi.json");
            Self::read(serde_json::from_str(text).unwrap_or_default())
        })
    }

    pub(crate) fn read(document: Value) -> Self {
        let schemas = Schemas(document);
        let mut operations = Vec::new();
        let mut rate_limit = None;
        for (path, item) in members(schemas.0.get("paths")) {
            let item = schemas.resolved(item);
            for (method, body) in members(Some(item)) {
                if METHODS.contains(&method.as_str()) {
                    rate_limit = rate_limit.or_else(|| schemas.rate_limit(body));
                    operations.push(schemas.operation(path, method, item, body));
                }
            }
        }
        let lists = operations.iter().filter_map(|one| list(&schemas, one));
        let lists = lists.collect();
        operations.sort_by_cached_key(|one| Reverse(literalness(&one.path)));
        Self {
            lists,
            operations,
            rate_limit,
            schemas,
        }
    }
}

impl Schemas {
    fn operation(
        &self,
        path: &str,
        method: &str,
        item: &Value,
        body: &Value,
    ) -> DocumentedOperation {
        let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
        let request = body.get("requestBody").map(|one| self.resolved(one));
        DocumentedOperation {
            id: text("operationId"),
            method: method.to_uppercase(),
            path: path.to_owned(),
            bearer: self.bearer(body),
            parameters: self.parameters(item, body),
            request: request.map(|one| DocumentedBody {
                required: one["required"] == true,
                schema: self.json_content(one).map(|(_, schema)| schema),
            }),
            success: self.success(body),
        }
    }

    /// Returns the parameters of an operation and its path. A parameter of the operation replaces a parameter of the
    /// path with the same name and place. Cookies, objects, and arrays in unusual styles are omitted and not checked.
    fn parameters(&self, item: &Value, body: &Value) -> Vec<DocumentedParameter> {
        let mut out: Vec<DocumentedParameter> = Vec::new();
        let both = [body, item].into_iter();
        let written = both.filter_map(|one| one.get("parameters")?.as_array());
        for one in written.flatten().map(|one| self.resolved(one)) {
            let text = |name: &str| one[name].as_str().unwrap_or_default().to_owned();
            let (name, location, style) = (text("name"), text("in"), text("style"));
            let mut known = out.iter();
            let (Some(schema), false) = (
                one.get("schema"),
                known.any(|other| other.name == name && other.location == location),
            ) else {
                continue;
            };
            let shape = self.shape(schema);
            let usual = match location.as_str() {
                // Other parts of the document describe some headers.
                "header" => !DESCRIBED_HEADERS.contains(&name.to_ascii_lowercase().as_str()),
                location => ["path", "query"].contains(&location),
            };
            if usual && !shape.is("object") && ["", "form", "simple"].contains(&style.as_str()) {
                out.push(DocumentedParameter {
                    required: location == "path" || one["required"] == true,
                    separate: location == "query" && one["explode"] != false,
                    schema: schema.clone(),
                    name,
                    location,
                });
            }
        }
        out
    }

    /// Returns the first successful response with a body, otherwise the first successful one, otherwise `default`.
    fn success(&self, body: &Value) -> Success {
        let statuses = members(body.get("responses"));
        let mut statuses: Vec<_> = statuses.map(|(k, one)| (k, self.resolved(one))).collect();
        statuses.retain(|(status, _)| status.starts_with('2') || *status == "default");
        // `default` sorts after digits.
        statuses.sort_by_key(|(status, one)| (one.get("content").is_none(), status.as_str()));
        let successful = |(status, _): &&(&String, &Value)| status.starts_with('2');
        let found = statuses.iter().find(successful).or(statuses.first());
        let status = found.and_then(|(status, _)| status.parse().ok());
        let status = status.unwrap_or(200);
        let content = found.and_then(|(_, one)| self.json_content(one));
        let (content_type, schema) = content.unzip();
        Success {
            status,
            content_type: content_type.filter(|_| status != 204),
            schema: schema.unwrap_or(true.into()),
        }
    }

    /// Returns the media type that is JSON, and its schema.
    fn json_content(&self, holder: &Value) -> Option<(String, Value)> {
        let all = || members(holder.get("content"));
        let plain = all().find(|(kind, _)| *kind == "application/json");
        let (kind, media) =
            plain.or_else(|| all().find(|(kind, _)| is_json(kind) || *kind == "*/*"))?;
        let kind = kind.replace("*/*", "application/json");
        Some((kind, media.get("schema").cloned().unwrap_or(true.into())))
    }

    fn bearer(&self, body: &Value) -> Bearer {
        let security = body.get("security").or(self.0.get("security"));
        let is_bearer = |name: &str| {
            let schemes = self.0.pointer("/components/securitySchemes");
            let scheme = schemes.and_then(|schemes| schemes.get(name));
            let scheme = scheme.map_or(&Value::Null, |scheme| self.resolved(scheme));
            match scheme["type"].as_str() {
                Some("oauth2" | "openIdConnect") => true,
                _ => scheme["scheme"]
                    .as_str()
                    .is_some_and(|one| one.eq_ignore_ascii_case("bearer")),
            }
        };
        let (mut with, mut without) = (false, false);
        for one in security.and_then(Value::as_array).into_iter().flatten() {
            with |= members(Some(one)).any(|(name, _)| is_bearer(name));
            without |= members(Some(one)).next().is_none();
        }
        match (with, without) {
            (true, false) => Bearer::Always,
            (true, true) => Bearer::Optional,
            (false, _) => Bearer::Never,
        }
    }

    /// Returns the rate limit that a response header of the operation contains as an example or a constant.
    fn rate_limit(&self, body: &Value) -> Option<(u32, Duration)> {
        let responses = members(body.get("responses")).map(|(_, one)| self.resolved(one));
        let headers = responses.flat_map(|one| members(one.get("headers")));
        let named = headers.filter(|(name, _)| name.eq_ignore_ascii_case("x-ratelimit-limit"));
        let mut texts = named.filter_map(|(_, header)| {
            let header = self.resolved(header);
            let schema = header.get("schema").unwrap_or(&Value::Null);
            let shape = self.shape(schema);
            let examples = shape.values("examples").filter_map(|all| all.get(0));
            let given = shape.values("const").chain(examples);
            given.chain(header.get("example")).find_map(Value::as_str)
        });
        quota(texts.next()?)
    }
}

/// Returns the number of requests and the window of a text such as `40;w=1`. If it has several limits, the first one
/// counts.
fn quota(text: &str) -> Option<(u32, Duration)> {
    let mut parts = text.split(',').next()?.split(';').map(str::trim);
    let limit = parts.next()?.parse().ok().filter(|limit| *limit > 0)?;
    let seconds = parts.find_map(|part| part.strip_prefix("w="))?;
    let seconds = seconds.parse().ok().filter(|seconds| *seconds > 0)?;
    Some((limit, Duration::from_secs(seconds)))
}

fn members(value: Option<&Value>) -> impl Iterator<Item = (&String, &Value)> {
    let members = value.and_then(Value::as_object);
    members.into_iter().flatten()
}

/// An operation that matches a path.
#[derive(Debug)]
pub(crate) struct RouteMatch<'a> {
    pub(crate) operation: &'a DocumentedOperation,
    /// The name and the value of each path parameter.
    pub(crate) parameters: Vec<(&'a str, String)>,
}

impl ServiceSpec {
    /// Returns the operations at a path, the most literal template first.
    pub(crate) fn find(&self, path: &str) -> Vec<RouteMatch<'_>> {
        let decoded = |one| percent_decode_str(one).decode_utf8_lossy();
        let segments: Vec<_> = path.split('/').map(decoded).collect();
        let found = self.operations.iter().filter_map(|operation| {
            let mut parameters = Vec::new();
            let template = operation.path.split('/');
            let mut pairs = template.clone().zip(&segments);
            let fits = template.count() == segments.len()
                && pairs.all(|(template, text)| fits(template, text, &mut parameters));
            fits.then_some(RouteMatch {
                operation,
                parameters,
            })
        });
        found.collect()
    }
}

/// Returns the length of a path without its parameters.
fn literalness(path: &str) -> usize {
    let parts = path.split('{');
    let names = parts.filter_map(|part| Some(part.split_once('}')?.0.len() + 2));
    path.len() - names.sum::<usize>()
}

/// Returns whether a segment fits. A parameter has at least one character and ends where the literal after it first
/// occurs.
fn fits<'a>(template: &'a str, text: &str, out: &mut Vec<(&'a str, String)>) -> bool {
    let parts = template
        .split_once('{')
        .and_then(|(literal, rest)| Some((literal, rest.split_once('}')?)));
    let Some((literal, (name, after))) = parts else {
        return template == text;
    };
    let Some(text) = text.strip_prefix(literal) else {
        return false;
    };
    let next = after.split('{').next().unwrap_or_default();
    let first = text.chars().next().map_or(0, char::len_utf8);
    let end = match next {
        "" => Some(text.len()),
        next => text[first..].find(next).map(|at| first + at),
    };
    let Some(end) = end.filter(|end| *end > 0) else {
        return false;
    };
    out.push((name, text[..end].to_owned()));
    fits(after, &text[end..], out)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cases::table;

    #[test]
    fn our_own_api_description_is_read() {
        let spec = ServiceSpec::embedded();
        for id in "createToken getTokenPermissions getVersion checkVersion".split(' ') {
            assert!(spec.operations.iter().any(|one| one.id == id), "{id}");
        }
        // Regardless of other changes, the lists that the API description names keep their form.
        let list = |name: &str| lists().iter().find(|list| list.name == name).unwrap();
        assert_eq!(list("contacts").path, "/v1/contacts");
        assert_eq!(list("contacts").record_key.as_deref(), Some("contacts"));
        assert_eq!(list("ja_skills").record_key, None);
        assert!(lists().len() >= 5, "{}", lists().len());
        assert_eq!(spec.rate_limit, Some((40, Duration::from_secs(1))));
    }

    #[test]
    fn the_rate_limit_is_read_if_it_is_stated() {
        for (text, limit) in [
            ("40;w=1", Some((40, 1))),
            ("100; w=10", Some((100, 10))),
            ("5;w=60, 1000;w=86400", Some((5, 60))),
            ("40", None),
            ("0;w=1", None),
            ("40;w=soon", None),
        ] {
            let limit = limit.map(|(limit, seconds)| (limit, Duration::from_secs(seconds)));
            for header in [
                json!({"schema": {"examples": [text]}}),
                json!({"schema": {"const": text}}),
                json!({"example": text}),
            ] {
                let headers = json!({"X-RateLimit-Limit": {"$ref": "#/components/headers/Limit"}});
                let spec = ServiceSpec::read(json!({
                    "paths": {"/a": {"get": {"responses": {"200": {"headers": headers}}}}},
                    "components": {"headers": {"Limit": header}},
                }));
                assert_eq!(spec.rate_limit, limit, "{header}");
            }
        }
    }

    fn operation(operation: Value) -> DocumentedOperation {
        let mut document: Value = table("operation");
        document["items"]["a%b"]["get"] = operation;
        ServiceSpec::read(document).operations.remove(0)
    }

    #[test]
    fn an_operation_is_read_with_the_parameters_of_its_path() {
        let read = operation(json!({"parameters": [{"$ref": "#/components/parameters/X"}]}));
        let [x, id] = read.parameters.try_into().unwrap();
        assert!(x.required && x.separate && x.schema == json!({"const": 1}));
        assert!(id.required && !id.separate);
        assert_eq!(read.bearer, Bearer::Always);
        for (security, bearer) in table::<Vec<(Value, String)>>("security") {
            let read = operation(json!({"security": security}));
            assert_eq!(format!("{:?}", read.bearer), bearer, "{security}");
        }
    }

    #[test]
    fn the_successful_response_has_a_body_if_any_has_one() {
        for (mut responses, expected) in table::<Vec<(Value, String)>>("responses") {
            for response in responses.as_object_mut().unwrap().values_mut() {
                if let Some(kind) = response.as_str().map(str::to_owned) {
                    *response = json!({"content": {kind: {"schema": {"const": 5}}}});
                }
            }
            let success = operation(json!({"responses": responses})).success;
            let kind = success.content_type.unwrap_or_default();
            let read = format!("{} {kind}", success.status);
            assert_eq!(read.trim(), expected, "{responses}");
            assert!(kind.is_empty() || success.schema == json!({"const": 5}));
        }
    }

    #[test]
    fn the_most_literal_template_comes_first_and_parameters_are_decoded() {
        let mut paths = json!({});
        for line in table::<Vec<String>>("templates") {
            let (method, path) = line.split_once(' ').unwrap();
            paths[path][method.to_lowercase()] = json!({"security": []});
        }
        let spec = ServiceSpec::read(json!({"paths": paths}));
        for (path, expected) in table::<Vec<(String, Vec<String>)>>("found") {
            let found = spec.find(&path).into_iter().map(|found| {
                let DocumentedOperation { method, path, .. } = found.operation;
                let parameters = found.parameters.iter();
                let parameters: String = parameters.map(|(k, v)| format!(" {k}={v}")).collect();
                format!("{method} {path}{parameters}")
            });
            assert_eq!(found.collect::<Vec<_>>(), expected, "{path}");
        }
    }
}
