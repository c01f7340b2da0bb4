//! What follows from the signatures of the C library: the header, the list of symbols, and a test of NULL.

mod exports;
mod header;
pub(crate) mod numbers;

pub(crate) use exports::Source;
pub(crate) use header::file as header;

use crate::render::render_with;
use crate::spec::Spec;
use exports::{Function, Kind, Parameter};
use minijinja::{Value, context};
use numbers::Numbers;

/// Where the handles are made that the calls take.
const FIXTURE: &str = "bindings/c/tests/fixture.h";

/// `bindings/c/symbols.txt`: what the library exports, so that a change of it shows in review.
pub(crate) fn symbols(spec: &Spec) -> Result<String, String> {
    let sources = exports::sources(spec)?;
    let functions = exports::functions(sources)?.into_iter();
    let mut functions: Vec<String> = functions.map(|one| one.name).collect();
    functions.sort();
    let constants = exports::constants(sources)?;
    let retired = Numbers::given(&spec.root)?.retired(&constants)?;
    render_with("symbols.txt.j2", context! { functions, constants, retired })
}

/// `bindings/c/tests/null_arguments.c`: every function with each of its pointers as NULL.
pub(crate) fn nulls(spec: &Spec) -> Result<String, String> {
    let fixture = std::fs::read_to_string(spec.root.join(FIXTURE))
        .map_err(|error| format!("{FIXTURE}: {error}"))?;
    let functions = exports::functions(exports::sources(spec)?)?;
    let null_calls = functions.iter().flat_map(|one| null_calls(one, &fixture));
    let null_calls: Vec<Value> = null_calls.collect();
    render_with("null_arguments.c.j2", context! { null_calls })
}

fn null_calls(function: &Function, fixture: &str) -> Vec<Value> {
    let (name, parameters) = (&function.name, &function.parameters);
    let pointers = parameters.iter().filter(|one| function.needs(one));
    let calls = pointers.map(|null| {
        let arguments = parameters.iter().enumerate();
        let arguments = arguments.map(|(index, one)| match one.name == null.name {
            true => "NULL".into(),
            false => argument(index, one, fixture),
        });
        let arguments: Vec<String> = arguments.collect();
        context! {
            call => format!("{name}({})", arguments.join(", ")), function => name,
            null => null.name, frees => function.frees(), can_fail => function.can_fail,
        }
    });
    calls.collect()
}

/// A good value for a parameter.
fn argument(index: usize, parameter: &Parameter, fixture: &str) -> String {
    match &parameter.kind {
        Kind::Handle(handle) if fixture.contains(&format!(" *{handle};")) => {
            format!("all->{handle}")
        }
        // Of a model that the spec has gained there is no handle: the call fails before it looks at it.
        Kind::Out { .. } | Kind::Handle(_) => format!("fixture_slot({index})"),
        Kind::Text => "\"1\"".into(),
        Kind::Texts => "fixture_names".into(),
        Kind::TextsOfLength => "fixture_texts".into(),
        Kind::Callback => "fixture_log".into(),
        Kind::Passed => "NULL".into(),
        Kind::Number if parameter.name == "index" => "0".into(),
        Kind::Number => "1".into(),
    }
}
