//! A spec that gains operations, models and a list, loses a list and changes its bounds, and a core that gains a kind of
//! error and an output format: one command, and every language calls what is new on the regenerated sandbox.

use super::rows::{add_rows, generate};
use super::trial::{built, cargo, copy, succeed};

use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

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
    let service = Service::start(&copy);
    service.run(&mut Command::new(built(&copy, "examples/calls")));
    service.c_and_cpp(&copy);
    service.python(&copy);
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

/// The sandbox as the spec makes it, in a process of its own.
struct Service {
    process: Child,
    settings: Vec<(&'static str, String)>,
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Service {
    fn start(copy: &Path) -> Self {
        let mut process = Command::new(built(copy, "talentdata_trial"))
            .args(["sandbox", "--records", "contacts=600,projects=600"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let stdout = process.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap();
        let setting = |name: &str| ready[name].as_str().unwrap().to_owned();
        let runtime = copy.join("runtime");
        std::fs::create_dir_all(&runtime).unwrap();
        Service {
            process,
            settings: vec![
                ("XDG_RUNTIME_DIR", runtime.to_str().unwrap().to_owned()),
                ("TALENTDATA_BASE_URL", setting("base_url")),
                ("TALENTDATA_CLIENT_ID", setting("client_id")),
                ("TALENTDATA_CLIENT_SECRET", setting("client_secret")),
            ],
        }
    }

    fn run(&self, command: &mut Command) {
        succeed(command.envs(self.settings.clone()));
    }

    fn c_and_cpp(&self, copy: &Path) {
        let library = copy.join("lib");
        std::fs::create_dir_all(&library).unwrap();
        // The second is the name that programs look for when they start.
        for name in [
            "libtalentdata.so",
            concat!(
                "libtalentdata.so.",
                include_str!("../../../../crates/ffi-c/abi")
            )
            .trim(),
        ] {
            std::fs::copy(built(copy, "libtalentdata_trial.so"), library.join(name)).unwrap();
        }
        for (compiler, standard, name, text) in [
            ("cc", "-std=c11", "calls.c", include_str!("calls/calls.c")),
            (
                "c++",
                "-std=c++17",
                "calls.cpp",
                include_str!("calls/calls.cpp"),
            ),
        ] {
            let (source, program) = (copy.join(name), copy.join(format!("{name}.out")));
            std::fs::write(&source, text).unwrap();
            let mut compile = Command::new(compiler);
            compile.args([standard, "-Wall", "-Wextra", "-Werror", "-pedantic", "-I"]);
            compile.arg(copy.join("bindings/c/include")).arg(&source);
            compile.arg("-o").arg(&program).arg("-L").arg(&library);
            compile.arg(format!("-Wl,-rpath,{}", library.display()));
            succeed(compile.arg("-ltalentdata"));
            self.run(&mut Command::new(program));
        }
    }

    fn python(&self, copy: &Path) {
        let directory = copy.join("bindings/python");
        let module = directory.join("talentdata/_talentdata.abi3.so");
        std::fs::copy(built(copy, "lib_talentdata_trial.so"), module).unwrap();
        let script = copy.join("calls.py");
        std::fs::write(&script, include_str!("calls/calls.py")).unwrap();
        let mut command = Command::new("python3");
        self.run(
            command
                .args(["-W", "error"])
                .arg(script)
                .arg(built(copy, "talentdata_trial"))
                .current_dir(copy)
                .env("PYTHONPATH", directory),
        );
    }
}
