//! Compares two specs item by item: what is new, gone or different, and what that does to each surface.

use super::items::{Fact, Item, Surface};
use std::collections::{BTreeMap, BTreeSet};

/// What a change does to the code of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// It concerns prose, or what is not generated.
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
pub(super) fn compare(old: &[Item], new: &[Item]) -> Vec<Change> {
    let before: BTreeMap<&str, &Item> = old.iter().map(|one| (one.key.as_str(), one)).collect();
    let after: BTreeMap<&str, &Item> = new.iter().map(|one| (one.key.as_str(), one)).collect();
    let mut out = Vec::new();
    for item in old {
        match after.get(item.key.as_str()) {
            None if !is_part_of(item, &after) => {}
            None => out.push(whole(item, "is gone", Level::Breaking, &[])),
            Some(now) => {
                let whole = item.part_of.as_ref();
                let whole = whole
                    .and_then(|key| Some((*before.get(key.as_str())?, *after.get(key.as_str())?)));
                out.extend(changed(item, now, whole));
            }
        }
    }
    for item in new {
        if !before.contains_key(item.key.as_str()) && is_part_of(item, &before) {
            out.push(whole(
                item,
                "is new",
                Level::Additive,
                &item.breaks_when_new,
            ));
        }
    }
    out.sort_by_key(|change| std::cmp::Reverse(change.level()));
    out
}

/// Whether what holds it is on the other side, too; of the rest it is said as a whole.
fn is_part_of(item: &Item, others: &BTreeMap<&str, &Item>) -> bool {
    item.part_of
        .as_ref()
        .is_none_or(|whole| others.contains_key(whole.as_str()))
}

/// An item that is new or gone.
fn whole(item: &Item, what: &str, level: Level, breaking: &[Surface]) -> Change {
    let surfaces: BTreeSet<Surface> = item.facts.iter().map(|(surface, _)| *surface).collect();
    let of = |surface: Surface| match breaking.contains(&surface) {
        true => (surface, Level::Breaking),
        false => (surface, level),
    };
    let shown = match item.shown.as_str() {
        "" => String::new(),
        shown => format!(" ({shown})"),
    };
    let unseen = if surfaces.is_empty() {
        "; not generated"
    } else {
        ""
    };
    Change {
        text: format!("{}{shown} {what}{unseen}", item.key),
        levels: surfaces.into_iter().map(of).collect(),
    }
}

/// An item that is on both sides; what a surface gains or loses with the whole is said of that.
fn changed(old: &Item, new: &Item, whole: Option<(&Item, &Item)>) -> Option<Change> {
    let mut levels = BTreeMap::new();
    for surface in Surface::ALL {
        let (before, after) = (facts(old, surface), facts(new, surface));
        let wholly = whole.is_some_and(|(old, new)| {
            facts(old, surface).is_empty() != facts(new, surface).is_empty()
        });
        let level = match (before.is_empty(), after.is_empty()) {
            (true, true) => None,
            (true, false) | (false, true) if wholly => None,
            (true, false) => Some(Level::Additive),
            (false, true) => Some(Level::Breaking),
            (false, false) => {
                let pairs = before.iter().zip(&after);
                pairs.filter_map(|(old, new)| step(old, new)).max()
            }
        };
        levels.extend(level.map(|level| (surface, level)));
    }
    let prose = old.prose != new.prose;
    if levels.is_empty() && !prose && old.shown == new.shown {
        return None;
    }
    let text = match old.shown == new.shown {
        false => format!("{}: {} becomes {}", old.key, old.shown, new.shown),
        true if levels.is_empty() => format!("{}: the description changes", old.key),
        true if old.facts.len() != new.facts.len() => {
            format!("{}: what is generated of it changes", old.key)
        }
        true => format!("{} changes its order", old.key),
    };
    if levels.is_empty() {
        let surfaces = old
            .facts
            .iter()
            .map(|(surface, _)| (*surface, Level::Documentation));
        levels.extend(surfaces);
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

fn facts(item: &Item, surface: Surface) -> Vec<&Fact> {
    let own = item.facts.iter().filter(|(of, _)| *of == surface);
    own.map(|(_, fact)| fact).collect()
}

/// What the change of one fact does; none where it is the same.
fn step(old: &Fact, new: &Fact) -> Option<Level> {
    if old == new {
        return None;
    }
    if let (Fact::Order(before), Fact::Order(after)) = (old, new) {
        let common = |own: &[String], other: &[String]| -> Vec<String> {
            own.iter()
                .filter(|one| other.contains(one))
                .cloned()
                .collect()
        };
        let moved = common(before, after) != common(after, before);
        return moved.then_some(Level::Additive);
    }
    Some(match (old, new) {
        (Fact::Loose(_), Fact::Loose(_)) => Level::Additive,
        (Fact::Demand(before), Fact::Demand(after)) if after < before => Level::Additive,
        (Fact::Allowance(before), Fact::Allowance(after)) if after > before => Level::Additive,
        (Fact::Detail(None), Fact::Detail(_)) => Level::Additive,
        _ => Level::Breaking,
    })
}
