//! Compares two specs: what their files declare, surface by surface, and what of them is not generated.

use crate::names::registry::{Subject, Subjects, Surface};
use crate::spec::{Document, Spec};
use indexmap::IndexSet;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// What a change does to the code of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// It concerns prose, or nothing that is generated.
    Documentation,
    Additive,
    Breaking,
}

impl Level {
    pub(super) fn title(self) -> &'static str {
        ["documentation", "additive", "breaking"][self as usize]
    }
}

/// A change as people read it.
pub(super) struct Change {
    pub(super) text: String,
    /// The surfaces that it concerns; none where nothing of it is generated.
    pub(super) levels: BTreeMap<Surface, Level>,
}

impl Change {
    fn new(mut text: String, levels: BTreeMap<Surface, Level>) -> Self {
        if levels.is_empty() {
            text += "; not generated";
        }
        Change { text, levels }
    }

    /// The gravest that it does to any surface.
    pub(super) fn level(&self) -> Level {
        let gravest = self.levels.values().max();
        gravest.copied().unwrap_or(Level::Documentation)
    }
}

/// Every change, the gravest first.
pub(super) fn changes(old: &Spec, new: &Spec) -> Vec<Change> {
    let (before, after) = (&old.names.subjects, &new.names.subjects);
    let keys: IndexSet<&String> = before.keys().chain(after.keys()).collect();
    let changes = keys
        .into_iter()
        .filter_map(|key| change(key, before, after));
    let mut changes: Vec<Change> = changes.collect();
    changes.sort_by_key(|change| std::cmp::Reverse(change.level()));
    changes.extend(unread(&old.document, &new.document));
    changes
}

/// What becomes of a thing; of the parts of another that is new or gone, nothing more is said.
fn change(key: &str, before: &Subjects, after: &Subjects) -> Option<Change> {
    let nothing = Subject::default();
    let (old, new) = (before.get(key), after.get(key));
    let (was, now) = (old.unwrap_or(&nothing), new.unwrap_or(&nothing));
    let demand = |signature: &str| signature.parse::<u64>().ok();
    let mut levels: BTreeMap<Surface, Level> = BTreeMap::new();
    for name in was.declared.keys().chain(now.declared.keys()) {
        let level = match (was.declared.get(name), now.declared.get(name)) {
            (Some(was), Some(now)) if was == now => continue,
            (Some(was), Some(now)) if demand(now) < demand(was) => Level::Additive,
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
    Some(Change::new(text, levels))
}

/// What the reader of either document did not read and differs; of what stands in a part that is new or gone, nothing.
fn unread(old: &Document, new: &Document) -> Vec<Change> {
    let (before, after) = (&old.value, &new.value);
    let mut places = BTreeSet::new();
    for (document, other) in [(old, after), (new, before)] {
        let mut waiting = document.unread();
        while let Some(one) = waiting.pop() {
            let above = one.at.rsplit_once('/').map_or("", |(above, _)| above);
            match other.pointer(&one.at) {
                Some(Value::Object(_)) if one.value.is_object() => waiting.extend(one.children()),
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
        Some(Change::new(text, BTreeMap::new()))
    };
    places.into_iter().filter_map(change).collect()
}
