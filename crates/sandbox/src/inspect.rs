//! Checks that requests are as documented, and makes the responses that follow from the API description alone.

use crate::http::{Answer, Received, empty, failure, written};
use crate::samples::hash;
use crate::schema::{Direction, Maker, Schemas, scalar};
use crate::spec::{DocumentedBody, DocumentedParameter, RouteMatch, Success};
use serde_json::{Value, json};

/// Compares every parameter with its schema. `limit` and `offset` of a list are read elsewhere.
pub(crate) fn parameters(
    schemas: &Schemas,
    found: &RouteMatch<'_>,
    request: &Received,
    list: bool,
) -> Result<(), Answer> {
    for one in &found.operation.parameters {
        if list && one.is_of_page() {
            continue;
        }
        let check = |value| schemas.check(&one.schema, &value, Direction::Request);
        let checked = match candidates(schemas, one, found, request) {
            Some([text, read]) => check(text).or_else(|_| check(read)),
            None if one.required => Err(": expected a value; it is required".to_owned()),
            None => Ok(()),
        };
        checked.map_err(|wrong| invalid_parameter(&one.location, &one.name, &wrong))?;
    }
    Ok(())
}

/// Returns the refusal of a parameter.
pub(crate) fn invalid_parameter(location: &str, name: &str, wrong: &str) -> Answer {
    invalid(&format!("{location} parameter {name:?}{wrong}"))
}

/// Returns a refusal. Messages never repeat the wrong value, because it may be secret.
fn invalid(message: &str) -> Answer {
    failure(400, "invalid_request", message)
}

/// Returns the possible values of a parameter: as a string, and as the JSON that the string spells; `None` if the
/// parameter is missing.
fn candidates(
    schemas: &Schemas,
    one: &DocumentedParameter,
    found: &RouteMatch<'_>,
    request: &Received,
) -> Option<[Value; 2]> {
    let mut texts = match one.location.as_str() {
        "path" => {
            let named = found.parameters.iter();
            let named = named.filter(|(name, _)| *name == one.name);
            named.map(|(_, text)| text.clone()).collect()
        }
        "query" => request.parameters(&one.name),
        _ => {
            let values = request.headers.get_all(&one.name).iter();
            let texts = values.filter_map(|value| value.to_str().ok());
            texts.map(str::to_owned).collect::<Vec<_>>()
        }
    };
    let last = texts.last()?.clone();
    if !schemas.shape(&one.schema).is("array") {
        return Some([last.as_str().into(), scalar(&last)]);
    }
    if !one.separate {
        let items = texts.iter().flat_map(|text| text.split(',').map(str::trim));
        texts = items.map(str::to_owned).collect();
    }
    let read = texts.iter().map(|text| scalar(text)).collect();
    Some([texts.into(), read])
}

/// Returns the JSON body, if there is one, after comparing it with its schema.
pub(crate) fn body(
    schemas: &Schemas,
    documented: Option<&DocumentedBody>,
    request: &Received,
) -> Result<Option<Value>, Answer> {
    let Some(documented) = documented else {
        return Ok(None);
    };
    match (&documented.schema, request.body.is_empty()) {
        (_, true) if !documented.required => Ok(None),
        (None, true) => Err(invalid("request body: expected a body; it is required")),
        (None, false) => Ok(None),
        (Some(_), _) if !request.says_json() => {
            let message = "the content type must be application/json";
            Err(failure(415, "unsupported_media_type", message))
        }
        (Some(schema), _) => {
            let body = serde_json::from_slice(&request.body)
                .map_err(|_| invalid("request body: expected JSON"))?;
            let checked = schemas.check(schema, &body, Direction::Request);
            checked.map_err(|wrong| invalid(&format!("request body{wrong}")))?;
            Ok(Some(body))
        }
    }
}

/// Makes a successful response, which repeats path parameters and members of the request that the response documents.
///
/// With the same seed, the same request gets the same response.
pub(crate) fn made(
    schemas: &Schemas,
    found: &RouteMatch<'_>,
    path: &str,
    body: Option<&Value>,
    seed: u64,
) -> Answer {
    let success = &found.operation.success;
    let schema = &success.schema;
    let mut maker = Maker::new(schemas, seed ^ hash(path));
    let mut value = maker.make(schema);
    let members = body.and_then(Value::as_object).into_iter().flatten();
    for (name, member) in members.filter(|(name, _)| *name != "pagination") {
        maker.put(schema, &mut value, name, member.clone());
    }
    for (name, text) in &found.parameters {
        maker.put(schema, &mut value, name, text.as_str().into());
        maker.put(schema, &mut value, name, scalar(text));
    }
    // If the page does not belong to a list of ours, it contains everything, so that no client requests further pages
    // forever.
    let arrays = value.as_object().into_iter().flatten();
    let counts: Vec<usize> = arrays
        .filter_map(|(_, one)| Some(one.as_array()?.len()))
        .collect();
    let documented = schemas.shape(schema).property("pagination");
    if let ([count], Some(schema)) = (counts.as_slice(), documented)
        && let Some(pagination) = value.get_mut("pagination")
    {
        let whole = json!({"total": count, "limit": count, "offset": 0, "hasMore": false});
        *pagination = maker.completed(&schema, pagination.take(), whole);
    }
    with_body(success, value.to_string().into_bytes())
}

/// Returns a record of a list as a response contains it: as it is, or under the name that the response documents for
/// it.
pub(crate) fn under_its_name(schemas: &Schemas, success: &Success, record: Value) -> Value {
    let shape = schemas.shape(&success.schema);
    let has_id = |schema: &Value| schemas.shape(schema).property("id").is_some();
    let mut names = shape.names().into_iter();
    let holds = |name: &&str| shape.property(name).is_some_and(|schema| has_id(&schema));
    let name = names.find(holds).filter(|_| !has_id(&success.schema));
    match name {
        Some(name) => json!({name: record}),
        None => record,
    }
}

/// Returns a hand-made response, with the additions that a changed API description asks for.
pub(crate) fn fitted(schemas: &Schemas, success: &Success, value: Value, seed: u64) -> Answer {
    let value = Maker::new(schemas, seed).fit(&success.schema, value);
    with_body(success, value.to_string().into_bytes())
}

/// Returns a documented response, without its body if none is documented.
pub(crate) fn with_body(success: &Success, body: Vec<u8>) -> Answer {
    match &success.content_type {
        Some(content_type) => written(success.status, content_type, body),
        None => empty(success.status),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::table;
    use crate::spec::ServiceSpec;
    use ::http::{HeaderMap, HeaderName, HeaderValue, Method};
    use bytes::Bytes;

    /// Returns `POST /things/{id}` with every kind of parameter, and a body. Parameters from `Accept` on are not
    /// checked.
    fn things() -> ServiceSpec {
        ServiceSpec::read(table("things"))
    }

    fn received(path: &str, query: &str, headers: &[(&str, &str)], body: &str) -> Received {
        let header = |(name, value): &(&str, &str)| {
            let name = name.parse::<HeaderName>().unwrap();
            (name, HeaderValue::from_str(value).unwrap())
        };
        Received {
            method: Method::POST,
            path: path.to_owned(),
            query: query.to_owned(),
            headers: headers.iter().map(header).collect::<HeaderMap>(),
            body: Bytes::copy_from_slice(body.as_bytes()),
            connection: 1,
        }
    }

    fn json_of(answer: &Answer) -> Value {
        serde_json::from_slice(answer.body()).unwrap()
    }

    #[test]
    fn parameters_are_compared_with_their_schemas() {
        let spec = things();
        for [path, query, header, wrong] in table::<Vec<[String; 4]>>("parameters") {
            let headers: Vec<(&str, &str)> = header.split_once(": ").into_iter().collect();
            let found = spec.find(&path).remove(0);
            let request = received(&path, &query, &headers, "");
            let message = match parameters(&spec.schemas, &found, &request, false) {
                Ok(()) => json!(""),
                Err(refusal) => {
                    assert_eq!(refusal.status(), 400);
                    json_of(&refusal)["error"]["message"].take()
                }
            };
            assert_eq!(message, wrong, "{path} {query} {header}");
        }
        // The limit of a list is read elsewhere.
        let found = spec.find("/things/1").remove(0);
        let request = received("/things/1", "since=now&limit=6", &[], "");
        assert!(parameters(&spec.schemas, &found, &request, true).is_ok());
    }

    /// Bodies of the service's own operations are tested over real sockets.
    #[test]
    fn bodies_are_required_and_json_only_where_documented() {
        let spec = things();
        let thing = spec.find("/things/1").remove(0).operation.request.clone();
        let other = |required, json: bool| {
            let schema = json.then(|| json!({"type": "object"}));
            Some(DocumentedBody { required, schema })
        };
        let patch = "application/merge-patch+json; charset=utf-8";
        let right = r#"{"name":"x","sizes":[1],"other":true}"#;
        for (documented, kind, text, expected) in [
            (&thing, patch, right, "read"),
            (&thing, "text/plain", right, "415"),
            (&thing, patch, r#"{"name":"x","sizes":[1,"2"]}"#, "400"),
            (&None, "", "anything", "unread"),
            (&other(false, true), "", "", "unread"),
            (&other(false, true), "", "{}", "415"),
            (&other(true, true), "", "", "415"),
            (&other(true, false), "", "a,b", "unread"),
            (&other(true, false), "", "", "400"),
        ] {
            let request = received("", "", &[("content-type", kind)], text);
            let read = match body(&spec.schemas, documented.as_ref(), &request) {
                Ok(Some(read)) => {
                    assert_eq!(read, serde_json::from_str::<Value>(text).unwrap());
                    "read".to_owned()
                }
                Ok(None) => "unread".to_owned(),
                Err(refusal) => refusal.status().as_str().to_owned(),
            };
            assert_eq!(read, expected, "{kind} {text}");
        }
    }

    /// Returns an API description with one operation, `POST /v1/pools/{id}`, and this response.
    fn responding(status: u16, kind: Option<&str>, schema: &Value) -> ServiceSpec {
        let content = kind.map_or(json!({}), |kind| json!({kind: {"schema": schema}}));
        let responses = json!({status.to_string(): {"content": content}});
        let mut document: Value = table("pools");
        document["paths"]["/v1/pools/{id}"]["post"]["responses"] = responses;
        ServiceSpec::read(document)
    }

    /// Returns the response to a request for the pool with this id.
    fn answer(spec: &ServiceSpec, id: &str, body: Option<&Value>, seed: u64) -> Answer {
        let path = format!("/v1/pools/{id}");
        made(&spec.schemas, &spec.find(&path)[0], &path, body, seed)
    }

    const JSON: Option<&str> = Some("application/json");

    #[test]
    fn a_response_repeats_documented_values_of_the_request() {
        let hal = "application/hal+json";
        let spec = responding(201, Some(hal), &json!({"$ref": "#/Pool"}));
        let answer = |id, body, seed| answer(&spec, id, body, seed);
        let body = json!({"name": "north", "size": "large", "other": 1});
        let repeated = answer("7", Some(&body), 5);
        assert_eq!(repeated.status().as_u16(), 201);
        assert_eq!(repeated.headers()["content-type"], hal);
        let value = json_of(&repeated);
        assert_eq!([&value["id"], &value["name"]], ["7", "north"]);
        // Values that do not fit are not repeated.
        assert!(
            value["size"].is_i64() && value.get("other").is_none(),
            "{value}"
        );
        assert_eq!(answer("a", None, 1).body(), answer("a", None, 1).body());
        assert_ne!(answer("a", None, 1).body(), answer("a", None, 2).body());
        assert_ne!(answer("a", None, 1).body(), answer("b", None, 1).body());

        let numbered = json!({"properties": {"id": {"type": "integer"}}});
        let spec = responding(200, JSON, &numbered);
        for (text, same) in [("12345678901234567", true), ("x", false)] {
            let value = json_of(&self::answer(&spec, text, None, 0));
            let id = value["id"].as_number().unwrap().as_str();
            assert!(value["id"].is_i64() && (id == text) == same, "{value}");
        }
        for (status, kind) in [(204, None), (202, None), (204, JSON)] {
            let answer = self::answer(&responding(status, kind, &json!(true)), "7", None, 0);
            assert!(answer.status() == status && answer.body().is_empty());
            assert!(!answer.headers().contains_key("content-type"));
        }
    }

    #[test]
    fn a_page_of_a_search_is_the_last_one() {
        let pools = json!({"type": "array", "items": {"$ref": "#/Pool"}});
        let page = json!({"required": ["pools", "pagination"],
            "properties": {"pools": pools, "pagination": {"$ref": "#/Pagination"}}});
        let mut value = json_of(&answer(&responding(200, JSON, &page), "7", None, 0));
        assert_eq!(value["pools"].as_array().unwrap().len(), 2);
        assert!(value["pagination"]["pages"].take().is_i64());
        let expected =
            json!({"total": 2, "limit": 2, "offset": 0, "hasMore": false, "pages": null});
        assert_eq!(value["pagination"], expected);
    }

    #[test]
    fn a_record_is_sent_as_it_is_or_under_its_name() {
        let record = json!({"id": "7", "name": "north", "note": "kept"});
        for (schema, expected) in table::<Vec<(Value, Value)>>("answered") {
            let spec = responding(200, JSON, &schema);
            let success = &spec.operations[0].success;
            let value = under_its_name(&spec.schemas, success, record.clone());
            let answer = fitted(&spec.schemas, success, value, 0);
            assert_eq!(json_of(&answer), expected, "{schema}");
        }
    }
}
