//! Reads the pages of a second look.

use super::claim::Claim;
use super::difference::Gap;
use super::manifest::SecondLook;
use super::second_look::{self, Looks, Shown};
use super::sync::Sync;
use super::write::Writing;
use crate::client::Client;
use crate::error::Result;
use crate::scan::{Basis, Completeness, Receipt};

/// Records of a page of a second look, where nothing says how many a page may have.
const LOOK: u64 = 100;

/// Pages of a second look, beyond as many as the scan has read.
const MORE_LOOKS: u64 = 16;

/// Page requests of a sync at most, if its scan takes so many.
pub(crate) fn most_pages_of_sync(pages: u64) -> u64 {
    pages.saturating_add(most_looks(pages))
}

fn most_looks(pages: u64) -> u64 {
    pages.saturating_add(MORE_LOOKS)
}

impl Sync {
    /// Which of the records that were not delivered are gone: all where the scan proves it by itself, those that
    /// a second look confirms where it rests on joined pages, else none.
    pub(super) async fn look_again(
        &self,
        client: &Client,
        claim: &Claim,
        writing: &mut Writing,
        receipt: &Receipt,
        mut gaps: Vec<Gap>,
    ) -> Result<(Vec<Gap>, Option<SecondLook>)> {
        let proven = receipt.completeness == Completeness::Proven;
        let moved = receipt.basis == Some(Basis::Joined);
        if gaps.is_empty() || !proven || !second_look::is_needed(moved, receipt.records) {
            gaps.iter_mut().for_each(|gap| gap.gone = proven);
            return Ok((gaps, None));
        }
        let shape = self.resource.shape();
        let size = self.scan.page_size.or(shape.max_limit).unwrap_or(LOOK);
        let mut looks = Looks::new(gaps, size, most_looks(receipt.pages));
        let mut outcome = SecondLook::default();
        let (hash_key, mut form) = (claim.manifest.hash_key, Vec::new());
        while let Some(offset) = looks.next() {
            let page = client
                .fetch_page(
                    self.resource,
                    &self.scan.arguments,
                    Some(size),
                    offset,
                    shape.record_key,
                    None,
                )
                .await?;
            outcome.requests += 1;
            let (mut identities, mut records, mut undelivered) = (vec![], vec![], vec![]);
            for record in &page.records {
                let identity = hash_key.identity(record, &mut form);
                let (located, others) = writing.difference.shown(identity)?;
                identities.push(identity);
                records.push(located);
                undelivered.extend(others);
            }
            let end = offset.saturating_add(page.records.len() as u64);
            let total = u64::try_from(page.pagination.total).unwrap_or(0);
            looks.take(&Shown {
                offset,
                identities,
                records,
                undelivered,
                is_end: !page.pagination.has_more && end >= total,
                total,
            });
        }
        let gaps = looks.finish();
        for gap in &gaps {
            let count = writing.difference.count(gap);
            match gap.gone {
                true => outcome.confirmed += count,
                false => outcome.unconfirmed += count,
            }
        }
        Ok((gaps, Some(outcome)))
    }
}
