//! Counts the fields and enum values of records that the API description does not contain.

use super::receipt::Receipt;
use crate::json;
use crate::record::RawRecord;
use std::collections::BTreeMap;
use talentdata_types::{Field, ListShape};

/// Limits the names that are counted separately. A service that uses names as data must not fill the memory.
const MAX_NAMES: usize = 1000;
/// Limits the names of a page that are looked up in one go.
const MAX_PAGE_NAMES: usize = 64;
/// The key that collects all names beyond `MAX_NAMES`.
const OTHERS: &str = "...";

/// Returns the key under which to count `name`: `...` if there is no room for another name.
pub fn counted_name<'a, T>(counts: &BTreeMap<String, T>, name: &'a str) -> &'a str {
    if counts.len() < MAX_NAMES || counts.contains_key(name) {
        name
    } else {
        OTHERS
    }
}

type NameCounts = BTreeMap<String, u64>;

/// A name in the records of a page.
struct PageName<'a> {
    raw: &'a str,
    field: Option<&'static Field>,
    /// The number of members with this name, if the API description does not contain it.
    unknown: u64,
}

/// Counts the unknown fields of records of a list of this shape.
pub(super) fn count(receipt: &mut Receipt, shape: &ListShape, records: &[RawRecord]) {
    let mut names: Vec<PageName<'_>> = Vec::with_capacity(MAX_PAGE_NAMES);
    // The places of the members of the previous record. Most records have the same names in the same order.
    let mut places: Vec<usize> = Vec::new();
    for record in records {
        let known = places.iter().filter_map(|place| names.get(*place));
        if known.map(|name| name.raw).eq(record.member_names()) {
            for (member, place) in places.iter().enumerate() {
                count_member(receipt, names.get_mut(*place), record, member);
            }
            continue;
        }
        places.clear();
        for (member, raw) in record.member_names().enumerate() {
            let next = places.last().map_or(0, |last| last + 1);
            let place = position(&names, next, raw).unwrap_or_else(|| {
                if names.len() == MAX_PAGE_NAMES {
                    add_unknown(&mut receipt.unknown_fields, names.drain(..));
                    places.clear();
                }
                let field = field(shape, raw);
                names.push(PageName {
                    raw,
                    field,
                    unknown: 0,
                });
                names.len() - 1
            });
            places.push(place);
            count_member(receipt, names.get_mut(place), record, member);
        }
    }
    add_unknown(&mut receipt.unknown_fields, names.into_iter());
}

/// Counts a member of a record if its name, or its value, is unknown.
fn count_member(
    receipt: &mut Receipt,
    name: Option<&mut PageName<'_>>,
    record: &RawRecord,
    member: usize,
) {
    let Some(name) = name else { return };
    let Some(field) = name.field else {
        name.unknown += 1;
        return;
    };
    if !field.known_values.is_empty()
        && let Some(value) = json::decoded(record.member_value(member))
        && !field.known_values.contains(&value.as_ref())
    {
        let counts = receipt.unknown_values.entry(field.name.to_owned());
        add(counts.or_default(), &value, 1);
    }
}

/// Returns the place of a raw name. `next` is the most likely place, because most records have the names of the
/// previous record in the same order.
fn position(names: &[PageName<'_>], next: usize, raw: &str) -> Option<usize> {
    let is_it = |name: &PageName<'_>| name.raw == raw;
    if names.get(next).is_some_and(is_it) {
        return Some(next);
    }
    names.iter().position(is_it)
}

/// Adds the counts of names that the API description does not contain.
fn add_unknown<'a>(counts: &mut NameCounts, names: impl Iterator<Item = PageName<'a>>) {
    for name in names.filter(|name| name.unknown > 0) {
        if let Some(text) = json::text(name.raw) {
            add(counts, &text, name.unknown);
        }
    }
}

/// Returns the field of a raw name, if the API description contains it.
fn field(shape: &ListShape, raw_name: &str) -> Option<&'static Field> {
    let name = json::text(raw_name)?;
    shape.fields.iter().find(|field| field.name == name)
}

/// Subtracts the counts of records that were counted before.
pub(super) fn subtract(receipt: &mut Receipt, shape: &ListShape, records: &[RawRecord]) {
    let mut part = Receipt::default();
    count(&mut part, shape, records);
    subtract_counts(&mut receipt.unknown_fields, &part.unknown_fields);
    receipt.unknown_values.retain(|field, counts| {
        if let Some(part) = part.unknown_values.get(field) {
            subtract_counts(counts, part);
        }
        !counts.is_empty()
    });
}

fn add(counts: &mut NameCounts, name: &str, number: u64) {
    if let Some(count) = counts.get_mut(name) {
        *count += number;
        return;
    }
    let name = counted_name(counts, name);
    *counts.entry(name.to_owned()).or_default() += number;
}

fn subtract_counts(counts: &mut NameCounts, part: &NameCounts) {
    counts.retain(|name, count| {
        *count = count.saturating_sub(part.get(name).copied().unwrap_or(0));
        *count > 0
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use talentdata_types::{FieldKind, ListName};

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

    #[test]
    fn only_fields_and_values_unknown_to_the_spec_are_counted() {
        let shape = ListShape {
            fields: FIELDS,
            ..*ListName::Contacts.shape()
        };
        let mut receipt = Receipt::default();
        let records = [
            r#"{"id":"1","state":"open","new":1}"#,
            r#"{"new":2,"id":"2","state":"ajar"}"#,
            r#"{"id":"3","n\u0065w":{"state":"x"},"late":null}"#,
        ];
        let records = RawRecord::parse_all(&records).unwrap();
        count(&mut receipt, &shape, &records[..2]);
        count(&mut receipt, &shape, &records[2..]);
        let fields = [("late".to_owned(), 1), ("new".to_owned(), 3)];
        assert_eq!(receipt.unknown_fields, fields.into());
        let values = [("state".to_owned(), [("ajar".to_owned(), 1)].into())];
        assert_eq!(receipt.unknown_values, values.into());
    }

    #[test]
    fn fields_are_found_by_name_if_records_differ_in_order() {
        let mut receipt = Receipt::default();
        let records = [
            r#"{"new":1,"id":"1","late":2}"#,
            r#"{"id":"2","new":1,"late":2,"more":3}"#,
            r#"{}"#,
            r#"{"id":"3","new":1,"more":2,"late":3}"#,
        ];
        let records = RawRecord::parse_all(&records).unwrap();
        count(&mut receipt, ListName::Contacts.shape(), &records);
        let fields = [("late", 3), ("more", 2), ("new", 3)];
        let fields = fields.map(|(name, count)| (name.to_owned(), count));
        assert_eq!(receipt.unknown_fields, fields.into());
    }

    #[test]
    fn names_used_as_data_do_not_fill_the_memory() {
        let mut receipt = Receipt::default();
        let records = (0..2000).map(|index| format!(r#"{{"key{index}":1}}"#));
        let records = RawRecord::parse_all(&records.collect::<Vec<_>>()).unwrap();
        count(&mut receipt, ListName::Contacts.shape(), &records);
        let counts = receipt.unknown_fields;
        assert_eq!(counts.len(), MAX_NAMES + 1);
        assert_eq!(counts[OTHERS], 1000);
    }
}
