//! The part `c` of the tests: real C and C++ programs against an installed library and a sandbox.
//!
//! They are built the ways people build (CMake, plain compiler with pkg-config; shared, static; C11,
//! C++17, C++20), and run as they are, under valgrind and with the address sanitizer.

mod programs;
mod sandbox;
mod tools;

use crate::{Outcome, dist};
use programs::{EXAMPLES, TESTS};
use sandbox::Sandbox;
use std::path::{Path, PathBuf};
use std::process::Command;
use tools::{compile, pkg_config, said};

/// What the library is built as; fat LTO is for what is handed out.
const PROFILE: &str = "release";

/// Everything that a check needs.
struct Bench {
    root: PathBuf,
    prefix: PathBuf,
    /// Where programs are built.
    out: PathBuf,
    sandbox: Sandbox,
}

/// Runs the part.
pub(crate) fn run(root: &Path) -> Outcome {
    let folder = root.join("target/c");
    let bench = Bench {
        root: root.to_owned(),
        prefix: folder.join("prefix"),
        out: folder.join("out"),
        sandbox: Sandbox::start(root)?,
    };
    // What an earlier run left behind would hide a file that is no longer installed.
    for old in [&bench.prefix, &bench.out] {
        if old.exists() {
            std::fs::remove_dir_all(old).map_err(|error| format!("{}: {error}", old.display()))?;
        }
    }
    std::fs::create_dir_all(&bench.out).map_err(|error| error.to_string())?;
    dist::c(root, &bench.prefix, PROFILE)?;
    let steps: [(&str, fn(&Bench) -> Outcome); 6] = [
        ("symbols", symbols),
        ("plain compiler and pkg-config, shared", shared),
        ("plain compiler and pkg-config, static", linked_in),
        ("CMake", cmake),
        ("address sanitizer", sanitizer),
        ("valgrind", valgrind),
    ];
    for (name, step) in steps {
        println!("-- {name}");
        step(&bench).map_err(|error| format!("{name}: {error}"))?;
    }
    Ok(())
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
    let dynamic = said(Command::new("readelf").arg("-d").arg(&library))?;
    if !dynamic.contains("Library soname: [libtalentdata.so.") {
        return Err("the library has no SONAME".into());
    }
    let bytes = std::fs::read(&library).map_err(|error| error.to_string())?;
    // The name of the header that marks every answer of the sandbox.
    let mark = b"x-talentdata-sandbox";
    if bytes.windows(mark.len()).any(|window| window == mark) {
        return Err("the library holds the sandbox".into());
    }
    Ok(())
}

fn shared(bench: &Bench) -> Outcome {
    let flags = pkg_config(&bench.prefix, &["--cflags", "--libs", "talentdata"])?;
    for example in EXAMPLES {
        bench.check_example(example, "shared", &flags)?;
    }
    for test in TESTS {
        for standard in test.standards {
            let program = bench.build(
                &bench.tests(),
                test.sources,
                standard,
                test.flags,
                "shared",
                &flags,
            )?;
            print!("{}", bench.sandbox.run(&mut bench.command(&program))?);
        }
    }
    Ok(())
}

/// With `Libs.private` of the shared library's file, and with the file of the static one.
fn linked_in(bench: &Bench) -> Outcome {
    let flags = pkg_config(&bench.prefix, &["--cflags", "--libs", "talentdata-static"])?;
    for example in EXAMPLES {
        bench.check_example(example, "static", &flags)?;
    }
    let mut private = pkg_config(
        &bench.prefix,
        &["--cflags", "--libs", "--static", "talentdata"],
    )?;
    for flag in private.iter_mut().filter(|flag| *flag == "-ltalentdata") {
        *flag = "-l:libtalentdata.a".to_owned();
    }
    for test in TESTS {
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
        bench.sandbox.run(&mut Command::new(&program))?;
    }
    Ok(())
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
                (example.check)(&bench.sandbox.run(&mut Command::new(&program))?)?;
            }
        }
    }
    Ok(())
}

/// The programs, not the library, are instrumented; its allocations are seen all the same.
fn sanitizer(bench: &Bench) -> Outcome {
    let libraries = pkg_config(&bench.prefix, &["--cflags", "--libs", "talentdata"])?;
    let flags = ["-g", "-fsanitize=address", "-fno-omit-frame-pointer"];
    let planted = bench.build(
        &bench.tests(),
        &["planted.c"],
        "c11",
        &flags,
        "asan",
        &libraries,
    )?;
    bench
        .sandbox
        .run_to_fail(&mut bench.command(&planted), "heap-buffer-overflow")?;
    let leak = bench.build(
        &bench.tests(),
        &["leak.c"],
        "c11",
        &flags,
        "asan",
        &libraries,
    )?;
    bench
        .sandbox
        .run_to_fail(&mut bench.command(&leak), "detected memory leaks")?;
    for test in TESTS {
        let all: Vec<&str> = test.flags.iter().chain(&flags).copied().collect();
        let standard = test.standards.first().copied().unwrap_or_default();
        let program = bench.build(
            &bench.tests(),
            test.sources,
            standard,
            &all,
            "asan",
            &libraries,
        )?;
        bench.sandbox.run(&mut bench.command(&program))?;
    }
    Ok(())
}

fn valgrind(bench: &Bench) -> Outcome {
    if !tools::is_there("valgrind") {
        return Err("valgrind is not installed, so nothing was checked with it; install it and run this again".into());
    }
    let under = |program: &Path| {
        let mut command = bench.command(Path::new("valgrind"));
        command
            .args([
                "--quiet",
                "--leak-check=full",
                "--errors-for-leak-kinds=definite,indirect",
            ])
            .args([
                "--child-silent-after-fork=yes",
                "--fair-sched=yes",
                "--error-exitcode=99",
            ])
            .arg(program);
        command
    };
    let leak = bench.out.join("leak.c11.plain");
    let libraries = pkg_config(&bench.prefix, &["--cflags", "--libs", "talentdata"])?;
    compile(
        &[bench.tests().join("leak.c")],
        &["-std=c11"],
        &libraries,
        &leak,
    )?;
    bench
        .sandbox
        .run_to_fail(&mut under(&leak), "definitely lost")?;
    for test in TESTS {
        let standard = test.standards.first().copied().unwrap_or_default();
        bench.sandbox.run(&mut under(&bench.program(
            test.sources[0],
            standard,
            "shared",
        )))?;
    }
    for example in EXAMPLES {
        for (language, standard) in [("c", "c11"), ("cpp", "c++17")] {
            let source = format!("{}.{language}", example.name);
            bench
                .sandbox
                .run(&mut under(&bench.program(&source, standard, "shared")))?;
        }
    }
    Ok(())
}

impl Bench {
    fn examples(&self) -> PathBuf {
        self.root.join("bindings/c/examples")
    }

    fn tests(&self) -> PathBuf {
        self.root.join("bindings/c/tests")
    }

    fn program(&self, source: &str, standard: &str, kind: &str) -> PathBuf {
        self.out.join(format!("{source}.{standard}.{kind}"))
    }

    /// A command that finds the installed library.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env("LD_LIBRARY_PATH", self.prefix.join("lib"));
        command
    }

    fn build(
        &self,
        folder: &Path,
        sources: &[&str],
        standard: &str,
        flags: &[&str],
        kind: &str,
        libraries: &[String],
    ) -> Result<PathBuf, String> {
        let program = self.program(sources[0], standard, kind);
        let paths: Vec<PathBuf> = sources.iter().map(|source| folder.join(source)).collect();
        let standard = format!("-std={standard}");
        let mut all = vec![standard.as_str(), "-pthread"];
        all.extend(flags);
        compile(&paths, &all, libraries, &program)?;
        Ok(program)
    }

    fn check_example(
        &self,
        example: &programs::Example,
        kind: &str,
        libraries: &[String],
    ) -> Outcome {
        for (language, standard) in [("c", "c11"), ("cpp", "c++17"), ("cpp", "c++20")] {
            let source = format!("{}.{language}", example.name);
            let flags: &[&str] = if language == "c" {
                &["-D_POSIX_C_SOURCE=200809L"]
            } else {
                &[]
            };
            let program = self.build(
                &self.examples(),
                &[&source],
                standard,
                flags,
                kind,
                libraries,
            )?;
            (example.check)(&self.sandbox.run(&mut self.command(&program))?)
                .map_err(|error| format!("{source}: {error}"))?;
        }
        Ok(())
    }
}
