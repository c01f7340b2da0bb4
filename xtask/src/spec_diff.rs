//! `cargo xtask spec-diff`: prints the changes of a new spec for the users of each language, and the version that they
//! require.
//!
//! Two specs are compared by the declarations that are generated from them, surface by surface, and by the parts that
//! are not generated.

use crate::generation::{FILE, Spec};
use crate::names::registry::{Subject, Subjects, Surface};
use crate::spec::{Document, api::joined};
use indexmap::IndexSet;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, ExitCode};

/// The exit code for breaking changes.
const BREAKING: u8 = 3;

/// The file that lists releases: `## 1.2.3, DATE`.
const CHANGELOG: &str = "CHANGELOG.md";

/// Prints every change between two specs, each of which is a file or a git revision.
pub(crate) fn run(root: &Path, arguments: &[&str]) -> Result<ExitCode, String> {
    let (options, names): (Vec<&str>, Vec<&str>) =
        arguments.iter().partition(|one| **one == "--json");
    let (old, new) = match names.as_slice() {
        [old] => (load(root, old)?, Spec::load(root)?),
        [old, new] => (load(root, old)?, load(root, new)?),
        _ => return Err("usage: cargo xtask spec-diff OLD [NEW] [--json]".to_owned()),
    };
    let changes = changes(&old, &new);
    let level = changes.iter().map(SpecChange::level).max();
    let changelog = std::fs::read_to_string(root.join(CHANGELOG))
        .map_err(|error| format!("{CHANGELOG}: {error}"))?;
    // Before the first release, the version is the one in `Cargo.toml`.
    let version = last_release(&changelog).map_or_else(
        || env!("CARGO_PKG_VERSION").to_owned(),
        |released| next_version(released, level),
    );
    if options.is_empty() {
        print!("{}", text(&changes, &version))
    } else {
        println!("{:#}", document(&changes, &version))
    }
    Ok(match level {
        Some(Level::Breaking) => ExitCode::from(BREAKING),
        _ => ExitCode::SUCCESS,
    })
}

/// Reads the spec in a file or in a git revision.
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

/// Returns the version of the last release; `None` before the first one.
fn last_release(changelog: &str) -> Option<&str> {
    let lines = changelog.lines();
    let headings = lines.filter_map(|line| line.strip_prefix("## ")?.split_once(", "));
    let mut releases = headings.filter(|(_, when)| *when != "not yet released");
    releases.next().map(|(version, _)| version)
}

/// Returns the lowest version that may follow `released`. Before 1.0, a breaking change raises the second number.
fn next_version(released: &str, level: Option<Level>) -> String {
    let parsed = released.split('.').map(|text| text.parse().unwrap_or(0));
    let mut numbers: Vec<u64> = parsed.collect();
    numbers.resize(3, 0);
    if let Some(level) = level {
        let place = 2 - level as usize + usize::from(numbers[0] == 0);
        let (_, raised) = numbers.split_at_mut(place.min(2));
        raised[0] += 1;
        raised[1..].fill(0);
    }
    let texts = numbers.iter().map(u64::to_string);
    texts.collect::<Vec<_>>().join(".")
}

fn text(changes: &[SpecChange], version: &str) -> String {
    let mut out = String::new();
    for change in changes {
        out += &format!("{}: {}\n", change.level().title(), change.text);
        let levels = change.levels.iter();
        let by_surface =
            joined(levels.map(|(on, level)| format!("{}: {}", on.title(), level.title())));
        if !by_surface.is_empty() {
            out += &format!("    {by_surface}\n");
        }
    }
    match changes {
        [] => "no changes\n".to_owned(),
        _ => out + &format!("next version: {version} or later\n"),
    }
}

fn document(changes: &[SpecChange], version: &str) -> Value {
    let changes = changes.iter().map(|change| {
        let levels = change.levels.iter();
        let titles = levels.map(|(surface, level)| (surface.title(), level.title()));
        let surfaces = titles.collect::<BTreeMap<_, _>>();
        json!({"change": change.text, "level": change.level().title(), "surfaces": surfaces})
    });
    json!({"changes": changes.collect::<Vec<_>>(), "next_version": version})
}

/// The effect of a change on the code of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    /// A change of descriptions, or of parts that are not generated.
    Documentation,
    Additive,
    Breaking,
}

impl Level {
    fn title(self) -> &'static str {
        ["documentation", "additive", "breaking"][self as usize]
    }
}

/// A change, as it is shown to the user.
struct SpecChange {
    text: String,
    /// The level on each affected surface; empty if the changed part is not generated.
    levels: BTreeMap<Surface, Level>,
}

impl SpecChange {
    fn new(mut text: String, levels: BTreeMap<Surface, Level>) -> Self {
        if levels.is_empty() {
            text += "; not generated";
        }
        SpecChange { text, levels }
    }

    /// Returns the highest level on any surface.
    fn level(&self) -> Level {
        let highest = self.levels.values().max();
        highest.copied().unwrap_or(Level::Documentation)
    }
}

/// Returns all changes, sorted from breaking changes to changes of documentation.
fn changes(old: &Spec, new: &Spec) -> Vec<SpecChange> {
    let (before, after) = (&old.names.subjects, &new.names.subjects);
    let keys: IndexSet<&String> = before.keys().chain(after.keys()).collect();
    let generated = keys
        .into_iter()
        .filter_map(|key| change(key, before, after));
    let unread = unread(&old.document, &new.document);
    let mut changes: Vec<SpecChange> = generated.chain(unread).collect();
    changes.sort_by_key(|change| std::cmp::Reverse(change.level()));
    changes
}

/// Returns the change of an item. Parts of a new or removed item are not reported.
fn change(key: &str, before: &Subjects, after: &Subjects) -> Option<SpecChange> {
    let nothing = Subject::default();
    let (old, new) = (before.get(key), after.get(key));
    let (was, now) = (old.unwrap_or(&nothing), new.unwrap_or(&nothing));
    let demand = |signature: &str| signature.parse::<u64>().ok();
    // A number says how much the user must provide, so a decrease breaks no code.
    let is_less = |now: &str, was: &str| demand(now).is_some_and(|now| demand(was) > Some(now));
    let mut levels: BTreeMap<Surface, Level> = BTreeMap::new();
    for name in was.declared.keys().chain(now.declared.keys()) {
        let level = match (was.declared.get(name), now.declared.get(name)) {
            (Some(was), Some(now)) if was == now => continue,
            (Some(was), Some(now)) if is_less(now, was) => Level::Additive,
            (Some(_), _) => Level::Breaking,
            (None, _) => Level::Additive,
        };
        let known = levels.entry(name.0).or_insert(level);
        *known = level.max(*known);
    }
    let called = |one: &Subject| match one.shown.as_str() {
        "" => key.to_owned(),
        shown => format!("{key} ({shown})"),
    };
    let is_whole = |one: &Subject, others: &Subjects| {
        let part_of = one.part_of.as_ref();
        part_of.is_none_or(|whole| others.contains_key(whole))
    };
    let text = match (old, new) {
        (None, Some(one)) if is_whole(one, before) => called(one) + " is new",
        (Some(one), None) if is_whole(one, after) => called(one) + " is gone",
        (None, _) | (_, None) => return None,
        _ if was.shown != now.shown => format!("{key}: {} becomes {}", was.shown, now.shown),
        _ if !levels.is_empty() => format!("{key}: what is generated of it changes"),
        _ if was.prose != now.prose => format!("{key}: the description changes"),
        _ => return None,
    };
    if levels.is_empty() {
        let surfaces = was.declared.keys();
        levels.extend(surfaces.map(|(surface, ..)| (*surface, Level::Documentation)));
    }
    Some(SpecChange::new(text, levels))
}

/// Returns the differences in parts that are not generated. Parts within a new or removed item are not reported.
fn unread(old: &Document, new: &Document) -> Vec<SpecChange> {
    let (before, after) = (&old.value, &new.value);
    let mut places = BTreeSet::new();
    for (document, other) in [(old, after), (new, before)] {
        let mut pending = document.unread();
        while let Some(one) = pending.pop() {
            let above = one.at.rsplit_once('/').map_or("", |(above, _)| above);
            match other.pointer(&one.at) {
                Some(Value::Object(_)) if one.value.is_object() => pending.extend(one.children()),
                _ if other.pointer(above).is_some() => places.extend([one.at]),
                _ => {}
            }
        }
    }
    let change = |at: String| {
        let text = match (before.pointer(&at), after.pointer(&at)) {
            (Some(was), Some(now)) if was == now => return None,
            (Some(was), Some(now)) => format!("{at}: {was} becomes {now}"),
            (Some(was), None) => format!("{at}: {was} is gone"),
            (None, now) => format!("{at}: {} is new", now?),
        };
        Some(SpecChange::new(text, BTreeMap::new()))
    };
    places.into_iter().filter_map(change).collect()
}

#[cfg(test)]
mod tests;
