//! What the sandbox knows of the spec: the lists, and a table of operations that is read from the document itself.
//!
//! The table does not come from the typed model, so that the sandbox reads the spec independently of the client.

mod schemas;

use crate::render::print;
use crate::spec::Spec;
use quote::quote;
use schemas::Reader;
use serde_json::{Value, json};

/// JSON has no comments, so the notice is the first member, on the first line.
const NOTICE: &str = "by `cargo xtask generate` from spec/openapi.json; do not edit";

/// The methods of HTTP that OpenAPI knows.
const METHODS: [&str; 8] = [
    "get", "post", "put", "patch", "delete", "head", "options", "trace",
];

/// The header that states the rate limit.
const RATE_LIMIT: &str = "x-ratelimit-limit";

/// The lists: names and paths that the command line and the sandbox share.
pub(crate) fn lists(spec: &Spec) -> Result<String, String> {
    let rows = spec.lists().map(|(operation, list)| {
        let key = list.records.as_ref().map(|records| &records.key);
        let key = key.map_or(quote!(None), |key| quote!(Some(#key)));
        let (name, path, noun) = (&list.name, &operation.path, &operation.summary);
        quote!(List { name: #name, path: #path, record_key: #key, noun: #noun })
    });
    let file = quote! {
        use crate::data::List;

        /// The paginated lists of the service, in the spec's order.
        pub(crate) const LISTS: &[List] = &[#(#rows),*];
    };
    let file = syn::parse2(file).map_err(|error| error.to_string())?;
    Ok(print(crate::spec::FILE, &file))
}

/// Every operation with its schemas, as JSON; `$ref`s are kept, and `schemas` holds what each of them refers to.
pub(crate) fn table(spec: &Spec) -> Result<String, String> {
    let mut reader = Reader::new(&spec.document.value);
    let text = format!("{:#}\n", reader.table());
    Ok(text.replacen("{\n  ", "{ ", 1))
}

impl<'a> Reader<'a> {
    fn table(&mut self) -> Value {
        let document = self.document;
        let components = document.pointer("/components/schemas");
        for name in members(components).map(|(name, _)| name) {
            self.referred(&format!("#/components/schemas/{}", escaped(name)));
        }
        let mut operations = Vec::new();
        let mut rate_limit = None;
        for (path, item) in members(document.get("paths")) {
            let item = self.resolved(item);
            for (method, body) in members(Some(item)) {
                if METHODS.contains(&method.as_str()) {
                    rate_limit = rate_limit.or_else(|| self.rate_limit(body));
                    operations.push(self.operation(path, method, item, body));
                }
            }
        }
        json!({
            "generated": NOTICE,
            "rate_limit": rate_limit,
            "operations": operations,
            "schemas": self.taken(),
        })
    }

    fn operation(&mut self, path: &str, method: &str, item: &'a Value, body: &'a Value) -> Value {
        let parameters = self.parameters(item, body);
        let request = body.get("requestBody").map(|one| self.resolved(one));
        let request = request.map(|one| {
            let (content, schema) = self.content(one);
            let required = one.get("required") == Some(&Value::Bool(true));
            json!({"required": required, "json": content.is_some(), "schema": schema})
        });
        json!({
            "id": body.get("operationId"),
            "method": method.to_uppercase(),
            "path": path,
            "bearer": self.bearer(body),
            "parameters": parameters,
            "request": request,
            "success": self.success(body),
        })
    }

    /// Those of the operation stand for those of the path with the same name and place.
    fn parameters(&mut self, item: &'a Value, body: &'a Value) -> Vec<Value> {
        let mut out: Vec<Value> = Vec::new();
        let both = [body, item].into_iter();
        let written = both.filter_map(|one| one.get("parameters")?.as_array());
        for one in written.flatten() {
            let one = self.resolved(one);
            let same = |other: &Value| other["name"] == one["name"] && other["in"] == one["in"];
            if out.iter().any(same) {
                continue;
            }
            let (content, in_content) = self.content(one);
            let schema = one.get("schema").map(|schema| self.schema(schema));
            let required = one["in"] == "path" || one.get("required") == Some(&Value::Bool(true));
            out.push(json!({
                "name": one["name"],
                "in": one["in"],
                "required": required,
                "json": content.is_some(),
                "style": one.get("style"),
                "explode": one.get("explode"),
                "schema": schema.unwrap_or(in_content),
            }));
        }
        out
    }

    /// The first successful status with a body, else the first one, else `default`.
    fn success(&mut self, body: &'a Value) -> Value {
        let statuses: Vec<(&String, &Value)> = members(body.get("responses"))
            .map(|(status, response)| (status, self.resolved(response)))
            .collect();
        let mut successes: Vec<_> = statuses
            .iter()
            .filter(|(s, _)| s.starts_with('2'))
            .collect();
        successes.sort_by_key(|(status, _)| *status);
        let with_body = successes
            .iter()
            .find(|(_, one)| one.get("content").is_some());
        let default = statuses.iter().find(|(status, _)| *status == "default");
        let Some((status, response)) = with_body.or(successes.first()).copied().or(default) else {
            return json!({"status": 200, "content_type": null, "schema": true});
        };
        let (content_type, schema) = self.content(response);
        let status = status.parse().unwrap_or(200_u16);
        json!({"status": status, "content_type": content_type, "schema": schema})
    }

    /// The media type that is JSON, and its schema.
    fn content(&mut self, holder: &'a Value) -> (Option<&'a String>, Value) {
        let is_json = |kind: &str| {
            let kind = kind.split(';').next().unwrap_or_default().trim();
            let kind = kind.to_ascii_lowercase();
            kind.ends_with("/json") || kind.ends_with("+json") || kind == "*/*"
        };
        let all = || members(holder.get("content"));
        let plain = all().find(|(kind, _)| *kind == "application/json");
        let found = plain.or_else(|| all().find(|(kind, _)| is_json(kind)));
        let schema = found.and_then(|(_, media)| media.get("schema"));
        let schema = schema.map_or(Value::Bool(true), |schema| self.schema(schema));
        (found.map(|(kind, _)| kind), schema)
    }

    /// Whether a bearer token goes with the operation: `always`, `optional` or `never`.
    fn bearer(&self, body: &Value) -> &'static str {
        let security = body.get("security").or(self.document.get("security"));
        let requirements = security.and_then(Value::as_array).into_iter().flatten();
        let is_bearer = |name: &str| {
            let schemes = self.document.pointer("/components/securitySchemes");
            let scheme = schemes.and_then(|schemes| schemes.get(name));
            let scheme = scheme.map_or(&Value::Null, |scheme| self.resolved(scheme));
            let http = scheme["scheme"].as_str().unwrap_or_default();
            match scheme["type"].as_str() {
                Some("http") => http.eq_ignore_ascii_case("bearer"),
                kind => matches!(kind, Some("oauth2" | "openIdConnect")),
            }
        };
        let (mut with, mut without) = (false, false);
        for one in requirements {
            with |= members(Some(one)).any(|(name, _)| is_bearer(name));
            without |= members(Some(one)).next().is_none();
        }
        match (with, without) {
            (true, false) => "always",
            (true, true) => "optional",
            (false, _) => "never",
        }
    }

    /// The rate limit that a response header of the operation gives as an example or a constant.
    fn rate_limit(&self, body: &Value) -> Option<String> {
        let responses = members(body.get("responses")).map(|(_, one)| self.resolved(one));
        let headers = responses.flat_map(|one| members(one.get("headers")));
        let mut named = headers.filter(|(name, _)| name.eq_ignore_ascii_case(RATE_LIMIT));
        named.find_map(|(_, header)| {
            let header = self.resolved(header);
            let schema = header.get("schema").map(|schema| self.resolved(schema));
            let places = [
                schema.and_then(|one| one.get("const")),
                schema.and_then(|one| one.pointer("/examples/0")),
                schema.and_then(|one| one.get("example")),
                schema.and_then(|one| one.get("default")),
                schema.and_then(|one| one.pointer("/enum/0")),
                header.get("example"),
                members(header.get("examples")).find_map(|(_, one)| one.get("value")),
            ];
            let mut texts = places.into_iter().flatten().filter_map(Value::as_str);
            texts.next().map(str::to_owned)
        })
    }
}

fn members(value: Option<&Value>) -> impl Iterator<Item = (&String, &Value)> {
    value.and_then(Value::as_object).into_iter().flatten()
}

fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
