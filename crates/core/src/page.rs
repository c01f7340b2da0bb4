//! One page of a list: its records and its paging metadata.

use crate::arguments::Arguments;
use crate::error::{Error, ErrorKind, Result};
use crate::json::{self, from_json, json_error};
use crate::record::{PageText, RawRecord};
use crate::request::page_memory::MemoryClaim;
use crate::request::stats::ScanCalls;
use crate::request::transport::Response;
use crate::request::{Call, Service};
use std::borrow::Cow;
use std::sync::Arc;
use talentdata_types::{ListName, Pagination};

/// A response with more items than this in its arrays is refused, and one with more members: a page was asked for, and
/// each of them takes memory.
const MAX_ITEMS: usize = 100_000;

/// A page as received.
#[derive(Clone, Debug)]
pub struct Page<R = RawRecord> {
    /// The records, in the service's order.
    pub records: Vec<R>,
    /// The paging metadata (section 2).
    pub pagination: Pagination,
    /// The key under which the records stood.
    pub key: String,
    /// What its text takes of the memory of all pages, until the page is handed on.
    pub(crate) claim: Option<Arc<MemoryClaim>>,
}

impl Page {
    /// Fetches a page of a list, for a scan if `scan` is given.
    ///
    /// # Errors
    /// `InvalidArgument` for arguments that the list does not take; the errors of the call and of [`read`](Self::read).
    pub(crate) async fn fetch(
        service: &Service,
        list: ListName,
        arguments: &Arguments,
        limit: Option<u64>,
        offset: u64,
        key: Option<&str>,
        scan: Option<Arc<ScanCalls>>,
    ) -> Result<Page> {
        let mut call = Call::new(list.shape().operation, arguments.clone())?;
        let query = &mut call.parts.query;
        query.push(("offset", offset.to_string()));
        query.extend(limit.map(|limit| ("limit", limit.to_string())));
        call.claim = Some(service.memory.claim(scan, offset).await);
        let page = service.call(&mut call, |response| Page::read(response, key, offset));
        let page = page.await.map_err(|error| error.with_offset(offset))?;
        Ok(page.with_claim(call.claim).await)
    }

    /// Reads the response to a page request at `offset`. The records are at `key` if it is known, otherwise they are the
    /// one array of objects in the response.
    pub(crate) fn read(response: &Response, key: Option<&str>, offset: u64) -> Result<Page> {
        read(response, key, offset).map_err(|error| error.with_offset(offset))
    }

    /// Writes the page as JSON: `records`, byte for byte as the service sent them, and `pagination`.
    ///
    /// # Errors
    /// `Internal`, if the metadata cannot be written.
    pub fn to_json(&self) -> Result<String> {
        let records: Vec<&str> = self.records.iter().map(RawRecord::as_str).collect();
        let pagination = serde_json::to_string(&self.pagination);
        let pagination = pagination.map_err(|_| Error::defect("a page that is no JSON"))?;
        let records = records.join(",\n");
        Ok(format!(
            "{{\"records\":[\n{records}\n],\"pagination\":{pagination}}}"
        ))
    }

    /// Gives the page its claim to memory, which then covers all that the page takes.
    pub(crate) async fn with_claim(mut self, mut claim: Option<MemoryClaim>) -> Self {
        let bytes = self.records.first().map_or(0, RawRecord::page_size);
        if let Some(claim) = &mut claim {
            claim.complete(bytes).await;
        }
        self.claim = claim.map(Arc::new);
        self
    }
}

fn read(response: &Response, key: Option<&str>, offset: u64) -> Result<Page> {
    let text = response.object_text()?;
    let envelope = Envelope::read(text)?;
    envelope.check_success()?;
    let pagination: Pagination = from_json(envelope.require("pagination")?, "pagination")?;
    if u64::try_from(pagination.offset).ok() != Some(offset) {
        let answered = pagination.offset;
        let message = format!("asked for offset {offset}, the service answered offset {answered}");
        return Err(Error::new(ErrorKind::Paging, message));
    }
    let (key, records) = match key {
        Some(key) => (key.to_owned(), envelope.array(key)?),
        None => envelope.one_array_of_objects(&pagination)?,
    };
    let bytes = response.body.slice_ref(text.as_bytes());
    let ranges = records
        .into_iter()
        .map(|record| json::place(record, text.as_bytes()));
    let page = PageText::new(bytes, ranges, &key, offset)?;
    Ok(Page {
        records: page.records(),
        pagination,
        key,
        claim: None,
    })
}

/// Checks how many records may be asked for at a time; `name` is what the caller calls the number.
///
/// # Errors
/// `InvalidArgument`, naming the number and its bounds.
pub(crate) fn check_limit(list: ListName, name: &str, limit: Option<u64>) -> Result<()> {
    let most = list.shape().max_limit;
    match limit {
        Some(limit) if limit == 0 || most.is_some_and(|most| limit > most) => {
            let bounds = most.map_or("at least 1".to_owned(), |most| {
                format!("between 1 and {most}")
            });
            let message = format!("{name} must be {bounds} (got {limit})");
            Err(Error::invalid(message))
        }
        _ => Ok(()),
    }
}

/// The members of the response's object, in its order; of a name that occurs twice, the last value.
struct Envelope<'a>(Vec<(Cow<'a, str>, &'a str)>);

/// An array of the response: its key and its raw items.
type Array<'key, 'a> = (&'key str, Vec<&'a str>);

impl<'a> Envelope<'a> {
    fn read(text: &'a str) -> Result<Self> {
        let mut read = Ok(());
        let members = at_most(MAX_ITEMS, "members", |take| {
            read = json::read_object(text, |name, value| take((name, value)));
        });
        read.map_err(|error| json_error(&error, ""))?;
        Ok(Envelope(json::by_name(&members?)))
    }

    fn get(&self, name: &str) -> Option<&'a str> {
        let member = self.0.iter().find(|(known, _)| known == name);
        member.map(|(_, value)| *value)
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_ref())
    }

    fn require(&self, name: &str) -> Result<&'a str> {
        self.get(name).ok_or_else(|| {
            let names = names(self.names());
            Error::schema(format!("{name} is missing; the response holds: {names}"))
        })
    }

    /// `success: false` is a failure, whatever the status (section 2).
    fn check_success(&self) -> Result<()> {
        match self.get("success") {
            None | Some("true") => Ok(()),
            Some("false") => Err(Error::new(
                ErrorKind::Api,
                "the service answered success: false",
            )),
            Some(_) => Err(Error::schema("success is not a boolean")),
        }
    }

    /// The items of the array under this key.
    fn array(&self, key: &str) -> Result<Vec<&'a str>> {
        match self.require(key)? {
            // A service may write null where it means none.
            "null" => Ok(Vec::new()),
            value if value.starts_with('[') => items(value, MAX_ITEMS),
            _ => Err(Error::schema(format!("{key} is not an array"))),
        }
    }

    /// The one member that is an array of objects. Where others could be it as well, it is the one with
    /// as many items as the service says it returned (section 2, `limit`).
    fn one_array_of_objects(&self, pagination: &Pagination) -> Result<(String, Vec<&'a str>)> {
        let returned = pagination.limit;
        // Beyond the end of the list, an array of objects is something else, such as warnings.
        let none = returned == 0 || pagination.total <= pagination.offset;
        let (mut full, mut empty, mut left) = (Vec::<Array<'_, 'a>>::new(), None, MAX_ITEMS);
        for (name, value) in self.0.iter().filter(|(_, value)| value.starts_with('[')) {
            let items = items(value, left)?;
            left -= items.len();
            match items.iter().all(|item| item.starts_with('{')) {
                true if items.is_empty() => empty = empty.or(Some(name)),
                true => full.push((name.as_ref(), items)),
                false => {}
            }
        }
        // Of several empty arrays none holds a record, whichever is meant.
        if let Some(empty) = empty.filter(|_| none || full.is_empty()) {
            return Ok((empty.to_string(), Vec::new()));
        }
        let fits = |(_, items): &Array<'_, 'a>| i64::try_from(items.len()) == Ok(returned);
        if full.iter().filter(|array| fits(array)).count() == 1 {
            full.retain(fits);
        }
        match <[Array<'_, 'a>; 1]>::try_from(full) {
            Ok([(name, items)]) => Ok((name.to_owned(), items)),
            Err(arrays) if arrays.is_empty() => {
                let names = names(self.names());
                Err(Error::schema(format!("no array of objects among: {names}")))
            }
            Err(several) => {
                let names = names(several.iter().map(|(name, _)| *name));
                Err(Error::schema(format!(
                    "which array holds the records is not known; there are: {names}"
                )))
            }
        }
    }
}

fn names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

/// The raw items of an array of the response, of which there may be so many.
fn items(array: &str, most: usize) -> Result<Vec<&str>> {
    at_most(most, "records", |take| json::each_item(array, take))
}

/// What is taken, of which there may be so many; the rest is only counted.
fn at_most<T>(most: usize, what: &str, all: impl FnOnce(&mut dyn FnMut(T))) -> Result<Vec<T>> {
    let (mut taken, mut count) = (Vec::new(), 0_usize);
    all(&mut |one| {
        count += 1;
        if count <= most {
            taken.push(one);
        }
    });
    if count <= most {
        return Ok(taken);
    }
    let message = format!("a page may have at most {MAX_ITEMS} {what}; the response has more");
    Err(Error::new(ErrorKind::TooLarge, message))
}

#[cfg(test)]
mod tests;
