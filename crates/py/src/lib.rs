//! `talentdata._talentdata`: the Rust core for Python. The Python package adds names and conventions.

#![forbid(unsafe_code)]

mod arguments;
mod client;
mod errors;
mod interrupt;
mod job;
mod log;
mod mirror;
mod receipts;
mod record;
mod sandbox;
mod scan;
mod waiting;

use pyo3::prelude::*;
// Exports the entry point of the ADBC driver, `AdbcTalentdataInit`.
use talentdata_adbc as _;

/// The native part of the package `talentdata`.
/// It was never tested without the GIL, so a free-threaded interpreter enables the GIL for it.
#[pymodule(gil_used = true)]
mod _talentdata {
    use super::{Bound, PyModule, PyResult, Python, pyfunction};
    use std::ffi::OsString;
    use talentdata_mirror::internal::{JobOption, JobOptions};

    /// The version of the package.
    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "the name is a convention of Python")]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_export]
    use crate::client::{BaseClient, diagnose_settings};
    #[pymodule_export]
    use crate::interrupt::Interrupts;
    #[pymodule_export]
    use crate::job::{RawJob, verify_file};
    #[pymodule_export]
    use crate::mirror::{RawMirror, RawRows, acknowledge, erase, forget};
    #[pymodule_export]
    use crate::receipts::{check_file, check_scan, check_sync, warnings_of_scan, warnings_of_sync};
    #[pymodule_export]
    use crate::record::{PyRecord, RecordText};
    #[pymodule_export]
    use crate::sandbox::BaseSandbox;
    #[pymodule_export]
    use crate::scan::{RawScan, Records, Table};
    #[pymodule_export]
    use crate::waiting::{end_work, note_main_thread};

    /// Returns the name of a list from any spelling of it.
    #[pyfunction]
    fn list_name(text: &str) -> PyResult<&'static str> {
        let found = text.parse::<talentdata_core::types::ListName>();
        let found = found.map_err(|why| crate::errors::invalid(format!("resource: {why}")))?;
        Ok(found.name())
    }

    /// Checks the text of an option before it is used.
    #[pyfunction]
    fn check_option(name: &str, value: &str) -> PyResult<()> {
        let option = JobOption::find(name).map_err(crate::errors::invalid)?;
        let set = JobOptions::default().set(option, value);
        set.map_err(|error| crate::errors::Failure::from(error).into())
    }

    /// Runs the command line with these arguments, the first of which is its name, and returns the exit code.
    #[pyfunction]
    fn run_command_line(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
        py.detach(|| talentdata_cli::main(arguments))
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::waiting::note_main_thread(module.py())
    }
}
