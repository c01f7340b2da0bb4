//! `cargo xtask bench`: this client beside others, on the sandbox; the tables go to tests/bench/RESULTS.md.

mod budget;
pub(crate) mod child;
mod figures;
mod table;
mod throughput;
mod tools;
mod trial;

use crate::Outcome;
use std::path::Path;
use tools::Tools;

/// Where the tables are written.
const RESULTS: &str = "tests/bench/RESULTS.md";

/// How much is measured.
struct Size {
    /// Full pages of the list that is read within the budget.
    pages: u64,
    /// Records of the list that is read without one.
    records: u64,
    /// How often each way of reading that is measured.
    rounds: usize,
}

/// Measures everything. A quick run prints its tables, and leaves the file alone.
pub(crate) fn run(root: &Path, quick: bool) -> Outcome {
    let size = match quick {
        true => Size {
            pages: 120,
            records: 100_000,
            rounds: 3,
        },
        false => Size {
            pages: 400,
            records: 1_000_000,
            rounds: 5,
        },
    };
    let tools = Tools::make(root)?;
    let text = format!(
        "{}\n{}\n{}",
        head(quick)?,
        budget::measure(&tools, &size)?,
        throughput::measure(&tools, &size)?
    );
    println!("\n{text}");
    if quick {
        return Ok(());
    }
    std::fs::write(root.join(RESULTS), text)
        .map_err(|error| format!("cannot write {RESULTS}: {error}"))
}

fn head(quick: bool) -> Result<String, String> {
    let cores = std::thread::available_parallelism()
        .map_err(|error| format!("cannot count the cores: {error}"))?;
    let flag = if quick { " --quick" } else { "" };
    Ok(format!(
        "`cargo xtask bench{flag}` makes these tables; the figures are from one machine with {cores} cores, and other \
         work on it.\n\n\
         Service and clients run side by side on that machine. The service is the sandbox: `talentdata sandbox` with \
         the policy that a column or a title names.\n"
    ))
}
