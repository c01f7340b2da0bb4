//! Reads a spec: refuses parts that cannot be generated, notes parts that are not generated, and returns the typed
//! model.

pub(crate) mod api;
mod cursor;
mod document;
mod kept;
mod lists;
mod operations;
mod schema;
mod shape;
#[cfg(test)]
pub(crate) mod tests;
mod types;

pub(crate) use cursor::{Clash, Document, LIST, LIST_GONE, NAME, pointer};
pub(crate) use document::read;
pub(crate) use kept::keep;
pub(crate) use shape::check_needed;

pub(crate) use operations::id_of;

use api::Api;
use cursor::SERVER;
use types::Types;

/// Returns the typed model of a document.
pub(crate) fn interface(document: &Document) -> Api {
    let mut types = Types::new(document);
    operations::read(&mut types);
    let (mut api, mut in_responses) = (types.api, types.in_responses);
    // The client reads pages with it, even if the spec has no lists.
    in_responses.insert("Pagination".to_owned());
    shape::part(&mut api, &in_responses);
    shape::mark(&mut api, in_responses);
    shape::leave_out(&mut api, document);
    let servers = document.value["servers"].as_array().into_iter().flatten();
    for url in servers.filter_map(|one| one["url"].as_str()) {
        let (_, host) = url.split_once("://").unwrap_or(("", url));
        if host.trim_end_matches('/').contains('/') {
            let fix = "users add the path to base_url";
            document.note(SERVER, "/servers", url, fix);
        }
    }
    api
}
