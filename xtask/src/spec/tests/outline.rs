//! The typed model as lines of text, one thing each.

use crate::spec::api::{Api, Operation};

/// Every operation, model, field and enum.
pub(super) fn outline(api: &Api) -> Vec<String> {
    let mut lines = Vec::new();
    for operation in &api.operations {
        of_operation(operation, &mut lines);
    }
    for model in &api.models {
        lines.push(format!("model {}: {}", model.name, model.description));
        let fields = model.fields.iter();
        lines.extend(fields.map(|field| format!("{}.{field}", model.name)));
    }
    for known in &api.enums {
        lines.push(format!("enum {}: {}", known.name, known.values.join(", ")));
    }
    lines
}

fn of_operation(operation: &Operation, lines: &mut Vec<String>) {
    let id = &operation.id;
    lines.push(format!("{} token {:?}", operation.title(), operation.token));
    for one in &operation.parameters {
        let needed = if one.required { "" } else { ", optional" };
        let (name, location, kind) = (&one.name, &one.location, &one.kind);
        lines.push(format!("{id} {location} {name}: {kind}{needed}"));
    }
    if let Some(body) = &operation.body {
        let needed = if body.required { "" } else { ", optional" };
        lines.push(format!("{id} body: {}{needed}", body.kind));
    }
    if let Some(response) = &operation.response {
        lines.push(format!("{id} response: {response}"));
    }
    if let Some(list) = &operation.list {
        let key = list.key.as_deref().unwrap_or("?");
        let model = list.model.as_deref().unwrap_or("?");
        let max = list.max_limit.map_or("?".into(), |max| max.to_string());
        lines.push(format!(
            "{id} list {}: {key} of {model}, at most {max}",
            list.name
        ));
        let names: Vec<&str> = operation.taken().map(|one| one.name.as_str()).collect();
        if !names.is_empty() {
            lines.push(format!("{id} takes {}", names.join(", ")));
        }
    }
}
