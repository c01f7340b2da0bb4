//! The entry point through which a manager of drivers loads this one.

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
/// As the standard demands, `driver` is NULL or has room for a driver, and `error` is NULL or an error that is
/// initialised.
#[allow(
    non_snake_case,
    reason = "managers derive the name from that of the library"
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
            let why = "talentdata: this driver needs version 1.1.0 of ADBC; use a newer manager of drivers";
            let refusal = Error::with_message_and_status(why, Status::NotImplemented);
            // SAFETY: the caller promises that of the error, and NULL is checked.
            unsafe { export_error(error, refusal) };
            ADBC_STATUS_NOT_IMPLEMENTED
        }
    }
}
