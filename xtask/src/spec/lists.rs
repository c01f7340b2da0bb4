//! Which operations are paginated lists, and why others that look like one are not.

use super::api::{List, Model, Operation, PAGING, Records, Type};
use super::findings::NO_LIST;
use super::operations::{Written, json};
use super::schema::schema;
use super::types::Types;
use crate::names;

/// What every page says of itself, and as what type.
const PAGINATION: [(&str, Type); 4] = [
    ("total", Type::Integer),
    ("limit", Type::Integer),
    ("offset", Type::Integer),
    ("hasMore", Type::Boolean),
];

/// Parameters by which services page, in lower case and without separators.
const PAGES: &str = "limit offset skip top page pagesize pagenumber perpage size count cursor after before startingafter \
                     endingbefore pagetoken nexttoken marker start take";

/// Names for records that are written within the response of a list: they are named by the list.
pub(super) fn record_names<'a>(types: &mut Types<'a>, written: &[Written<'a>]) {
    for one in written {
        let has = |name: &str| one.parameters.iter().any(|one| one.value["name"] == name);
        let response = one
            .success
            .as_ref()
            .filter(|_| has("limit") && has("offset"));
        let Some(envelope) = response.and_then(json) else {
            continue;
        };
        let mut envelope = schema(vec![envelope]);
        while let Some(target) = envelope.reference {
            envelope = schema(vec![target]);
        }
        for property in envelope.properties.into_iter().flat_map(|(_, all)| all) {
            if let Some(items) = property.followed().peek("items") {
                let list = names::camel(&names::list(&one.path));
                let name = names::camel(&format!("{list}Record"));
                types.names.entry(items.at).or_insert(name);
            }
        }
    }
}

/// An operation with `limit` and `offset` whose response holds the pagination object is a list.
pub(super) fn list(types: &mut Types<'_>, operation: &Operation) -> Option<List> {
    let page = match &operation.response {
        Some(Type::Model(name)) => types.api.model(name),
        _ => None,
    };
    let reasons = reasons(types, operation, page);
    if !reasons.is_empty() {
        if resembles_list(types, operation, page) {
            let text = format!("{}: {}", operation.title(), reasons.join("; "));
            types.document.note(NO_LIST, text);
        }
        return None;
    }
    let page = page?;
    let of_objects = |kind: &Type| match kind {
        Type::Array(held) => match &**held {
            Type::Model(name) => Some(Some(name.clone())),
            Type::Object => Some(None),
            _ => None,
        },
        _ => None,
    };
    let fields = page.fields.iter();
    let arrays: Vec<(String, Option<String>)> = fields
        .filter_map(|field| Some((field.wire.clone(), of_objects(&field.kind)?)))
        .collect();
    if let [(first, _), (second, _), ..] = arrays.as_slice() {
        let reason = format!("the response has two arrays of objects, {first} too");
        let way = "write items: {} for the one that is not the records";
        types.document.refuse(&page.place_of(second), &reason, way);
    }
    let limit = operation
        .parameters
        .iter()
        .find(|one| one.name == "limit")?;
    let records = arrays.into_iter().next();
    Some(List {
        name: names::list(&operation.path),
        records: records.map(|(key, model)| Records { key, model }),
        max_limit: limit.maximum,
    })
}

/// Why an operation is not a list that this client can read; empty where it is one.
fn reasons(types: &Types<'_>, operation: &Operation, page: Option<&Model>) -> Vec<String> {
    let mut out = Vec::new();
    if operation.method != "get" {
        out.push(format!(
            "lists are read with GET, not {}",
            operation.method.to_uppercase()
        ));
    }
    if operation.path.contains('{') {
        out.push("its path has parameters".to_owned());
    }
    for name in PAGING {
        let mut found = operation.parameters.iter();
        match found.find(|one| one.name == name && one.location == "query") {
            Some(one) if one.kind == Type::Integer && one.maximum != Some(0) => {}
            Some(_) => out.push(format!(
                "the query parameter {name} is not an integer above 0"
            )),
            None => out.push(format!("it has no query parameter {name}")),
        }
    }
    let needed = operation.parameters.iter().filter(|one| one.required);
    for one in needed.filter(|one| !one.is_taken() && !one.is_of_client()) {
        out.push(format!(
            "it requires the {} parameter {} ({}), which cannot be sent",
            one.location, one.name, one.kind
        ));
    }
    let Some(page) = page else {
        out.push("its response is not an object with a pagination object".to_owned());
        return out;
    };
    let pagination = match page.field("pagination").map(|field| &field.kind) {
        Some(Type::Model(name)) => types.api.model(name),
        _ => None,
    };
    let Some(pagination) = pagination else {
        out.push("its response has no pagination object".to_owned());
        return out;
    };
    for (name, kind) in PAGINATION {
        let field = pagination.field(name);
        let fits =
            |field: &super::api::Field| field.kind == kind && field.required && !field.nullable;
        if !field.is_some_and(fits) {
            let kind = if kind == Type::Boolean {
                "boolean"
            } else {
                "integer"
            };
            out.push(format!("its pagination has no required {kind} {name}"));
        }
    }
    let of_objects =
        |kind: &Type| matches!(kind, Type::Map(held) if matches!(**held, Type::Model(_)));
    if let Some(map) = page.fields.iter().find(|field| of_objects(&field.kind)) {
        out.push(format!(
            "its records ({}) are a map, not an array",
            map.wire
        ));
    }
    out
}

/// Whether people would take it for a list: it reads, and pages or gives several objects.
fn resembles_list(types: &Types<'_>, operation: &Operation, page: Option<&Model>) -> bool {
    let plain = |name: &str| {
        name.to_ascii_lowercase()
            .replace(['-', '_', '.', '[', ']', '$'], "")
    };
    let mut queries = operation
        .parameters
        .iter()
        .filter(|one| one.location == "query");
    let pages = queries.any(|one| PAGES.split(' ').any(|page| page == plain(&one.name)));
    let several = |kind: &Type| {
        let object = |held: &Type| matches!(held, Type::Model(_) | Type::Object);
        matches!(kind, Type::Array(held) if object(held))
    };
    let is_page = |model: &Model| {
        let nested = |name: &str| types.api.model(name).is_some_and(Model::is_page);
        model.is_page()
            || model.fields.iter().any(|field| {
                several(&field.kind) || matches!(&field.kind, Type::Model(name) if nested(name))
            })
    };
    let gives = operation.response.as_ref().is_some_and(several) || page.is_some_and(is_page);
    match operation.method.as_str() {
        "get" => pages || gives,
        "post" => pages && gives || page.is_some_and(Model::is_page),
        _ => false,
    }
}
