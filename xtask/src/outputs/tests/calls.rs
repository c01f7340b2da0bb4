//! A spec that gains operations, models and a list, loses a list and changes its bounds, and a core that gains a kind of
//! error and an output format: one command, and every language calls what is new on the regenerated sandbox.

use super::rows::{add_rows, generate};
use super::trial::{built, cargo, copy, succeed};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

const NEW: &str = include_str!("calls/spec.json");

#[test]
fn what_a_spec_gains_is_called_from_every_language() {
    let copy = copy("calls-trial");
    let spec = copy.join("spec/openapi.json");
    let text = std::fs::read_to_string(&spec).unwrap();
    let mut document: Value = serde_json::from_str(&text).unwrap();
    changed(&mut document);
    std::fs::write(&spec, serde_json::to_string_pretty(&document).unwrap()).unwrap();
    add_rows(&copy);
    generate(&copy);
    rename(&copy);
    std::fs::write(
        copy.join("crates/columns/examples/calls.rs"),
        include_str!("calls/calls.rs"),
    )
    .unwrap();
    let packages = "-p talentdata-cli -p talentdata-ffi-c -p talentdata-py -p talentdata-columns";
    cargo(
        &copy,
        &format!("build --quiet {packages} --bins --lib --example calls"),
    );
    let mut calls = Command::new("python3");
    calls
        .args([
            "-B",
            "-W",
            "error",
            "xtask/src/outputs/tests/calls/calls.py",
        ])
        .arg(built(&copy, ""))
        .current_dir(&copy);
    succeed(&mut calls);
}

/// Gives the programs and libraries of the copy names of their own, since they are built where those of the workspace are,
/// and cargo takes one that is there for the one that it has built.
fn rename(copy: &Path) {
    for (package, target, name) in [
        ("cli", "[[bin]]", "talentdata"),
        ("ffi-c", "[lib]", "talentdata"),
        ("py", "[lib]", "_talentdata"),
    ] {
        let manifest = copy.join("crates").join(package).join("Cargo.toml");
        let text = std::fs::read_to_string(&manifest).unwrap();
        let present = format!("{target}\nname = \"{name}\"");
        assert!(text.contains(&present), "{package}");
        let own = format!("{target}\nname = \"{name}_trial\"");
        std::fs::write(&manifest, text.replace(&present, &own)).unwrap();
    }
}

fn changed(document: &mut Value) {
    let new: Value = serde_json::from_str(NEW).unwrap();
    let schemas = document["components"]["schemas"].as_object_mut().unwrap();
    schemas.extend(new["schemas"].as_object().unwrap().clone());
    let paths = document["paths"].as_object_mut().unwrap();
    paths.extend(new["paths"].as_object().unwrap().clone());
    let mut teams = paths["/v1/pools"].clone();
    teams["get"]["operationId"] = json!("listTeams");
    paths.insert("/v1/teams".into(), teams);
    paths.shift_remove("/v1/ja/tasks").unwrap();
    let filter = json!({"name": "updatedSince", "in": "query", "schema": {"type": "string", "format": "date-time", "minLength": 10}});
    let parameters = &mut paths["/v1/contacts"]["get"]["parameters"];
    parameters.as_array_mut().unwrap().push(filter);
    document["components"]["parameters"]["Limit"]["schema"]["maximum"] = json!(250);
    let limit = &mut document["components"]["headers"]["RateLimitLimit"];
    let text = limit.to_string().replace("40;w=1", "80;w=2");
    *limit = serde_json::from_str(&text).unwrap();
}
