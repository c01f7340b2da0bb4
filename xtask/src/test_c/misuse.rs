//! Mistakes that the compiler has to find, and code that is compiled in two ways for one program.

use super::bench::Bench;
use super::tools::{WARNINGS, pkg_config, said};
use crate::Outcome;
use std::path::Path;
use std::process::Command;

/// Files in which the macro `MISUSE` chooses a mistake, with their compilers and language standards.
const FILES: [(&str, &str, &str); 3] = [
    ("refused.c", "cc", "c11"),
    ("refused.cpp", "c++", "c++17"),
    ("refused.cpp", "c++", "c++20"),
];

/// Every mistake fails to compile, with the words beside its number.
pub(super) fn refused(bench: &Bench) -> Outcome {
    let flags = pkg_config(&bench.prefix, &["--cflags", "talentdata"])?;
    for (file, compiler, standard) in FILES {
        let source = bench.tests().join(file);
        let text = std::fs::read_to_string(&source).map_err(|error| format!("{file}: {error}"))?;
        let compile = |number: u32| {
            said(
                Command::new(compiler)
                    .args(WARNINGS)
                    .arg(format!("-std={standard}"))
                    .arg(format!("-DMISUSE={number}"))
                    .args(&flags)
                    .args(["-c", "-o"])
                    .arg(bench.out.join("refused.o"))
                    .arg(&source),
            )
        };
        compile(0)?;
        let mistakes = mistakes(&text);
        if mistakes.is_empty() {
            return Err(format!("{file} holds no mistakes"));
        }
        for (number, words) in &mistakes {
            let place = format!("{file} as {standard}, mistake {number}");
            match compile(*number) {
                Ok(_) => return Err(format!("{place} compiles")),
                Err(error) if !error.contains(words) => {
                    return Err(format!("{place} is not refused with {words:?}: {error}"));
                }
                Err(_) => {}
            }
        }
        println!("{file} as {standard}: {} mistakes refused", mistakes.len());
    }
    Ok(())
}

/// The number of each mistake and the words of its error: `#elif MISUSE == 2 // words`.
fn mistakes(text: &str) -> Vec<(u32, &str)> {
    let lines = text.lines().filter_map(|line| {
        let (_, rest) = line.split_once("if MISUSE == ")?;
        let (number, words) = rest.split_once(' ')?;
        let words = words
            .trim()
            .trim_start_matches("//")
            .trim_start_matches("/*");
        Some((number.parse().ok()?, words.trim_end_matches("*/").trim()))
    });
    lines.collect()
}

/// Translation units with and without exceptions in one program, in both orders: the linker keeps the first
/// of two functions of one name.
pub(super) fn mixed(bench: &Bench) -> Outcome {
    let flags = pkg_config(&bench.prefix, &["--cflags", "--libs", "talentdata"])?;
    let object = |source: &str, flag: &str| {
        let object = bench.out.join(source).with_extension("o");
        let mut command = Command::new("c++");
        // Without optimisation nothing is inlined, so that each function exists to be mixed up.
        command
            .args(WARNINGS)
            .args(["-std=c++17", "-O0", "-pthread", flag]);
        command
            .args(&flags)
            .arg("-c")
            .arg(bench.tests().join(source));
        said(command.arg("-o").arg(&object)).map(|_| object)
    };
    let with = object("mixed.cpp", "-fexceptions")?;
    let without = object("mixed_without.cpp", "-fno-exceptions")?;
    let program = bench.out.join("mixed");
    let link = |first: &Path, second: &Path| {
        let mut command = Command::new("c++");
        command.args([first, second]).args(&flags);
        said(command.arg("-pthread").arg("-o").arg(&program))?;
        bench.run(&mut bench.command(&program)).map(drop)
    };
    link(&with, &without)?;
    link(&without, &with)
}
