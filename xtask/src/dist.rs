//! `cargo xtask dist c --prefix P`: the C library with all that a program needs to find and use it.

use crate::Outcome;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What is installed from the tree as it is: from a folder of the repository into one of the prefix.
const HEADERS: (&str, &str) = ("bindings/c/include", "include");

/// Files with places for the version and the libraries that a static link needs.
const TEMPLATES: [(&str, &str); 4] = [
    ("talentdata-config.cmake", "lib/cmake/talentdata"),
    ("talentdata-config-version.cmake", "lib/cmake/talentdata"),
    ("talentdata.pc", "lib/pkgconfig"),
    ("talentdata-static.pc", "lib/pkgconfig"),
];

/// Builds the library in this profile and installs it.
pub(crate) fn c(root: &Path, prefix: &Path, profile: &str) -> Outcome {
    if !cfg!(target_os = "linux") {
        return Err("dist c knows how shared libraries are named on Linux only".into());
    }
    let libraries = build(root, profile)?;
    let built = root.join("target").join(profile);
    let lib = prefix.join("lib");
    let version = env!("CARGO_PKG_VERSION");
    let soname = format!("libtalentdata.so.{}", series(version));
    copy(&built.join("libtalentdata.a"), &lib.join("libtalentdata.a"))?;
    let real = format!("libtalentdata.so.{version}");
    copy(&built.join("libtalentdata.so"), &lib.join(&real))?;
    link(&real, &lib.join(&soname))?;
    link(&soname, &lib.join("libtalentdata.so"))?;
    copy_folder(&root.join(HEADERS.0), &prefix.join(HEADERS.1))?;
    for (name, folder) in TEMPLATES {
        let source = root.join("bindings/c/cmake").join(format!("{name}.in"));
        let text = std::fs::read_to_string(&source)
            .map_err(|error| format!("{}: {error}", source.display()))?;
        let names: Vec<&str> = libraries
            .iter()
            .map(|flag| flag.trim_start_matches("-l"))
            .collect();
        let text = text
            .replace("@VERSION@", version)
            .replace("@SERIES@", &series(version))
            .replace("@SONAME@", &soname)
            .replace("@STATIC_LIBS@", &names.join(";"))
            .replace("@STATIC_FLAGS@", &libraries.join(" "));
        write(&prefix.join(folder).join(name), &text)?;
    }
    println!(
        "installed libtalentdata {version} into {}",
        prefix.display()
    );
    Ok(())
}

/// Versions of one series work with what was built against any of them.
fn series(version: &str) -> String {
    let parts: Vec<&str> = version.split('.').collect();
    match parts.as_slice() {
        ["0", minor, ..] => format!("0.{minor}"),
        [major, ..] => (*major).to_owned(),
        [] => String::new(),
    }
}

/// Builds, and returns the flags that a static link needs, as the compiler says them.
fn build(root: &Path, profile: &str) -> Result<Vec<String>, String> {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command
        .args([
            "rustc",
            "--locked",
            "-p",
            "talentdata-ffi-c",
            "--lib",
            "--profile",
            profile,
        ])
        .args(["--", "--print", "native-static-libs"])
        .current_dir(root)
        .stderr(Stdio::piped());
    let output = command
        .output()
        .map_err(|error| format!("cannot run {command:?}: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("{command:?} failed:\n{said}"));
    }
    let flags = said
        .lines()
        .find_map(|line| line.split_once("native-static-libs: "));
    let (_, flags) = flags.ok_or_else(|| format!("the compiler named no libraries:\n{said}"))?;
    let mut distinct: Vec<String> = Vec::new();
    for flag in flags.split_whitespace().map(str::to_owned) {
        if !distinct.contains(&flag) {
            distinct.push(flag);
        }
    }
    Ok(distinct)
}

fn folder_of(path: &Path) -> Outcome {
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))
}

fn copy(from: &Path, to: &Path) -> Outcome {
    folder_of(to)?;
    // Programs that run keep the file they have opened.
    let _ = std::fs::remove_file(to);
    let copied = std::fs::copy(from, to).map(drop);
    copied.map_err(|error| {
        format!(
            "cannot copy {} to {}: {error}",
            from.display(),
            to.display()
        )
    })
}

fn write(to: &Path, text: &str) -> Outcome {
    folder_of(to)?;
    std::fs::write(to, text).map_err(|error| format!("cannot write {}: {error}", to.display()))
}

fn link(target: &str, name: &Path) -> Outcome {
    let _ = std::fs::remove_file(name);
    #[cfg(unix)]
    std::os::unix::fs::symlink(target, name)
        .map_err(|error| format!("{}: {error}", name.display()))?;
    Ok(())
}

fn copy_folder(from: &Path, to: &Path) -> Outcome {
    let entries =
        std::fs::read_dir(from).map_err(|error| format!("{}: {error}", from.display()))?;
    for entry in entries {
        let path: PathBuf = entry.map_err(|error| error.to_string())?.path();
        let target = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            copy_folder(&path, &target)?;
        } else {
            copy(&path, &target)?;
        }
    }
    Ok(())
}
