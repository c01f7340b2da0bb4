//! What users of each surface can see of an operation.

use super::items::{Fact, Item, Surface, exact, item, mark, token};
use crate::names;
use crate::spec::api::Operation;

/// The constant of an operation, and the calls that languages make of it.
pub(super) fn of_operation(operation: &Operation, out: &mut Vec<Item>) {
    let id = &operation.id;
    let key = format!("operation {id}");
    let method = operation.method.to_uppercase();
    let called = format!("{method} {}, {}", operation.path, token(operation).1);
    let shown = called.clone() + mark(operation.deprecated);
    let prose = format!(
        "{} {} {}",
        operation.group, operation.summary, operation.description
    );
    let mut facts = exact(&[Surface::Rust], &names::operation(id));
    facts.push((Surface::Rust, Fact::Loose(called)));
    let is_call = operation.is_call();
    if is_call {
        facts.extend(Surface::ALL.map(|surface| (surface, Fact::Demand(token(operation).0))));
        facts.extend(call_names(operation));
        let signature = signature(operation);
        facts.extend(Surface::ALL.map(|surface| (surface, Fact::Exact(signature.clone()))));
        // Where there are any, the call takes one argument more.
        let options = operation.optional().next().is_some();
        let takes = Fact::Exact(format!("options: {options}"));
        facts.push((Surface::C, takes));
        facts.push((Surface::Rust, Fact::Exact(format!("options: {options}"))));
    }
    out.push(item(&key, &shown, &prose, facts));
    let mut part = |name: String, shown: String, prose: String, facts| {
        let mut part = item(&name, &shown, &prose, facts);
        part.part_of = Some(key.clone());
        out.push(part);
    };
    for one in &operation.parameters {
        let needed = if one.required { "" } else { ", optional" };
        let shown = format!("{}{needed}", one.kind);
        let name = format!("{} parameter {} of {id}", one.location, one.name);
        let is_option = operation.is_generated()
            && operation.optional().any(|option| std::ptr::eq(option, one));
        let facts = match is_option {
            true => exact(
                &Surface::ALL,
                &format!("{} {}", names::argument(one), one.kind),
            ),
            false => Vec::new(),
        };
        part(name, shown, one.description.clone(), facts);
    }
    if let Some(body) = &operation.body {
        let needed = if body.required { "" } else { ", optional" };
        let shown = format!("{}{needed}", body.kind);
        part(format!("request of {id}"), shown, String::new(), Vec::new());
    }
    if let Some(response) = &operation.response {
        let name = format!("response of {id}");
        part(name, response.to_string(), String::new(), Vec::new());
    }
}

/// What each language calls an operation.
fn call_names(operation: &Operation) -> [(Surface, Fact); 4] {
    [
        (Surface::Rust, names::rust_call(operation)),
        (Surface::C, names::c_call(operation)),
        (Surface::Python, names::python_call(operation)),
        (Surface::CommandLine, names::command(operation)),
    ]
    .map(|(surface, name)| (surface, Fact::Exact(name)))
}

/// The parameters that an operation cannot do without.
pub(super) fn required(operation: &Operation) -> String {
    let takes = operation.required();
    let takes = takes.map(|one| format!("{}: {}", names::argument(one), one.kind));
    takes.collect::<Vec<_>>().join(", ")
}

/// What a call cannot do without, and what it gives.
fn signature(operation: &Operation) -> String {
    let mut takes = vec![required(operation)];
    takes.retain(|one| !one.is_empty());
    if let Some(body) = &operation.body {
        let needed = if body.required { "" } else { " or none" };
        takes.push(format!("body: {}{needed}", body.kind));
    }
    let gives = operation.response.as_ref().map(ToString::to_string);
    format!("({}) -> {}", takes.join(", "), gives.unwrap_or_default())
}
