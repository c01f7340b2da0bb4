//! The library itself under the address sanitizer, not only the programs that use it.
//!
//! The thread sanitizer is no use here: Rust's own library is not instrumented, so every lock and channel of
//! it looks like a race, and its source, which an instrumented build needs, is not part of the toolchain.

use super::bench::Bench;
use super::memory;
use super::tools::said;
use crate::{Outcome, cargo, dist};
use std::process::Command;

/// Sanitizers are unstable options of the compiler, which this variable allows on a stable one.
const ENVIRONMENT: [(&str, &str); 2] = [
    ("RUSTC_BOOTSTRAP", "1"),
    (
        "RUSTFLAGS",
        "-Zsanitizer=address -Cforce-frame-pointers=yes",
    ),
];

pub(super) fn run(bench: &Bench) -> Outcome {
    // With a target of its own, the flags are kept from build scripts and macros.
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let directory = cargo::target(&bench.root)?.join("sanitized");
    let directory = directory.to_string_lossy();
    let arguments = ["-p", "talentdata-ffi-c", "--lib", "--target", &target];
    let arguments = [&arguments[..], &["--target-dir", &directory]].concat();
    let made = cargo::build_with(&bench.root, &arguments, &ENVIRONMENT)?;
    let library = made.file("libtalentdata.so")?;
    let symbols = said(Command::new("nm").args(["-D", "-u"]).arg(library))?;
    if !symbols.contains("__asan_report") {
        return Err("the library is not instrumented".into());
    }
    dist::install(&bench.root, &made, &bench.prefix)?;
    memory::sanitizer(bench)
}
