//! The typed model as lines of text, one thing each.

use crate::spec::api::{Api, Operation};

/// Every operation, model, field and enum; an empty line before each.
pub(super) fn outline(api: &Api) -> String {
    let mut lines: Vec<String> = api.operations.iter().flat_map(operation).collect();
    for model in &api.models {
        lines.push(format!("model {}: {}", model.name, model.description));
        let fields = model.fields.iter();
        lines.extend(fields.map(|field| format!("{}.{field}", model.name)));
    }
    let enums = api.enums.iter();
    lines.extend(enums.map(|known| format!("enum {}: {}", known.name, known.values.join(", "))));
    lines.iter().map(|line| format!("\n{line}\n")).collect()
}

fn operation(operation: &Operation) -> Vec<String> {
    let id = &operation.id;
    let needed = |required| if required { "" } else { ", optional" };
    let mut lines = vec![format!("{} token {:?}", operation.title(), operation.token)];
    lines.extend(operation.parameters.iter().map(|one| {
        let (name, location, kind) = (&one.name, &one.location, &one.kind);
        format!("{id} {location} {name}: {kind}{}", needed(one.required))
    }));
    let body = operation.body.iter();
    lines.extend(body.map(|one| format!("{id} body: {}{}", one.kind, needed(one.required))));
    let response = operation.response.iter();
    lines.extend(response.map(|kind| format!("{id} response: {kind}")));
    if let Some(list) = &operation.list {
        let [key, model] = [&list.key, &list.model].map(|one| one.as_deref().unwrap_or("?"));
        let max = list.max_limit.map_or("?".into(), |max| max.to_string());
        lines.push(format!(
            "{id} list {}: {key} of {model}, at most {max}",
            list.name
        ));
        let names: Vec<&str> = operation.taken().map(|one| one.name.as_str()).collect();
        lines.push(format!("{id} takes {}", names.join(", ")));
    }
    lines
}
