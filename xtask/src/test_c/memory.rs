//! The same programs under the address sanitizer and valgrind, after a planted bug shows that they see.

use super::bench::Bench;
use super::programs::{EXAMPLES, TESTS};
use super::tools::{self, compile, pkg_config};
use crate::Outcome;
use std::path::Path;

/// Flags of the address sanitizer.
pub(super) const SANITIZED: [&str; 3] = ["-g", "-fsanitize=address", "-fno-omit-frame-pointer"];

/// The programs, not the library, are instrumented; its allocations are seen all the same.
pub(super) fn sanitizer(bench: &Bench) -> Outcome {
    let libraries = pkg_config(&bench.prefix, &["--cflags", "--libs", "talentdata"])?;
    let flags = SANITIZED;
    let planted = bench.build(
        &bench.tests(),
        &["planted.c"],
        "c11",
        &flags,
        "asan",
        &libraries,
    )?;
    bench.run_to_fail(&mut bench.command(&planted), "heap-buffer-overflow")?;
    let leak = bench.build(
        &bench.tests(),
        &["leak.c"],
        "c11",
        &flags,
        "asan",
        &libraries,
    )?;
    bench.run_to_fail(&mut bench.command(&leak), "detected memory leaks")?;
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
        bench.run(&mut bench.command(&program))?;
    }
    Ok(())
}

/// Every test and example, with the shared library.
pub(super) fn valgrind(bench: &Bench) -> Outcome {
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
    bench.run_to_fail(&mut under(&leak), "definitely lost")?;
    for test in TESTS {
        let standard = test.standards.first().copied().unwrap_or_default();
        bench.run(&mut under(&bench.program(
            test.sources[0],
            standard,
            "shared",
        )))?;
    }
    for example in EXAMPLES {
        for (language, standard) in [("c", "c11"), ("cpp", "c++17")] {
            let source = format!("{}.{language}", example.name);
            bench.run(&mut under(&bench.program(&source, standard, "shared")))?;
        }
    }
    Ok(())
}
