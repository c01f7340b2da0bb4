//! Converts errors to ADBC errors: the message, a status, and the number of the error kind as the vendor code.

use adbc_core::error::{Error as AdbcError, Result as AdbcResult, Status};
use talentdata_core::{Error, Result};

/// Converts an error to an ADBC error.
pub(crate) fn to_adbc_error(error: &Error) -> AdbcError {
    let status = Status::try_from(error.kind().adbc_status()).unwrap_or(Status::Unknown);
    let mut adbc = AdbcError::with_message_and_status(error.to_string(), status);
    adbc.vendor_code = i32::try_from(error.kind().number()).unwrap_or_default();
    adbc
}

/// Runs the body of a function of the driver. A panic becomes an error.
pub(crate) fn guard<T>(call: impl FnOnce() -> Result<T>) -> AdbcResult<T> {
    Error::catch("the ADBC driver", call).map_err(|error| to_adbc_error(&error))
}

/// Returns the error for a function that the driver does not have. `instead` says what to do.
pub(crate) fn unsupported<T>(what: &str, instead: &str) -> AdbcResult<T> {
    let message = format!("talentdata: {what}; {instead}");
    Err(AdbcError::with_message_and_status(
        message,
        Status::NotImplemented,
    ))
}
