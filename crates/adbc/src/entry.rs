//! The entry point through which a driver manager loads this driver.

#![allow(unsafe_code)]

use crate::driver::TalentdataDriver;
use adbc_core::constants::{ADBC_STATUS_NOT_IMPLEMENTED, ADBC_STATUS_OK, ADBC_VERSION_1_1_0};
use adbc_core::error::{AdbcStatusCode, Error, Status};
use adbc_ffi::{FFI_AdbcDriver, FFI_AdbcError, FFIDriver, export_error};
use std::ffi::c_int;
use std::mem::MaybeUninit;

/// Fills in the functions of the driver, as version 1.1.0 of ADBC prescribes.
///
/// Returns NOT_IMPLEMENTED for another version.
///
/// # Safety
/// `driver` is NULL or points to memory for a driver. `error` is NULL or points to an initialised error.
#[allow(
    non_snake_case,
    reason = "driver managers derive this name from the name of the library"
)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AdbcTalentdataInit(
    version: c_int,
    driver: Option<&mut MaybeUninit<FFI_AdbcDriver>>,
    error: *mut FFI_AdbcError,
) -> AdbcStatusCode {
    match driver {
        Some(driver) if version == ADBC_VERSION_1_1_0 => {
            driver.write(TalentdataDriver::ffi_driver());
            ADBC_STATUS_OK
        }
        _ => {
            let why =
                "talentdata: this driver needs version 1.1.0 of ADBC; use a newer driver manager";
            let refusal = Error::with_message_and_status(why, Status::NotImplemented);
            // SAFETY: the caller promises that `error` is NULL or initialised, and NULL is checked.
            unsafe { export_error(error, refusal) };
            ADBC_STATUS_NOT_IMPLEMENTED
        }
    }
}
