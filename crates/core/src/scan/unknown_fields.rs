//! Counts the fields and enum values of records that the spec does not know.

use super::Receipt;
use crate::json;
use crate::record::RawRecord;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use talentdata_types::{Field, ListShape};

/// More names than this are counted together: a service that uses names as data must not fill the memory.
const MOST_NAMES: usize = 1000;
/// Under this name.
const OTHERS: &str = "...";

/// The counts of one scan.
pub(super) struct UnknownFields {
    shape: &'static ListShape,
    /// Every field met, in the order in which records usually have them, and where each name is in it.
    seen: Vec<Seen>,
    places: HashMap<String, usize>,
    others: u64,
    values: Arc<Values>,
}

type Values = BTreeMap<String, BTreeMap<String, u64>>;

/// The counts at some moment; cheap to take, since every batch takes them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unknown {
    fields: Vec<(Arc<str>, u64)>,
    others: u64,
    values: Arc<Values>,
}

impl Unknown {
    /// Takes back what was counted of some of the same records.
    pub(crate) fn subtract(&mut self, part: &Unknown) {
        for (name, count) in &part.fields {
            let mut fields = self.fields.iter_mut();
            if let Some((_, left)) = fields.find(|(known, _)| known == name) {
                *left = left.saturating_sub(*count);
            }
        }
        self.fields.retain(|(_, count)| *count > 0);
        if part.values.is_empty() {
            return;
        }
        let values = Arc::make_mut(&mut self.values);
        for (field, counts) in part.values.iter() {
            let Some(left) = values.get_mut(field) else {
                continue;
            };
            for (value, count) in counts {
                if let Some(left) = left.get_mut(value) {
                    *left = left.saturating_sub(*count);
                }
            }
            left.retain(|_, count| *count > 0);
        }
        values.retain(|_, counts| !counts.is_empty());
    }

    /// Writes the counts into a receipt.
    pub(crate) fn read(&self, receipt: &mut Receipt) {
        receipt.unknown_fields.clear();
        for (name, count) in &self.fields {
            // A name may be written in several ways, with escapes and without.
            *receipt.unknown_fields.entry(name.to_string()).or_default() += count;
        }
        if self.others > 0 {
            *receipt.unknown_fields.entry(OTHERS.to_owned()).or_default() += self.others;
        }
        receipt.unknown_values.clone_from(&self.values);
    }
}

struct Seen {
    raw_name: String,
    name: Arc<str>,
    field: Option<&'static Field>,
    count: u64,
}

impl UnknownFields {
    pub(super) fn new(shape: &'static ListShape) -> Self {
        let mut unknown_fields = UnknownFields {
            shape,
            seen: Vec::new(),
            places: HashMap::new(),
            others: 0,
            values: Arc::default(),
        };
        for field in shape.fields {
            unknown_fields.find(field.name);
        }
        unknown_fields
    }

    /// Counts these records.
    pub(super) fn count(&mut self, records: &[RawRecord]) {
        for record in records {
            let mut guess = 0;
            json::each_member(record.as_str(), |raw_name, value| {
                // Records mostly have the same fields in the same order, so the next one is the best guess.
                let index = match self.seen.get(guess) {
                    Some(seen) if seen.raw_name == raw_name => Some(guess),
                    _ => self.find(raw_name),
                };
                guess = index.unwrap_or(guess) + 1;
                let Some(seen) = index.and_then(|index| self.seen.get_mut(index)) else {
                    self.others += 1;
                    return;
                };
                seen.count += 1;
                if let Some(field) = seen.field.filter(|field| !field.known_values.is_empty()) {
                    self.count_value(field, value);
                }
            });
        }
    }

    fn find(&mut self, raw_name: &str) -> Option<usize> {
        if let Some(index) = self.places.get(raw_name) {
            return Some(*index);
        }
        if self.seen.len() == MOST_NAMES + self.shape.fields.len() {
            return None;
        }
        let name = json::text(raw_name)?;
        self.places.insert(raw_name.to_owned(), self.seen.len());
        self.seen.push(Seen {
            raw_name: raw_name.to_owned(),
            field: self.shape.fields.iter().find(|field| field.name == name),
            name: name.into(),
            count: 0,
        });
        Some(self.seen.len() - 1)
    }

    fn count_value(&mut self, field: &Field, value: &str) {
        let Some(text) = json::decoded(value) else {
            return;
        };
        if field.known_values.contains(&text.as_ref()) {
            return;
        }
        let values = Arc::make_mut(&mut self.values);
        let counts = values.entry(field.name.to_owned()).or_default();
        let known = counts.len() < MOST_NAMES || counts.contains_key(text.as_ref());
        let name = if known { text.as_ref() } else { OTHERS };
        *counts.entry(name.to_owned()).or_default() += 1;
    }

    /// What has been counted so far.
    pub(super) fn unknown(&self) -> Unknown {
        let unknown = self.seen.iter().filter(|seen| seen.field.is_none());
        Unknown {
            fields: unknown
                .map(|seen| (Arc::clone(&seen.name), seen.count))
                .collect(),
            others: self.others,
            values: Arc::clone(&self.values),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Page;
    use crate::request::transport::Response;
    use talentdata_types::{FieldKind, Resource};

    const FIELDS: &[Field] = &[
        Field {
            name: "id",
            kind: FieldKind::Text,
            required: true,
            known_values: &[],
        },
        Field {
            name: "state",
            kind: FieldKind::Text,
            required: false,
            known_values: &["open", "shut"],
        },
    ];

    /// Counts the records of a page.
    fn count(unknown_fields: &mut UnknownFields, records: &str) {
        let total = r#""pagination":{"total":1,"limit":1,"offset":0,"hasMore":false}"#;
        let page = Page::read(
            &Response::of_json(format!("{{\"rows\":[{records}],{total}}}")),
            None,
            0,
        )
        .unwrap();
        unknown_fields.count(&page.records);
    }

    #[test]
    fn only_what_the_spec_does_not_know_is_counted() {
        let operation = Resource::Contacts.shape().operation;
        let shape = ListShape {
            name: "things",
            operation,
            record_key: None,
            max_limit: None,
            fields: FIELDS,
        };
        let mut unknown_fields = UnknownFields::new(Box::leak(Box::new(shape)));
        count(
            &mut unknown_fields,
            r#"{"id":"1","state":"open","new":1},{"new":2,"id":"2","state":"ajar"}"#,
        );
        count(
            &mut unknown_fields,
            r#"{"id":"3","n\u0065w":{"state":"x"},"late":null}"#,
        );
        let mut receipt = Receipt::default();
        unknown_fields.unknown().read(&mut receipt);
        let fields = receipt.unknown_fields;
        assert_eq!(fields["late"], 1);
        assert_eq!(fields["new"], 3);
        assert_eq!(fields.len(), 2);
        assert_eq!(
            receipt.unknown_values["state"],
            BTreeMap::from([("ajar".to_owned(), 1)])
        );
    }

    #[test]
    fn names_used_as_data_do_not_fill_the_memory() {
        let mut unknown_fields = UnknownFields::new(Resource::Contacts.shape());
        let records: Vec<String> = (0..2000)
            .map(|index| format!(r#"{{"key{index}":1}}"#))
            .collect();
        count(&mut unknown_fields, &records.join(","));
        let mut receipt = Receipt::default();
        unknown_fields.unknown().read(&mut receipt);
        let counts = receipt.unknown_fields;
        assert_eq!(counts.len(), MOST_NAMES + 1);
        assert_eq!(counts[OTHERS], 1000);
    }
}
