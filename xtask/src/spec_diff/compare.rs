//! Compares what the files of two specs declare, surface by surface: what is gone or has another type breaks code.

use crate::names::registry::{Registry, Subject, Surface};
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
        match self {
            Level::Documentation => "documentation",
            Level::Additive => "additive",
            Level::Breaking => "breaking",
        }
    }
}

/// A change as people read it.
pub(super) struct Change {
    pub(super) text: String,
    /// The surfaces that it concerns; none where nothing of it is generated.
    pub(super) levels: BTreeMap<Surface, Level>,
}

impl Change {
    /// The gravest that it does to any surface.
    pub(super) fn level(&self) -> Level {
        let gravest = self.levels.values().max();
        gravest.copied().unwrap_or(Level::Documentation)
    }
}

/// Every change, the gravest first.
pub(super) fn compare(old: &Registry, new: &Registry) -> Vec<Change> {
    let mut out: Vec<(Option<&str>, Change)> = Vec::new();
    // Of the parts of a thing that is new or gone nothing more is said.
    let is_within = |subject: &Subject, other: &Registry| {
        let whole = subject.part_of.as_ref();
        whole.is_some_and(|whole| other.get(whole).is_none())
    };
    for (key, subject) in &old.subjects {
        let change = match new.get(key) {
            Some(now) => changed(key, subject, now),
            None if is_within(subject, new) => None,
            None => Some(whole(key, subject, "is gone", Level::Breaking)),
        };
        out.extend(change.map(|change| (subject.part_of.as_deref(), change)));
    }
    for (key, subject) in &new.subjects {
        if old.get(key).is_none() && !is_within(subject, old) {
            let change = whole(key, subject, "is new", Level::Additive);
            out.push((subject.part_of.as_deref(), change));
        }
    }
    let wholes: BTreeSet<&str> = out.iter().filter_map(|(whole, _)| *whole).collect();
    // What an enum shows of its values is said of these.
    out.retain(|(_, change)| {
        let key = change.text.split(": ").next().unwrap_or_default();
        change.level() > Level::Documentation || !key.starts_with("enum ") || !wholes.contains(key)
    });
    out.sort_by_key(|(_, change)| std::cmp::Reverse(change.level()));
    out.into_iter().map(|(_, change)| change).collect()
}

fn change(text: String, levels: BTreeMap<Surface, Level>) -> Change {
    let unseen = if levels.is_empty() {
        "; not generated"
    } else {
        ""
    };
    Change {
        text: text + unseen,
        levels,
    }
}

/// A thing that is new or gone.
fn whole(key: &str, subject: &Subject, what: &str, level: Level) -> Change {
    let surfaces = subject.declared.keys();
    let levels = surfaces.map(|(surface, ..)| (*surface, level)).collect();
    let text = match subject.shown.as_str() {
        "" => format!("{key} {what}"),
        shown => format!("{key} ({shown}) {what}"),
    };
    change(text, levels)
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
    let is_same = old.shown == new.shown;
    let text = match (is_same, levels.is_empty()) {
        (true, true) if old.prose == new.prose => return None,
        (false, _) => format!("{key}: {} becomes {}", old.shown, new.shown),
        (true, true) => format!("{key}: the description changes"),
        (true, false) => format!("{key}: what is generated of it changes"),
    };
    if levels.is_empty() {
        let surfaces = old.declared.keys();
        levels.extend(surfaces.map(|(surface, ..)| (*surface, Level::Documentation)));
    }
    Some(change(text, levels))
}
