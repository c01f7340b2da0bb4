//! Virtual environments of Python with pinned packages: for the tests, the packages we hand out, and the bench.

use crate::Outcome;
use crate::test::succeed;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A virtual environment.
pub(crate) struct Environment(PathBuf);

impl Environment {
    /// A new one without packages.
    pub(crate) fn new(directory: &Path) -> Result<Self, String> {
        succeed(
            Command::new("python3")
                .args(["-m", "venv", "--clear"])
                .arg(directory),
        )?;
        Ok(Environment(directory.to_owned()))
    }

    /// One with the packages of a list, in which all that they need is pinned; made anew when the list has changed.
    pub(crate) fn with_requirements(
        root: &Path,
        requirements: &str,
        directory: &Path,
    ) -> Result<Self, String> {
        let wanted = std::fs::read_to_string(root.join(requirements))
            .map_err(|error| format!("cannot read {requirements}: {error}"))?;
        let installed = directory.join("requirements.txt");
        if std::fs::read_to_string(&installed).is_ok_and(|present| present == wanted) {
            return Ok(Environment(directory.to_owned()));
        }
        let environment = Self::new(directory)?;
        environment.pip(&["--no-deps", "--requirement"], &root.join(requirements))?;
        std::fs::write(&installed, wanted)
            .map_err(|error| format!("cannot note what is installed: {error}"))?;
        Ok(environment)
    }

    /// Installs a wheel in place of the one before; none of its packages from elsewhere.
    pub(crate) fn install(&self, wheel: &Path) -> Outcome {
        self.pip(&["--force-reinstall", "--no-deps", "--no-index"], wheel)
    }

    /// Prepares a source package as an installer does before it builds, and installs nothing.
    pub(crate) fn try_sources(&self, package: &Path) -> Outcome {
        let options = [
            "--dry-run",
            "--force-reinstall",
            "--no-deps",
            "--no-index",
            "--no-build-isolation",
        ];
        self.pip(&options, package)
    }

    fn pip(&self, options: &[&str], what: &Path) -> Outcome {
        let mut install = self.command("python");
        install.args(["-m", "pip", "install", "--quiet"]);
        succeed(install.args(options).arg(what))
    }

    /// A program of this environment.
    pub(crate) fn command(&self, program: &str) -> Command {
        let programs = self.0.join("bin");
        let mut command = Command::new(programs.join(program));
        let path = std::env::var_os("PATH").unwrap_or_default();
        let paths = std::iter::once(programs).chain(std::env::split_paths(&path));
        if let Ok(path) = std::env::join_paths(paths) {
            command.env("PATH", path);
        }
        command.env("VIRTUAL_ENV", &self.0).env_remove("PYTHONPATH");
        command
    }
}
