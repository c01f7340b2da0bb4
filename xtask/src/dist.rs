//! `cargo xtask dist c --prefix P`: the C library with all that a program needs to find and use it.

use crate::Outcome;
use crate::cargo::{self, Made};
use crate::test::succeed;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The number of the library's interface.
const ABI: &str = include_str!("../../crates/ffi-c/abi");

/// Licences, and what valgrind need not report.
const SHARED: [(&str, &str); 3] = [
    ("LICENSE-MIT", "share/doc/talentdata/LICENSE-MIT"),
    ("LICENSE-APACHE", "share/doc/talentdata/LICENSE-APACHE"),
    (
        "bindings/c/share/talentdata.supp",
        "share/talentdata/talentdata.supp",
    ),
];

/// What is installed from the tree as it is: from a directory of the repository into one of the prefix.
const HEADERS: (&str, &str) = ("bindings/c/include", "include");

/// Files with places for the version and the libraries that a static link needs.
const TEMPLATES: [(&str, &str); 4] = [
    ("talentdata-config.cmake", "lib/cmake/talentdata"),
    ("talentdata-config-version.cmake", "lib/cmake/talentdata"),
    ("talentdata.pc", "lib/pkgconfig"),
    ("talentdata-static.pc", "lib/pkgconfig"),
];

/// Builds the library as it is handed out, and installs it.
pub(crate) fn run(root: &Path, prefix: &Path) -> Outcome {
    let arguments = ["-p", "talentdata-ffi-c", "--lib", "--profile", "dist"];
    install(root, &cargo::build(root, &arguments)?, prefix)
}

/// Installs a library that has been built.
pub(crate) fn install(root: &Path, made: &Made, prefix: &Path) -> Outcome {
    if !cfg!(target_os = "linux") {
        return Err("dist c knows how shared libraries are named on Linux only".into());
    }
    let libraries = native_libraries()?;
    let lib = prefix.join("lib");
    let version = env!("CARGO_PKG_VERSION");
    let soname = format!("libtalentdata.so.{}", ABI.trim());
    hide(made.file("libtalentdata.a")?, &lib.join("libtalentdata.a"))?;
    let real = format!("libtalentdata.so.{version}");
    copy(made.file("libtalentdata.so")?, &lib.join(&real))?;
    link(&real, &lib.join(&soname))?;
    link(&soname, &lib.join("libtalentdata.so"))?;
    copy_directory(&root.join(HEADERS.0), &prefix.join(HEADERS.1))?;
    for (from, to) in SHARED {
        copy(&root.join(from), &prefix.join(to))?;
    }
    for (name, directory) in TEMPLATES {
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
        write(&prefix.join(directory).join(name), &text)?;
    }
    println!(
        "installed libtalentdata {version} into {}",
        prefix.display()
    );
    Ok(())
}

/// Makes one object of a static library, in which only our own names are global. A program may have its own SQLite, or any
/// other library that ours is made of; two definitions of a name would not link, or one would take the other's place.
fn hide(from: &Path, to: &Path) -> Outcome {
    let directory =
        tempfile::tempdir().map_err(|error| format!("no temporary directory: {error}"))?;
    let object = directory.path().join("talentdata.o");
    let mut link = Command::new("ld");
    link.args(["-r", "--whole-archive"])
        .arg(from)
        .arg("-o")
        .arg(&object);
    succeed(&mut link)?;
    let mut localize = Command::new("objcopy");
    localize
        .args(["--wildcard", "--keep-global-symbol=talentdata_*"])
        // Bitcode of Rust's own library, which `ar` cannot read.
        .args(["--remove-section=.llvmbc", "--remove-section=.llvmcmd"])
        .arg(&object);
    succeed(&mut localize)?;
    let archive = directory.path().join("libtalentdata.a");
    succeed(Command::new("ar").arg("rcs").arg(&archive).arg(&object))?;
    copy(&archive, to)
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

/// The flags that a static link needs: those of Rust's own library, as the compiler tells them of a
/// library that holds nothing else. What our dependencies have in C is inside.
fn native_libraries() -> Result<Vec<String>, String> {
    let directory =
        tempfile::tempdir().map_err(|error| format!("no temporary directory: {error}"))?;
    let program = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut command = Command::new(program);
    command
        .args(["--crate-type", "staticlib", "--crate-name", "nothing"])
        .args(["--print", "native-static-libs", "-"])
        .current_dir(directory.path())
        .stdin(Stdio::null());
    let output = command
        .output()
        .map_err(|error| format!("cannot run {command:?}: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let flags = said
        .lines()
        .find_map(|line| line.split_once("native-static-libs: "));
    let (_, flags) = flags.ok_or_else(|| format!("{command:?} named no libraries:\n{said}"))?;
    let mut distinct: Vec<String> = Vec::new();
    // The shared half of the compiler's own library has no static twin; this one serves either way.
    let flags = flags.replace("-lgcc_s", "-lgcc_eh");
    for flag in flags.split_whitespace().map(str::to_owned) {
        if !distinct.contains(&flag) {
            distinct.push(flag);
        }
    }
    Ok(distinct)
}

fn directory_of(path: &Path) -> Outcome {
    let directory = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(directory).map_err(|error| format!("{}: {error}", directory.display()))
}

fn copy(from: &Path, to: &Path) -> Outcome {
    directory_of(to)?;
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
    directory_of(to)?;
    std::fs::write(to, text).map_err(|error| format!("cannot write {}: {error}", to.display()))
}

fn link(target: &str, name: &Path) -> Outcome {
    let _ = std::fs::remove_file(name);
    #[cfg(unix)]
    std::os::unix::fs::symlink(target, name)
        .map_err(|error| format!("{}: {error}", name.display()))?;
    Ok(())
}

/// Copies all that a directory has.
pub(crate) fn copy_directory(from: &Path, to: &Path) -> Outcome {
    let entries =
        std::fs::read_dir(from).map_err(|error| format!("{}: {error}", from.display()))?;
    for entry in entries {
        let path: PathBuf = entry.map_err(|error| error.to_string())?.path();
        let target = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            copy_directory(&path, &target)?;
        } else {
            copy(&path, &target)?;
        }
    }
    Ok(())
}
