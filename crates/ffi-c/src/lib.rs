//! libtalentdata: the client of the talent data service for C and C++.
//!
//! Ownership is in the signatures: `&T` borrows, `Box<T>` transfers, an error is the return value, and an out slot is
//! written only on success. Every exported function goes through [`export::guard`]. Lists, operations, fields and
//! settings are accessed by their names, so that no function and no number depends on the spec.

#![deny(unsafe_op_in_unsafe_fn)]
// No item is reachable from Rust: the exported symbols are the interface.
#![allow(unreachable_pub)]

// Exports the entry point of the ADBC driver, `AdbcTalentdataInit`.
use talentdata_adbc as _;

#[cfg(panic = "abort")]
compile_error!("a panic must become an error: build libtalentdata with panic = \"unwind\"");

mod boundary;
mod call;
mod client;
mod config;
mod descriptor;
mod error;
mod export;
mod job;
mod log;
mod messages;
mod mirror;
mod options;
mod record;
mod scan;
mod text;

#[cfg(test)]
mod tests {
    /// Checks that other files use `unsafe` only to export names. The compiler cannot check this.
    #[test]
    fn no_other_file_contains_unsafe_code() {
        let mut seen = 0;
        for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src")).unwrap() {
            let path = entry.unwrap().path();
            if ["boundary.rs", "messages.rs"]
                .iter()
                .any(|own| path.ends_with(own))
            {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let text = text.split("#[cfg(test)]").next().unwrap_or_default();
            let code = text.replace("#[unsafe(no_mangle)]", "");
            let code = code.replace("unsafe_op_in_unsafe_fn", "");
            assert!(!code.contains("unsafe"), "{}", path.display());
            seen += 1;
        }
        assert!(seen > 10);
    }
}
