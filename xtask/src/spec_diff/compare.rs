//! Compares two specs: what their files declare, surface by surface, and what of them is not generated.

use crate::names::registry::{Registry, Subject, Surface};
use crate::spec::{Document, Spec};
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
    let (before, after) = (&old.names, &new.names);
    let is_new = |(key, _): &(&String, &Subject)| before.get(key).is_none();
    let subjects = before.subjects.iter();
    let subjects = subjects.chain(after.subjects.iter().filter(is_new));
    let changes = subjects.filter_map(|(key, _)| match (before.get(key), after.get(key)) {
        (Some(was), Some(now)) => changed(key, was, now),
        (Some(was), None) => whole(key, was, after, false),
        (None, now) => whole(key, now?, before, true),
    });
    let mut changes: Vec<Change> = changes.collect();
    changes.sort_by_key(|change| std::cmp::Reverse(change.level()));
    changes.extend(unread(&old.document, &new.document));
    changes
}

/// A thing that is new or gone; of the parts of another that is, nothing more is said.
fn whole(key: &str, subject: &Subject, other: &Registry, is_new: bool) -> Option<Change> {
    let part_of = subject.part_of.as_ref();
    if part_of.is_some_and(|whole| other.get(whole).is_none()) {
        return None;
    }
    let (what, level) = match is_new {
        true => ("is new", Level::Additive),
        false => ("is gone", Level::Breaking),
    };
    let surfaces = subject.declared.keys();
    let levels = surfaces.map(|(surface, ..)| (*surface, level)).collect();
    let text = match subject.shown.as_str() {
        "" => format!("{key} {what}"),
        shown => format!("{key} ({shown}) {what}"),
    };
    Some(Change::new(text, levels))
}

/// A thing that is on both sides.
fn changed(key: &str, old: &Subject, new: &Subject) -> Option<Change> {
    let mut levels: BTreeMap<Surface, Level> = BTreeMap::new();
    for name in old.declared.keys().chain(new.declared.keys()) {
        let level = match (old.declared.get(name), new.declared.get(name)) {
            (Some(was), Some(now)) if was == now => continue,
            (Some(was), Some(now)) if was.signature == now.signature && now.demand < was.demand => {
                Level::Additive
            }
            (Some(_), _) => Level::Breaking,
            (None, _) => Level::Additive,
        };
        let known = levels.entry(name.0).or_insert(level);
        *known = level.max(*known);
    }
    let text = if old.shown != new.shown {
        format!("{key}: {} becomes {}", old.shown, new.shown)
    } else if !levels.is_empty() {
        format!("{key}: what is generated of it changes")
    } else if old.prose != new.prose {
        format!("{key}: the description changes")
    } else {
        return None;
    };
    if levels.is_empty() {
        let surfaces = old.declared.keys();
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
        waiting.retain(|one| {
            let above = one.at.rsplit_once('/').map_or("", |(above, _)| above);
            other.pointer(above).is_some()
        });
        while let Some(one) = waiting.pop() {
            if one.value.is_object() && other.pointer(&one.at).is_some_and(Value::is_object) {
                waiting.extend(one.children());
            } else {
                places.insert(one.at);
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
