//! The table of settings, as the templates see it.

#[path = "../../crates/core/src/settings/table.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    reason = "the same file is public in core, which uses all of it"
)]
mod table;

use crate::names::sentence;
use crate::render::wrap;
use heck::ToUpperCamelCase;
use minijinja::{Value, context};
#[cfg(test)]
pub(crate) use table::Bounds;
use table::PROFILE;
pub(crate) use table::{Kind, SETTINGS, Scope, Setting};

/// Every setting.
pub(crate) fn view(settings: &[Setting]) -> Vec<Value> {
    settings.iter().map(setting).collect()
}

fn setting(one: &Setting) -> Value {
    let (name, camel) = (one.name, one.name.to_upper_camel_case());
    let description = description(one);
    let kind = match one.kind {
        Kind::BaseUrl => "BaseUrl",
        Kind::Text => "Text",
        Kind::Secret => "Secret",
        Kind::Proxy => "Proxy",
        Kind::Budget => "Budget",
        Kind::Choice(_) => "Choice",
        Kind::Duration(_) => "Duration",
        Kind::Integer(_) => "Integer",
        Kind::Number(_) => "Number",
        Kind::Boolean(_) => "Boolean",
    };
    // What a number or a truth value is in each language; the rest are texts.
    let (rust, c_kind, c_value, cpp, python) = match one.kind {
        Kind::Duration(_) => (
            Some("Duration"),
            None,
            "",
            "std::chrono::milliseconds",
            "float",
        ),
        Kind::Integer(_) => (
            Some("u32"),
            Some("i64"),
            "value as f64",
            "std::int64_t",
            "int",
        ),
        Kind::Number(_) => (Some("f64"), Some("f64"), "value", "double", "float"),
        Kind::Boolean(_) => (Some("bool"), Some("bool"), "value", "bool", "bool"),
        _ => (None, None, "", "std::string_view", "str"),
    };
    let rust_kept = match one.kind {
        Kind::BaseUrl => "BaseUrl",
        Kind::Text => "Option<String>",
        Kind::Secret => "Option<Secret>",
        Kind::Proxy => "Proxy",
        Kind::Budget => "BudgetStore",
        _ => rust.unwrap_or(&camel),
    };
    let python = match one.kind {
        Kind::Choice(names) => format!("Literal[\"{}\"]", names.join("\", \"")),
        _ => python.to_owned(),
    };
    let python_doc = sentence(&description).replace('\\', "\\\\");
    let python_doc = match one.kind {
        Kind::Boolean(_) => python_doc.replace("true", "True").replace("false", "False"),
        Kind::Duration(_) => python_doc.replacen(';', ", in seconds;", 1),
        _ => python_doc,
    };
    let (wrong_cpp, wrong_c, refusal) = match one.kind {
        Kind::Duration(_) => ("std::chrono::seconds(-1)", "-1000", one.out_of_range(-1.0)),
        Kind::Integer(_) | Kind::Number(_) => ("-1", "-1", one.out_of_range(-1.0)),
        // No value is wrong.
        Kind::Boolean(_) => ("false", "false", String::new()),
        _ => ("\"\"", "\"\"", format!("{name} must not be empty")),
    };
    let milliseconds =
        |bound: fn(table::Bounds) -> f64| one.bounds().map(|all| (bound(all) * 1e3).to_string());
    let unit = if kind == "Duration" { "_ms" } else { "" };
    let default = match name {
        PROFILE => Some("`default`".to_owned()),
        _ => one.default(),
    };
    context! {
        name, camel, description, kind, rust, rust_kept, c_kind, c_value, cpp, python, python_doc,
        wrong_cpp, wrong_c, refusal,
        cpp_value => match kind { "Duration" => "time", "Integer" | "Number" | "Boolean" => "value", _ => "text" },
        c => format!("talentdata_config_set_{name}{unit}"),
        min_ms => milliseconds(|all| all.min), max_ms => milliseconds(|all| all.max),
        what => one.what, variable => one.variable(), flag => one.flag(), values => one.values(),
        default => default.unwrap_or_default(),
        selects_profile => name == PROFILE, of_calls => one.scope == Scope::Calls,
    }
}

/// What a setting is, its default, and what else a user needs to know.
fn description(setting: &Setting) -> String {
    let default = setting.default();
    let default = default.map_or_else(String::new, |value| format!("; {value} by default"));
    format!("{}{default}. {}", setting.what, setting.note)
        .trim_end()
        .to_owned()
}

/// The lines of a comment of Rust: a sentence, with addresses marked, since rustdoc warns of bare ones.
pub(crate) fn documentation(words: &str) -> Vec<String> {
    let marked = words.split(' ').map(|word| match word.starts_with("http") {
        true => {
            let url = word.trim_end_matches(['.', ',', ';']);
            word.replacen(url, &format!("`{url}`"), 1)
        }
        false => word.to_owned(),
    });
    let words = sentence(&marked.collect::<Vec<_>>().join(" "));
    wrap(&format!("{}.", words.trim_end_matches('.')), 100)
}
