//! The tests of the Python package: its wheel, installed in clean virtual environments, under pytest.

use crate::Outcome;
use crate::environment::Environment;
use crate::servers;
use crate::test::succeed;
use crate::wheel::{self, PROJECT};
use std::path::Path;

/// What the tests need besides the wheel.
pub(crate) const REQUIREMENTS: &str = "bindings/python/tests/requirements.txt";

/// Uses the package without any other: nothing may be required.
const BARE: &str = "\
import talentdata
with talentdata.Sandbox(records={'contacts': 250}, policy='unlimited') as sandbox, sandbox.client() as client:
    assert len({contact.id for contact in client.contacts.list()}) == 250
";

/// Builds the wheel, installs it beside nothing and beside all packages it can work with, and runs the tests.
pub(crate) fn run(root: &Path) -> Outcome {
    let directory = crate::cargo::target(root)?.join("python");
    let tools = Environment::with_requirements(root, REQUIREMENTS, &directory.join("tests"))?;
    let wheel = wheel::build(root, &tools, &directory.join("wheel"), wheel::FOR_TESTS)?;
    let bare = Environment::new(&directory.join("bare"))?;
    bare.install(&wheel)?;
    succeed(bare.command("python").args(["-c", BARE]))?;
    tools.install(&wheel)?;
    // Not `python -m pytest`, which would put the sources before the installed package.
    succeed(
        tools
            .command("pytest")
            // As many processes as there are processors: many tests wait.
            .args(["-q", "-n", "auto"])
            .envs(servers::programs(root)?)
            .current_dir(root.join(PROJECT).join("tests")),
    )
}

/// Runs the tests of Apache Spark itself, which need Java; without it they fail, because nothing was tested.
pub(crate) fn run_spark(root: &Path) -> Outcome {
    succeed(std::process::Command::new("java").arg("-version")).map_err(|error| {
        format!("Spark needs Java 17 or later, and nothing was tested: {error}")
    })?;
    let directory = crate::cargo::target(root)?.join("python");
    let tools = Environment::with_requirements(root, REQUIREMENTS, &directory.join("tests"))?;
    let wheel = wheel::build(root, &tools, &directory.join("wheel"), wheel::FOR_TESTS)?;
    tools.install(&wheel)?;
    succeed(
        tools
            .command("pytest")
            .arg("-q")
            .current_dir(root.join(PROJECT).join("jvm")),
    )
}
