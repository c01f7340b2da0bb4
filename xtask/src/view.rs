//! What the templates are filled with: the interface, with every name in the case of each language.
//!
//! Whatever is named here is registered at once, with what users of the name rest on.

mod models;
mod operations;

use crate::names;
use crate::names::registry::{Registry, Thing};
use crate::spec::api::{Api, Model, Type};
use crate::spec::reachable;
use minijinja::{Value, context};
use std::collections::BTreeSet;
use std::ops::{Deref, DerefMut};

struct View<'a> {
    api: &'a Api,
    /// What the bodies of requests are, and all that these hold.
    sent: BTreeSet<String>,
    /// What C functions give, and all that it holds.
    given: BTreeSet<String>,
    /// What C sees: records, and what calls give with all they hold, except for secrets, which never leave the core, and for
    /// pages.
    exposed: BTreeSet<String>,
    /// The names in C of all models and enums, and of what each has of its own.
    types: BTreeSet<String>,
    names: Registry,
}

impl Deref for View<'_> {
    type Target = Registry;

    fn deref(&self) -> &Registry {
        &self.names
    }
}

impl DerefMut for View<'_> {
    fn deref_mut(&mut self) -> &mut Registry {
        &mut self.names
    }
}

/// The data for every template, and the names in it.
pub(crate) fn view(api: &Api) -> (Value, Registry) {
    let models = api.models.iter().map(|model| &model.name);
    let types = models.chain(api.enums.iter().map(|known| &known.name));
    let own = |name: &str| ["", "_json", "_free"].map(|own| names::c_type(name) + own);
    let given = reachable(api, responses(api));
    let exposed = api
        .models
        .iter()
        .filter(|one| one.has_class() && (api.is_record(&one.name) || given.contains(&one.name)));
    let mut view = View {
        api,
        sent: reachable(api, bodies(api)),
        exposed: exposed.map(|one| one.name.clone()).collect(),
        given,
        types: types.flat_map(|name| own(name)).collect(),
        names: Registry::default(),
    };
    if api.lists().next().is_none() {
        let way = "name limit and offset as parameters and pagination in the response of each list";
        let own = Thing::new("lists", "", "/paths", way);
        view.refuse(&own, "no operation is a paginated list".to_owned());
    }
    let operations = api.operations.iter().map(|one| view.operation(one));
    let (operations, lists): (Vec<Value>, Vec<Option<Value>>) = operations.unzip();
    let lists: Vec<Value> = lists.into_iter().flatten().collect();
    let models: Vec<Value> = api.models.iter().map(|one| view.model(one)).collect();
    let enums: Vec<Value> = api.enums.iter().map(|one| view.enumeration(one)).collect();
    let is_call = |value: &&Value| value.get_attr("callable").is_ok_and(|one| one.is_true());
    let calls: Vec<Value> = operations.iter().filter(is_call).cloned().collect();
    (
        context! { calls, operations, lists, enums, models },
        view.names,
    )
}

/// The models of request bodies.
fn bodies(api: &Api) -> BTreeSet<String> {
    let calls = api.operations.iter().filter(|one| one.is_call());
    let bodies = calls.filter_map(|one| one.body.as_ref()?.kind.named());
    bodies.map(str::to_owned).collect()
}

/// The models that C functions give; pages have a handle of their own, and a function that gives their pagination.
fn responses(api: &Api) -> BTreeSet<String> {
    let calls = api.operations.iter().filter(|one| one.is_call());
    let models = calls.filter_map(|one| api.model_of(one.response.as_ref()?));
    let models = models.filter(|one| !one.is_page());
    let names = models.map(|one| one.name.clone());
    names.chain(["Pagination".to_owned()]).collect()
}

impl<'a> View<'a> {
    /// The model that C sees of a type.
    fn exposed(&self, kind: Option<&Type>) -> Option<&'a Model> {
        let model = self.api.model_of(kind?);
        model.filter(|one| self.exposed.contains(&one.name))
    }
}
