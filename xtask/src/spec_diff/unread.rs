//! Changes of what is documented and not generated: whatever the reader of either document did not read.

use super::compare::Change;
use crate::spec::Document;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Every such change between two documents; of what stands in a part that is new or gone, nothing.
pub(super) fn changes(old: &Document, new: &Document) -> Vec<Change> {
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
                waiting.extend(one.children().into_iter().map(|(_, child)| child));
            } else {
                places.insert(one.at);
            }
        }
    }
    let change = |at: String| {
        let text = match (before.pointer(&at), after.pointer(&at)) {
            (Some(was), Some(now)) if was == now => return None,
            (Some(was), Some(now)) => format!("{at}: {was} becomes {now}; not generated"),
            (Some(was), None) => format!("{at}: {was} is gone; not generated"),
            (None, now) => format!("{at}: {} is new; not generated", now?),
        };
        let levels = BTreeMap::new();
        Some(Change { text, levels })
    };
    places.into_iter().filter_map(change).collect()
}
