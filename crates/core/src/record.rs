//! A record as the service sent it: a piece of a page's bytes, shared and not copied.

use crate::answer::from_json;
use crate::error::Result;
use crate::scan::Identity;
use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

/// One record: a JSON object, exactly as received.
#[derive(Clone, PartialEq, Eq)]
pub struct RawRecord {
    json: Bytes,
    place: Place,
}

/// Where a record stood, for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Offset of the page, in records.
    pub(crate) offset: u64,
    /// Index within the page.
    pub(crate) index: usize,
}

impl RawRecord {
    /// `json` must be valid UTF-8 and a JSON object; pages check both.
    pub(crate) fn new(json: Bytes, place: Place) -> Self {
        RawRecord { json, place }
    }

    /// The JSON text, as UTF-8 bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.json
    }

    /// The JSON text, byte for byte as the service sent it; it may hold line breaks.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.json).unwrap_or_default()
    }

    /// The record as `T`.
    ///
    /// # Errors
    /// `Schema`, naming the field, when a documented field is missing or of another type.
    pub fn to<T: DeserializeOwned>(&self) -> Result<T> {
        let place = format!("record {} of the page", self.place.index);
        from_json(self.as_str(), &place).map_err(|error| error.with_offset(self.place.offset))
    }

    /// What tells this record from others: its `id`, else all its bytes.
    pub(crate) fn identity(&self) -> Identity {
        #[derive(serde::Deserialize)]
        struct Identified<'a> {
            #[serde(borrow)]
            id: Option<&'a RawValue>,
        }
        let id = serde_json::from_slice::<Identified>(&self.json)
            .ok()
            .and_then(|record| record.id);
        id.map_or(Identity::of(&self.json, false), |id| {
            Identity::of(id.get().as_bytes(), true)
        })
    }
}

impl std::fmt::Debug for RawRecord {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.as_str())
    }
}
