//! A page as the joiner sees it: identities in order, and what the service says about the list.

use super::part::Cut;
use crate::page::Page;
use crate::record::{Identity, IdentityKey};
use std::borrow::Cow;

/// A page, as far as joining it is concerned.
#[derive(Clone, Debug)]
pub(crate) struct Slice {
    pub(crate) offset: u64,
    pub(crate) ids: Vec<Identity>,
    pub(crate) has_more: bool,
    pub(crate) total: u64,
    /// When it was asked for and when it arrived, by the count of the sequence.
    pub(crate) sent: u64,
    pub(crate) arrived: u64,
}

impl Slice {
    /// The slice that a page shows.
    pub(crate) fn of(page: &Page, offset: u64, key: &IdentityKey) -> Self {
        let identities = page.records.iter().map(|record| record.identity(key));
        Slice {
            offset,
            ids: identities.collect(),
            has_more: page.pagination.has_more,
            total: u64::try_from(page.pagination.total).unwrap_or(0),
            sent: 0,
            arrived: 0,
        }
    }

    pub(super) fn end(&self) -> u64 {
        self.offset.saturating_add(self.ids.len() as u64)
    }

    /// The page without what is cut off.
    pub(super) fn up_to(&self, cut: Cut) -> Cow<'_, Slice> {
        let (Cut::At(index) | Cut::Later(index)) = cut else {
            return Cow::Borrowed(self);
        };
        Cow::Owned(Slice {
            ids: self.ids[..index].to_vec(),
            has_more: cut == Cut::Later(index),
            ..*self
        })
    }
}
