//! The table of options of scans, exports, syncs and mirrors, as data for the template of their page.

#[path = "../../crates/mirror/src/job_options/table.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    reason = "the same file is public in mirror, which uses all of it"
)]
mod table;

use minijinja::{Value, context};
use table::JOB_OPTIONS;

/// Returns the data of the options.
pub(crate) fn view() -> Value {
    let options = JOB_OPTIONS.iter().map(|one| {
        context! { name => one.name, what => one.what, takers => one.takers(), values => one.values() }
    });
    context! { options => options.collect::<Vec<Value>>() }
}
