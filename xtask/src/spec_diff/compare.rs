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
    let (before, after) = (&old.places, &new.places);
    let mut out: Vec<(Option<String>, Change)> = Vec::new();
    let mut wholes = BTreeSet::new();
    for (key, subject) in &old.subjects {
        let part_of = subject.part_of.clone();
        match after.get(key) {
            // Of the parts of a thing that is gone nothing more is said.
            None if part_of
                .as_ref()
                .is_some_and(|whole| !after.contains_key(whole)) => {}
            None => out.push((part_of, whole(key, subject, "is gone", Level::Breaking))),
            Some(place) => {
                let change = changed(key, subject, &new.subjects[*place].1);
                out.extend(change.map(|change| (part_of, change)));
            }
        }
    }
    for (key, subject) in &new.subjects {
        let part_of = subject.part_of.clone();
        let is_part = part_of
            .as_ref()
            .is_some_and(|whole| !before.contains_key(whole));
        if !before.contains_key(key) && !is_part {
            out.push((part_of, whole(key, subject, "is new", Level::Additive)));
        }
    }
    wholes.extend(out.iter().filter_map(|(whole, _)| whole.clone()));
    // What a thing shows of its parts is said of these.
    out.retain(|(_, change)| {
        let key = change.text.split(": ").next().unwrap_or_default();
        change.level() > Level::Documentation || !key.starts_with("enum ") || !wholes.contains(key)
    });
    let mut out: Vec<Change> = out.into_iter().map(|(_, change)| change).collect();
    out.sort_by_key(|change| std::cmp::Reverse(change.level()));
    out
}

/// A thing that is new or gone.
fn whole(key: &str, subject: &Subject, what: &str, level: Level) -> Change {
    let surfaces = subject
        .declared
        .keys()
        .map(|(surface, ..)| (*surface, level));
    let levels: BTreeMap<Surface, Level> = surfaces.collect();
    let shown = match subject.shown.as_str() {
        "" => String::new(),
        shown => format!(" ({shown})"),
    };
    let unseen = if levels.is_empty() {
        "; not generated"
    } else {
        ""
    };
    Change {
        text: format!("{key}{shown} {what}{unseen}"),
        levels,
    }
}

/// A thing that is on both sides.
fn changed(key: &str, old: &Subject, new: &Subject) -> Option<Change> {
    let mut levels: BTreeMap<Surface, Level> = BTreeMap::new();
    let mut raise = |surface: Surface, level: Level| {
        let known = levels.entry(surface).or_insert(level);
        *known = level.max(*known);
    };
    for (name, fact) in &old.declared {
        match new.declared.get(name) {
            Some(now) if now.signature != fact.signature || now.demand > fact.demand => {
                raise(name.0, Level::Breaking);
            }
            Some(now) if now.demand < fact.demand => raise(name.0, Level::Additive),
            Some(_) => {}
            None => raise(name.0, Level::Breaking),
        }
    }
    for name in new
        .declared
        .keys()
        .filter(|name| !old.declared.contains_key(*name))
    {
        raise(name.0, Level::Additive);
    }
    let is_same = old.shown == new.shown;
    if levels.is_empty() && is_same && old.prose == new.prose {
        return None;
    }
    let text = match (is_same, levels.is_empty()) {
        (false, _) => format!("{key}: {} becomes {}", old.shown, new.shown),
        (true, true) => format!("{key}: the description changes"),
        (true, false) => format!("{key}: what is generated of it changes"),
    };
    if levels.is_empty() {
        let surfaces = old.declared.keys().map(|(surface, ..)| *surface);
        levels.extend(surfaces.map(|surface| (surface, Level::Documentation)));
    }
    let unseen = if levels.is_empty() {
        "; not generated"
    } else {
        ""
    };
    Some(Change {
        text: text + unseen,
        levels,
    })
}
