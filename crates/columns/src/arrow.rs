//! Columns: Arrow record batches straight from the bytes of pages.
//!
//! Documented fields come first, typed as the spec says, in its order. Further fields of the first records follow, in
//! the order in which they first occur, typed by their values. The last column, `_extra`, is JSON text and keeps
//! everything else. Each record can therefore be rebuilt exactly:
//!
//! 1. If `_extra` contains a field, it has the exact value. A column of that name then holds the nearest value that it
//!    can (a rounded number, the last of several values, an instant without its offset, a struct without an unknown
//!    member) or nothing.
//! 2. Every other column that is not empty has the value of its field, by the rules of its type.
//! 3. An empty cell means that the field is absent, or that it is null where the metadata `talentdata:empty` of its
//!    column says `null`. Fields that are absent against that rule are listed in the member `_absent` of `_extra`, if
//!    that is its first member; a null against it is a null in `_extra`.
//!
//! A string is its text, and a number its decimal value. In a string column whose metadata `talentdata:content` is
//! `json`, the text is the JSON of the value. Timestamps are written with the offset `talentdata:offset` and
//! `talentdata:fraction` digits, dates as RFC 3339 prescribes. Lists and structs are written without white space
//! between tokens, the members of a struct in its order; rule 3 holds for members too, and a null item is a null. If
//! any part of a field cannot be written like that, the whole field is in `_extra`.

// A new column type: `ColumnKind` in schema.rs, how a cell holds it in cell.rs, its Arrow type in fields.rs, and how it
// is found in infer.rs.
mod batch;
mod cell;
pub(crate) mod check;
mod fields;
mod infer;
mod object;
mod reader;
pub(crate) mod remembered;
mod sample;
mod schema;
mod schema_file;
mod stream;
mod time;

#[cfg(test)]
pub(crate) mod tests;

pub use arrow_array::RecordBatch;
pub use arrow_schema::SchemaRef;
pub(crate) use batch::BatchBuilder;
pub(crate) use cell::text;
pub(crate) use check::{Checker, Counts};
pub(crate) use object::Object;
pub use reader::BatchReader;
pub(crate) use sample::Sample;
pub use schema::{
    Column, ColumnKind, ColumnTypes, EXTRA, EmptyMeans, NewFieldPolicy, Source, TableOptions,
    TableSchema, Timestamp, Unit,
};
pub use stream::{BatchScan, RecordBatches};
