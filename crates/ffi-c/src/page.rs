//! The page handle: its records and its paging metadata.

use crate::boundary::{get, guard_or, invalid};
use crate::error::Error;
use crate::generated::models::Pagination;
use crate::record::Record;
use std::mem::MaybeUninit;
use talentdata_core::types::Resource;
use talentdata_core::{Page as CorePage, Result};

/// One page of a list. Freed with talentdata_page_free.
pub struct Page {
    records: Vec<Record>,
    pagination: Pagination,
}

impl Page {
    pub(crate) fn new(page: CorePage, resource: Resource) -> Result<Self> {
        let records = page.records.into_iter();
        Ok(Page {
            records: records
                .map(|raw| Record::new(raw, Some(resource)))
                .collect(),
            pagination: Pagination::new(page.pagination)?,
        })
    }
}

/// The number of records on the page.
///
/// @param page the page
/// @param count_out the number of records
/// Threads: any.
/// Errors: INVALID_ARGUMENT for NULL.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_page_count(
    page: Option<&Page>,
    count_out: Option<&mut MaybeUninit<usize>>,
) -> Option<Box<Error>> {
    get((page, "page"), (count_out, "count_out"), |page| {
        Ok(page.records.len())
    })
}

/// A record of the page.
///
/// @param page the page
/// @param index from 0
/// @param record_out the record
/// Ownership: `*record_out` is valid until the page is freed; it must not be freed by itself.
/// Threads: any.
/// Errors: INVALID_ARGUMENT for NULL or an index out of range.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_page_record<'a>(
    page: Option<&'a Page>,
    index: usize,
    record_out: Option<&mut MaybeUninit<&'a Record>>,
) -> Option<Box<Error>> {
    get((page, "page"), (record_out, "record_out"), |page| {
        page.records.get(index).ok_or_else(|| {
            let count = page.records.len();
            invalid(
                "index",
                format_args!("{index} is out of range for {count} items"),
            )
        })
    })
}

/// The paging metadata of the page.
///
/// @param page the page
/// @param pagination_out the metadata
/// Ownership: `*pagination_out` is valid until the page is freed.
/// Threads: any.
/// Errors: INVALID_ARGUMENT for NULL.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_page_pagination<'a>(
    page: Option<&'a Page>,
    pagination_out: Option<&mut MaybeUninit<&'a Pagination>>,
) -> Option<Box<Error>> {
    get((page, "page"), (pagination_out, "pagination_out"), |page| {
        Ok(&page.pagination)
    })
}

/// Frees a page; does nothing when it is NULL.
///
/// Ownership: `page` and everything read from it must not be used any more.
/// Threads: one at a time per page.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_page_free(page: Option<Box<Page>>) {
    guard_or((), || drop(page));
}
