//! Files that the table of settings yields: setters in every language, their test, and the README's table.

mod c;
mod cpp;
mod python;
mod readme;
mod rust;
#[path = "../../crates/core/src/settings/table.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    reason = "the same file is public in core, which uses all of it"
)]
mod table;

pub(crate) use c::functions;
pub(crate) use cpp::{setters, test};
pub(crate) use python::client;
pub(crate) use readme::readme;
pub(crate) use rust::settings;
#[cfg(test)]
pub(crate) use table::{Bounds, Kind, Scope};
pub(crate) use table::{SETTINGS, Setting};

/// Where the table is.
const SOURCE: &str = "crates/core/src/settings/table.rs";

/// What a setting is, its default, and what else a user needs to know.
fn description(setting: &Setting) -> String {
    let default = setting.default();
    let default = default.map_or_else(String::new, |value| format!("; {value} by default"));
    format!("{}{default}. {}", setting.what, setting.note)
        .trim_end()
        .to_owned()
}

/// The words with a capital first letter.
fn sentence(words: &str) -> String {
    let (first, rest) = words.split_at(words.len().min(1));
    first.to_uppercase() + rest
}

/// The words in lines of at most `width` characters.
fn lines(words: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in words.split(' ') {
        let last = lines.len() - 1;
        if lines[last].is_empty() {
            lines[last] += word;
        } else if lines[last].len() + 1 + word.len() <= width {
            lines[last] += &format!(" {word}");
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}
