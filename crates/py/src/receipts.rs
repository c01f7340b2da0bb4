//! Checks of the results of scans, syncs and files, with the messages of the core.

use crate::errors::{CallResult, invalid};
use pyo3::prelude::*;
use serde::de::DeserializeOwned;
use std::path::Path;
use talentdata_columns::verify::Verification;
use talentdata_core::Error;
use talentdata_core::scan::Receipt;
use talentdata_mirror::SyncReceipt;

/// Raises `IncompleteError` unless the scan of this receipt is proven complete, or ended at its limit.
#[pyfunction]
pub(crate) fn check_scan(receipt: &str) -> CallResult<()> {
    let receipt: Receipt = read(receipt)?;
    let list = receipt.resource.clone();
    Ok(receipt
        .require_proven()
        .map(drop)
        .map_err(|error| of(&list, error))?)
}

/// Raises `IncompleteError` if the mirror may lack changes after the sync of this receipt.
#[pyfunction]
pub(crate) fn check_sync(receipt: &str) -> CallResult<()> {
    let receipt: SyncReceipt = read(receipt)?;
    let list = receipt.scan.resource.clone();
    Ok(receipt
        .require_proven()
        .map(drop)
        .map_err(|error| of(&list, error))?)
}

/// Returns the texts of the warnings about the scan of this receipt: that it is not proven complete, and that no record
/// had a field that the caller named.
#[pyfunction]
pub(crate) fn warnings_of_scan(receipt: &str) -> CallResult<(Option<String>, Option<String>)> {
    let receipt: Receipt = read(receipt)?;
    Ok((receipt.shortfall(), misspelled(&receipt)))
}

/// Returns the texts of the warnings about the sync of this receipt: that the mirror may lack changes, and that no record
/// had a field that the caller named.
#[pyfunction]
pub(crate) fn warnings_of_sync(receipt: &str) -> CallResult<(Option<String>, Option<String>)> {
    let SyncReceipt {
        shortfall, scan, ..
    } = read(receipt)?;
    let shortfall = shortfall.map(|why| format!("{}: {why}", scan.resource));
    Ok((shortfall, misspelled(&scan)))
}

fn misspelled(receipt: &Receipt) -> Option<String> {
    let text = receipt.misspelled()?;
    Some(format!("{}: {text}", receipt.resource))
}

/// Raises `MismatchError` unless the verified file is the one that was written.
#[pyfunction]
pub(crate) fn check_file(verification: &str) -> CallResult<()> {
    let verification: Verification = read(verification)?;
    Ok(verification.to_result(Path::new("the file"))?)
}

fn read<T: DeserializeOwned>(json: &str) -> CallResult<T> {
    serde_json::from_str(json)
        .map_err(|error| invalid(format!("json: it is not a result of this kind: {error}")))
}

/// Adds the name of the list to an error.
fn of(list: &str, error: Error) -> Error {
    let message = format!("{list}: {}", error.message());
    error.with_message(message)
}
