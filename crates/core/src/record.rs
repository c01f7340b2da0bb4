//! A record as the service sent it: a piece of a page's bytes, shared and not copied.

use crate::answer::from_json;
use crate::error::Result;
use crate::json;
use crate::scan::Identity;
use bytes::Bytes;
use serde::de::DeserializeOwned;

/// One record: a JSON object, exactly as received.
#[derive(Clone, PartialEq, Eq)]
pub struct RawRecord {
    json: Bytes,
    place: Place,
    identity: Identity,
}

/// Where a record stood, for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Offset of the page, in records.
    pub(crate) offset: u64,
    /// Index within the page.
    pub(crate) index: usize,
    /// Which of the page's layouts its field names have.
    pub(crate) layout: usize,
}

impl RawRecord {
    /// `json` must be valid UTF-8 and a JSON object; pages check both.
    pub(crate) fn new(json: Bytes, identity: Identity, place: Place) -> Self {
        RawRecord {
            json,
            place,
            identity,
        }
    }

    /// The JSON text, as UTF-8 bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.json
    }

    /// The JSON text, byte for byte as the service sent it; it may hold line breaks.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.json).unwrap_or_default()
    }

    /// The JSON text as a piece of the page it came in, which lives as long as any piece of it.
    pub fn into_bytes(self) -> Bytes {
        self.json
    }

    /// The fields in the order of the text: raw name (without quotes) and raw value.
    pub(crate) fn members(&self) -> json::Members<'_> {
        json::members(&self.json)
    }

    /// The record as `T`.
    ///
    /// # Errors
    /// `Schema`, naming the field, when a documented field is missing or of another type.
    pub fn to<T: DeserializeOwned>(&self) -> Result<T> {
        let place = format!("record {} of the page", self.place.index);
        from_json(self.as_str(), &place).map_err(|error| error.with_offset(self.place.offset))
    }

    pub(crate) fn place(&self) -> Place {
        self.place
    }

    /// Which of the page's layouts its field names have.
    pub(crate) fn layout(&self) -> usize {
        self.place.layout
    }

    /// Where it stood in the list.
    pub(crate) fn offset(&self) -> u64 {
        self.place.offset + self.place.index as u64
    }

    /// What tells this record from others: its `id`, else all its bytes.
    pub(crate) fn identity(&self) -> Identity {
        self.identity
    }
}

impl std::fmt::Debug for RawRecord {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.as_str())
    }
}

#[cfg(test)]
impl RawRecord {
    /// A record of no page.
    pub(crate) fn of_json(json: impl Into<Bytes>) -> Self {
        let json = json.into();
        let place = Place {
            offset: 0,
            index: 0,
            layout: 0,
        };
        RawRecord::new(json.clone(), Identity::of(&json, false), place)
    }
}
