//! One page of a list: its records, its paging metadata, and the page arithmetic of section 8.

mod text;

pub(crate) use text::PageText;
pub(crate) use text::Texts;

use crate::error::{Error, ErrorKind, Result, Retryability};
use crate::json::{self, MOST_FIELDS, MOST_ITEMS, Member, Span};
use crate::record::RawRecord;
use crate::request::memory::Claim;
use crate::request::response::{from_json, json_error};
use crate::request::transport::Response;
use serde::de::IgnoredAny;
use std::borrow::Cow;
use std::sync::Arc;
use talentdata_types::Pagination;

/// The 1-based number of the page at `offset`; none when `limit` is 0.
pub fn current_page(offset: u64, limit: u64) -> Option<u64> {
    Some(offset.checked_div(limit)?.saturating_add(1))
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
    /// What its text and structural index take of the memory of all pages, until the page is handed on.
    pub(crate) claim: Option<Arc<Claim>>,
}

impl Page {
    /// Reads the response to a page request at `offset`.
    ///
    /// `key` is where the records are known to be; else they are the response's one array of objects.
    pub(crate) fn read(response: &Response, key: Option<&str>, offset: u64) -> Result<Page> {
        let status = response.status.as_u16();
        read(response, key, offset).map_err(|error| error.with_offset(offset).with_status(status))
    }

    /// The same page with its claim to memory, which from here on is for all that it takes.
    pub(crate) fn with_claim(mut self, mut claim: Claim) -> Self {
        let page = self.records.first().map(RawRecord::page);
        claim.complete(page.map_or(0, |page| page.size()));
        self.claim = Some(Arc::new(claim));
        self
    }
}

fn read(response: &Response, key: Option<&str>, offset: u64) -> Result<Page> {
    let text = response.object_text()?;
    let mut structure = json::structural_index(text).ok_or_else(|| fault(text))?;
    let members = std::mem::take(&mut structure.members);
    let members = Members {
        text,
        members: &members,
    };
    members.refuse_failure()?;
    let pagination: Pagination = from_json(
        members.text(members.require("pagination")?.value),
        "pagination",
    )?;
    if u64::try_from(pagination.offset).ok() != Some(offset) {
        let answered = pagination.offset;
        let message = format!("asked for offset {offset}, the service answered offset {answered}");
        return Err(Error::new(ErrorKind::Paging, message));
    }
    let (key, array) = match key {
        Some(key) => (key.to_owned(), members.require(key)?),
        None => members.one_array_of_objects(&pagination)?,
    };
    let items = match &array.items {
        Some(items) => items.as_slice(),
        // A service may say null where it means none.
        None if members.text(array.value) == "null" => &[],
        None => return Err(schema(format!("{key} is not an array"))),
    };
    let bytes = response.body.slice_ref(text.as_bytes());
    let page = PageText::new(bytes, structure, items, &key, offset)?;
    Ok(Page {
        records: page.records(),
        pagination,
        key,
        claim: None,
    })
}

impl PageText {
    /// A page of one record.
    pub(crate) fn of_one(json: &str) -> Result<Self> {
        let text = format!("{{\"record\":[{json}]}}");
        let mut structure = json::structural_index(&text).ok_or_else(|| fault(json))?;
        let members = std::mem::take(&mut structure.members);
        let items = members.first().and_then(|member| member.items.as_deref());
        let (Some(items @ [_]), 1) = (items, members.len()) else {
            return Err(Error::new(ErrorKind::Decode, "this is not one JSON value"));
        };
        PageText::new(text.clone().into(), structure, items, "record", 0)
    }
}

fn schema(message: String) -> Error {
    Error::new(ErrorKind::Schema, message)
}

/// Says why a text is not JSON.
fn fault(text: &str) -> Error {
    match serde_json::from_str::<IgnoredAny>(text) {
        Err(error) => json_error(&error, ""),
        Ok(_) => Error::new(
            ErrorKind::TooLarge,
            format!(
                "the JSON is nested too deeply, or has more than {MOST_ITEMS} records or members, or {MOST_FIELDS} fields in one record"
            ),
        ),
    }
}

/// The members of the response's object.
struct Members<'a> {
    text: &'a str,
    members: &'a [Member],
}

impl<'a> Members<'a> {
    fn text(&self, span: Span) -> &'a str {
        self.text.get(span.range()).unwrap_or_default()
    }

    fn name(&self, member: &Member) -> Cow<'a, str> {
        json::text(self.text(member.name).as_bytes()).unwrap_or_default()
    }

    fn get(&self, name: &str) -> Option<&'a Member> {
        let mut members = self.members.iter();
        members.find(|member| self.name(member) == name)
    }

    fn require(&self, name: &str) -> Result<&'a Member> {
        self.get(name).ok_or_else(|| {
            let names = self.names(self.members);
            schema(format!("{name} is missing; the response holds: {names}"))
        })
    }

    fn names<'m>(&self, members: impl IntoIterator<Item = &'m Member>) -> String {
        let names: Vec<_> = members
            .into_iter()
            .map(|member| self.name(member))
            .collect();
        names.join(", ")
    }

    /// `success: false` is a failure, whatever the status (section 2).
    fn refuse_failure(&self) -> Result<()> {
        match self.get("success").map(|member| self.text(member.value)) {
            None | Some("true") => Ok(()),
            Some("false") => {
                let error = Error::new(ErrorKind::Api, "the service answered success: false");
                Err(error.with_retryability(Retryability::Never))
            }
            Some(_) => Err(schema("success is not a boolean".into())),
        }
    }

    /// The one member that is an array of objects. Where others could be it as well, it is the one with
    /// as many items as the service says it returned (section 2, `limit`).
    fn one_array_of_objects(&self, pagination: &Pagination) -> Result<(String, &'a Member)> {
        let returned = pagination.limit;
        // Beyond the end of the list, an array of objects is something else, such as warnings.
        let none = returned == 0 || pagination.total <= pagination.offset;
        let arrays = || self.members.iter().filter(|member| member.items.is_some());
        let full: Vec<_> = arrays().filter(|member| holds_objects(member)).collect();
        let empty = arrays().find(|member| count(member) == 0);
        let fits = |member: &&&Member| i64::try_from(count(member)) == Ok(returned);
        let fitting: Vec<_> = full.iter().filter(fits).collect();
        let found = |member: &'a Member| Ok((self.name(member).into_owned(), member));
        match (full.as_slice(), empty) {
            // Of several empty arrays none holds a record, whichever is meant.
            (_, Some(empty)) if none || full.is_empty() => found(empty),
            ([one], _) => found(one),
            _ if fitting.len() == 1 => found(fitting[0]),
            ([], None) => {
                let names = self.names(self.members);
                Err(schema(format!("no array of objects among: {names}")))
            }
            (several, _) => {
                let names = self.names(several.iter().copied());
                Err(schema(format!(
                    "which array holds the records is not known; there are: {names}"
                )))
            }
        }
    }
}

fn count(member: &Member) -> usize {
    member.items.as_ref().map_or(0, Vec::len)
}

fn holds_objects(member: &Member) -> bool {
    let items = member.items.as_deref().unwrap_or_default();
    !items.is_empty() && items.iter().all(|item| item.fields.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(members: &str, returned: i64, total: i64) -> Result<String> {
        let pagination = format!(
            r#""pagination":{{"total":{total},"limit":{returned},"offset":0,"hasMore":true}}"#
        );
        let response = Response::of_json(format!("{{{members},{pagination}}}"));
        Page::read(&response, None, 0).map(|page| page.key)
    }

    #[test]
    fn the_records_are_in_the_array_that_has_as_many_as_were_returned() {
        let items = r#""items":[{"id":1},{"id":2}]"#;
        let notes = r#""notes":[{"code":1}]"#;
        let none = r#""items":[]"#;
        for (members, returned, found) in [
            (items.to_owned(), 2, Some("items")),
            // A service may just as well say how many were asked for.
            (items.to_owned(), 100, Some("items")),
            (format!("{items},{notes}"), 2, Some("items")),
            (format!("{items},{notes}"), 1, Some("notes")),
            (format!("{items},{notes}"), 100, None),
            (format!("{none},{notes}"), 0, Some("items")),
            (format!("{none},{notes}"), 1, Some("notes")),
            (none.to_owned(), 100, Some("items")),
            (r#""items":[1,2]"#.to_owned(), 2, None),
        ] {
            let key = key(&members, returned, 9);
            let kind = key.as_ref().err().map(Error::kind);
            assert_eq!(key.ok().as_deref(), found, "{members} {returned}");
            assert_eq!(kind, found.is_none().then_some(ErrorKind::Schema));
        }
        // Of an empty list, whatever the service repeats as the limit.
        let empty = key(&format!("{none},{notes}"), 100, 0);
        assert_eq!(empty.unwrap(), "items");
    }

    #[test]
    fn the_largest_numbers_are_counted_with() {
        const MOST: u64 = u64::MAX;
        assert_eq!(current_page(MOST, 1), Some(MOST));
        assert_eq!(total_pages(MOST, 1), Some(MOST));
        assert_eq!(next_offset(MOST, 1), MOST);
        assert_eq!(previous_offset(0, MOST), 0);
        assert_eq!((current_page(1, 0), total_pages(1, 0)), (None, None));
    }
}
