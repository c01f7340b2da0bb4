//! The version of the library.

use crate::text::Text;

/// The version of the library that is running, such as 0.1.0; compare it with TALENTDATA_VERSION,
/// the version of the header.
///
/// Ownership: the text is a constant.
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_library_version() -> Text {
    Text::of(env!("CARGO_PKG_VERSION"))
}
