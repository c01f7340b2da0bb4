//! One page of a list: its records, its paging metadata, and the page arithmetic of section 8.

use crate::answer::{from_json, json_error};
use crate::error::{Again, Error, ErrorKind, Result};
use crate::record::{Place, RawRecord};
use crate::transport::Answer;
use bytes::Bytes;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use talentdata_types::Pagination;

/// The 1-based number of the page at `offset`; none when `limit` is 0.
pub fn current_page(offset: u64, limit: u64) -> Option<u64> {
    Some(offset.checked_div(limit)? + 1)
}

/// How many pages `total` records make; none when `limit` is 0.
pub fn total_pages(total: u64, limit: u64) -> Option<u64> {
    (limit > 0).then(|| total.div_ceil(limit))
}

/// The offset of the page after this one, in records.
pub fn next_offset(offset: u64, limit: u64) -> u64 {
    offset.saturating_add(limit)
}

/// The offset of the page before this one, in records; never below 0.
pub fn previous_offset(offset: u64, limit: u64) -> u64 {
    offset.saturating_sub(limit)
}

/// A page as received.
#[derive(Clone, Debug)]
pub struct Page<R = RawRecord> {
    /// The records, in the service's order.
    pub records: Vec<R>,
    /// The paging metadata (section 2).
    pub pagination: Pagination,
    /// The key under which the records stood.
    pub key: String,
}

impl Page {
    /// Reads the answer to a page request at `offset`.
    ///
    /// `key` is where the records are known to be; else they are the answer's one array of objects.
    pub(crate) fn read(answer: &Answer, key: Option<&str>, offset: u64) -> Result<Page> {
        read(answer, key, offset).map_err(|error| {
            error
                .with_offset(offset)
                .with_status(answer.status.as_u16())
        })
    }
}

fn read(answer: &Answer, key: Option<&str>, offset: u64) -> Result<Page> {
    let text = answer.object_text()?;
    let members: Members = serde_json::from_str(text).map_err(|error| json_error(&error, ""))?;
    refuse_failure(&members)?;
    let pagination = members.get("pagination").ok_or_else(|| {
        schema(format!(
            "pagination is missing; the answer holds: {}",
            members.names()
        ))
    })?;
    let pagination: Pagination = from_json(pagination.get(), "pagination")?;
    if u64::try_from(pagination.offset).ok() != Some(offset) {
        let message = format!(
            "asked for offset {offset}, the service answered offset {}",
            pagination.offset
        );
        return Err(Error::new(ErrorKind::Paging, message));
    }
    let (key, array) = match key {
        Some(key) => (
            key.to_owned(),
            members.get(key).ok_or_else(|| {
                schema(format!(
                    "{key} is missing; the answer holds: {}",
                    members.names()
                ))
            })?,
        ),
        None => members.one_array_of_objects()?,
    };
    let records = records(&answer.body, array, &key, offset)?;
    Ok(Page {
        records,
        pagination,
        key,
    })
}

/// The record array cut into records that share the body's bytes.
fn records(body: &Bytes, array: &RawValue, key: &str, offset: u64) -> Result<Vec<RawRecord>> {
    let items: Option<Vec<&RawValue>> =
        serde_json::from_str(array.get()).map_err(|_| schema(format!("{key} is not an array")))?;
    let items = items.unwrap_or_default();
    let cut = |(index, item): (usize, &&RawValue)| {
        if !item.get().starts_with('{') {
            return Err(schema(format!("{key}[{index}] is not an object")));
        }
        Ok(RawRecord::new(
            body.slice_ref(item.get().as_bytes()),
            Place { offset, index },
        ))
    };
    items.iter().enumerate().map(cut).collect()
}

/// `success: false` is a failure, whatever the status (section 2).
fn refuse_failure(members: &Members) -> Result<()> {
    match members.get("success").map(RawValue::get) {
        None | Some("true") => Ok(()),
        Some("false") => Err(
            Error::new(ErrorKind::Api, "the service answered success: false")
                .with_again(Again::Never),
        ),
        Some(_) => Err(schema("success is not a boolean".into())),
    }
}

fn schema(message: String) -> Error {
    Error::new(ErrorKind::Schema, message)
}

/// The members of the answer's object, unread.
struct Members<'a>(Vec<(std::borrow::Cow<'a, str>, &'a RawValue)>);

impl<'a> Members<'a> {
    fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.0
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| *value)
    }

    fn names(&self) -> String {
        let names: Vec<String> = self
            .0
            .iter()
            .map(|(name, _)| crate::error::visible(name))
            .collect();
        names.join(", ")
    }

    /// The one member that is an array of objects. An empty array is one only where no other is.
    fn one_array_of_objects(&self) -> Result<(String, &'a RawValue)> {
        let arrays = || {
            self.0
                .iter()
                .filter(|(_, value)| value.get().starts_with('['))
        };
        let full: Vec<_> = arrays()
            .filter(|(_, value)| is_array_of_objects(value))
            .collect();
        let found: Vec<_> = match full.is_empty() {
            true => arrays()
                .filter(|(_, value)| first_of_array(value) == Some(']'))
                .collect(),
            false => full,
        };
        match found.as_slice() {
            [(name, value)] => Ok((name.clone().into_owned(), value)),
            [] => Err(schema(format!(
                "no array of objects among: {}",
                self.names()
            ))),
            // Several empty arrays hold no record, whichever is meant.
            [(name, value), ..] if first_of_array(value) == Some(']') => {
                Ok((name.clone().into_owned(), value))
            }
            several => {
                let names: Vec<&str> = several.iter().map(|(name, _)| name.as_ref()).collect();
                Err(schema(format!(
                    "several arrays of objects: {}; which holds the records is not known",
                    names.join(", ")
                )))
            }
        }
    }
}

/// The first character after the bracket.
fn first_of_array(value: &RawValue) -> Option<char> {
    value.get().strip_prefix('[')?.trim_start().chars().next()
}

fn is_array_of_objects(value: &RawValue) -> bool {
    first_of_array(value) == Some('{')
        && serde_json::from_str::<Vec<&RawValue>>(value.get())
            .is_ok_and(|items| items.iter().all(|item| item.get().starts_with('{')))
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Collect<'a>(std::marker::PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for Collect<'a> {
            type Value = Members<'a>;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(
                self,
                mut map: A,
            ) -> std::result::Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some((Name(name), value)) = map.next_entry::<Name<'a>, &'a RawValue>()? {
                    members.push((name, value));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Collect(std::marker::PhantomData))
    }
}

/// A member's name, borrowed where it holds no escapes.
#[derive(serde::Deserialize)]
struct Name<'a>(#[serde(borrow)] std::borrow::Cow<'a, str>);
