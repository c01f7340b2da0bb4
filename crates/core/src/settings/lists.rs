//! The setting `lists`: the fields of each list that every scan keeps, drops or hashes.

use crate::error::{Error, Result};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use talentdata_types::ListName;

/// The name of the setting.
pub(crate) const LISTS: &str = "lists";

/// The fields that each list keeps, drops or hashes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ListPolicies(pub(super) BTreeMap<ListName, ListFields>);

/// The fields that a list keeps, drops or hashes, as in the options of a scan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ListFields {
    /// The fields to keep; if there are any, all others are dropped.
    pub fields: Vec<String>,
    /// The fields to drop.
    pub drop: Vec<String>,
    /// The fields whose values are replaced by a digest.
    pub hash: Vec<String>,
}

/// Describes what happens to the fields, for example `drops email; hashes phone`.
impl fmt::Display for ListFields {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            ("keeps only", &self.fields),
            ("drops", &self.drop),
            ("hashes", &self.hash),
        ];
        let parts = parts.iter().filter(|(_, names)| !names.is_empty());
        let parts: Vec<String> = parts
            .map(|(verb, names)| format!("{verb} {}", names.join(", ")))
            .collect();
        formatter.write_str(&parts.join("; "))
    }
}

impl ListPolicies {
    /// Returns the fields of a list; `None` if the setting names no fields of it.
    pub(crate) fn of(&self, list: ListName) -> Option<&ListFields> {
        self.0.get(&list)
    }

    /// Reads the JSON of a setting that has this name, and whose values have this form.
    pub(super) fn parse(name: &str, form: &str, text: &str) -> Result<Self> {
        let read: BTreeMap<String, ListFields> = serde_json::from_str(text).map_err(|_| {
            Error::config(format!(
                "{name} must be {form}: {{\"contacts\": {{\"drop\": [\"email\"]}}}}"
            ))
        })?;
        let entry = |(list, fields): (String, ListFields)| {
            let known = ListName::from_str(&list);
            let known =
                known.map_err(|_| Error::config(format!("{name}: no list is named {list:?}")))?;
            if !fields.fields.is_empty() && !fields.drop.is_empty() {
                return Err(Error::config(format!(
                    "{name}: {list} has both fields and drop; name either the fields to keep or the fields to drop"
                )));
            }
            Ok((known, fields))
        };
        let mut lists = read
            .into_iter()
            .map(entry)
            .collect::<Result<BTreeMap<_, _>>>()?;
        lists.retain(|_, fields| *fields != ListFields::default());
        Ok(ListPolicies(lists))
    }
}
