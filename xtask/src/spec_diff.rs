//! `cargo xtask spec-diff`: what a new spec changes for the users of each language, and the version it asks for.

mod compare;
#[cfg(test)]
mod tests;
mod unread;

use crate::names::registry::Surface;
use crate::spec::{FILE, Spec};
use compare::{Change, Level, compare};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, ExitCode};

/// How the program ends where something breaks.
const BREAKING: u8 = 3;

/// Where releases are written down: `## 1.2.3, DATE`.
const CHANGELOG: &str = "CHANGELOG.md";

/// Prints every change between two specs; each is a file or a git revision.
pub(crate) fn run(root: &Path, arguments: &[&str]) -> Result<ExitCode, String> {
    let (options, names): (Vec<&str>, Vec<&str>) = arguments
        .iter()
        .partition(|argument| argument.starts_with("--"));
    let (as_json, old, new) = match (options.as_slice(), names.as_slice()) {
        ([], [old, rest @ ..]) if rest.len() < 2 => (false, old, rest.first()),
        (["--json"], [old, rest @ ..]) if rest.len() < 2 => (true, old, rest.first()),
        _ => return Err("usage: cargo xtask spec-diff OLD [NEW] [--json]".to_owned()),
    };
    let old = load(root, old)?;
    let new = match new {
        Some(new) => load(root, new)?,
        None => Spec::load(root)?,
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
    match as_json {
        true => println!("{:#}", document(&changes, &version)),
        false => print!("{}", text(&changes, &version)),
    }
    Ok(match level {
        Some(Level::Breaking) => ExitCode::from(BREAKING),
        _ => ExitCode::SUCCESS,
    })
}

/// Every change between two specs, the gravest first.
fn changes(old: &Spec, new: &Spec) -> Vec<Change> {
    let mut changes = compare(&old.names, &new.names);
    changes.extend(unread::changes(&old.document, &new.document));
    changes
}

/// The spec in a file, or that of a git revision.
fn load(root: &Path, name: &str) -> Result<Spec, String> {
    let file = Path::new(name);
    if file.is_file() {
        return Spec::load_file(root, file, name);
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
    let headings = changelog
        .lines()
        .filter_map(|line| line.strip_prefix("## "));
    let released = headings.filter_map(|heading| heading.split_once(", "));
    let mut released = released.filter(|(_, when)| *when != "not yet released");
    released.next().map(|(version, _)| version)
}

/// The smallest version that may follow; before 1.0 the second number says what breaks.
fn next_version(now: &str, level: Option<Level>) -> String {
    let numbers = now.split('.').map(|number| number.parse().unwrap_or(0));
    let numbers: Vec<u64> = numbers.collect();
    let (major, minor, patch) = match numbers.as_slice() {
        [major, minor, patch, ..] => (*major, *minor, *patch),
        _ => return now.to_owned(),
    };
    match (level, major) {
        (None, _) => now.to_owned(),
        (Some(Level::Breaking), 0) => format!("0.{}.0", minor + 1),
        (Some(Level::Breaking), _) => format!("{}.0.0", major + 1),
        (Some(Level::Additive), 1..) => format!("{major}.{}.0", minor + 1),
        (Some(_), _) => format!("{major}.{minor}.{}", patch + 1),
    }
}

fn text(changes: &[Change], version: &str) -> String {
    let mut out = String::new();
    for level in [Level::Breaking, Level::Additive, Level::Documentation] {
        let of_level = || changes.iter().filter(|change| change.level() == level);
        if of_level().next().is_some() {
            out += &format!("{} ({}):\n", level.title(), of_level().count());
        }
        for change in of_level() {
            out += &format!("  {}\n", change.text);
            let levels = change.levels.iter();
            let levels = levels.map(|(on, level)| format!("{}: {}", on.title(), level.title()));
            match levels.collect::<Vec<_>>().join(", ").as_str() {
                "" => {}
                levels => out += &format!("    {levels}\n"),
            }
        }
    }
    match changes {
        [] => "no changes\n".to_owned(),
        _ => out + &format!("next version: {version} or later\n"),
    }
}

fn document(changes: &[Change], version: &str) -> serde_json::Value {
    let changes = changes.iter().map(|change| {
        let level = |one: &Level| one.title();
        let surfaces = Surface::ALL.map(|one| (one.title(), change.levels.get(&one).map(level)));
        let surfaces = BTreeMap::from(surfaces);
        json!({"change": change.text, "level": change.level().title(), "surfaces": surfaces})
    });
    json!({"changes": changes.collect::<Vec<_>>(), "next_version": version})
}
