//! Bookmarks, which identify one sync among all mirrors.

use std::fmt::{Display, Formatter};

/// The identity of one sync, which no other sync of any list, mirror or copy has.
///
/// The text is `MIRROR-EPOCH-SYNC:NUMBER`, for example `9c41d0-51d2a7-5f2a03b8c6e1:17`, with the first digits of random
/// ids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bookmark {
    /// The id of the mirror. Copies of its file have the same one.
    pub(crate) mirror: String,
    /// The id that the list got when it was first synced into this mirror. After the list is forgotten, it gets a new
    /// one.
    pub(crate) epoch: String,
    /// The id of the sync.
    pub(crate) sync: String,
    /// The number of the sync.
    pub(crate) number: u64,
}

/// The numbers of digits of the ids in a bookmark.
const DIGITS: [usize; 3] = [6, 6, 12];

impl Bookmark {
    /// Creates the bookmark of a sync from the ids of the mirror, the list and the sync.
    pub(crate) fn new(ids: [&str; 3], number: i64) -> Self {
        let short = |index: usize| {
            let id: &str = ids[index];
            id.get(..DIGITS[index]).unwrap_or(id).to_owned()
        };
        Bookmark {
            mirror: short(0),
            epoch: short(1),
            sync: short(2),
            number: number.unsigned_abs(),
        }
    }

    /// Reads a bookmark from its text; `None` if the text is not a bookmark.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (ids, number) = text.rsplit_once(':')?;
        let ids: Vec<&str> = ids.split('-').collect();
        let is_digit = |digit: u8| digit.is_ascii_digit() || (b'a'..=b'f').contains(&digit);
        let is_id = |(id, length): (&&str, usize)| id.len() == length && id.bytes().all(is_digit);
        if ids.len() != DIGITS.len() || !ids.iter().zip(DIGITS).all(is_id) {
            return None;
        }
        let number: u32 = number.parse().ok()?;
        Some(Bookmark::new([ids[0], ids[1], ids[2]], number.into()))
    }
}

impl Display for Bookmark {
    fn fmt(&self, out: &mut Formatter<'_>) -> std::fmt::Result {
        let Bookmark {
            mirror,
            epoch,
            sync,
            number,
        } = self;
        write!(out, "{mirror}-{epoch}-{sync}:{number}")
    }
}
