//! `cargo xtask test`: everything CI runs, part by part; the first part that fails, fails it all.

use crate::{Outcome, outputs, test_c, test_python, tidy};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// A part of the tests, by the name that runs it alone.
type Part = (&'static str, fn(&Path) -> Outcome);

/// Every part, cheapest first.
const PARTS: [Part; 7] = [
    ("format", format),
    ("generate", outputs::check),
    ("tidy", tidy::run),
    ("clippy", clippy),
    ("rust", rust),
    ("c", test_c::run),
    ("python", test_python::run),
];

/// Runs all parts, or the one named.
pub(crate) fn run(root: &Path, only: Option<&str>) -> Outcome {
    let parts: Vec<&Part> = PARTS
        .iter()
        .filter(|(name, _)| only.is_none_or(|wanted| wanted == *name))
        .collect();
    if parts.is_empty() {
        let names: Vec<&str> = PARTS.iter().map(|(name, _)| *name).collect();
        return Err(format!(
            "no such part of the tests; the parts are {}",
            names.join(", ")
        ));
    }
    for (name, part) in parts {
        println!("== {name}");
        let started = Instant::now();
        part(root).map_err(|error| format!("{name} failed: {error}"))?;
        println!("== {name} passed in {} s", started.elapsed().as_secs());
    }
    Ok(())
}

fn format(root: &Path) -> Outcome {
    cargo(root, &["fmt", "--all", "--check"])
}

fn clippy(root: &Path) -> Outcome {
    cargo(
        root,
        &[
            "clippy",
            "--workspace",
            "--all-targets",
            "--locked",
            "--",
            "-D",
            "warnings",
        ],
    )
}

fn rust(root: &Path) -> Outcome {
    cargo(root, &["test", "--workspace", "--locked"])
}

fn cargo(root: &Path, arguments: &[&str]) -> Outcome {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    succeed(Command::new(program).args(arguments).current_dir(root))
}

/// Runs a command whose output goes straight through; an error when it does not succeed.
pub(crate) fn succeed(command: &mut Command) -> Outcome {
    // What the cargo that runs us says of xtask would make build scripts run again that look at it.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    let shown = format!("{command:?}");
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{shown} ended with {status}")),
        Err(error) => Err(format!("cannot run {shown}: {error}")),
    }
}
