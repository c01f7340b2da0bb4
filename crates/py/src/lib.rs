//! `talentdata._talentdata`: the Rust core as Python sees it. The Python package adds names and manners.

#![forbid(unsafe_code)]

mod arguments;
mod arrow;
mod client;
mod errors;
mod exit;
mod export;
mod field;
mod json;
mod log;
mod mirror;
mod record;
mod records;
mod runtime;
mod sandbox;
mod scan;
mod settings;
mod shared;
mod stoppable;
mod sync;
mod table;
mod verb;
mod verify;

use pyo3::prelude::*;

/// The native part of the package `talentdata`.
///
/// It was never tried without the GIL, so that a free-threaded interpreter turns the GIL on for it.
#[pymodule(gil_used = true)]
mod _talentdata {
    use super::{Bound, PyModule, PyResult, Python, pyfunction};
    use std::ffi::OsString;

    /// The version of the package.
    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "as Python writes it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_export]
    use crate::arrow::Table;
    #[pymodule_export]
    use crate::client::BaseClient;
    #[pymodule_export]
    use crate::exit::end_work;
    #[pymodule_export]
    use crate::export::RawExport;
    #[pymodule_export]
    use crate::field::Field;
    #[pymodule_export]
    use crate::mirror::{RawMirror, RawRows, forget};
    #[pymodule_export]
    use crate::record::{RawRecord, Record};
    #[pymodule_export]
    use crate::records::Records;
    #[pymodule_export]
    use crate::sandbox::BaseSandbox;
    #[pymodule_export]
    use crate::scan::RawScan;
    #[pymodule_export]
    use crate::sync::RawSync;
    #[pymodule_export]
    use crate::verify::verify_file;

    /// Runs the command line with these arguments, the first of which is its name; returns the exit code.
    #[pyfunction]
    fn run_command_line(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
        py.detach(|| talentdata_cli::main(arguments))
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::runtime::note_main_thread(module.py())
    }
}
