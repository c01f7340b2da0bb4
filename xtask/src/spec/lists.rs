//! Finds the operations that are paginated lists, and the reasons why others that look like one are not.

use super::api::{Api, ApiField, ApiList, ApiOperation, Model, PAGING, Type};
use super::cursor::{Document, LIST};
use crate::names;

/// The members of every page's pagination object.
pub(super) const PAGINATION_MEMBERS: &str =
    "total: integer, limit: integer, offset: integer, hasMore: boolean";

/// The parameters with which services page, in lower case and without separators.
const PAGES: &str = "limit offset skip top page pagesize pagenumber perpage size count cursor after before startingafter \
                     endingbefore pagetoken nexttoken marker start take";

/// Returns the list if the operation has `limit` and `offset` and its response contains the pagination object.
/// Otherwise returns the reasons, if it resembles a list.
pub(super) fn list(
    api: &Api,
    document: &Document,
    operation: &ApiOperation,
) -> Result<ApiList, Vec<String>> {
    let response = operation.response.as_ref();
    let page = response.and_then(|kind| api.model_of(kind));
    let mut reasons = reasons(api, operation, page);
    let fields = page.iter().flat_map(|page| &page.fields);
    let arrays: Vec<&ApiField> = fields.filter(|field| of_objects(&field.kind)).collect();
    if let (true, [first, second, ..]) = (reasons.is_empty(), arrays.as_slice()) {
        let (first, second) = (&first.wire, &second.wire);
        reasons.push(format!(
            "its response has two arrays of objects, {first} and {second}"
        ));
    }
    if !reasons.is_empty() {
        reasons.retain(|_| resembles_list(api, operation, page));
        return Err(reasons);
    }
    let list = names::list(&operation.path);
    let own = format!("{}{LIST}", operation.place());
    let records = arrays.first();
    Ok(ApiList {
        name: document.numbered(&own, &list),
        key: records.map(|field| field.wire.clone()),
        model: records.and_then(|field| field.kind.named().map(str::to_owned)),
    })
}

fn of_objects(kind: &Type) -> bool {
    matches!(kind.present(), Type::Array(held) if matches!(**held, Type::Model(_) | Type::Object))
}

/// Returns the reasons why an operation is not a list that this client can read; empty if it is one.
fn reasons(api: &Api, operation: &ApiOperation, page: Option<&Model>) -> Vec<String> {
    let mut out = Vec::new();
    let method = operation.method.as_str();
    if method != "GET" {
        out.push(format!("lists are read with GET, not {method}"));
    }
    if operation.path.contains('{') {
        out.push("its path has parameters".to_owned());
    } else if !names::is_a_name(operation.path.trim_start_matches("/v1/")) {
        out.push("its path has no letter to be named by".to_owned());
    }
    for name in PAGING {
        match operation.query(name) {
            Some(one) if one.kind == Type::Integer && one.maximum != Some(0) => {}
            Some(_) => out.push(format!(
                "the query parameter {name} is not an integer above 0"
            )),
            None => out.push(format!("it has no query parameter {name}")),
        }
    }
    out.extend(operation.obstacle.clone());
    let pagination = page.and_then(|page| page.field("pagination"));
    let pagination = pagination.and_then(|field| api.model_of(&field.kind));
    let Some((page, pagination)) = page.zip(pagination) else {
        out.push("its response is not an object with a pagination object".to_owned());
        return out;
    };
    for needed in PAGINATION_MEMBERS.split(", ") {
        let mut fields = pagination.fields.iter();
        if !fields.any(|field| field.to_string() == needed) {
            out.push(format!("its pagination has no required {needed}"));
        }
    }
    let is_map = |kind: &Type| matches!(kind, Type::Map(held) if matches!(**held, Type::Model(_)));
    let mut fields = page.fields.iter();
    if let Some(map) = fields.find(|field| is_map(field.kind.present())) {
        let wire = &map.wire;
        out.push(format!("its records ({wire}) are a map, not an array"));
    }
    out
}

/// Returns whether the operation resembles a list: it reads, and has parameters for pages or returns several objects.
fn resembles_list(api: &Api, operation: &ApiOperation, page: Option<&Model>) -> bool {
    let pages = operation.parameters.iter().any(|one| {
        let name = one.name.to_ascii_lowercase();
        let name = name.replace(['-', '_', '.', '[', ']', '$'], "");
        one.location == "query" && PAGES.split(' ').any(|page| page == name)
    });
    let is_page = |kind: &Type| api.model_of(kind).is_some_and(Model::is_page);
    let fields = page.iter().flat_map(|model| &model.fields);
    let mut given = fields.map(|field| &field.kind).chain(&operation.response);
    let gives = given.any(|kind| of_objects(kind) || is_page(kind));
    match operation.method.as_str() {
        "GET" => pages || gives,
        "POST" => pages && gives || page.is_some_and(Model::is_page),
        _ => false,
    }
}
