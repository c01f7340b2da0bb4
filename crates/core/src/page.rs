//! One page of a list: its records and its paging metadata.

use crate::arguments::Arguments;
use crate::error::{Error, ErrorKind, Result};
use crate::json::{self, json_error};
use crate::record::index::{Content, Items, ObjectIndex};
use crate::record::{PageText, RawRecord, place};
use crate::request::page_memory::MemoryClaim;
use crate::request::page_size::PageRequest;
use crate::request::stats::{Hides, ScanCalls};
use crate::request::transport::Response;
use crate::request::{Call, Service};
use std::borrow::Cow;
use std::sync::Arc;
use talentdata_types::ListName;

mod paging;

pub use paging::Paging;

/// Limits the array items in a response, and its top-level members, because each of them takes memory.
const MAX_ITEMS: usize = 100_000;

/// A page as received.
#[derive(Clone, Debug)]
pub struct Page<R = RawRecord> {
    /// The records, in the service's order.
    pub records: Vec<R>,
    /// The paging metadata, as far as the service reports it.
    pub pagination: Paging,
    /// The key of the array of records in the response.
    pub key: String,
    /// The number of records requested, if that may be reduced.
    pub(crate) asked: Option<u64>,
    /// The share of the page in the memory limit of all pages, held until the page is passed on.
    pub(crate) claim: Option<Arc<MemoryClaim>>,
}

/// The number of records to request in a page.
pub(crate) enum PageLimit {
    /// The service's default.
    Usual,
    /// This number, because pages of another size would begin elsewhere.
    Exactly(u64),
    /// This number, or fewer if the service cannot send them.
    AtMost(PageRequest),
}

impl Page {
    /// Fetches a page of a list. The page belongs to a scan if `scan` is given.
    ///
    /// # Errors
    /// `InvalidArgument` for arguments that the list does not take; otherwise the errors of the call and of
    /// [`read`](Self::read).
    pub(crate) async fn fetch(
        service: &Service,
        list: ListName,
        arguments: &Arguments,
        limit: PageLimit,
        offset: u64,
        key: Option<&str>,
        scan: Option<Arc<ScanCalls>>,
    ) -> Result<Page> {
        let mut call = Call::new(list.shape().operation, arguments.clone())?;
        call.offset = Some(offset);
        let query = &mut call.parts.query;
        query.push(("offset", offset.to_string()));
        match limit {
            PageLimit::Usual => {}
            PageLimit::Exactly(limit) => query.push(("limit", limit.to_string())),
            PageLimit::AtMost(size) => call.size = Some(size),
        }
        let is_scan = scan.is_some();
        let hides = scan.as_ref().map_or(Hides::default(), |scan| scan.hides);
        call.hides_records = hides.records;
        call.claim = Some(service.memory.claim(scan, offset).await);
        let page = service.call(&mut call, |response| {
            Page::read(response, key, offset, hides)
        });
        let mut page = page.await.map_err(|error| {
            let error = error.with_offset(offset);
            // The service answered requests for earlier pages, so base_url is right.
            if is_scan && offset > 0 && error.kind() == ErrorKind::NotFound {
                return error.with_meaning("the service knows nothing at this address");
            }
            error
        })?;
        if let Some(size) = call.size {
            size.arrived();
            page.asked = Some(size.limit);
        }
        Ok(page.with_claim(call.claim).await)
    }

    /// Reads the response to a page request at `offset`. The records are at `key` if it is known. Otherwise they are
    /// the only array of objects in the response. No error has what `hides` names.
    pub(crate) fn read(
        response: &Response,
        key: Option<&str>,
        offset: u64,
        hides: Hides,
    ) -> Result<Page> {
        read(response, key, offset, hides).map_err(|error| error.with_offset(offset))
    }

    /// Returns the page as JSON: `records`, byte for byte as the service sent them, and `pagination`.
    ///
    /// ```
    /// # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let records = [("contacts".to_owned(), 250)].into();
    /// # let sandbox = talentdata_sandbox::Sandbox::start(talentdata_sandbox::Options { records, ..Default::default() })?;
    /// # let mut settings = talentdata_core::Client::builder();
    /// # settings.base_url(sandbox.base_url()).client_id(sandbox.client_id()).client_secret(sandbox.client_secret());
    /// # settings.budget("process");
    /// # let client = settings.build()?;
    /// let page = client.contacts().raw().page(Some(2), 0).await?;
    /// let json = page.to_json()?;
    /// assert!(json.starts_with(r#"{"records":["#) && json.contains(r#""total":250"#), "{json}");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `Internal` if the metadata cannot be written.
    pub fn to_json(&self) -> Result<String> {
        let records: Vec<&str> = self.records.iter().map(RawRecord::as_str).collect();
        let pagination = serde_json::to_string(&self.pagination);
        let pagination =
            pagination.map_err(|_| Error::defect("the page cannot be written as JSON"))?;
        let records = records.join(",\n");
        Ok(format!(
            "{{\"records\":[\n{records}\n],\"pagination\":{pagination}}}"
        ))
    }

    /// Attaches a claim to the page, and extends it to all the memory that the page takes.
    pub(crate) async fn with_claim(mut self, mut claim: Option<MemoryClaim>) -> Self {
        let bytes = self.records.first().map_or(0, RawRecord::page_size);
        if let Some(claim) = &mut claim {
            claim.complete(bytes).await;
        }
        self.claim = claim.map(Arc::new);
        self
    }
}

fn read(response: &Response, key: Option<&str>, offset: u64, hides: Hides) -> Result<Page> {
    let text = response.object_text()?;
    let mut envelope = Envelope::read(&text, key, offset, hides)?;
    envelope.check_success()?;
    let pagination = envelope.value("pagination").map(Paging::read);
    let pagination = pagination.unwrap_or_default();
    // Some services write -1 if they do not know it.
    if let Some(answered) = pagination.offset
        && u64::try_from(answered).is_ok_and(|answered| answered != offset)
    {
        let message = format!("asked for offset {offset}, the service answered offset {answered}");
        return Err(Error::new(ErrorKind::Paging, message));
    }
    let (key, records) = match key {
        Some(key) => (key.to_owned(), envelope.array(key)?),
        None => envelope.one_array_of_objects(&pagination, offset)?,
    };
    drop(envelope);
    let page = PageText::new(text, records, &key, offset, hides.ids)?;
    Ok(Page {
        records: page.records(),
        pagination,
        key,
        asked: None,
        claim: None,
    })
}

/// Checks the number of records to request at a time. `name` is the caller's name for the number.
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

/// Returns whether a service may respond like this to an offset or a limit that it does not accept.
pub(crate) fn is_refusal(error: &Error) -> bool {
    use ErrorKind::{Api, BadRequest, NotFound, Paging};
    matches!(error.kind(), Api | BadRequest | NotFound | Paging)
}

/// The members of the response's object, in order. The last duplicate of a name wins.
struct Envelope<'a> {
    members: Vec<(Cow<'a, str>, Content<'a>)>,
    hides: Hides,
}

impl<'a> Envelope<'a> {
    /// Reads the response to a request at `offset`. The records are at `key` if it is known.
    fn read(text: &'a str, key: Option<&str>, offset: u64, hides: Hides) -> Result<Self> {
        let index = ObjectIndex::read(text, key, MAX_ITEMS);
        let index = index.map_err(|error| not_json(text, offset, hides.ids, &error))?;
        match index.excess {
            None => Ok(Envelope {
                members: json::by_name(index.members),
                hides,
            }),
            Some(what) => Err(Error::new(
                ErrorKind::TooLarge,
                format!("a page may have at most {MAX_ITEMS} {what}; the response has more"),
            )),
        }
    }

    fn get(&mut self, name: &str) -> Option<&mut Content<'a>> {
        let member = self.members.iter_mut().find(|(known, _)| known == name);
        member.map(|(_, content)| content)
    }

    /// Returns the raw value under this name. An array that may be the records is returned without its items.
    fn value(&mut self, name: &str) -> Option<&'a str> {
        match self.get(name)? {
            Content::Value(value) => Some(value),
            Content::Items(_) => Some("[]"),
        }
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.members.iter().map(|(name, _)| name.as_ref())
    }

    /// Returns the names of members after these words, for an error; nothing if they are hidden.
    fn listed<'n>(&self, words: &str, names: impl Iterator<Item = &'n str>) -> String {
        if self.hides.records {
            return String::new();
        }
        format!("{words}: {}", names.collect::<Vec<_>>().join(", "))
    }

    /// Checks that the response does not report a failure: `success: false`, regardless of the status (section 2).
    fn check_success(&mut self) -> Result<()> {
        match self
            .value("success")
            .map(|value| (value, paging::boolean(value)))
        {
            None | Some(("null", _) | (_, Some(true))) => Ok(()),
            Some((_, Some(false))) => Err(Error::new(
                ErrorKind::Api,
                "the service answered success: false",
            )),
            Some((_, None)) => Err(Error::schema("success is not a boolean")),
        }
    }

    /// Returns the items of the array under this key.
    fn array(&mut self, key: &str) -> Result<Items> {
        match self.get(key) {
            Some(Content::Items(items)) => Ok(std::mem::take(items)),
            // Some services write null for an empty array.
            Some(Content::Value("null")) => Ok(Items::default()),
            Some(Content::Value(_)) => Err(Error::schema(format!("{key} is not an array"))),
            None => {
                let names = self.listed("; the response holds", self.names());
                Err(Error::schema(format!("{key} is missing{names}")))
            }
        }
    }

    /// Returns the only member that is an array of objects. If there are several, it is the one with as many items as
    /// the service says it returned (section 2, `limit`).
    fn one_array_of_objects(
        &mut self,
        pagination: &Paging,
        offset: u64,
    ) -> Result<(String, Items)> {
        let (returned, total) = (pagination.limit, pagination.known_total());
        // Beyond the end of the list, an array of objects is not the records, but for example warnings.
        let none = returned == Some(0) || total.is_some_and(|total| total <= offset);
        let (mut full, mut empty) = (Vec::new(), None);
        for (name, content) in &self.members {
            match content {
                Content::Items(items) if items.len() == 0 => empty = empty.or(Some(name)),
                Content::Items(items) if items.are_objects() => full.push((name, items.len())),
                _ => {}
            }
        }
        // If all arrays are empty, it does not matter which of them is the records.
        if let Some(empty) = empty.filter(|_| none || full.is_empty()) {
            return Ok((empty.to_string(), Items::default()));
        }
        // If the number of records is unknown, the empty array may be the records as well as a full one.
        if returned.is_none() && total.is_none() {
            full.extend(empty.map(|name| (name, 0)));
        }
        let fits = |(_, count): &(_, usize)| i64::try_from(*count).ok() == returned;
        if full.iter().filter(|array| fits(array)).count() == 1 {
            full.retain(fits);
        }
        match full.as_slice() {
            [(name, _)] => {
                let name = name.to_string();
                let items = self.array(&name)?;
                Ok((name, items))
            }
            [] => {
                let names = self.listed(" among", self.names());
                Err(Error::schema(format!("no array of objects{names}")))
            }
            several => {
                let names = several.iter().map(|(name, _)| name.as_ref());
                let names = self.listed("", names);
                Err(Error::schema(format!(
                    "several arrays may hold the records{names}"
                )))
            }
        }
    }
}

/// Returns the error for the text of a page that is not JSON. It names the record.
fn not_json(text: &str, offset: u64, hides_ids: bool, error: &serde_json::Error) -> Error {
    if !error.is_syntax() || json::is_nested(error) {
        return json_error(error, "");
    }
    let fault = json::fault::find(text, error.line(), error.column());
    let item = fault
        .item
        .map(|(index, id)| place(index, offset, id.as_deref().filter(|_| !hides_ids)));
    let subject = match &*fault.path {
        "" if item.is_none() => "the response",
        path => path,
    };
    let message = format!(
        "{subject}{} is not JSON: {}, at line {} column {}",
        item.unwrap_or_default(),
        fault.what,
        error.line(),
        error.column()
    );
    Error::new(ErrorKind::Decode, message).with_max_attempts(json::attempts(error))
}

#[cfg(test)]
mod tests;
