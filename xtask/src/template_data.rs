//! The data for the templates: the interface, with every name in the case of each language; settings and errors.
//!
//! Every name made here is registered at once, with the facts on which its users rely.

mod models;
mod operations;

use crate::error_kind::ErrorKind;
use crate::failure::{FAILURES, RequestFailure, STATUSES};
use crate::names;
use crate::names::registry::{NamedItem, Registry};
use crate::settings::{self, SETTINGS};
use crate::spec::api::Api;
use minijinja::{Value, context};
use std::cell::RefCell;
use std::collections::BTreeSet;

struct View<'a> {
    api: &'a Api,
    /// The C names of all models and enums, and of the functions that each has of its own.
    types: BTreeSet<String>,
    names: RefCell<Registry>,
}

/// Returns the data for every template, and the names in it.
pub(crate) fn template_data(api: &Api) -> (Value, Registry) {
    let models = api.models.iter().map(|model| &model.name);
    let types = models.chain(api.enums.iter().map(|known| &known.name));
    let own = |name: &str| ["", "_json", "_free"].map(|own| names::c_type(name) + own);
    let view = View {
        api,
        types: types.flat_map(|name| own(name)).collect(),
        names: RefCell::default(),
    };
    let table = view.item("", "OPERATIONS", "/paths", "");
    table.claim("in Rust", "OPERATIONS");
    // The name of a list is its path, so that another name yields: that of an operation, which may be any. Likewise,
    // the names of schemas yield to those that follow from enums.
    let lists: Vec<Value> = api
        .lists()
        .map(|(one, list)| view.list(one, list))
        .collect();
    let operations = api.operations.iter().map(|one| view.operation(one));
    let operations: Vec<Value> = operations.collect();
    let of_lists = api.operations.iter().zip(&operations);
    let of_lists = of_lists.filter(|(one, _)| one.list.is_some());
    let of_lists = of_lists.map(|(_, of)| of.clone());
    let lists = lists.into_iter().zip(of_lists);
    let lists: Vec<Value> = lists.map(|(list, of)| context! { ..list, ..of }).collect();
    let enums: Vec<Value> = api.enums.iter().map(|one| view.enumeration(one)).collect();
    let models: Vec<Value> = api.models.iter().map(|one| view.model(one)).collect();
    let settings: Vec<Value> = SETTINGS.iter().map(settings::view).collect();
    let errors = ErrorKind::ALL.map(|kind| {
        context! {
            name => kind.name(), summary => kind.summary(), retryable => kind.is_retryable(),
            exit_code => kind.exit_code(), advice => kind.remedy().advice(),
        }
    });
    let errors = errors.to_vec();
    let failures: Vec<Value> = FAILURES.iter().map(|one| failure(one, "")).collect();
    let statuses = STATUSES.iter().map(|(first, last, one)| {
        let statuses = match (first, last) {
            (0, _) => "any other".to_owned(),
            _ if first == last => first.to_string(),
            _ => format!("{first} to {last}, if not listed"),
        };
        failure(one, &statuses)
    });
    let statuses: Vec<Value> = statuses.collect();
    let data = context! { operations, lists, enums, models, settings, errors, failures, statuses };
    (data, view.names.into_inner())
}

/// Returns a row of the table of failures.
fn failure(failure: &RequestFailure, statuses: &str) -> Value {
    context! {
        what => failure.what, kind => failure.kind.name(), course => failure.course.summary(),
        why => failure.why, statuses,
    }
}

impl View<'_> {
    /// Returns an item of the spec: its key, its name in the spec, its place, and the way to give it a name of its own.
    fn item(&self, key: &str, written: &str, at: &str, fix: &str) -> NamedItem<'_> {
        let [key, written, at, own, fix] = [key, written, at, at, fix].map(str::to_owned);
        NamedItem {
            names: &self.names,
            key,
            written,
            at,
            own,
            fix,
        }
    }

    /// Describes a part of an item that has no name of its own.
    fn part(&self, key: &str, shown: &str, whole: &str) -> NamedItem<'_> {
        let own = self.item(key, "", "", "");
        own.describe(shown, "", Some(whole));
        own
    }
}
