//! `cargo xtask dist python`: the wheel and the source package that are handed out, looked into.

use crate::Outcome;
use crate::test::succeed;
use crate::test_python::{Environment, PROJECT, only, wheel};
use std::path::Path;
use std::process::Command;

/// What the wheel has to hold; `.dist-info` files by the end of their names.
const CONTENTS: [&str; 9] = [
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

/// Builds both into `target/dist/python`.
pub(crate) fn run(root: &Path) -> Outcome {
    let folder = root.join("target/dist/python");
    let tools = Environment::with_requirements(root, &root.join("target/python/tests"))?;
    let wheel = wheel(root, &tools, &folder, "dist")?;
    let mut sources = tools.command("maturin");
    sources.args(["sdist", "--quiet", "--out"]);
    succeed(sources.arg(&folder).current_dir(root.join(PROJECT)))?;
    check_tags(&wheel)?;
    let held = listing(
        tools
            .command("python")
            .args(["-m", "zipfile", "-l"])
            .arg(&wheel),
    )?;
    require(&held, &CONTENTS, &wheel)?;
    if let Some(line) = held
        .lines()
        .find(|line| line.contains("/tests/") || line.contains(".ipynb"))
    {
        return Err(format!(
            "{} holds what only its makers need: {line}",
            wheel.display()
        ));
    }
    let sources = only(&folder, "gz")?;
    let held = listing(
        tools
            .command("python")
            .args(["-m", "tarfile", "-l"])
            .arg(&sources),
    )?;
    let wanted = [
        "/crates/py/src/lib.rs",
        "/crates/core/src/lib.rs",
        "/Cargo.lock",
        "/pyproject.toml",
        "/LICENSE-MIT",
    ];
    require(&held, &wanted, &sources)?;
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

fn require(held: &str, wanted: &[&str], package: &Path) -> Outcome {
    let names: Vec<&str> = held
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    let missing: Vec<&str> = wanted
        .iter()
        .copied()
        .filter(|wanted| !names.iter().any(|name| name.ends_with(wanted)))
        .collect();
    match missing.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "{} lacks {}",
            package.display(),
            missing.join(", ")
        )),
    }
}
