//! `cargo xtask dist python`: the wheel and the source package that are handed out, looked into.

use crate::Outcome;
use crate::environment::Environment;
use crate::test::succeed;
use crate::test_python::REQUIREMENTS;
use crate::wheel::{self, PROJECT, only};
use std::path::Path;
use std::process::Command;

/// What the wheel has to hold; `.dist-info` files by the end of their names.
const WHEEL: [&str; 9] = [
    "talentdata/__init__.py",
    "talentdata/_talentdata.abi3.so",
    "talentdata/_talentdata.pyi",
    "talentdata/py.typed",
    "talentdata/pytest_plugin.py",
    ".dist-info/entry_points.txt",
    ".dist-info/licenses/LICENSE-APACHE",
    ".dist-info/licenses/LICENSE-MIT",
    ".dist-info/sboms/talentdata-py.cyclonedx.json",
];
/// What the source package has to hold, by the ends of their names.
const SOURCES: [&str; 8] = [
    "/crates/py/src/lib.rs",
    "/crates/core/src/lib.rs",
    "/crates/sandbox/README.md",
    "/crates/sandbox/openapi.json",
    "/talentdata/py.typed",
    "/Cargo.lock",
    "/pyproject.toml",
    "/LICENSE-MIT",
];
/// What only the makers of the package need.
const OURS: [&str; 3] = ["bindings/python/tests/", "talentdata/tests/", ".ipynb"];

/// Builds both into `dist/python` of the directory that cargo builds in.
pub(crate) fn run(root: &Path) -> Outcome {
    let target = crate::cargo::target(root)?;
    let (directory, tests) = (target.join("dist/python"), target.join("python/tests"));
    let tools = Environment::with_requirements(root, REQUIREMENTS, &tests)?;
    let wheel = wheel::build(root, &tools, &directory, &["--profile", "dist"])?;
    let mut sources = tools.command("maturin");
    sources.args(["sdist", "--out"]).arg(&directory);
    succeed(sources.current_dir(root.join(PROJECT)))?;
    let sources = only(&directory, "gz")?;
    check_tags(&wheel)?;
    check_contents(&tools, "zipfile", &wheel, &WHEEL)?;
    check_contents(&tools, "tarfile", &sources, &SOURCES)?;
    tools.try_sources(&sources)?;
    println!("{}\n{}", wheel.display(), sources.display());
    Ok(())
}

/// One wheel for every Python from 3.10 on this system.
fn check_tags(wheel: &Path) -> Outcome {
    let name = wheel.file_name().unwrap_or_default().to_string_lossy();
    let version = env!("CARGO_PKG_VERSION");
    let system = name.strip_prefix(&format!("talentdata-{version}-cp310-abi3-"));
    match system {
        Some(system) if !system.starts_with("linux") => Ok(()),
        Some(_) => Err(format!(
            "{name}: no package index takes a wheel of plain linux; it links what not every system has"
        )),
        None => Err(format!(
            "{name}: the tags are not cp310-abi3 of version {version}"
        )),
    }
}

/// Looks into a package with the module of Python that reads its format.
fn check_contents(tools: &Environment, reader: &str, package: &Path, wanted: &[&str]) -> Outcome {
    let mut list = tools.command("python");
    let held = listing(list.args(["-m", reader, "-l"]).arg(package))?;
    let names: Vec<&str> = held
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    let lacks = |wanted: &&str| !names.iter().any(|name| name.ends_with(wanted));
    let missing: Vec<&str> = wanted.iter().copied().filter(lacks).collect();
    if !missing.is_empty() {
        return Err(format!(
            "{} lacks {}",
            package.display(),
            missing.join(", ")
        ));
    }
    let ours = |name: &&&str| OURS.iter().any(|ours| name.contains(ours));
    match names.iter().find(ours) {
        Some(name) => Err(format!(
            "{} holds what only its makers need: {name}",
            package.display()
        )),
        None => Ok(()),
    }
}

fn listing(command: &mut Command) -> Result<String, String> {
    let output = command
        .output()
        .map_err(|error| format!("cannot run {command:?}: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!(
            "{command:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        )),
    }
}
