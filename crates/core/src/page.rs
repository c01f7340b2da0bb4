//! One page of a list: its records, its paging metadata, and the page arithmetic of section 8.

use crate::answer::{from_json, json_error};
use crate::error::{Again, Error, ErrorKind, Result, visible};
use crate::json::{self, Item, Member, Outline};
use crate::record::{Place, RawRecord};
use crate::scan::Identity;
use crate::transport::Answer;
use bytes::Bytes;
use serde::de::IgnoredAny;
use std::borrow::Cow;
use std::ops::Range;
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
    pub(crate) layouts: Layouts,
}

/// The field names of a page's records; a record tells which of the layouts is its own.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layouts {
    body: Bytes,
    names: Vec<Vec<Range<usize>>>,
}

impl Layouts {
    fn new(body: &Bytes, outline: &Outline) -> Self {
        let range = |name: &&[u8]| {
            let start = name.as_ptr() as usize - body.as_ptr() as usize;
            start..start + name.len()
        };
        let layouts = outline.layouts.iter();
        let names = layouts
            .map(|layout| layout.iter().map(range).collect())
            .collect();
        Layouts {
            body: body.clone(),
            names,
        }
    }

    /// How many layouts there are.
    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }

    /// The raw field names of a layout, in order.
    pub(crate) fn names(&self, layout: usize) -> impl Iterator<Item = &[u8]> {
        let names = self.names.get(layout).into_iter().flatten();
        names.map(|range| self.body.get(range.clone()).unwrap_or_default())
    }
}

impl Page {
    /// Reads the answer to a page request at `offset`.
    ///
    /// `key` is where the records are known to be; else they are the answer's one array of objects.
    pub(crate) fn read(answer: &Answer, key: Option<&str>, offset: u64) -> Result<Page> {
        let status = answer.status.as_u16();
        read(answer, key, offset).map_err(|error| error.with_offset(offset).with_status(status))
    }
}

fn read(answer: &Answer, key: Option<&str>, offset: u64) -> Result<Page> {
    let text = answer.object_text()?;
    let outline = json::outline(text).ok_or_else(|| fault(text))?;
    let members = Members(&outline.members);
    members.refuse_failure()?;
    let pagination: Pagination = from_json(members.require("pagination")?.text(), "pagination")?;
    if u64::try_from(pagination.offset).ok() != Some(offset) {
        let answered = pagination.offset;
        let message = format!("asked for offset {offset}, the service answered offset {answered}");
        return Err(Error::new(ErrorKind::Paging, message));
    }
    let (key, array) = match key {
        Some(key) => (key.to_owned(), members.require(key)?),
        None => members.one_array_of_objects()?,
    };
    let records = records(&answer.body, array, &key, offset)?;
    let layouts = Layouts::new(&answer.body, &outline);
    Ok(Page {
        records,
        pagination,
        key,
        layouts,
    })
}

/// The record array cut into records that share the body's bytes.
fn records(body: &Bytes, array: &Member, key: &str, offset: u64) -> Result<Vec<RawRecord>> {
    let items = match &array.items {
        Some(items) => items.iter(),
        // A service may say null where it means none.
        None if array.value == b"null" => [].iter(),
        None => return Err(schema(format!("{key} is not an array"))),
    };
    let cut = |(index, item): (usize, &Item)| {
        let Some(layout) = item.layout else {
            return Err(schema(format!("{key}[{index}] is not an object")));
        };
        let identity = match item.id {
            Some(id) => Identity::of(id, true),
            None => Identity::of(item.json, false),
        };
        Ok(RawRecord::new(
            body.slice_ref(item.json),
            identity,
            Place {
                offset,
                index,
                layout,
            },
        ))
    };
    items.enumerate().map(cut).collect()
}

fn schema(message: String) -> Error {
    Error::new(ErrorKind::Schema, message)
}

/// Says why a text is not JSON.
fn fault(text: &str) -> Error {
    match serde_json::from_str::<IgnoredAny>(text) {
        Err(error) => json_error(&error, ""),
        Ok(_) => Error::new(ErrorKind::Decode, "the JSON is nested too deeply"),
    }
}

/// The members of the answer's object.
struct Members<'a>(&'a [Member<'a>]);

impl<'a> Members<'a> {
    fn get(&self, name: &str) -> Option<&'a Member<'a>> {
        self.0.iter().find(|member| member.name() == name)
    }

    fn require(&self, name: &str) -> Result<&'a Member<'a>> {
        self.get(name).ok_or_else(|| {
            schema(format!(
                "{name} is missing; the answer holds: {}",
                self.names()
            ))
        })
    }

    fn names(&self) -> String {
        let names: Vec<String> = self
            .0
            .iter()
            .map(|member| visible(&member.name()))
            .collect();
        names.join(", ")
    }

    /// `success: false` is a failure, whatever the status (section 2).
    fn refuse_failure(&self) -> Result<()> {
        match self.get("success").map(|member| member.value) {
            None | Some(b"true") => Ok(()),
            Some(b"false") => {
                let error = Error::new(ErrorKind::Api, "the service answered success: false");
                Err(error.with_again(Again::Never))
            }
            Some(_) => Err(schema("success is not a boolean".into())),
        }
    }

    /// The one member that is an array of objects. An empty array is one only where no other is.
    fn one_array_of_objects(&self) -> Result<(String, &'a Member<'a>)> {
        let arrays = || self.0.iter().filter(|member| member.items.is_some());
        let full: Vec<_> = arrays().filter(|member| member.holds_objects()).collect();
        let empty = arrays().find(|member| member.items.as_ref().is_some_and(Vec::is_empty));
        match (full.as_slice(), empty) {
            ([one], _) => Ok((one.name().into_owned(), one)),
            // Of several empty arrays none holds a record, whichever is meant.
            ([], Some(empty)) => Ok((empty.name().into_owned(), empty)),
            ([], None) => Err(schema(format!(
                "no array of objects among: {}",
                self.names()
            ))),
            (several, _) => {
                let names: Vec<String> = several
                    .iter()
                    .map(|member| visible(&member.name()))
                    .collect();
                Err(schema(format!(
                    "several arrays of objects: {}; which holds the records is not known",
                    names.join(", ")
                )))
            }
        }
    }
}

impl<'a> Member<'a> {
    fn name(&self) -> Cow<'a, str> {
        json::text(self.name).unwrap_or_default()
    }

    fn text(&self) -> &'a str {
        std::str::from_utf8(self.value).unwrap_or_default()
    }

    fn holds_objects(&self) -> bool {
        let items = self.items.as_deref().unwrap_or_default();
        !items.is_empty() && items.iter().all(|item| item.layout.is_some())
    }
}
