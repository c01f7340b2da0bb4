//! The tests of the Python package: its wheel, installed in clean virtual environments, under pytest.

use crate::Outcome;
use crate::test::succeed;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the Python project is.
pub(crate) const PROJECT: &str = "bindings/python";
/// What the tests need besides the wheel.
const REQUIREMENTS: &str = "bindings/python/tests/requirements.txt";

/// Uses the package without any other: nothing may be required.
const BARE: &str = "\
import talentdata
with talentdata.Sandbox(records={'contacts': 250}, policy='unlimited') as sandbox, sandbox.client() as client:
    assert len({contact.id for contact in client.contacts.list()}) == 250
";

/// Builds the wheel, installs it beside nothing and beside all packages it can work with, and runs the tests.
pub(crate) fn run(root: &Path) -> Outcome {
    let folder = root.join("target/python");
    let tools = Environment::with_requirements(root, &folder.join("tests"))?;
    let wheel = wheel(root, &tools, &folder.join("wheel"), "dev")?;
    let bare = Environment::new(&folder.join("bare"))?;
    bare.install(&wheel)?;
    succeed(bare.command("python").args(["-c", BARE]))?;
    tools.install(&wheel)?;
    // Not `python -m pytest`, which would put the sources before the installed package.
    succeed(
        tools
            .command("pytest")
            .arg("-q")
            .current_dir(root.join(PROJECT).join("tests")),
    )
}

/// A virtual environment.
pub(crate) struct Environment(PathBuf);

impl Environment {
    /// A new one without packages.
    fn new(folder: &Path) -> Result<Self, String> {
        succeed(
            Command::new("python3")
                .args(["-m", "venv", "--clear"])
                .arg(folder),
        )?;
        Ok(Environment(folder.to_owned()))
    }

    /// One with the pinned packages of the tests; made anew when their list has changed.
    pub(crate) fn with_requirements(root: &Path, folder: &Path) -> Result<Self, String> {
        let wanted = std::fs::read_to_string(root.join(REQUIREMENTS))
            .map_err(|error| format!("cannot read {REQUIREMENTS}: {error}"))?;
        let installed = folder.join("requirements.txt");
        if std::fs::read_to_string(&installed).is_ok_and(|present| present == wanted) {
            return Ok(Environment(folder.to_owned()));
        }
        let environment = Self::new(folder)?;
        let mut install = environment.command("python");
        install.args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--requirement",
        ]);
        succeed(install.arg(root.join(REQUIREMENTS)))?;
        std::fs::write(&installed, wanted)
            .map_err(|error| format!("cannot note what is installed: {error}"))?;
        Ok(environment)
    }

    /// Installs a wheel in place of the one before; none of its packages from elsewhere.
    fn install(&self, wheel: &Path) -> Outcome {
        let mut install = self.command("python");
        install.args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--force-reinstall",
            "--no-deps",
            "--no-index",
        ]);
        succeed(install.arg(wheel))
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

/// Builds the wheel in this profile; the only one in `folder` then.
pub(crate) fn wheel(
    root: &Path,
    tools: &Environment,
    folder: &Path,
    profile: &str,
) -> Result<PathBuf, String> {
    // What an earlier build left would be taken for this one's.
    let _ = std::fs::remove_dir_all(folder);
    let mut build = tools.command("maturin");
    build.args([
        "build",
        "--quiet",
        "--locked",
        "--profile",
        profile,
        "--out",
    ]);
    succeed(build.arg(folder).current_dir(root.join(PROJECT)))?;
    only(folder, "whl")
}

/// The one file in `folder` whose name ends so.
pub(crate) fn only(folder: &Path, extension: &str) -> Result<PathBuf, String> {
    let entries =
        std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let files = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut files = files.filter(|path| path.extension().is_some_and(|one| one == extension));
    match (files.next(), files.next()) {
        (Some(file), None) => Ok(file),
        _ => Err(format!(
            "{} does not hold one .{extension} file",
            folder.display()
        )),
    }
}
