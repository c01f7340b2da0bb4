//! Counts the fields and enum values of records that the spec does not know.

use super::Receipt;
use crate::json;
use crate::record::RawRecord;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use talentdata_types::ListShape;

/// More names than this are counted together: a service that uses names as data must not fill the memory.
const MAX_NAMES: usize = 1000;
/// Under this name.
const OTHERS: &str = "...";

type Counts = BTreeMap<String, u64>;

/// What was counted of some records.
#[derive(Clone, Debug, Default)]
pub(crate) struct UnknownFields {
    fields: Counts,
    values: BTreeMap<String, Counts>,
}

impl UnknownFields {
    /// Counts records of a list of this shape.
    pub(super) fn count(&mut self, shape: &ListShape, records: &[RawRecord]) {
        for record in records {
            json::each_member(record.as_str(), |raw_name, value| {
                let Some(name) = json::text(raw_name) else {
                    return;
                };
                let Some(field) = shape.fields.iter().find(|field| field.name == name) else {
                    return add_one(&mut self.fields, &name);
                };
                if !field.known_values.is_empty()
                    && let Some(value) = json::decoded(value)
                    && !field.known_values.contains(&value.as_ref())
                {
                    let counts = self.values.entry(field.name.to_owned()).or_default();
                    add_one(counts, &value);
                }
            });
        }
    }

    /// Takes back what was counted of some of the same records.
    pub(super) fn subtract(&mut self, part: &UnknownFields) {
        subtract(&mut self.fields, &part.fields);
        for (field, counts) in &part.values {
            if let Entry::Occupied(mut left) = self.values.entry(field.clone()) {
                subtract(left.get_mut(), counts);
                if left.get().is_empty() {
                    left.remove();
                }
            }
        }
    }

    /// Writes the counts into a receipt.
    pub(crate) fn read(&self, receipt: &mut Receipt) {
        receipt.unknown_fields.clone_from(&self.fields);
        receipt.unknown_values.clone_from(&self.values);
    }
}

fn add_one(counts: &mut Counts, name: &str) {
    if let Some(count) = counts.get_mut(name) {
        *count += 1;
        return;
    }
    let name = if counts.len() < MAX_NAMES {
        name
    } else {
        OTHERS
    };
    *counts.entry(name.to_owned()).or_default() += 1;
}

fn subtract(counts: &mut Counts, part: &Counts) {
    counts.retain(|name, count| {
        *count = count.saturating_sub(part.get(name).copied().unwrap_or(0));
        *count > 0
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Page;
    use crate::request::transport::Response;
    use talentdata_types::{Field, FieldKind, Resource};

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

    /// What is counted of the records of a page.
    fn count(unknown_fields: &mut UnknownFields, shape: &ListShape, records: &str) {
        let total = r#""pagination":{"total":1,"limit":1,"offset":0,"hasMore":false}"#;
        let page = Page::read(
            &Response::of_json(format!("{{\"rows\":[{records}],{total}}}")),
            None,
            0,
        )
        .unwrap();
        unknown_fields.count(shape, &page.records);
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
        let mut unknown_fields = UnknownFields::default();
        count(
            &mut unknown_fields,
            &shape,
            r#"{"id":"1","state":"open","new":1},{"new":2,"id":"2","state":"ajar"}"#,
        );
        count(
            &mut unknown_fields,
            &shape,
            r#"{"id":"3","n\u0065w":{"state":"x"},"late":null}"#,
        );
        let mut receipt = Receipt::default();
        unknown_fields.read(&mut receipt);
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
        let mut unknown_fields = UnknownFields::default();
        let records: Vec<String> = (0..2000)
            .map(|index| format!(r#"{{"key{index}":1}}"#))
            .collect();
        count(
            &mut unknown_fields,
            Resource::Contacts.shape(),
            &records.join(","),
        );
        let mut receipt = Receipt::default();
        unknown_fields.read(&mut receipt);
        let counts = receipt.unknown_fields;
        assert_eq!(counts.len(), MAX_NAMES + 1);
        assert_eq!(counts[OTHERS], 1000);
    }
}
