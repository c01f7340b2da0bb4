//! The paging metadata of a page. These members are hints: a value is used if it can only have one meaning.

use crate::json;
use serde::Serialize;
use talentdata_types::Record;

/// The paging metadata of a page, as far as the service reports it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Paging {
    /// The number of records across all pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<i64>,
    /// The number of records in the response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<i64>,
    /// The number of records before those in the response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<i64>,
    /// True if more records follow.
    #[serde(rename = "hasMore", skip_serializing_if = "Option::is_none")]
    pub has_more: Option<bool>,
    /// The members that the API description does not contain, and those without one clear meaning, as received.
    #[serde(flatten)]
    pub extra: Record,
}

impl Paging {
    /// Reads the pagination object. Any other value yields no metadata.
    pub(crate) fn read(object: &str) -> Self {
        let mut paging = Paging::default();
        for (name, value) in json::by_name(json::members(object)) {
            let is_read = match &*name {
                "total" => set(&mut paging.total, integer(value)),
                "limit" => set(&mut paging.limit, integer(value)),
                "offset" => set(&mut paging.offset, integer(value)),
                "hasMore" => set(&mut paging.has_more, boolean(value)),
                _ => false,
            };
            if let (false, Ok(value)) = (is_read, serde_json::from_str(value)) {
                paging.extra.insert(name.into_owned(), value);
            }
        }
        paging
    }

    /// Returns the length of the list. Some services write -1 if they do not know it.
    pub(crate) fn known_total(&self) -> Option<u64> {
        self.total.and_then(|total| u64::try_from(total).ok())
    }
}

/// Stores the value if there is one. Returns whether there was one.
fn set<T>(hint: &mut Option<T>, value: Option<T>) -> bool {
    *hint = value;
    hint.is_some()
}

/// Returns the integer that a raw value means. Loosely typed services (PHP, gateways that map XML to JSON) write it as
/// a string.
fn integer(value: &str) -> Option<i64> {
    let text = json::decoded(value);
    let number = text.as_deref().map_or(value, str::trim);
    i64::try_from(json::whole(number)?).ok()
}

/// Returns the boolean that a raw value means. The same services write 1 and 0, and Python's `str` writes `"True"`.
pub(super) fn boolean(value: &str) -> Option<bool> {
    let text = json::decoded(value);
    let text = text.as_deref().map_or(value, str::trim);
    match (text.to_ascii_lowercase().as_str(), json::whole(text)) {
        ("true", _) | (_, Some(1)) => Some(true),
        ("false", _) | (_, Some(0)) => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_is_used_if_it_has_one_meaning() {
        for (written, meant) in [
            ("250", Some(250)),
            ("250.0", Some(250)),
            ("2.5e2", Some(250)),
            (r#""250""#, Some(250)),
            (r#"" 250.0 ""#, Some(250)),
            (r#""\u0032""#, Some(2)),
            ("-0.0", Some(0)),
            ("-1", Some(-1)),
            ("9223372036854775807", Some(i64::MAX)),
            ("9223372036854775808", None),
            ("1e400", None),
            ("250.5", None),
            ("null", None),
            ("true", None),
            (r#""""#, None),
            (r#""many""#, None),
            (r#""1,250""#, None),
            (r#""+250""#, None),
            (r#"{"value":250}"#, None),
            ("[250]", None),
        ] {
            let paging = Paging::read(&format!(r#"{{"total":{written}}}"#));
            assert_eq!(paging.total, meant, "{written}");
            // A value without a clear meaning is kept as received.
            assert_eq!(
                paging.extra.len(),
                usize::from(meant.is_none()),
                "{written}"
            );
        }
        for (written, meant) in [
            ("true", Some(true)),
            (r#""true""#, Some(true)),
            (r#""True""#, Some(true)),
            ("1", Some(true)),
            (r#""1""#, Some(true)),
            ("1.0", Some(true)),
            ("false", Some(false)),
            (r#""False""#, Some(false)),
            ("0", Some(false)),
            ("null", None),
            ("2", None),
            (r#""""#, None),
            (r#""next""#, None),
            ("{}", None),
        ] {
            let paging = Paging::read(&format!(r#"{{"hasMore":{written}}}"#));
            assert_eq!(paging.has_more, meant, "{written}");
        }
        for nothing in ["null", "[]", "7", r#""x""#, "{}"] {
            assert_eq!(Paging::read(nothing), Paging::default(), "{nothing}");
        }
    }

    #[test]
    fn unknown_values_are_omitted_from_the_json() {
        let paging = Paging::read(r#"{"total":"7","limit":null,"hasMore":0,"next":1.50}"#);
        let json = serde_json::to_string(&paging).unwrap();
        assert_eq!(
            json,
            r#"{"total":7,"hasMore":false,"limit":null,"next":1.50}"#
        );
    }
}
