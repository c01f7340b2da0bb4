//! Which operations are paginated lists, and why others that look like one are not.

use super::api::{Api, List, Model, Operation, PAGING, Type};
use super::findings::NO_LIST;
use super::operations::{Written, json};
use super::schema::schema;
use super::types::Types;
use crate::names;

/// What every page says of itself.
const PAGINATION: [(&str, &str); 4] = [
    ("total", "integer"),
    ("limit", "integer"),
    ("offset", "integer"),
    ("hasMore", "boolean"),
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
    let (api, document) = (&types.api, types.document);
    let page = operation
        .response
        .as_ref()
        .and_then(|kind| api.model_of(kind));
    let reasons = reasons(api, operation, page);
    if !reasons.is_empty() {
        if resembles_list(api, operation, page) {
            let text = format!("{}: {}", operation.title(), reasons.join("; "));
            document.note(NO_LIST, text);
        }
        return None;
    }
    let page = page?;
    let mut arrays = page.fields.iter().filter(|field| of_objects(&field.kind));
    let (records, other) = (arrays.next(), arrays.next());
    if let Some((first, second)) = records.zip(other) {
        let first = &first.wire;
        let reason = format!("the response has two arrays of objects, {first} too");
        let way = "write items: {} for the one that is not the records";
        document.refuse(&page.place_of(&second.wire), &reason, way);
    }
    let mut parameters = operation.parameters.iter();
    Some(List {
        name: names::list(&operation.path),
        key: records.map(|field| field.wire.clone()),
        model: records.and_then(|field| field.kind.named().map(str::to_owned)),
        max_limit: parameters.find(|one| one.name == "limit")?.maximum,
    })
}

fn of_objects(kind: &Type) -> bool {
    matches!(kind, Type::Array(held) if matches!(**held, Type::Model(_) | Type::Object))
}

/// Why an operation is not a list that this client can read; empty where it is one.
fn reasons(api: &Api, operation: &Operation, page: Option<&Model>) -> Vec<String> {
    let mut out = Vec::new();
    if operation.method != "get" {
        let method = operation.method.to_uppercase();
        out.push(format!("lists are read with GET, not {method}"));
    }
    if operation.path.contains('{') {
        out.push("its path has parameters".to_owned());
    }
    let parameters = operation.parameters.iter();
    for name in PAGING {
        let mut queries = parameters.clone().filter(|one| one.location == "query");
        match queries.find(|one| one.name == name) {
            Some(one) if one.kind == Type::Integer && one.maximum != Some(0) => {}
            Some(_) => out.push(format!(
                "the query parameter {name} is not an integer above 0"
            )),
            None => out.push(format!("it has no query parameter {name}")),
        }
    }
    for one in parameters.filter(|one| one.required && !one.is_taken() && !one.is_of_client()) {
        let (name, location, kind) = (&one.name, &one.location, &one.kind);
        let text =
            format!("it requires the {location} parameter {name} ({kind}), which cannot be sent");
        out.push(text);
    }
    let Some(page) = page else {
        out.push("its response is not an object with a pagination object".to_owned());
        return out;
    };
    let pagination = page.field("pagination");
    let Some(pagination) = pagination.and_then(|field| api.model_of(&field.kind)) else {
        out.push("its response has no pagination object".to_owned());
        return out;
    };
    for (name, kind) in PAGINATION {
        let shown = pagination.field(name).map(ToString::to_string);
        if shown != Some(format!("{name}: {kind}")) {
            out.push(format!("its pagination has no required {kind} {name}"));
        }
    }
    let is_map = |kind: &Type| matches!(kind, Type::Map(held) if matches!(**held, Type::Model(_)));
    if let Some(map) = page.fields.iter().find(|field| is_map(&field.kind)) {
        out.push(format!(
            "its records ({}) are a map, not an array",
            map.wire
        ));
    }
    out
}

/// Whether people would take it for a list: it reads, and pages or gives several objects.
fn resembles_list(api: &Api, operation: &Operation, page: Option<&Model>) -> bool {
    let mut queries = operation
        .parameters
        .iter()
        .filter(|one| one.location == "query");
    let pages = queries.any(|one| {
        let name = one.name.to_ascii_lowercase();
        let name = name.replace(['-', '_', '.', '[', ']', '$'], "");
        PAGES.split(' ').any(|page| page == name)
    });
    let is_page = |kind: &Type| api.model_of(kind).is_some_and(Model::is_page);
    let mut fields = page.iter().flat_map(|model| &model.fields);
    let response = operation.response.as_ref();
    let gives = response.is_some_and(|kind| of_objects(kind) || is_page(kind))
        || fields.any(|field| of_objects(&field.kind) || is_page(&field.kind));
    match operation.method.as_str() {
        "get" => pages || gives,
        "post" => pages && gives || page.is_some_and(Model::is_page),
        _ => false,
    }
}
