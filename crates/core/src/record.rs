//! A record as the service sent it: a piece of a page's text that is shared, not copied.

use crate::error::{Error, ErrorKind, Result, Scrubber};
use crate::json::{self, from_json, json_error};
use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use siphasher::sip128::SipHasher13;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::ops::Range;
use std::sync::Arc;

/// Limits the fields of a record, because every reader of a record holds all of them in memory.
const MAX_FIELDS: usize = 10_000;

/// Limits the length of an `id` in an error. A longer one is omitted.
const MAX_NAMED_ID: usize = 100;

/// One record: a JSON object, exactly as received. It keeps its page in memory.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use talentdata_core::RawRecord;
///
/// let record = RawRecord::parse(r#"{"id":"c-1","score":0.50,"tags":["a","b"]}"#)?;
/// assert_eq!(record.id(), Some(r#""c-1""#));
/// assert_eq!(record.members()[1], ("score", "0.50"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct RawRecord {
    page: Arc<PageText>,
    index: usize,
}

/// The text of a page, and the places of its records and of their members.
pub(crate) struct PageText {
    text: Bytes,
    /// The offset of the page, in records; `None` for JSON that is of no page.
    offset: Option<u64>,
    /// True for a single value, for example a response or a receipt.
    is_whole: bool,
    records: Vec<Place>,
    /// The members of all records, in order.
    members: Vec<Member>,
}

/// The place of a record in the text of its page.
#[derive(Clone, Default)]
struct Place {
    json: Range<usize>,
    /// The raw `id`, if it identifies the record.
    id: Option<Range<usize>>,
    /// The record's part of the members of the page.
    members: Range<usize>,
}

/// The place of a member within its record: its raw name (without quotes) and its raw value.
struct Member {
    name: Range<u32>,
    value: Range<u32>,
}

impl Member {
    /// Returns `None` if the record is too long for it.
    fn new(name: &str, value: &str, record: &str) -> Option<Self> {
        let place = |piece| {
            let place = json::place(piece, record.as_bytes());
            Some(u32::try_from(place.start).ok()?..u32::try_from(place.end).ok()?)
        };
        Some(Member {
            name: place(name)?,
            value: place(value)?,
        })
    }
}

impl PageText {
    /// Creates the text of a page whose records are in these ranges of `text`, which must be JSON. `key` is the name of
    /// their array, for messages, which do not name an `id` with `hides_ids`. Later readers find the members of a record by
    /// this index.
    ///
    /// # Errors
    /// `Schema` if a record is not an object; `TooLarge` if it has too many fields or levels.
    pub(crate) fn new(
        text: Bytes,
        ranges: impl ExactSizeIterator<Item = Range<usize>>,
        key: &str,
        offset: u64,
        hides_ids: bool,
    ) -> Result<Self> {
        let whole = utf8(&text);
        let mut records = Vec::with_capacity(ranges.len());
        let mut members = Vec::new();
        for (index, range) in ranges.enumerate() {
            let record = whole.get(range.clone()).unwrap_or_default();
            if !record.starts_with('{') {
                let place = place(index, offset, None);
                let message = format!("{key}[{index}]{place} is not an object");
                return Err(Error::schema(message));
            }
            let (mut id, mut fields, mut fits) = (None, 0, true);
            let first = members.len();
            json::each_member(record, |name, value| {
                fields += 1;
                if fields <= MAX_FIELDS {
                    let member = Member::new(name, value, record);
                    fits &= member.is_some();
                    members.extend(member);
                }
                // The last duplicate of a name wins, as everywhere.
                if json::is_named(name, "id") {
                    id = Some(value);
                }
            });
            let too_large = |excess| {
                let place = place(index, offset, id.filter(|_| !hides_ids));
                let message = format!("{key}[{index}]{place} {excess}, the limit for one record");
                Err(Error::new(ErrorKind::TooLarge, message))
            };
            if fields > MAX_FIELDS {
                return too_large(format!("has more than {MAX_FIELDS} fields"));
            }
            if json::is_too_deep(record) {
                let levels = json::MAX_JSON_DEPTH;
                return too_large(format!("is nested more than {levels} levels deep"));
            }
            if !fits {
                return too_large(format!("is longer than {} bytes", u32::MAX));
            }
            let id = id.filter(|id| identifies(id));
            let id = id.map(|id| json::place(id, &text));
            records.push(Place {
                json: range,
                id,
                members: first..members.len(),
            });
        }
        members.shrink_to_fit();
        Ok(PageText {
            text,
            offset: Some(offset),
            is_whole: false,
            records,
            members,
        })
    }

    /// Returns the memory that the page takes, in bytes.
    pub(crate) fn size(&self) -> usize {
        let index = self.records.capacity() * size_of::<Place>()
            + self.members.capacity() * size_of::<Member>();
        self.text.len() + index
    }

    /// Returns all records, in order.
    pub(crate) fn records(self) -> Vec<RawRecord> {
        let page = Arc::new(self);
        let record = |index| RawRecord {
            page: Arc::clone(&page),
            index,
        };
        (0..page.records.len()).map(record).collect()
    }
}

impl RawRecord {
    /// Reads one record, for example the response of a call.
    ///
    /// # Errors
    /// `Decode` if it is not JSON; `Schema` if it is not an object.
    pub fn parse(json: &str) -> Result<Self> {
        Self::parse_at(json, 0)
    }

    /// Reads one record that is at this offset of its list.
    ///
    /// # Errors
    /// See [`parse`](Self::parse).
    pub fn parse_at(json: &str, offset: u64) -> Result<Self> {
        let one = Self::parse_page(&[json], offset)?.pop();
        one.ok_or_else(|| Error::new(ErrorKind::Internal, "a record was lost"))
    }

    /// Reads records from one text each, as if they had come on one page.
    ///
    /// # Errors
    /// See [`parse`](Self::parse).
    pub fn parse_all(texts: &[impl AsRef<str>]) -> Result<Vec<Self>> {
        Self::parse_page(texts, 0)
    }

    /// Reads records from one text each, as if they had come on one page at this offset of their list.
    ///
    /// # Errors
    /// See [`parse`](Self::parse).
    pub fn parse_page(texts: &[impl AsRef<str>], offset: u64) -> Result<Vec<Self>> {
        let mut page = Vec::with_capacity(texts.iter().map(|text| text.as_ref().len()).sum());
        let mut ranges = Vec::with_capacity(texts.len());
        for text in texts {
            let raw: &RawValue =
                serde_json::from_str(text.as_ref()).map_err(|error| json_error(&error, ""))?;
            let start = page.len();
            page.extend_from_slice(raw.get().as_bytes());
            ranges.push(start..page.len());
        }
        let page = PageText::new(page.into(), ranges.into_iter(), "record", offset, false)?;
        Ok(page.records())
    }

    /// Reads any JSON value as one piece, for example a receipt, a response that is an array, or the page at this offset.
    ///
    /// # Errors
    /// `Decode` if it is not JSON.
    pub(crate) fn whole(json: &str, offset: Option<u64>) -> Result<Self> {
        let raw: &RawValue = serde_json::from_str(json).map_err(|error| json_error(&error, ""))?;
        let text = Bytes::copy_from_slice(raw.get().as_bytes());
        let place = Place {
            json: 0..text.len(),
            id: None,
            members: 0..0,
        };
        Ok(RawRecord {
            page: Arc::new(PageText {
                text,
                offset,
                is_whole: true,
                records: vec![place],
                members: Vec::new(),
            }),
            index: 0,
        })
    }

    /// Returns the JSON text as UTF-8 bytes.
    pub fn as_bytes(&self) -> &[u8] {
        let place = self.place().map(|place| place.json.clone());
        let text = self.page.text.get(place.unwrap_or_default());
        text.unwrap_or_default()
    }

    /// Returns the JSON text, byte for byte as the service sent it. It may contain line breaks.
    pub fn as_str(&self) -> &str {
        utf8(self.as_bytes())
    }

    /// Returns the fields in the order of the text: raw names (without quotes, escapes as they are) and raw values.
    pub fn members(&self) -> Vec<(&str, &str)> {
        let mut members = Vec::new();
        self.each_member(|name, value| members.push((name, value)));
        members
    }

    /// Passes the fields to `take` in the order of the text: the raw name (without quotes, escapes as they are) and the
    /// raw value.
    pub fn each_member<'a>(&'a self, mut take: impl FnMut(&'a str, &'a str)) {
        let text = self.as_str();
        if self.page.is_whole {
            return json::each_member(text, take);
        }
        let place = self.place().map(|place| place.members.clone());
        let members = self.page.members.get(place.unwrap_or_default());
        let piece = |place: &Range<u32>| text.get(place.start as usize..place.end as usize);
        for member in members.unwrap_or_default() {
            if let (Some(name), Some(value)) = (piece(&member.name), piece(&member.value)) {
                take(name, value);
            }
        }
    }

    /// Returns the record as `T`.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use talentdata_core::RawRecord;
    /// use talentdata_core::types::Contact;
    ///
    /// let record = RawRecord::parse(r#"{"id":"c-1","firstName":"Ada"}"#)?;
    /// let error = record.to::<Contact>().unwrap_err();
    /// assert!(error.message().contains("lastName"), "{error}");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `Schema`, naming the field, if a documented field is missing or has another type.
    pub fn to<T: DeserializeOwned>(&self) -> Result<T> {
        let place = self.name();
        let read = from_json(self.as_str(), &place).or_else(|error| {
            // serde rejects a name that occurs twice. In that case keep the last duplicate, as everywhere.
            let last_of_each: Value = from_json(self.as_str(), &place).map_err(|_| error)?;
            from_json(&last_of_each.to_string(), &place)
        });
        read.map_err(|error| self.fault(error))
    }

    /// Returns a phrase that names the record, for errors; nothing for a value that is not a record of a list.
    pub(crate) fn name(&self) -> String {
        let Some(offset) = self.page.offset.filter(|_| !self.page.is_whole) else {
            return String::new();
        };
        let place = place(self.index, offset, self.id());
        format!("record {} of the page{place}", self.index)
    }

    /// Adds the offset of the page to an error about this record, and makes its text fit to be shown.
    pub fn fault(&self, error: Error) -> Error {
        let error = match self.page.offset {
            Some(offset) => error.with_offset(offset),
            None => error,
        };
        error.sanitize(&Scrubber::default())
    }

    /// Returns the memory that the record's page takes, in bytes.
    pub(crate) fn page_size(&self) -> usize {
        self.page.size()
    }

    /// Returns the index of the record in its page.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Returns the offset of the record in the list.
    pub fn offset(&self) -> u64 {
        self.page.offset.unwrap_or_default() + self.index as u64
    }

    /// Returns the raw `id` if it identifies the record: a number, or a string that is not empty.
    pub fn id(&self) -> Option<&str> {
        let id = self.place()?.id.clone()?;
        self.page.text.get(id).map(utf8)
    }

    /// Returns the identity of the record: its `id`, otherwise all its bytes. `6` and `"6"` are the same `id`.
    pub(crate) fn identity(&self, key: &IdentityKey) -> RecordId {
        match self.id() {
            Some(id) => {
                let text = json::decoded(id);
                key.identify(text.as_deref().unwrap_or(id).as_bytes(), true)
            }
            None => key.identify(self.as_bytes(), false),
        }
    }

    fn place(&self) -> Option<&Place> {
        self.page.records.get(self.index)
    }
}

/// The key with which a scan hashes identities.
///
/// The key is random for each scan and is stored in checkpoints. So nobody who chooses ids can make two of them
/// collide.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct IdentityKey([u64; 2]);

impl IdentityKey {
    pub(crate) fn random() -> Self {
        // The standard library seeds its hashers from the operating system.
        let word = || RandomState::new().build_hasher().finish();
        IdentityKey([word(), word()])
    }

    /// Returns the key made from this one for which `derive` also needs a secret.
    pub(crate) fn derived(&self, derive: impl FnOnce(&[u8]) -> [u8; 32]) -> Self {
        let [low, high] = self.0.map(u64::to_le_bytes);
        let secret = derive(&[low, high].concat());
        let word = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&secret[at..at + 8]);
            u64::from_le_bytes(word)
        };
        IdentityKey([word(0), word(8)])
    }

    /// Returns a hash function that nobody outside can predict.
    pub(crate) fn hasher(&self) -> SipHasher13 {
        SipHasher13::new_with_keys(self.0[0], self.0[1])
    }

    /// Returns the identity of a record. `bytes` is its `id` if it has one, otherwise its JSON text.
    pub(crate) fn identify(&self, bytes: &[u8], by_id: bool) -> RecordId {
        let (low, high) = self.hasher().hash(bytes).as_u64();
        RecordId([high, low & !1 | u64::from(by_id)])
    }
}

/// A hash of 127 bits; the lowest bit says whether the record has an `id`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RecordId([u64; 2]);

impl RecordId {
    /// Returns whether it is the hash of an `id`. Records without an `id` may have the same bytes and still be
    /// different records.
    pub(crate) fn by_id(self) -> bool {
        self.0[1] & 1 == 1
    }

    /// Returns the part of the identity that a hash table uses.
    pub(crate) fn short(self) -> u64 {
        self.0[0]
    }

    /// Returns the identity as sixteen bytes.
    pub(crate) fn to_bytes(self) -> [u8; 16] {
        (u128::from(self.0[0]) << 64 | u128::from(self.0[1])).to_le_bytes()
    }

    pub(crate) fn from_bytes(bytes: [u8; 16]) -> Self {
        let hash = u128::from_le_bytes(bytes);
        RecordId([(hash >> 64) as u64, hash as u64])
    }
}

/// Returns the place of a record in the list, and its `id` if it is short, for errors.
pub(crate) fn place(index: usize, offset: u64, id: Option<&str>) -> String {
    let offset = offset.saturating_add(index as u64);
    match id.filter(|id| id.len() <= MAX_NAMED_ID) {
        Some(id) => format!(" (offset {offset}, id {id})"),
        None => format!(" (offset {offset})"),
    }
}

/// Returns whether a raw value can identify a record: a number, or a string that is not empty.
fn identifies(id: &str) -> bool {
    match id.as_bytes().first() {
        Some(b'"') => id != "\"\"",
        first => matches!(first, Some(b'-' | b'0'..=b'9')),
    }
}

/// Returns the text of bytes that were checked on arrival.
fn utf8(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}

/// Two records are equal if their texts are equal.
impl PartialEq for RawRecord {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for RawRecord {}

impl std::fmt::Debug for RawRecord {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests;
