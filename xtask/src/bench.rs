//! `cargo xtask bench`: runs the driver in Python, which measures this client beside others and writes tests/bench/RESULTS.md.

use crate::Outcome;
use crate::test::succeed;
use std::path::Path;
use std::process::Command;

/// Runs the driver with these arguments.
pub(crate) fn run(root: &Path, arguments: &[&str]) -> Outcome {
    let mut driver = Command::new("python3");
    driver.arg(root.join("tests/bench/bench.py"));
    succeed(driver.args(arguments))
}
