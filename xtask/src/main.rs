//! The project's own commands: `cargo xtask` lists them, each verb is a module.

mod bench;
mod c;
mod cargo;
mod dist;
mod dist_python;
mod environment;
mod names;
mod normalise;
mod open_enums;
mod outputs;
mod python;
mod rust;
mod rust_models;
mod sandbox;
mod spec;
mod test;
mod test_c;
mod test_python;
mod tidy;
mod wheel;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
Usage: cargo xtask VERB

  generate           write every generated file from spec/openapi.json
  generate --check   say which generated files differ, and fail if any does
  dist c --prefix P  build the C library and install it, with headers, CMake and pkg-config files
  tidy               check the rules of the house that a formatter cannot
  test               everything CI runs: format, lints, drift, tidy, all tests
  test rust          one part of it (parts: format clippy generate tidy rust c python)
  dist python        wheel and source package, into target/dist/python
  bench              measure this client beside others, and write tests/bench/RESULTS.md
  bench python       one section of it (sections: budget throughput python)
  bench --quick      measure less, and write nothing; bench python --quick does that for one section
";

/// What every verb returns: nothing, or the sentence to print.
type Outcome = Result<(), String>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["generate"] => outputs::write(&root()),
        ["generate", "--check"] => outputs::check(&root()),
        ["dist", "c", "--prefix", prefix] => dist::run(&root(), Path::new(prefix)),
        ["tidy"] => tidy::run(&root()),
        ["test"] => test::run(&root(), None),
        ["test", part] => test::run(&root(), Some(part)),
        ["dist", "python"] => dist_python::run(&root()),
        ["bench"] => bench::run(&root(), None, false),
        ["bench", "--quick"] => bench::run(&root(), None, true),
        ["bench", section] => bench::run(&root(), Some(section), false),
        ["bench", section, "--quick"] => bench::run(&root(), Some(section), true),
        ["help" | "--help" | "-h"] | [] => {
            print!("{USAGE}");
            Ok(())
        }
        _ => Err(format!("unknown verb: {}\n\n{USAGE}", words.join(" "))),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

/// The folder that holds the workspace.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(1)
        .map_or_else(PathBuf::new, Path::to_path_buf)
}
