//! A record as the service sent it: a piece of a page's text that is shared, not copied.

use crate::error::{Error, ErrorKind, Result, Scrubber};
use crate::json::{self, from_json, json_error};
use bytestring::ByteString;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use siphasher::sip128::SipHasher13;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;

pub(crate) mod index;

use index::{Item, Items, MemberPlace, Span};

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
    text: ByteString,
    /// The offset of the page, in records; `None` for JSON that does not come from a page.
    offset: Option<u64>,
    /// True for a single value, for example a response or a receipt.
    is_whole: bool,
    index: Items,
}

impl PageText {
    /// Creates the text of a page from the index of its records. `key` is the name of their array, for messages. With
    /// `hides_ids`, messages do not name an `id`.
    ///
    /// # Errors
    /// `Schema` if a record is not an object; `TooLarge` if it has too many fields or levels.
    pub(crate) fn new(
        text: ByteString,
        mut index: Items,
        key: &str,
        offset: u64,
        hides_ids: bool,
    ) -> Result<Self> {
        let piece = |span: Span| text.get(span.range()).unwrap_or_default();
        let (members, mut before) = (index.members.as_slice(), 0);
        for (at, item) in index.items.iter_mut().enumerate() {
            let Some(fields) = item.fields else {
                let place = place(at, offset, None);
                let message = format!("{key}[{at}]{place} is not an object");
                return Err(Error::schema(message));
            };
            let own = members.get(before..item.members_end).unwrap_or_default();
            before = item.members_end;
            let excess = if fields > index::MAX_FIELDS {
                format!("has more than {} fields", index::MAX_FIELDS)
            } else if own
                .iter()
                .any(|member| json::is_too_deep(piece(member.value), 1))
            {
                format!("is nested more than {} levels deep", json::MAX_JSON_DEPTH)
            } else {
                item.id = item.id.filter(|id| identifies(piece(*id)));
                continue;
            };
            let id = item.id.filter(|_| !hides_ids);
            let place = place(at, offset, id.map(piece));
            let message = format!("{key}[{at}]{place} {excess}, the limit for one record");
            return Err(Error::new(ErrorKind::TooLarge, message));
        }
        index.items.shrink_to_fit();
        index.members.shrink_to_fit();
        Ok(PageText {
            text,
            offset: Some(offset),
            is_whole: false,
            index,
        })
    }

    /// Returns the memory that the page takes, in bytes.
    pub(crate) fn size(&self) -> usize {
        let index = self.index.items.capacity() * size_of::<Item>()
            + self.index.members.capacity() * size_of::<MemberPlace>();
        self.text.len() + index
    }

    /// Returns all records, in order.
    pub(crate) fn records(self) -> Vec<RawRecord> {
        let page = Arc::new(self);
        let record = |index| RawRecord {
            page: Arc::clone(&page),
            index,
        };
        (0..page.index.len()).map(record).collect()
    }

    /// Returns a piece of the text.
    fn piece(&self, span: Span) -> &str {
        self.text.get(span.range()).unwrap_or_default()
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

    /// Reads each text as one record, as if all of them were on one page.
    ///
    /// # Errors
    /// See [`parse`](Self::parse).
    pub fn parse_all(texts: &[impl AsRef<str>]) -> Result<Vec<Self>> {
        Self::parse_page(texts, 0)
    }

    /// Reads each text as one record, as if all of them were on one page at this offset of their list.
    ///
    /// # Errors
    /// See [`parse`](Self::parse).
    pub fn parse_page(texts: &[impl AsRef<str>], offset: u64) -> Result<Vec<Self>> {
        let length: usize = texts.iter().map(|text| text.as_ref().len() + 1).sum();
        check_length(length + 1)?;
        // The texts become one array, so that they are read like a page.
        let mut page = String::with_capacity(length + 1);
        let mut places = Vec::with_capacity(texts.len());
        for text in texts {
            page.push(if page.is_empty() { '[' } else { ',' });
            let text = text.as_ref().trim_matches([' ', '\n', '\r', '\t']);
            places.push(page.len()..page.len() + text.len());
            page.push_str(text);
        }
        page.push_str(if page.is_empty() { "[]" } else { "]" });
        // If the texts are JSON only together, the items are in other places.
        let is_each_a_value = |index: &Items| {
            let found = index.items.iter().map(|item| item.json.range());
            found.eq(places)
        };
        match Items::read(&page).filter(is_each_a_value) {
            Some(index) => {
                Ok(PageText::new(page.into(), index, "record", offset, false)?.records())
            }
            None => {
                for text in texts {
                    let one = serde_json::from_str::<&RawValue>(text.as_ref());
                    one.map_err(|error| json_error(&error, ""))?;
                }
                Err(Error::defect("records that are JSON only one by one"))
            }
        }
    }

    /// Reads any JSON value as one piece, for example a receipt, a response that is an array, or the page at this
    /// offset.
    ///
    /// # Errors
    /// `Decode` if it is not JSON.
    pub(crate) fn whole(json: &str, offset: Option<u64>) -> Result<Self> {
        let raw: &RawValue = serde_json::from_str(json).map_err(|error| json_error(&error, ""))?;
        Ok(RawRecord {
            page: Arc::new(PageText {
                text: raw.get().into(),
                offset,
                is_whole: true,
                index: Items::default(),
            }),
            index: 0,
        })
    }

    /// Returns the JSON text as UTF-8 bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.as_str().as_bytes()
    }

    /// Returns the JSON text, byte for byte as the service sent it. It may contain line breaks.
    pub fn as_str(&self) -> &str {
        if self.page.is_whole {
            return &self.page.text;
        }
        self.item().map_or("", |item| self.page.piece(item.json))
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
        if self.page.is_whole {
            return json::each_member(self.as_str(), take);
        }
        for member in self.places() {
            take(self.page.piece(member.name), self.page.piece(member.value));
        }
    }

    /// Returns the raw names of the members of a record that is part of a page.
    pub(crate) fn member_names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.places()
            .iter()
            .map(|place| self.page.piece(place.name))
    }

    /// Returns the raw value of a member of a record that is part of a page.
    pub(crate) fn member_value(&self, member: usize) -> &str {
        let place = self.places().get(member);
        place.map_or("", |place| self.page.piece(place.value))
    }

    /// Returns the places of the members of a record that is part of a page.
    fn places(&self) -> &[MemberPlace] {
        let end = |item: &Item| item.members_end;
        let before = self
            .index
            .checked_sub(1)
            .and_then(|at| self.page.index.items.get(at));
        let members = before.map_or(0, end)..self.item().map_or(0, end);
        self.page.index.members.get(members).unwrap_or_default()
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

    /// Returns a phrase that names the record, for errors; empty for a value that is not a record of a list.
    pub(crate) fn name(&self) -> String {
        let Some(offset) = self.page.offset.filter(|_| !self.page.is_whole) else {
            return String::new();
        };
        let place = place(self.index, offset, self.id());
        format!("record {} of the page{place}", self.index)
    }

    /// Adds the offset of the page to an error about this record, and makes its text safe to show.
    pub fn fault(&self, error: Error) -> Error {
        let error = match self.page.offset {
            Some(offset) => error.with_offset(offset),
            None => error,
        };
        error.sanitize(&Scrubber::default())
    }

    /// Returns the length of the text of the record's page, in bytes.
    pub(crate) fn page_text_len(&self) -> usize {
        self.page.text.len()
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
        self.item()?.id.map(|id| self.page.piece(id))
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

    fn item(&self) -> Option<&Item> {
        self.page.index.items.get(self.index)
    }
}

/// Checks that the places in a text of this length can be stored.
fn check_length(bytes: usize) -> Result<()> {
    match u32::try_from(bytes) {
        Ok(_) => Ok(()),
        Err(_) => {
            let message = "the records together are longer than 4 GiB; read fewer at a time";
            Err(Error::new(ErrorKind::TooLarge, message))
        }
    }
}

/// The key with which a scan hashes identities.
///
/// The key is random for each scan and is stored in checkpoints. So nobody can choose ids whose hashes collide.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct IdentityKey([u64; 2]);

impl IdentityKey {
    pub(crate) fn random() -> Self {
        // The standard library seeds its hashers from the operating system.
        let word = || RandomState::new().build_hasher().finish();
        IdentityKey([word(), word()])
    }

    /// Returns the key that `derive` computes from this one and a secret.
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
