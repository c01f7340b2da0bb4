//! The same programs under the address sanitizer and valgrind, after a planted bug shows that they see.

use super::bench::{Bench, at_once};
use super::programs::{EXAMPLES, TESTS, Test};
use super::tools::{self, compile, pkg_config};
use crate::Outcome;
use std::path::Path;

/// Flags of the address sanitizer.
pub(super) const SANITIZED: [&str; 3] = ["-g", "-fsanitize=address", "-fno-omit-frame-pointer"];

/// Not run under the address sanitizer, whose allocator is not made for it: a child forked while another
/// thread allocates finds that locked for ever. It runs without, and under valgrind.
const FORKS: &str = "fork.c";

/// Not run under valgrind, where it takes minutes: it reads 4,000 values of one large record.
const READS_MUCH: &str = "kept.c";

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
    let forks = |test: &&Test| test.sources.contains(&FORKS);
    let tests: Vec<&Test> = TESTS.iter().filter(|test| !forks(test)).collect();
    at_once(&tests, |test| {
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
        bench.run(&mut bench.command(&program)).map(drop)
    })
}

/// The tests, and every example in C, with the shared library; `valgrind.supp` says what does not count.
pub(super) fn valgrind(bench: &Bench) -> Outcome {
    if !tools::is_there("valgrind") {
        return Err("valgrind is not installed, so nothing was checked with it; install it and run this again".into());
    }
    let known = bench.tests().join("valgrind.supp");
    let under = |program: &Path| {
        let mut command = bench.command(Path::new("valgrind"));
        command
            .args([
                "--quiet",
                "--leak-check=full",
                "--errors-for-leak-kinds=definite,indirect,possible",
            ])
            .args([
                "--child-silent-after-fork=yes",
                "--fair-sched=yes",
                "--error-exitcode=99",
            ])
            .arg(format!("--suppressions={}", known.display()))
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
    let reads_much = |test: &&Test| test.sources.contains(&READS_MUCH);
    let tests: Vec<&Test> = TESTS.iter().filter(|test| !reads_much(test)).collect();
    at_once(&tests, |test| {
        let standard = test.standards.first().copied().unwrap_or_default();
        let program = bench.program(test.sources[0], standard, "shared");
        bench.run(&mut under(&program)).map(drop)
    })?;
    at_once(EXAMPLES, |example| {
        let program = bench.program(&format!("{}.c", example.name), "c11", "shared");
        bench.run(&mut under(&program)).map(drop)
    })
}
