//! The tools of C developers: compilers, pkg-config, CMake, nm, valgrind.

use crate::Outcome;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Tried versions, for machines without these tools.
const FROM_PYPI: [&str; 2] = ["cmake==3.31.6", "ninja==1.13.0"];

pub(super) fn is_there(program: &str) -> bool {
    let asked = Command::new(program)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    asked.is_ok_and(|status| status.success())
}

/// Standard output of a command that must succeed.
pub(super) fn said(command: &mut Command) -> Result<String, String> {
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

/// The directory that holds cmake and ninja; none when they are on the path.
pub(super) fn cmake(root: &Path) -> Result<Option<PathBuf>, String> {
    if is_there("cmake") && is_there("ninja") {
        return Ok(None);
    }
    let venv = crate::cargo::target(root)?.join("venv");
    let bin = venv.join("bin");
    if !(bin.join("cmake").exists() && bin.join("ninja").exists()) {
        println!("cmake or ninja is not installed: taking both from PyPI into target/venv");
        said(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
        said(
            Command::new(bin.join("python"))
                .args(["-m", "pip", "install", "--quiet"])
                .args(FROM_PYPI),
        )?;
    }
    Ok(Some(bin))
}

/// The flags that pkg-config gives for an installed prefix.
pub(super) fn pkg_config(prefix: &Path, arguments: &[&str]) -> Result<Vec<String>, String> {
    let mut command = Command::new("pkg-config");
    command
        .args(arguments)
        .env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"));
    Ok(said(&mut command)?
        .split_whitespace()
        .map(str::to_owned)
        .collect())
}

/// What is written behind the compiler.
pub(super) const WARNINGS: [&str; 4] = ["-Wall", "-Wextra", "-Werror", "-pedantic"];

/// Compiles sources into a program.
pub(super) fn compile(
    sources: &[PathBuf],
    flags: &[&str],
    libraries: &[String],
    program: &Path,
) -> Outcome {
    let cpp = sources
        .first()
        .is_some_and(|path| path.extension().is_some_and(|one| one == "cpp"));
    let mut command = Command::new(if cpp { "c++" } else { "cc" });
    command
        .args(WARNINGS)
        .args(flags)
        .args(sources)
        .arg("-o")
        .arg(program)
        .args(libraries);
    said(&mut command).map(drop)
}
