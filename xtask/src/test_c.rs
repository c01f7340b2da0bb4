//! The part `c` of the tests: a CMake project of C and C++ programs, run by CTest against an installed library, a sandbox and
//! a server for budgets. The library is built once for all presets: plain, valgrind and sanitizers.

use crate::cargo::Made;
use crate::outputs;
use crate::sandbox::Sandbox;
use crate::servers::{self, Valkey};
use crate::test::succeed;
use crate::{Outcome, cargo, dist};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// What is built: the library and the command line with what the part `rust` has built for its tests.
///
/// Cargo builds a dependency once for each set of its features, and the features of one package alone
/// are fewer; the examples are named since only with them those of the tests are on.
const BUILD: [&str; 4] = ["--workspace", "--lib", "--bins", "--examples"];

/// Contacts that the sandbox has, more than a scan has under way at once.
const CONTACTS: &str = "3000";

/// Tried versions, for machines without these tools.
const FROM_PYPI: [&str; 2] = ["cmake==3.31.6", "ninja==1.13.0"];

/// Runs the part.
pub(crate) fn run(root: &Path) -> Outcome {
    let made = cargo::build(root, &BUILD)?;
    let mut presets = vec![("plain", "plain"), ("sanitizers", "sanitizers")];
    if is_there("valgrind") {
        presets.insert(1, ("plain", "valgrind"));
    } else {
        println!("valgrind is not installed: its part is NOT RUN");
    }
    tested(root, &made, &made, "c", &presets)
}

/// Runs the part `c-sanitized`: the same programs with a library that is instrumented itself. It is not among the
/// parts that run by default, because it builds every dependency anew.
///
/// The thread sanitizer is no use here: Rust's own library is not instrumented, so every lock and channel of
/// it looks like a race, and its source, which an instrumented build needs, is not part of the toolchain.
pub(crate) fn run_sanitized(root: &Path) -> Outcome {
    // Sanitizers are unstable options of the compiler, which the first variable allows on a stable one.
    let flags = "-Zsanitizer=address -Cforce-frame-pointers=yes";
    let environment = [("RUSTC_BOOTSTRAP", "1"), ("RUSTFLAGS", flags)];
    // With a target of its own, the flags are kept from build scripts and macros.
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let directory = cargo::target(root)?.join("sanitized");
    let directory = directory.to_string_lossy();
    let arguments = ["-p", "talentdata-ffi-c", "--lib", "--target", &target];
    let arguments = [&arguments[..], &["--target-dir", &directory]].concat();
    let library = cargo::build_with(root, &arguments, &environment)?;
    let symbols = output(
        Command::new("nm")
            .args(["-D", "-u"])
            .arg(library.file("libtalentdata.so")?),
    )?;
    if !symbols.contains("__asan_report") {
        return Err("the library is not instrumented".into());
    }
    let made = cargo::build(root, &BUILD)?;
    tested(
        root,
        &made,
        &library,
        "c-sanitized",
        &[("sanitizers", "sanitizers")],
    )
}

/// Installs the library, and runs the presets: that of the build, and that of the tests.
fn tested(
    root: &Path,
    made: &Made,
    library: &Made,
    name: &str,
    presets: &[(&str, &str)],
) -> Outcome {
    let directory = cargo::target(root)?.join(name);
    // What an earlier run left behind would hide a file that is no longer installed.
    if directory.exists() {
        let removed = std::fs::remove_dir_all(&directory);
        removed.map_err(|error| format!("{}: {error}", directory.display()))?;
    }
    let (prefix, older) = (directory.join("prefix"), directory.join("older"));
    dist::install(root, library, &prefix)?;
    dist::copy_directory(&prefix.join("include"), &older)?;
    outputs::older_headers(root, &older)?;
    let talentdata = made.file("talentdata")?.to_owned();
    let records = format!("contacts={CONTACTS}");
    let arguments = ["--policy", "unlimited", "--records", &records].map(str::to_owned);
    let sandbox = Sandbox::start(&talentdata, &arguments)?;
    let server = Valkey::start(&servers::valkey(root)?)?;
    let tools = tools(root)?;
    let tests = root.join("bindings/c/tests");
    let command = |tool: &str| {
        let mut command = Command::new(tools.join(tool));
        sandbox
            .invite(&mut command)
            .env("PREFIX", &prefix)
            .env("OLDER_HEADERS", &older)
            .env("BUILDS", directory.join("builds"))
            .env("TALENTDATA", &talentdata)
            .env("CONTACTS", CONTACTS)
            .env("BUDGET_SERVER", server.url())
            .stdin(Stdio::null())
            .current_dir(&tests);
        command
    };
    for (build, test) in presets {
        let started = Instant::now();
        let ninja = format!("-DCMAKE_MAKE_PROGRAM={}", tools.join("ninja").display());
        let found = format!("-DCMAKE_PREFIX_PATH={}", prefix.display());
        succeed(command("cmake").args(["--preset", build, &ninja, &found, "--log-level=WARNING"]))?;
        succeed(command("cmake").args(["--build", "--preset", build]))?;
        succeed(command("ctest").args(["--preset", test, "--progress"]))?;
        println!("-- {test}: passed in {} s", started.elapsed().as_secs());
    }
    Ok(())
}

/// The directory of cmake, ctest and ninja; empty where they are on the path.
fn tools(root: &Path) -> Result<PathBuf, String> {
    if is_there("cmake") && is_there("ninja") {
        return Ok(PathBuf::new());
    }
    let venv = cargo::target(root)?.join("venv");
    let bin = venv.join("bin");
    if !(bin.join("cmake").exists() && bin.join("ninja").exists()) {
        println!("cmake or ninja is not installed: taking both from PyPI into target/venv");
        output(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
        let mut install = Command::new(bin.join("python"));
        output(
            install
                .args(["-m", "pip", "install", "--quiet"])
                .args(FROM_PYPI),
        )?;
    }
    Ok(bin)
}

fn is_there(program: &str) -> bool {
    output(Command::new(program).arg("--version")).is_ok()
}

/// Standard output of a command that must succeed.
fn output(command: &mut Command) -> Result<String, String> {
    let shown = format!("{command:?}");
    let output = command
        .output()
        .map_err(|error| format!("cannot run {shown}: {error}"))?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{shown} ended with {}:\n{errors}", output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
