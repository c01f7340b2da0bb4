//! The project's own commands: `cargo xtask` lists them. Commands for the spec are in Rust. Tools that only run other
//! programs are in Python, in xtask/tools.

mod c;
/// The kinds of error, from the file that declares them. A dependency on the whole core would reverse the order of
/// building.
#[path = "../../crates/core/src/error/kind.rs"]
#[allow(dead_code, unreachable_pub, reason = "the core uses the rest of it")]
mod error_kind;
/// The failures of a request, from the file that decides about them.
#[path = "../../crates/core/src/error/failure.rs"]
#[allow(dead_code, unreachable_pub, reason = "the core uses the rest of it")]
mod failure;
mod generation;
mod languages;
mod ledger;
mod models;
mod names;
mod options;
mod outputs;
mod python;
mod render;
mod settings;
mod spec;
mod spec_diff;
mod template_data;
mod text;
mod workspace;

use error_kind::ErrorKind;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

const USAGE: &str = "\
Usage: cargo xtask VERB

  generate           write every generated file from spec/openapi.json
  generate --check   say which generated files differ, and fail if any does
  generate --spec FILE            take FILE (JSON or YAML) as spec/openapi.json, and generate from it
  generate --spec FILE --dry-run  print the files that FILE would change; write nothing
  generate --spec FILE --header DIRECTORY  write only service.h, the C header for FILE, into DIRECTORY
  generate --strict  any of these: what is not generated, or gets another name, is an error
  spec-diff OLD [NEW] [--json]  compare two specs: the changes for each language, and the version they
                     need; each is a file or a git revision, NEW is spec/openapi.json by default;
                     exits with 0, or with 3 if a change breaks code
  dist               build all packages into target/dist, with SHA256SUMS
  dist cli           one part of it (parts: python cli c deb)
  dist c --prefix P  build the C library and install it, with headers, CMake and pkg-config files
  test               everything CI runs: format, lints, drift, tidy, all tests
  test rust          one part of it (parts: format generate tidy docs deny clippy rust packages c python)
  test c-sanitized   the C tests with an instrumented library, which takes long to build
  test sqlites       a mirror, read by SQLite from 3.26 to ours, pandas and DuckDB as another user
  test engines       lists that are not proven in Dask, Ray and Daft, and the changes of a mirror in dlt
  test inject        the commands, Python and C under limits of the system, and with system calls that fail
  test dist          the packages in target/dist, used as users would
  release-check      what breaks since the last tag, and sizes, notices and bills of materials in target/dist
  test instructions  the processor's instructions per record on the command line
  test readers       files that were exported, read by packages of the last three years
  docs               the manual as a site with a search, into target/docs
  bench              measure this client beside others, and write tests/bench/RESULTS.md
  bench shared       one section of it (sections: budget shared throughput syncs instructions)
  bench --quick      measure less, and write nothing; bench shared --quick does that for one section
";

/// The result of every verb: nothing, or the sentence to print.
type Outcome = Result<(), String>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = |()| ExitCode::SUCCESS;
    let outcome = match words.as_slice() {
        ["generate", rest @ ..] => outputs::generate(&workspace::root(), rest).map(done),
        ["spec-diff", rest @ ..] => spec_diff::run(&workspace::root(), rest),
        ["help" | "--help" | "-h"] | [] => {
            print!("{USAGE}");
            Ok(ExitCode::SUCCESS)
        }
        ["bench", rest @ ..] => tool("tests/bench/bench.py", rest),
        ["release-check", rest @ ..] => tool("xtask/tools/release_check.py", rest),
        [verb @ ("dist" | "docs" | "test"), rest @ ..] => {
            tool(&format!("xtask/tools/{verb}.py"), rest)
        }
        _ => Err(format!("unknown verb: {}\n\n{USAGE}", words.join(" "))),
    };
    outcome.unwrap_or_else(|message| {
        eprintln!("{message}");
        ExitCode::FAILURE
    })
}

/// Replaces this process with a tool in Python, which finds this program in `XTASK`.
fn tool(program: &str, arguments: &[&str]) -> Result<ExitCode, String> {
    let failed = |error: std::io::Error| format!("cannot run {program} with python3: {error}");
    let mut command = Command::new("python3");
    command
        .arg("-B")
        .arg(workspace::root().join(program))
        .args(arguments);
    command.env("XTASK", std::env::current_exe().map_err(failed)?);
    let runtime = workspace::root().join("target/runtime");
    std::fs::create_dir_all(&runtime).map_err(failed)?;
    // Budgets that clients share here are separate from those of the user.
    command.env("XDG_RUNTIME_DIR", runtime);
    Err(failed(undisturbed(&mut command).exec()))
}

/// Removes from a command the variables with which cargo describes xtask. Build scripts that look at them (ring's does)
/// would run again, and all their dependents would be built again.
fn undisturbed(command: &mut Command) -> &mut Command {
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command
}
