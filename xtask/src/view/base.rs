//! What the parts of the view share: what they read, the registry that they fill, and the ways out of refusals.

use crate::languages::is_seen;
use crate::names::registry::{Registry, Thing};
use crate::spec::api::{Api, Field, Model, Type};
use std::collections::BTreeSet;

const LEAVE_FIELD: &str =
    "leave it out: it is still delivered, with the fields that the document does not show";
pub(super) const LEAVE_VALUE: &str =
    "leave it out: values that are not listed are delivered as they come";
pub(super) const LEAVE_LIST: &str = "leave its operation out";
pub(super) const RENAME_SCHEMA: &str = "rename the schema; its name is never sent";
pub(super) const RENAME_CALL: &str = "give the operation another name in x-talentdata-name";
pub(super) const RENAME_PARAMETER: &str =
    "give one of the parameters another name, or the operation a request body";
pub(super) const RENAME_OPERATION: &str = "change the operationId; it is never sent";

pub(super) struct View<'a> {
    pub(super) api: &'a Api,
    /// The models that C sees.
    pub(super) exposed: Vec<&'a Model>,
    /// The names in C of all models and enums.
    pub(super) types: BTreeSet<String>,
    pub(super) names: Registry,
}

/// A field, as the thing that its names are of.
pub(super) fn field_thing(model: &Model, field: &Field) -> Thing {
    let wire = &field.wire;
    let at = model.place_of(wire);
    Thing::new(
        &format!("field {}.{wire}", model.name),
        wire,
        &at,
        LEAVE_FIELD,
    )
}

/// Whether Python has a class for a model.
pub(super) fn has_class(model: &Model) -> bool {
    model.answered && is_seen(model)
}

/// The values of an open enum.
pub(super) fn known<'a>(api: &'a Api, kind: &Type) -> &'a [String] {
    match kind {
        Type::Enum(name) => api.enumeration(name).map_or(&[], |known| &known.values),
        _ => &[],
    }
}
