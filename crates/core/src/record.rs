//! A record as the service sent it: a place in a page's text, shared and not copied.

mod identity;

pub(crate) use identity::{Identity, IdentityKey};

use crate::error::{Error, Result, Scrubber};
use crate::page::PageText;
use crate::page::Texts;
use crate::request::response::from_json;
use bytes::Bytes;
use memchr::memchr2;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::sync::Arc;

/// One record: a JSON object, exactly as received. Its page stays in memory as long as any of its records.
#[derive(Clone)]
pub struct RawRecord {
    page: Arc<PageText>,
    index: usize,
}

impl RawRecord {
    pub(crate) fn new(page: Arc<PageText>, index: usize) -> Self {
        RawRecord { page, index }
    }

    /// Reads one record, such as the response of a call, in a page of its own.
    ///
    /// # Errors
    /// `Decode` where it is not JSON, `Schema` where it is no object.
    pub fn parse(json: &str) -> Result<Self> {
        let page = PageText::of_one(json)?;
        Ok(RawRecord::new(Arc::new(page), 0))
    }

    /// The JSON text, as UTF-8 bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.page.json(self.index)
    }

    /// The JSON text, byte for byte as the service sent it; it may hold line breaks.
    pub fn as_str(&self) -> &str {
        simdutf8::basic::from_utf8(self.as_bytes()).unwrap_or_default()
    }

    /// The JSON text as a piece of the page it came in, which lives as long as any piece of it.
    pub fn into_bytes(self) -> Bytes {
        self.page.json_bytes(self.index)
    }

    /// Whether no name occurs twice, so that the first field of a name is also the last; false where that is not known.
    pub fn has_distinct_names(&self) -> bool {
        self.page.has_distinct_names(self.index)
    }

    /// The fields in the order of the text: raw name (without quotes) and raw value.
    pub(crate) fn members(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.names().zip(self.page.values(self.index))
    }

    /// The raw names of the fields.
    pub(crate) fn names(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.page.names(self.layout())
    }

    /// The raw name of the field at this place of the record's layout.
    pub(crate) fn name(&self, field: usize) -> &[u8] {
        self.names().nth(field).unwrap_or_default()
    }

    /// The raw values of the fields, as text.
    pub(crate) fn texts(&self) -> Texts<'_> {
        self.page.texts(self.index)
    }

    /// The record as `T`.
    ///
    /// # Errors
    /// `Schema`, naming the field, when a documented field is missing or of another type.
    pub fn to<T: DeserializeOwned>(&self) -> Result<T> {
        let place = format!("record {} of the page", self.index);
        let read = from_json(self.as_str(), &place).or_else(|error| {
            // A name that occurs twice is an error there. Of such the last counts, as everywhere.
            let last_of_each: Value = from_json(self.as_str(), &place).map_err(|_| error)?;
            from_json(&last_of_each.to_string(), &place)
        });
        read.map_err(|error| self.fault(error))
    }

    /// An error in reading this record, whose own names may be part of it.
    pub(crate) fn fault(&self, error: Error) -> Error {
        error
            .with_offset(self.page.offset)
            .fit(&Scrubber::default())
    }

    /// The page that it came in.
    pub(crate) fn page(&self) -> &Arc<PageText> {
        &self.page
    }

    /// Where it stood in the page.
    pub(crate) fn index(&self) -> usize {
        self.index
    }

    /// Which of the page's layouts its field names have.
    pub(crate) fn layout(&self) -> usize {
        self.page.layout(self.index)
    }

    /// Whether its text is free of line breaks.
    pub(crate) fn is_one_line(&self) -> bool {
        self.page.one_line || memchr2(b'\n', b'\r', self.as_bytes()).is_none()
    }

    /// Where it stood in the list.
    pub(crate) fn offset(&self) -> u64 {
        self.page.offset + self.index as u64
    }

    /// The raw `id`, if there is one that tells this record from others: a number, or a string that is not empty.
    pub fn id(&self) -> Option<&[u8]> {
        self.page.id(self.index)
    }

    /// What tells this record from others: its `id`, else all its bytes.
    pub(crate) fn identity(&self, key: &IdentityKey) -> Identity {
        self.page.identity(self.index, key)
    }
}

/// Records are the same when their texts are.
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
impl RawRecord {
    /// A record in a page of its own.
    pub(crate) fn of_json(json: impl Into<Bytes>) -> Self {
        RawRecord::parse(std::str::from_utf8(&json.into()).unwrap()).unwrap()
    }
}

#[cfg(test)]
mod tests {
    use super::RawRecord;
    use talentdata_types::Contact;

    #[test]
    fn of_a_name_that_occurs_twice_the_last_counts() {
        let json = r#"{"id":"a","firstName":"A","lastName":"B","email":"c","x":1,"id":"z","x":2}"#;
        let contact: Contact = RawRecord::of_json(json).to().unwrap();
        assert_eq!((contact.id.as_str(), &contact.extra["x"]), ("z", &2.into()));
    }
}
