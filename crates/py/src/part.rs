//! Parts of a list, as texts that any process takes, and what their receipts say together.

use crate::client::json;
use crate::errors::raise;
use crate::record::RawRecord;
use pyo3::prelude::*;
use talentdata_core::scan::Receipt;
use talentdata_core::{Error, ErrorKind, Part, Result};

/// A part, as the record that a class of the package is made from.
pub(crate) fn record(part: &Part) -> Result<RawRecord> {
    Ok(RawRecord::new(part.to_json()?.into_bytes()))
}

/// The receipt of a list from those of its parts.
#[pyfunction]
pub(crate) fn receipt_of_parts(py: Python<'_>, receipts: Vec<String>) -> PyResult<RawRecord> {
    let read = receipts.iter().map(|text| {
        serde_json::from_str::<Receipt>(text).map_err(|error| {
            let message = format!("receipts of parts: one of them is not a receipt: {error}");
            Error::new(ErrorKind::InvalidArgument, message)
        })
    });
    let read: Result<Vec<Receipt>> = read.collect();
    let whole = read.and_then(Receipt::of_parts);
    let whole = whole.and_then(|whole| json(&whole));
    whole.map_err(|error| raise(py, &error))
}
