//! Verification as Python asks for it: a file held against a receipt, on a thread that may take its time.

use crate::client::json;
use crate::record::RawRecord;
use crate::runtime::block;
use pyo3::prelude::*;
use std::path::{Path, PathBuf};
use talentdata_columns::verify::{read_receipt, verify};
use talentdata_core::scan::Receipt;
use talentdata_core::{Error, ErrorKind, Result};

/// Holds a file against a receipt: JSON text, or else the file at `path`.
#[pyfunction(name = "verify")]
pub(crate) fn verify_file(
    py: Python<'_>,
    file: PathBuf,
    receipt: Option<String>,
    path: Option<PathBuf>,
) -> PyResult<RawRecord> {
    block(py, async move {
        let work = tokio::task::spawn_blocking(move || {
            let receipt = read(receipt.as_deref(), path.as_deref(), &file)?;
            json(&verify(&file, &receipt)?)
        });
        let ended = |_| Error::new(ErrorKind::Internal, "the thread that verifies has ended");
        work.await.map_err(ended)?
    })
}

fn read(text: Option<&str>, path: Option<&Path>, file: &Path) -> Result<Receipt> {
    match (text, path) {
        (Some(text), _) => serde_json::from_str(text).map_err(|error| {
            let message = format!("receipt: it is not a receipt: {error}");
            Error::new(ErrorKind::InvalidArgument, message)
        }),
        (None, path) => read_receipt(path.unwrap_or(Path::new("")), file),
    }
}
