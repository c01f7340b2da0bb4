//! Tests a spec that gains operations, models and a list, loses a list and changes its bounds, and a core that gains a
//! setting, a kind of error and an output format. One command generates everything, and every language calls the
//! additions on the regenerated sandbox.

use super::trial::{cargo, change, copy, replace, succeed};
use std::path::Path;
use std::process::Command;

/// A setting and an error kind change two files each, their row and their use, and a format one, as ARCHITECTURE.md
/// says.
const ROWS: (&str, usize) = (include_str!("calls/rows.patch"), 2 + 2 + 1);

#[test]
fn additions_to_a_spec_can_be_called_from_every_language() {
    let copy = copy("calls-trial");
    let mut document = crate::spec::tests::ours();
    change(include_str!("calls/spec.json"), &mut document);
    std::fs::write(copy.join(crate::generation::FILE), document.to_string()).unwrap();
    let here = copy.join("xtask/src/outputs/tests/calls");
    assert_eq!(ROWS.0.matches("\n+++ ").count(), ROWS.1);
    let mut patch = Command::new("git");
    patch
        .arg("apply")
        .arg(here.join("rows.patch"))
        .current_dir(&copy);
    // Outside the repository that contains the copy, whose paths differ.
    succeed(patch.env("GIT_CEILING_DIRECTORIES", copy.parent().unwrap()));
    generate(&copy);
    // The packages get other names, because they are built in the same place as those of the workspace, and cargo would
    // confuse the two.
    for (package, target, name) in [
        ("cli", "[[bin]]", "talentdata"),
        ("ffi-c", "[lib]", "talentdata"),
        ("ffi-sandbox", "[lib]", "talentdata_sandbox_c"),
        ("py", "[lib]", "_talentdata"),
    ] {
        let name = format!("{target}\nname = \"{name}");
        let manifest = copy.join("crates").join(package).join("Cargo.toml");
        replace(&manifest, &format!("{name}\""), &format!("{name}_trial\""));
    }
    replace(
        &copy.join("crates/ffi-c/Cargo.toml"),
        ", \"staticlib\"]",
        "]",
    );
    std::fs::copy(
        here.join("calls.rs"),
        copy.join("crates/columns/examples/calls.rs"),
    )
    .unwrap();
    cargo(
        &copy,
        "build --quiet --workspace --exclude xtask --lib --bins --example calls",
    );
    let mut calls = Command::new("python3");
    calls.args(["-B", "-W", "error"]).arg(here.join("calls.py"));
    calls.arg(copy.parent().unwrap().join("debug"));
    succeed(calls.current_dir(&copy));
}

/// Writes the files of the copy with the command of the copy, which has the kinds of error built in.
fn generate(copy: &Path) {
    let manifest = copy.join("xtask/Cargo.toml");
    // A binary next to the one that runs this test.
    let own =
        "[[bin]]\nname = \"xtask_trial\"\npath = \"src/main.rs\"\n[package]\nautobins = false\n";
    replace(&manifest, "[package]\n", own);
    for command in ["generate", "generate --check"] {
        cargo(copy, &format!("run --quiet -p xtask -- {command}"));
    }
    let page = std::fs::read_to_string(copy.join("docs/settings.md")).unwrap();
    assert!(page.contains("| `trial_timeout` | `--trial-timeout` | `TALENTDATA_TRIAL_TIMEOUT` |"));
}
