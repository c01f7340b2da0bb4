//! The table of paginated lists, and what follows from a row of it.

use serde_json::Value;

use crate::data::hash;
use crate::schema::{Shape, most};
use crate::spec::{Operation, spec};

/// The most records on a page where the document gives no maximum.
pub(crate) const USUAL_MAX_LIMIT: u64 = 100;

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
    /// `ja`, `taxonomy`, or `corecrm` for the lists right below the version.
    #[must_use]
    pub fn group(&self) -> &'static str {
        let mut segments = self.path.split('/').skip(2);
        let group = segments.next().unwrap_or_default();
        if segments.next().is_some() {
            group
        } else {
            "corecrm"
        }
    }

    /// Records on a page when `limit` is not given: what the document says, or else 20 to 50, another number for most
    /// lists (section 8). Which number, is the sandbox's choice.
    #[must_use]
    pub fn default_limit(&self) -> u64 {
        let documented = self.limit().and_then(|limit| {
            let mut defaults = limit.values("default").filter_map(Value::as_u64);
            defaults.find(|default| *default > 0)
        });
        let chosen = 20 + hash(self.name) % 7 * 5;
        documented.unwrap_or(chosen.min(self.max_limit()))
    }

    /// The most records on a page, whatever `limit` asks for: what the document says, or else 100.
    #[must_use]
    pub fn max_limit(&self) -> u64 {
        let documented = self.limit().and_then(|limit| most(&limit));
        let documented = documented.and_then(|most| u64::try_from(most).ok());
        documented
            .filter(|most| *most > 0)
            .unwrap_or(USUAL_MAX_LIMIT)
    }

    fn limit(&self) -> Option<Shape<'static>> {
        let limit = self.operation()?.query("limit")?;
        Some(spec().schemas.shape(&limit.schema))
    }

    /// What the document says of it.
    pub(crate) fn operation(&self) -> Option<&'static Operation> {
        spec().operation("GET", self.path)
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
    /// that a client has to find it in the response.
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
    use super::*;

    fn list(name: &'static str, path: &'static str) -> List {
        List {
            name,
            path,
            record_key: None,
            noun: "records",
        }
    }

    #[test]
    fn limits_are_documented_or_chosen() {
        for list in lists() {
            let (default, most) = (list.default_limit(), list.max_limit());
            assert!((1..=most).contains(&default), "{} {default}", list.name);
            assert!((40..=2500).contains(&list.default_size()), "{}", list.name);
        }
        let chosen = list("ja_levels", "/v1/ja/levels");
        assert_eq!(chosen.max_limit(), USUAL_MAX_LIMIT);
        assert!((20..=50).contains(&chosen.default_limit()));
    }

    #[test]
    fn the_record_key_is_documented_or_has_to_be_found() {
        let keys: Vec<&str> = ["one", "two", "three", "four", "five", "six"]
            .map(|name| list(name, "/v1/last").served_key())
            .into();
        for key in ["last", "data", "items"] {
            assert!(keys.contains(&key), "{keys:?}");
        }
        let documented = List {
            record_key: Some("people"),
            ..list("one", "/v1/last")
        };
        assert_eq!(documented.served_key(), "people");
    }

    #[test]
    fn groups_follow_from_paths() {
        for (path, group) in [
            ("/v1/contacts", "corecrm"),
            ("/v2/pools", "corecrm"),
            ("/v1/ja/skills", "ja"),
            ("/v1/taxonomy/a/b", "taxonomy"),
        ] {
            assert_eq!(list("any", path).group(), group, "{path}");
        }
    }
}
