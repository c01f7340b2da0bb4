//! Makes records of their texts, many in one page, as they came from the service.

use crate::error::Result;
use crate::page::Page;
use crate::record::RawRecord;
use crate::request::transport::Response;

/// Records of a page.
pub(super) const RECORDS: usize = 256;
/// A page with so many bytes is full however few records it has.
pub(super) const BYTES: usize = 1 << 20;

const KEY: &str = "records";

/// The records of these texts.
///
/// # Errors
/// `Decode` or `Schema`, where a text is no record.
pub(super) fn records<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Vec<RawRecord>> {
    let mut body = format!("{{\"{KEY}\":[").into_bytes();
    let mut count = 0_u64;
    for text in texts {
        if count > 0 {
            body.push(b',');
        }
        body.extend_from_slice(text.as_bytes());
        count += 1;
    }
    let end = format!(
        "],\"pagination\":{{\"total\":{count},\"limit\":{count},\"offset\":0,\"hasMore\":false}}}}"
    );
    body.extend_from_slice(end.as_bytes());
    let page = Page::read(&Response::of_json(body), Some(KEY), 0)?;
    Ok(page.records)
}
