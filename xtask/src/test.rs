//! `cargo xtask test`: everything CI runs, part by part; the first part that fails, fails it all.

use crate::{Outcome, deny, outputs, servers, test_c, test_python, tidy};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// A part of the tests, by the name that runs it alone.
type Part = (&'static str, fn(&Path) -> Outcome);

/// Every part, cheapest first.
const PARTS: [Part; 8] = [
    ("format", format),
    ("generate", outputs::check),
    ("tidy", tidy::run),
    ("deny", deny::run),
    ("clippy", clippy),
    ("rust", rust),
    ("c", test_c::run),
    ("python", test_python::run),
];

/// Parts that run only by their name, since they take long or need Java.
const EXTRA: [Part; 2] = [
    ("c-sanitized", test_c::run_sanitized),
    ("spark", test_python::run_spark),
];

/// The variable that says how many Rust tests run at the same time. Many wait for most of their time, so there are two for
/// each processor.
const THREADS: &str = "RUST_TEST_THREADS";

/// Runs all parts, or the one named.
pub(crate) fn run(root: &Path, only: Option<&str>) -> Outcome {
    let parts: Vec<&Part> = match only {
        None => PARTS.iter().collect(),
        Some(wanted) => {
            let all = PARTS.iter().chain(&EXTRA);
            all.filter(|(name, _)| *name == wanted).collect()
        }
    };
    if parts.is_empty() {
        let all = PARTS.iter().chain(&EXTRA);
        let names: Vec<&str> = all.map(|(name, _)| *name).collect();
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
    let mut command = crate::cargo::command(root, &["test", "--workspace", "--locked"]);
    command.envs(servers::programs(root)?);
    if std::env::var_os(THREADS).is_none() {
        let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
        command.env(THREADS, (2 * processors).to_string());
    }
    succeed(&mut command)
}

fn cargo(root: &Path, arguments: &[&str]) -> Outcome {
    succeed(&mut crate::cargo::command(root, arguments))
}

fn runtime_directory() -> Result<PathBuf, String> {
    let directory = crate::root().join("target/runtime");
    std::fs::create_dir_all(&directory)
        .map_err(|error| format!("cannot create {}: {error}", directory.display()))?;
    Ok(directory)
}

/// Runs a command whose output goes straight through; an error when it does not succeed. The budgets that its clients
/// share are not those of the user.
pub(crate) fn succeed(command: &mut Command) -> Outcome {
    let shown = format!("{command:?}");
    command.env("XDG_RUNTIME_DIR", runtime_directory()?);
    // It may be a tool that runs cargo.
    match crate::cargo::undisturbed(command).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{shown} ended with {status}")),
        Err(error) => Err(format!("cannot run {shown}: {error}")),
    }
}
