//! An anchor page: the identities of records that stood side by side where a list is cut.

use crate::record::Identity;
use serde::{Deserialize, Serialize};

/// So many of an anchor's records, in order, tell where it is: one alone may have moved.
const MOST_SUPPORT: usize = 4;
/// A smaller page is no anchor: it has too few records on either side of its cut.
const SMALLEST: usize = 4;

/// A page of the list, read for the plan. The list is cut before the first record of its second half.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Anchor {
    /// Of its first record, as the list was then.
    offset: u64,
    /// The total that it came with.
    pub(crate) total: u64,
    /// Of its records, in order.
    #[serde(with = "digits")]
    pub(crate) ids: Vec<Identity>,
}

impl Anchor {
    /// The anchor that a page makes; none where it is too small.
    pub(crate) fn new(offset: u64, total: u64, ids: Vec<Identity>) -> Option<Self> {
        (ids.len() >= SMALLEST).then_some(Anchor { offset, total, ids })
    }

    /// Whether it could have been made by a plan.
    pub(super) fn is_sound(&self) -> bool {
        self.ids.len() >= SMALLEST && self.offset > 0 && self.offset < u64::MAX / 2
    }

    /// How many of its records stand before the cut.
    pub(crate) fn middle(&self) -> usize {
        self.ids.len() / 2
    }

    /// Offset of the first record behind the cut, as the list was then.
    pub(crate) fn cut(&self) -> u64 {
        self.offset + self.middle() as u64
    }

    /// How many of its records have to be found together.
    pub(crate) fn support(&self) -> usize {
        (self.ids.len() / 10).clamp(1, MOST_SUPPORT)
    }

    /// Where the cut stands in a list of this total, if what came and went is spread over the list.
    pub(crate) fn expected(&self, total: u64) -> u64 {
        let moved = u128::from(self.cut()) * u128::from(total) / u128::from(self.total.max(1));
        u64::try_from(moved).unwrap_or(u64::MAX)
    }
}

/// Identities as one text of hexadecimal digits.
mod digits {
    use super::Identity;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    /// Digits of an identity.
    const DIGITS: usize = 32;

    pub(super) fn serialize<S: Serializer>(
        ids: &[Identity],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let text: String = ids.iter().map(|id| id.to_hex()).collect();
        serializer.serialize_str(&text)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<Identity>, D::Error> {
        let text = String::deserialize(deserializer)?;
        let whole = text.len().is_multiple_of(DIGITS);
        let ids = text.as_bytes().chunks(DIGITS).map(|digits| {
            let digits = std::str::from_utf8(digits).ok()?;
            Identity::from_hex(digits)
        });
        let ids: Option<Vec<Identity>> = ids.collect();
        let ids = ids.filter(|_| whole);
        ids.ok_or_else(|| D::Error::custom("the identities are not hexadecimal"))
    }
}
