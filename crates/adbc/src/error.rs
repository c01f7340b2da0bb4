//! Errors in the form of ADBC: the message, a status, and the number of the kind as the vendor's code.

use adbc_core::error::{Error as AdbcError, Result as AdbcResult, Status};
use talentdata_core::{Error, Result};

/// Returns an error in the form of ADBC.
pub(crate) fn exported(error: &Error) -> AdbcError {
    let status = Status::try_from(error.kind().adbc_status()).unwrap_or(Status::Unknown);
    let mut exported = AdbcError::with_message_and_status(error.to_string(), status);
    exported.vendor_code = i32::try_from(error.kind().number()).unwrap_or_default();
    exported
}

/// Runs the body of a function of the driver. A panic becomes an error.
pub(crate) fn guard<T>(call: impl FnOnce() -> Result<T>) -> AdbcResult<T> {
    Error::catch("the ADBC driver", call).map_err(|error| exported(&error))
}

/// Returns the error for a function that the driver does not have. `instead` is what to do.
pub(crate) fn unsupported<T>(what: &str, instead: &str) -> AdbcResult<T> {
    let message = format!("talentdata: {what}; {instead}");
    Err(AdbcError::with_message_and_status(
        message,
        Status::NotImplemented,
    ))
}
