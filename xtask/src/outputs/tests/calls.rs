//! A spec that gains operations, models and a list, loses a list and changes its bounds, and a core that gains a kind of
//! error and an output format: one command, and every language calls what is new on the regenerated sandbox.

use super::rows::{add_rows, generate};
use super::trial::{built, cargo, copy, succeed};

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write as _};
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
    service.command_line(&copy);
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
                .env("PYTHONPATH", directory),
        );
    }

    fn command_line(&self, copy: &Path) {
        let page = self.json(copy, &["page", "contacts", "--limit", "1"], "");
        let id = page["records"][0]["id"].as_str().unwrap();
        self.filters(copy);
        let options = [
            "--include",
            "pools",
            "--include",
            "a&b",
            "--depth",
            "2",
            "--x-trace",
            "trial",
        ];
        let contact = self.json(
            copy,
            &[&["get-contact", "--id", id], &options[..]].concat(),
            "",
        );
        assert_eq!(contact["id"], page["records"][0]["id"]);
        let flags = [
            "search-contacts",
            "--states",
            "active",
            "--limit",
            "3",
            "--match",
            "7",
        ];
        let found = self.json(copy, &flags, "");
        assert!(found["contacts"][0]["id"].is_string(), "{found}");
        let body = r#"{"states": ["active"], "place": {"name": "Utrecht"}}"#;
        let found = self.json(copy, &["search-contacts", "--body", "-"], body);
        assert!(found["pagination"]["total"].is_number(), "{found}");
        assert_eq!(
            self.ended(copy, &["delete-pool", "--id", "one"], ""),
            (Some(0), String::new())
        );
        for wrong in [
            &["get-contact"][..],
            &["get-contact", "--id", ""],
            &["get-contact", "--id", "x", "--depth", "deep"],
            &["search-contacts", "--limit", "3"],
            &["search-contacts", "--states", "active", "--body", "-"],
        ] {
            assert_eq!(self.ended(copy, wrong, "").0, Some(2), "{wrong:?}");
        }
        assert_eq!(
            self.ended(copy, &["search-contacts", "--body", "-"], "{}")
                .0,
            Some(2)
        );
    }

    /// Lists with parameters: one page, an export that another filter cannot continue, and a plan.
    fn filters(&self, copy: &Path) {
        let out = copy.join("projects.jsonl");
        let receipt = copy.join("receipt.json");
        let (file, noted) = (out.to_str().unwrap(), receipt.to_str().unwrap());
        let region = ["--region", "eu", "--state", "open", "--state", "shut"];
        // `--format` is the flag of the export, so that of the list has a `-` behind.
        let more = ["--format-", "long", "--x-tenant", "mine"];
        let to = ["--out", file, "--receipt", noted];
        let export = [&["export", "projects"][..], &region, &more, &to].concat();
        assert_eq!(self.ended(copy, &export, "").0, Some(0));
        let lines = std::fs::read_to_string(&out).unwrap().lines().count();
        assert_eq!(lines, 600);
        let trial = copy.join("contacts.trial");
        let trial = ["export", "contacts", "--out", trial.to_str().unwrap()];
        assert_eq!(self.ended(copy, &trial, "").0, Some(0));
        assert_eq!(
            std::fs::read_to_string(trial[3]).unwrap().lines().count(),
            600
        );
        let raised = [&trial[..], &["--page-size", "26"]].concat();
        assert_eq!(self.ended(copy, &raised, "").0, Some(37));
        let text = std::fs::read_to_string(&receipt).unwrap();
        let receipt: Value = serde_json::from_str(&text).unwrap();
        let parameters = &receipt["parameters"];
        assert_eq!(parameters["state"], json!(["open", "shut"]), "{text}");
        assert_eq!(parameters["region"], "eu", "{text}");
        assert!(
            !text.contains("mine") && parameters["X-Tenant"].is_string(),
            "{text}"
        );
        let page = [&["page", "projects", "--format", "short"][..], &region].concat();
        assert_eq!(self.json(copy, &page, "")["pagination"]["total"], 600);
        let plan = [
            &["plan", "projects", "contacts"][..],
            &["--updated-since", "2026-01-01T00:00:00Z"],
        ];
        let plan = [&plan.concat()[..], &region[..2]].concat();
        // Contacts have no region.
        assert_eq!(self.ended(copy, &plan, "").0, Some(2));
        assert_eq!(
            self.ended(copy, &["plan", "projects", "--region", "us"], "")
                .0,
            Some(0)
        );
        for wrong in [
            &["page", "projects"][..],
            &["page", "contacts", "--region", "eu"],
            &["page", "projects", "--region", "eu", "--min-size", "big"],
            &["export", "projects", "--out", "never.jsonl"],
        ] {
            assert_eq!(self.ended(copy, wrong, "").0, Some(2), "{wrong:?}");
        }
        // It is sent, and the service refuses it.
        let refused = ["page", "contacts", "--updated-since", "yesterday"];
        assert_eq!(self.ended(copy, &refused, "").0, Some(26));
    }

    fn json(&self, copy: &Path, arguments: &[&str], input: &str) -> Value {
        let (code, output) = self.ended(copy, arguments, input);
        assert_eq!(code, Some(0), "{arguments:?}");
        serde_json::from_str(&output).unwrap()
    }

    fn ended(&self, copy: &Path, arguments: &[&str], input: &str) -> (Option<i32>, String) {
        let mut process = Command::new(built(copy, "talentdata_trial"))
            .args(arguments)
            .envs(self.settings.clone())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // A program that refuses its arguments reads no input.
        let _ = process.stdin.take().unwrap().write_all(input.as_bytes());
        let output = process.wait_with_output().unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
        )
    }
}
