//! The functions of libtalentdata that the sandbox calls, so that it uses the errors, settings and records of the
//! program.

use crate::text::Text;
use std::ptr::NonNull;

/// An error of libtalentdata. The sandbox passes it on and never looks at it.
#[repr(C)]
pub struct ForeignError([u8; 0]);

/// Settings of libtalentdata.
#[repr(C)]
pub struct ForeignConfig([u8; 0]);

/// A record of libtalentdata.
#[repr(C)]
pub struct ForeignRecord([u8; 0]);

// SAFETY: these are the signatures of libtalentdata. Its functions demand of a pointer what the header of the sandbox
// demands of the same pointer: it is NULL, or valid until the call returns.
unsafe extern "C" {
    pub(crate) safe fn talentdata_error_new(
        kind: u32,
        message: Text,
    ) -> Option<NonNull<ForeignError>>;
    pub(crate) safe fn talentdata_config_set(
        config: Option<NonNull<ForeignConfig>>,
        name: Text,
        value: Text,
    ) -> Option<NonNull<ForeignError>>;
    pub(crate) safe fn talentdata_record_parse(
        json: Text,
        record_out: Option<NonNull<NonNull<ForeignRecord>>>,
    ) -> Option<NonNull<ForeignError>>;
}
