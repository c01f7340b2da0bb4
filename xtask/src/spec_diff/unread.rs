//! Changes of what is documented and not generated: whatever the reader of either document did not read.

use super::compare::Change;
use crate::spec::{Document, pointer};
use serde_json::Value;
use std::collections::BTreeMap;

/// Every such change between two documents; of what stands in a part that is new or gone, nothing.
pub(super) fn changes(old: &Document, new: &Document) -> Vec<Change> {
    let (before, after) = (&old.value, &new.value);
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    for (at, value) in old.unread() {
        match after.pointer(&at) {
            Some(now) if now == value => {}
            Some(now) => differing(value, now, at, &mut texts),
            None if holds(after, &at) => drop(texts.insert(at, format!("{value} is gone"))),
            None => {}
        }
    }
    for (at, value) in new.unread() {
        if before.pointer(&at).is_none() && holds(before, &at) {
            texts.insert(at, format!("{value} is new"));
        }
    }
    let changes = texts.into_iter().map(|(at, text)| Change {
        text: format!("{at}: {text}; not generated"),
        levels: BTreeMap::new(),
    });
    changes.collect()
}

/// What differs between two values, member by member.
fn differing(old: &Value, new: &Value, at: String, texts: &mut BTreeMap<String, String>) {
    let (Value::Object(before), Value::Object(after)) = (old, new) else {
        texts.insert(at, format!("{old} becomes {new}"));
        return;
    };
    for (key, value) in before {
        let place = at.clone() + &pointer(&[key]);
        match after.get(key) {
            Some(now) if now == value => {}
            Some(now) => differing(value, now, place, texts),
            None => drop(texts.insert(place, format!("{value} is gone"))),
        }
    }
    for (key, value) in after.iter().filter(|(key, _)| !before.contains_key(*key)) {
        texts.insert(at.clone() + &pointer(&[key]), format!("{value} is new"));
    }
}

/// Whether a document has the place that a pointer leads into.
fn holds(document: &Value, at: &str) -> bool {
    let above = at.rsplit_once('/').map_or("", |(above, _)| above);
    document.pointer(above).is_some()
}
