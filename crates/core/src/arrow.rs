//! Columns: Arrow record batches straight from the bytes of pages.
//!
//! Documented fields come first, typed as the spec says, in its order. Further fields follow as they
//! were first met among the first records, typed by what was found there. The last column, `_extra`,
//! is JSON text and keeps everything else, so that each record can be rebuilt exactly:
//!
//! 1. What `_extra` says of a field stands; a column of that name then holds the nearest it can
//!    (a number rounded to a double, the last of several values) or nothing.
//! 2. Every other column that holds something gives its field; JSON columns (extension `arrow.json`)
//!    hold the value's own text, and numbers the text that Rust displays.
//! 3. An empty cell means that the field is absent, or that it is null where the metadata
//!    `talentdata:empty` of its column says `null`. Fields that are absent against that rule are
//!    listed in the member `_absent` of `_extra`, if that is its first member; a null against it is
//!    a null in `_extra`.

mod batch;
mod columns;
mod extra;
mod infer;
mod plan;
mod row;
mod scan;

#[cfg(test)]
pub(crate) mod tests;

pub use arrow_array::RecordBatch;
pub use arrow_schema::SchemaRef;
pub use batch::BatchBuilder;
pub use columns::{Column, Columns, EXTRA, Empty, Kind};
pub(crate) use row::{Cell, Decimals, Splitter};
pub use scan::BatchScan;
