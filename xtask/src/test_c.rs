//! The part `c` of the tests: real C and C++ programs against an installed library and a sandbox.
//!
//! They are built the ways people build (CMake, plain compiler with pkg-config; shared, static; C11,
//! C++17, C++20), and run as they are, under valgrind and with the address sanitizer.

mod bench;
mod cases;
mod flat;
mod instrumented;
mod memory;
mod misuse;
mod programs;
mod tools;

use crate::cargo::Made;
use crate::sandbox::Sandbox;
use crate::servers::{self, Valkey};
use crate::{Outcome, cargo, dist};
use bench::{Bench, at_once};
use programs::{CONTACTS, EXAMPLES, TESTS};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use tools::{pkg_config, said};

/// What is built: the library and the command line with what the part `rust` has built for its tests.
///
/// Cargo builds a dependency once for each set of its features, and the features of one package alone
/// are fewer; the examples are named since only with them those of the tests are on.
const BUILD: [&str; 4] = ["--workspace", "--lib", "--bins", "--examples"];

/// A check and its name.
type Step = (&'static str, fn(&Bench) -> Outcome);

/// Runs the part.
pub(crate) fn run(root: &Path) -> Outcome {
    let started = Instant::now();
    let made = cargo::build(root, &BUILD)?;
    let bench = ready(root, &made, "c")?;
    dist::install(root, &made, &bench.prefix)?;
    println!("-- built in {} s", started.elapsed().as_secs());
    let steps: [Step; 11] = [
        ("symbols", symbols),
        ("plain compiler and pkg-config, shared", shared),
        ("plain compiler and pkg-config, static", linked_in),
        ("schemas as on the command line", schemas),
        ("CMake", cmake),
        ("mistakes that do not compile", misuse::refused),
        ("with and without exceptions", misuse::mixed),
        ("cases of all languages", cases::run),
        ("memory stays flat", flat::run),
        ("address sanitizer", memory::sanitizer),
        ("valgrind", memory::valgrind),
    ];
    for (name, step) in steps {
        let started = Instant::now();
        step(&bench).map_err(|error| format!("{name}: {error}"))?;
        println!("-- {name}: passed in {} s", started.elapsed().as_secs());
    }
    Ok(())
}

/// Runs the part `c-sanitized`: the same tests with a library that is instrumented itself. It is not among the
/// parts that run by default, because it builds every dependency anew.
pub(crate) fn run_sanitized(root: &Path) -> Outcome {
    let made = cargo::build(root, &BUILD)?;
    instrumented::run(&ready(root, &made, "c-sanitized")?)
}

/// A sandbox, and empty directories for a library and programs.
fn ready(root: &Path, made: &Made, directory: &str) -> Result<Bench, String> {
    let talentdata = made.file("talentdata")?.to_owned();
    let directory = cargo::target(root)?.join(directory);
    let arguments = ["--policy", "unlimited", "--records"].map(str::to_owned);
    let records = format!("contacts={CONTACTS}");
    let bench = Bench {
        root: root.to_owned(),
        prefix: directory.join("prefix"),
        out: directory.join("out"),
        sandbox: Sandbox::start(&talentdata, &[&arguments[..], &[records]].concat())?,
        server: Valkey::start(&servers::valkey(root)?)?,
        talentdata,
    };
    // What an earlier run left behind would hide a file that is no longer installed.
    for old in [&bench.prefix, &bench.out] {
        if old.exists() {
            std::fs::remove_dir_all(old).map_err(|error| format!("{}: {error}", old.display()))?;
        }
    }
    std::fs::create_dir_all(&bench.out).map_err(|error| error.to_string())?;
    Ok(bench)
}

/// The library exports what the committed list says, and holds nothing of the sandbox.
fn symbols(bench: &Bench) -> Outcome {
    let library = bench.prefix.join("lib/libtalentdata.so");
    let table = said(
        Command::new("nm")
            .args(["-D", "--defined-only", "-P"])
            .arg(&library),
    )?;
    let mut exported: Vec<&str> = table
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    exported.sort_unstable();
    let list = std::fs::read_to_string(bench.root.join("bindings/c/symbols.txt"))
        .map_err(|error| error.to_string())?;
    let mut listed: Vec<&str> = list
        .lines()
        .filter(|line| line.starts_with("talentdata_"))
        .collect();
    listed.sort_unstable();
    if exported != listed {
        let odd: Vec<&&str> = exported
            .iter()
            .filter(|name| !listed.contains(name))
            .chain(listed.iter().filter(|name| !exported.contains(name)))
            .collect();
        return Err(format!(
            "the library and bindings/c/symbols.txt differ in {odd:?}"
        ));
    }
    let archive = bench.prefix.join("lib/libtalentdata.a");
    let table = said(
        Command::new("nm")
            .args(["-g", "--defined-only", "-P"])
            .arg(&archive),
    )?;
    let names = table.lines().filter_map(|line| line.split_once(' '));
    if let Some((name, _)) = names
        .into_iter()
        .find(|(name, _)| !name.starts_with("talentdata_"))
    {
        return Err(format!("the static library exports {name}"));
    }
    let dynamic = said(Command::new("readelf").arg("-d").arg(&library))?;
    if !dynamic.contains("Library soname: [libtalentdata.so.") {
        return Err("the library has no SONAME".into());
    }
    let bytes = std::fs::read(&library).map_err(|error| error.to_string())?;
    // The name of the header that marks every response of the sandbox.
    let mark = b"x-talentdata-sandbox";
    if bytes.windows(mark.len()).any(|window| window == mark) {
        return Err("the library holds the sandbox".into());
    }
    Ok(())
}

fn shared(bench: &Bench) -> Outcome {
    let flags = pkg_config(&bench.prefix, &["--cflags", "--libs", "talentdata"])?;
    at_once(EXAMPLES, |example| {
        bench.check_example(example, "shared", &flags)
    })?;
    at_once(TESTS, |test| {
        for standard in test.standards {
            let program = bench.build(
                &bench.tests(),
                test.sources,
                standard,
                test.flags,
                "shared",
                &flags,
            )?;
            print!("{}", bench.run(&mut bench.command(&program))?);
        }
        Ok(())
    })
}

/// What the library determines is what `talentdata schema` prints, byte for byte.
fn schemas(bench: &Bench) -> Outcome {
    let printed = bench.run(Command::new(&bench.talentdata).args(["schema", "contacts"]))?;
    for (source, standard) in [("schema.c", "c11"), ("schema.cpp", "c++17")] {
        let program = bench.program(source, standard, "shared");
        let determined = bench.run(&mut bench.command(&program))?;
        if determined != printed {
            return Err(format!(
                "{source} prints another schema than the command line:\n{determined}\n{printed}"
            ));
        }
    }
    Ok(())
}

/// With `Libs.private` of the shared library's file, and with the file of the static one. The other
/// examples are linked so by CMake; each time costs seconds.
fn linked_in(bench: &Bench) -> Outcome {
    let flags = pkg_config(&bench.prefix, &["--cflags", "--libs", "talentdata-static"])?;
    bench.check_example(&EXAMPLES[0], "static", &flags)?;
    let mut private = pkg_config(
        &bench.prefix,
        &["--cflags", "--libs", "--static", "talentdata"],
    )?;
    for flag in private.iter_mut().filter(|flag| *flag == "-ltalentdata") {
        *flag = "-l:libtalentdata.a".to_owned();
    }
    at_once(TESTS, |test| {
        let standard = test.standards.last().copied().unwrap_or_default();
        let program = bench.build(
            &bench.tests(),
            test.sources,
            standard,
            test.flags,
            "static",
            &private,
        )?;
        // No path to the shared library is given: the program needs none.
        bench.run(&mut Command::new(&program)).map(drop)
    })
}

fn cmake(bench: &Bench) -> Outcome {
    let tools = tools::cmake(&bench.root)?;
    let build = bench.out.join("cmake");
    let tool = |name: &str| {
        let path = tools
            .as_ref()
            .map_or_else(|| PathBuf::from(name), |bin| bin.join(name));
        path.to_string_lossy().into_owned()
    };
    said(
        Command::new(tool("cmake"))
            .args([
                "-G",
                "Ninja",
                &format!("-DCMAKE_MAKE_PROGRAM={}", tool("ninja")),
            ])
            .arg(format!("-DCMAKE_PREFIX_PATH={}", bench.prefix.display()))
            .arg(format!(
                "-DCMAKE_C_FLAGS={0} -D_POSIX_C_SOURCE=200809L",
                tools::WARNINGS.join(" ")
            ))
            .arg(format!("-DCMAKE_CXX_FLAGS={}", tools::WARNINGS.join(" ")))
            .arg("-S")
            .arg(bench.examples())
            .arg("-B")
            .arg(&build),
    )?;
    said(Command::new(tool("cmake")).arg("--build").arg(&build))?;
    for example in EXAMPLES {
        for language in ["c", "cpp"] {
            for kind in ["", "_static"] {
                let program = build.join(format!("{}_{language}{kind}", example.name));
                // CMake has written down where the library is.
                (example.check)(&bench.run(&mut Command::new(&program))?)?;
            }
        }
    }
    Ok(())
}
