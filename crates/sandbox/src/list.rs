//! The table of paginated lists, and what follows from a row of it.

use crate::data::hash;

/// A paginated list of the service (section 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct List {
    /// The path after `/v1/`, with `_` for `/` and `-`.
    pub name: &'static str,
    /// The whole path.
    pub path: &'static str,
    /// The member that holds the records, where the document shows it.
    pub record_key: Option<&'static str>,
    /// What the list holds, in words.
    pub noun: &'static str,
}

/// All paginated lists, in the document's order.
#[must_use]
pub fn lists() -> &'static [List] {
    crate::generated::lists::LISTS
}

impl List {
    /// `ja`, `taxonomy`, or `corecrm` for the lists right below `/v1/`.
    #[must_use]
    pub fn group(&self) -> &'static str {
        let below = self.path.trim_start_matches("/v1/");
        below.split_once('/').map_or("corecrm", |(group, _)| group)
    }

    /// Records on a page when `limit` is not given: 20 to 50, another number for most lists (section 8). Which
    /// number, is the sandbox's choice.
    #[must_use]
    pub fn default_limit(&self) -> u64 {
        20 + hash(self.name) % 7 * 5
    }

    /// Records in the list unless [`Options::records`](crate::Options::records) says otherwise.
    #[must_use]
    pub fn default_size(&self) -> u64 {
        match self.name {
            "contacts" => 2500,
            name => 40 + hash(name) % 1161,
        }
    }

    /// The member that holds the records. Where the document does not show it, the sandbox chooses one of three, so
    /// that a client has to find it in the answer.
    pub(crate) fn served_key(&self) -> &'static str {
        let last = self.path.rsplit('/').next().unwrap_or(self.name);
        self.record_key.unwrap_or(match hash(self.name) % 3 {
            0 => last,
            1 => "data",
            _ => "items",
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn lists_differ_in_default_limit_and_record_key() {
        let limits: BTreeSet<u64> = lists().iter().map(List::default_limit).collect();
        assert!(limits.len() >= 3, "{limits:?}");
        assert!(
            limits.iter().all(|limit| (20..=50).contains(limit)),
            "{limits:?}"
        );
        let keys: BTreeSet<&str> = lists().iter().map(List::served_key).collect();
        assert!(
            keys.contains("contacts") && keys.contains("data") && keys.contains("items"),
            "{keys:?}"
        );
        assert!(keys.len() >= 4, "{keys:?}");
        for list in lists() {
            assert!((40..=2500).contains(&list.default_size()), "{}", list.name);
        }
    }

    #[test]
    fn groups_follow_from_paths() {
        let groups: BTreeSet<&str> = lists().iter().map(List::group).collect();
        assert_eq!(groups, BTreeSet::from(["corecrm", "ja", "taxonomy"]));
    }
}
