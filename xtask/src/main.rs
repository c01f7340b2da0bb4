//! The project's own commands: `cargo xtask` lists them, each verb is a module.

mod bench;
mod c;
mod cargo;
mod deny;
mod dist;
mod dist_python;
mod docs;
mod environment;
/// The kinds of error, from the file that declares them; a dependency on all of the core would turn
/// the order of building round.
#[path = "../../crates/core/src/error/kind.rs"]
#[allow(dead_code, unreachable_pub, reason = "the core uses the rest of it")]
mod error_kind;
mod languages;
mod models;
mod names;
mod outputs;
mod python;
mod render;
mod sandbox;
mod servers;
mod settings;
mod shapes;
mod spec;
mod spec_diff;
mod test;
mod test_c;
mod test_python;
mod tidy;
mod view;
mod wheel;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
Usage: cargo xtask VERB

  generate           write every generated file from spec/openapi.json
  generate --check   say which generated files differ, and fail if any does
  generate --spec FILE            take FILE (JSON or YAML) as spec/openapi.json, and generate from it
  generate --spec FILE --dry-run  say what FILE would yield; write nothing
  spec-diff OLD [NEW] [--json]  what changes between two specs, for each language, and the version it
                     asks for; each is a file or a git revision, NEW is spec/openapi.json where left out;
                     exits with 0, or with 3 where something breaks
  dist c --prefix P  build the C library and install it, with headers, CMake and pkg-config files
  tidy               check the rules of the house that a formatter cannot
  test               everything CI runs: format, lints, drift, tidy, all tests
  test rust          one part of it (parts: format generate tidy deny clippy rust c python)
  test c-sanitized   the C tests with an instrumented library, which takes long to build
  dist python        wheel and source package, into target/dist/python
  docs               the manual as a site with a search, into target/docs
  bench              measure this client beside others, and write tests/bench/RESULTS.md
  bench python       one section of it (sections: budget shared throughput syncs python)
  bench --quick      measure less, and write nothing; bench python --quick does that for one section
";

/// What every verb returns: nothing, or the sentence to print.
type Outcome = Result<(), String>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if let ["spec-diff", rest @ ..] = words.as_slice() {
        return match spec_diff::run(&root(), rest) {
            Ok(code) => code,
            Err(message) => failed(&message),
        };
    }
    let outcome = match words.as_slice() {
        ["generate"] => outputs::write(&root()),
        ["generate", "--check"] => outputs::check(&root()),
        ["generate", "--spec", file, "--dry-run"] | ["generate", "--dry-run", "--spec", file] => {
            outputs::dry_run(&root(), Path::new(file))
        }
        ["generate", "--spec", file] => outputs::adopt(&root(), Path::new(file)),
        ["dist", "c", "--prefix", prefix] => dist::run(&root(), Path::new(prefix)),
        ["tidy"] => tidy::run(&root()),
        ["test"] => test::run(&root(), None),
        ["test", part] => test::run(&root(), Some(part)),
        ["docs"] => docs::run(&root()),
        ["dist", "python"] => dist_python::run(&root()),
        ["bench", rest @ ..] => bench::run(&root(), rest),
        ["help" | "--help" | "-h"] | [] => {
            print!("{USAGE}");
            Ok(())
        }
        _ => Err(format!("unknown verb: {}\n\n{USAGE}", words.join(" "))),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => failed(&message),
    }
}

fn failed(message: &str) -> ExitCode {
    eprintln!("{message}");
    ExitCode::FAILURE
}

/// The directory that holds the workspace.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(1)
        .map_or_else(PathBuf::new, Path::to_path_buf)
}
