//! What the bench runs: our programs built for release, and the peers with their packages, beside our own wheel.

use crate::environment::Environment;
use crate::test::succeed;
use crate::{servers, wheel};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The packages of the peers, and what our own needs to be built and measured.
const REQUIREMENTS: &str = "tests/bench/requirements.txt";

/// What is built for it.
const BUILD: [&str; 10] = [
    "--release",
    "-p",
    "talentdata-cli",
    "-p",
    "talentdata-core",
    "-p",
    "talentdata-ffi-c",
    "--lib",
    "--bins",
    "--examples",
];

/// Programs and directories.
pub(super) struct Tools {
    /// The command line.
    pub(super) talentdata: PathBuf,
    /// The Rust program that reads through the client.
    pub(super) scan: PathBuf,
    /// The Rust program that merely reads.
    pub(super) floor: PathBuf,
    /// The C program that reads through the library.
    pub(super) c_scan: PathBuf,
    /// The server on which hosts share a budget.
    pub(super) valkey: PathBuf,
    /// Where all packages are.
    environment: Environment,
    /// The programs in Python.
    programs: PathBuf,
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
        let venv = target.join("bench-venv");
        let environment = Environment::with_requirements(root, REQUIREMENTS, &venv)?;
        let tools = Tools {
            talentdata: made.file("talentdata")?.to_owned(),
            scan: made.file("bench_scan")?.to_owned(),
            floor: made.file("bench_floor")?.to_owned(),
            c_scan: target.join("bench-prefix/scan"),
            valkey: servers::valkey(root)?,
            environment,
            programs: root.join("tests/bench"),
            generated: target.join("bench-client"),
            scratch: target.join("bench-out"),
        };
        std::fs::create_dir_all(&tools.scratch)
            .map_err(|error| format!("cannot make a directory for outputs: {error}"))?;
        let prefix = target.join("bench-prefix");
        crate::dist::install(root, &made, &prefix)?;
        let [headers, library, beside] = [("-I", "include"), ("-L", "lib"), ("-Wl,-rpath,", "lib")]
            .map(|(flag, directory)| format!("{flag}{}", prefix.join(directory).display()));
        succeed(
            Command::new("cc")
                .args(["-O2", &headers, "tests/bench/scan.c", "-o"])
                .arg(&tools.c_scan)
                .args([&library, "-ltalentdata", &beside])
                .current_dir(root),
        )?;
        let wheel = target.join("bench-wheel");
        let wheel = wheel::build(root, &tools.environment, &wheel, &["--profile", "release"])?;
        tools.environment.install(&wheel)?;
        succeed(
            tools
                .environment
                .command("openapi-python-client")
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
        self.python(&format!("peers/{name}"))
    }

    /// A program in Python, by its path below `tests/bench`.
    pub(super) fn python(&self, path: &str) -> Command {
        let mut command = self.environment.command("python");
        command
            .arg(self.programs.join(path))
            .env("PYTHONPATH", &self.generated)
            .env("PYTHONDONTWRITEBYTECODE", "1");
        command
    }
}
