//! Leaves out what no language can name: it is delivered like what the document does not show, and reported.

use super::{constant, python_field, rust_field, snake, value_variant};
use crate::spec::api::{Api, Type};
use crate::spec::{Findings, Topic, is_hidden, pointer, reachable};
use std::collections::BTreeSet;

/// Leaves out values of enums, and fields that nobody has to send.
pub(crate) fn leave_out(api: &mut Api, findings: &mut Findings) {
    for known in &mut api.enums {
        let mut names = BTreeSet::new();
        known.values.retain(|value| {
            let name = constant(&value_variant(value));
            let kept = is_a_name(value) && names.insert(name);
            if !kept {
                findings.note(Topic::Unnamed, format!("{}: value {value:?}", known.place));
            }
            kept
        });
    }
    without_values(api);
    let bodies = api
        .operations
        .iter()
        .filter_map(|one| one.body.as_ref()?.kind.named());
    let sent = reachable(api, bodies.map(str::to_owned).collect());
    for model in &mut api.models {
        let place = &model.place;
        let sent = sent.contains(&model.name) && !model.answered;
        let (mut rust, mut python) = (BTreeSet::new(), BTreeSet::new());
        let extra = model.fields.iter().any(|field| field.wire == "extra");
        rust.extend(extra.then(|| "unknown_fields".to_owned()));
        model.fields.retain(|field| {
            let wire = &field.wire;
            let fits = is_a_name(wire)
                && !rust.contains(&rust_field(wire))
                && !python.contains(&python_field(wire));
            let kept = fits || (sent && field.required);
            if !kept {
                let at = format!("{place}{}", pointer(&["properties", wire]));
                findings.note(Topic::Unnamed, at);
                return false;
            }
            rust.insert(rust_field(wire));
            python.insert(python_field(wire));
            true
        });
    }
}

/// Makes texts of enums that have no value left.
fn without_values(api: &mut Api) {
    let (empty, others) = std::mem::take(&mut api.enums)
        .into_iter()
        .partition::<Vec<_>, _>(|known| known.values.is_empty());
    api.enums = others;
    let is_empty = |name: &str| empty.iter().any(|known| known.name == name);
    let open = |kind: &mut Type| {
        if kind.named().is_some_and(is_empty) {
            *kind = kind.with_named(&Type::Text);
        }
    };
    for field in api.models.iter_mut().flat_map(|model| &mut model.fields) {
        open(&mut field.kind);
        field.keys = field.keys.take().filter(|name| !is_empty(name));
    }
    for operation in &mut api.operations {
        let parameters = operation.parameters.iter_mut().map(|one| &mut one.kind);
        let body = operation.body.iter_mut().map(|body| &mut body.kind);
        parameters
            .chain(body)
            .chain(&mut operation.response)
            .for_each(open);
    }
}

/// Whether a text has letters to be named by, and none that ends the texts it is written in.
fn is_a_name(written: &str) -> bool {
    let name = snake(written);
    !name.is_empty() && name.is_ascii() && !ends_texts(written)
}

/// Whether generated texts cannot hold it.
pub(super) fn ends_texts(written: &str) -> bool {
    let ends = written.contains(['"', '\\', '`', '\n', '\r', '\t']) || written.contains("*/");
    ends || written.contains(is_hidden)
}
