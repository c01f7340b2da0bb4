//! The table of settings, as data for the templates.

#[path = "../../crates/core/src/settings/table.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    reason = "the same file is public in core, which uses all of it"
)]
mod table;

use crate::text::sentence;
use heck::ToUpperCamelCase;
use minijinja::{Value, context};
pub(crate) use table::SETTINGS;
use table::{PROFILE, SECRET_SOURCES, Scope, Setting, SettingKind};

/// Returns the data of a setting.
pub(crate) fn view(one: &Setting) -> Value {
    let name = one.name;
    let shown = format!("{:?}", one.kind);
    let choices = match one.kind {
        SettingKind::Choice(names) => names,
        _ => &[],
    };
    // The description of the setting, its default, and what else a user needs to know.
    let default = one.default();
    let default = default.map_or_else(String::new, |value| format!("; {value} by default"));
    let description = format!("{}{default}. {}", one.what, one.note);
    let description = description.trim_end();
    let python_doc = sentence(description).replace('\\', "\\\\");
    let python_doc = match one.kind {
        SettingKind::Boolean(_) => python_doc.replace("true", "True").replace("false", "False"),
        SettingKind::Duration(_) => python_doc.replacen(';', ", in seconds;", 1),
        _ => python_doc,
    };
    let selects_profile = name == PROFILE;
    let default = if selects_profile {
        Some("`default`".to_owned())
    } else {
        one.default()
    };
    context! {
        name, description, choices, python_doc, selects_profile, leads_to_secret => SECRET_SOURCES.contains(&name),
        camel => name.to_upper_camel_case(), kind => shown.split('(').next(), what => one.what, note => one.note,
        variable => one.variable(), flag => one.flag(), values => one.values(),
        default => default.unwrap_or_default(), of_calls => one.scope() == Scope::Calls,
    }
}
