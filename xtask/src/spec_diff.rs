//! `cargo xtask spec-diff`: what a new spec changes for the users of each language, and the version it asks for.

mod compare;
#[cfg(test)]
mod tests;

use crate::spec::{FILE, Spec};
use compare::{Change, Level, changes};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, ExitCode};

/// How the program ends where something breaks.
const BREAKING: u8 = 3;

/// Where releases are written down: `## 1.2.3, DATE`.
const CHANGELOG: &str = "CHANGELOG.md";

/// Prints every change between two specs; each is a file or a git revision.
pub(crate) fn run(root: &Path, arguments: &[&str]) -> Result<ExitCode, String> {
    let (options, names): (Vec<&str>, Vec<&str>) =
        arguments.iter().partition(|one| **one == "--json");
    let (old, new) = match names.as_slice() {
        [old] => (load(root, old)?, Spec::load(root)?),
        [old, new] => (load(root, old)?, load(root, new)?),
        _ => return Err("usage: cargo xtask spec-diff OLD [NEW] [--json]".to_owned()),
    };
    let changes = changes(&old, &new);
    let level = changes.iter().map(Change::level).max();
    let changelog = std::fs::read_to_string(root.join(CHANGELOG))
        .map_err(|error| format!("{CHANGELOG}: {error}"))?;
    // Before the first release nobody has a version to count from.
    let version = last_release(&changelog).map_or_else(
        || env!("CARGO_PKG_VERSION").to_owned(),
        |released| next_version(released, level),
    );
    match options.is_empty() {
        true => print!("{}", text(&changes, &version)),
        false => println!("{:#}", document(&changes, &version)),
    }
    Ok(match level {
        Some(Level::Breaking) => ExitCode::from(BREAKING),
        _ => ExitCode::SUCCESS,
    })
}

/// The spec in a file, or that of a git revision.
fn load(root: &Path, name: &str) -> Result<Spec, String> {
    let file = Path::new(name);
    if file.is_file() {
        return Spec::load_file(root, file);
    }
    let label = format!("{name}:{FILE}");
    let output = Command::new("git")
        .args(["show", "--end-of-options", &label])
        .current_dir(root)
        .output()
        .map_err(|error| format!("cannot run git: {error}"))?;
    if !output.status.success() {
        return Err(format!(
            "{name} is neither a file nor a git revision with {FILE}; give one of them"
        ));
    }
    Spec::parse(root, &String::from_utf8_lossy(&output.stdout), &label)
}

/// The version that was released last, if any was.
fn last_release(changelog: &str) -> Option<&str> {
    let headings = changelog.lines();
    let headings = headings.filter_map(|line| line.strip_prefix("## ")?.split_once(", "));
    let mut released = headings.filter(|(_, when)| *when != "not yet released");
    released.next().map(|(version, _)| version)
}

/// The smallest version that may follow; before 1.0 the second number says what breaks.
fn next_version(now: &str, level: Option<Level>) -> String {
    let numbers = now.split('.').map(|text| text.parse().unwrap_or(0));
    let mut numbers: Vec<u64> = numbers.collect();
    numbers.resize(3, 0);
    if let Some(level) = level {
        let place = 2 - level as usize + usize::from(numbers[0] == 0);
        let (_, raised) = numbers.split_at_mut(place.min(2));
        raised[0] += 1;
        raised[1..].fill(0);
    }
    let numbers = numbers.iter().map(u64::to_string);
    numbers.collect::<Vec<_>>().join(".")
}

fn text(changes: &[Change], version: &str) -> String {
    let mut out = String::new();
    for change in changes {
        out += &format!("{}: {}\n", change.level().title(), change.text);
        let levels = change.levels.iter();
        let levels = levels.map(|(on, level)| format!("{}: {}", on.title(), level.title()));
        let levels: Vec<String> = levels.collect();
        if !levels.is_empty() {
            out += &format!("    {}\n", levels.join(", "));
        }
    }
    match changes {
        [] => "no changes\n".to_owned(),
        _ => out + &format!("next version: {version} or later\n"),
    }
}

fn document(changes: &[Change], version: &str) -> Value {
    let changes = changes.iter().map(|change| {
        let levels = change.levels.iter();
        let levels = levels.map(|(surface, level)| (surface.title(), level.title()));
        let surfaces = levels.collect::<BTreeMap<_, _>>();
        json!({"change": change.text, "level": change.level().title(), "surfaces": surfaces})
    });
    json!({"changes": changes.collect::<Vec<_>>(), "next_version": version})
}
