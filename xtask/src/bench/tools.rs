//! What the bench runs: our programs built for release, and the peers with their packages in a virtual environment.

use crate::Outcome;
use crate::test::succeed;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The packages of the peers.
const REQUIREMENTS: &str = "tests/bench/requirements.txt";

/// What is built for it.
const BUILD: [&str; 7] = [
    "--release",
    "-p",
    "talentdata-cli",
    "-p",
    "talentdata-core",
    "--bins",
    "--examples",
];

/// Programs and folders.
pub(super) struct Tools {
    /// The command line.
    pub(super) talentdata: PathBuf,
    /// The Rust program that reads through the client.
    pub(super) scan: PathBuf,
    /// The Rust program that merely reads.
    pub(super) floor: PathBuf,
    /// The interpreter that has the packages.
    python: PathBuf,
    /// The programs of the peers.
    peers: PathBuf,
    /// What a generator has made of the spec.
    generated: PathBuf,
    /// Where outputs may be written.
    pub(super) scratch: PathBuf,
}

impl Tools {
    /// Builds and installs what there is not yet.
    ///
    /// # Errors
    /// Those of the build, of Python and of the package registry.
    pub(super) fn make(root: &Path) -> Result<Self, String> {
        let target = crate::cargo::target(root)?;
        let made = crate::cargo::build(root, &BUILD)?;
        let environment = target.join("bench-venv");
        let tools = Tools {
            talentdata: made.file("talentdata")?.to_owned(),
            scan: made.file("bench_scan")?.to_owned(),
            floor: made.file("bench_floor")?.to_owned(),
            python: environment.join("bin/python"),
            peers: root.join("tests/bench/peers"),
            generated: target.join("bench-client"),
            scratch: target.join("bench-out"),
        };
        std::fs::create_dir_all(&tools.scratch)
            .map_err(|error| format!("cannot make a folder for outputs: {error}"))?;
        install(root, &environment)?;
        succeed(
            Command::new(environment.join("bin/openapi-python-client"))
                .args(["generate", "--overwrite", "--meta", "none"])
                .args(["--path", "spec/openapi.json"])
                .args(["--config", "tests/bench/generator.yaml"])
                .arg("--output-path")
                .arg(tools.generated.join("generated_client"))
                .current_dir(root),
        )?;
        Ok(tools)
    }

    /// A program of the peers.
    pub(super) fn peer(&self, name: &str) -> Command {
        let mut command = Command::new(&self.python);
        command
            .arg(self.peers.join(name))
            .env("PYTHONPATH", &self.generated)
            .env("PYTHONDONTWRITEBYTECODE", "1");
        command
    }
}

/// Makes the environment, unless it has been made from the very same requirements.
fn install(root: &Path, environment: &Path) -> Outcome {
    let failed = |error: std::io::Error| format!("{REQUIREMENTS}: {error}");
    let wanted = std::fs::read_to_string(root.join(REQUIREMENTS)).map_err(failed)?;
    let installed = environment.join("requirements.txt");
    if std::fs::read_to_string(&installed).is_ok_and(|present| present == wanted) {
        return Ok(());
    }
    succeed(
        Command::new("python3")
            .args(["-m", "venv", "--clear"])
            .arg(environment),
    )?;
    succeed(
        Command::new(environment.join("bin/python"))
            .args(["-m", "pip", "install", "--quiet", "-r"])
            .arg(root.join(REQUIREMENTS)),
    )?;
    std::fs::write(&installed, wanted).map_err(failed)
}
