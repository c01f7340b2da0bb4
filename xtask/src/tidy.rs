//! Rules of the house that neither formatter nor linter knows.

use crate::Outcome;
use std::path::Path;
use std::process::Command;

/// Which crate may depend on which: the architecture. A new edge needs an argument in ARCHITECTURE.md.
const EDGES: [(&str, &[&str]); 9] = [
    ("types", &[]),
    ("core", &["types"]),
    ("columns", &["core"]),
    ("mirror", &["columns", "core"]),
    ("sandbox", &[]),
    ("cli", &["columns", "core", "mirror", "sandbox"]),
    ("py", &["cli", "columns", "core", "mirror", "sandbox"]),
    ("ffi-c", &["columns", "core", "mirror"]),
    ("xtask", &[]),
];

/// Words that must not stand in any source, put together so that this file does not hold them.
const FORBIDDEN: [(&str, &str); 3] = [
    (
        concat!("keep ", "in sync"),
        "a table row or a test is missing",
    ),
    (concat!("TO", "DO"), "finish it or file an issue"),
    (concat!("FIX", "ME"), "finish it or file an issue"),
];

/// Checks every tracked file; reports all that is wrong at once.
pub(crate) fn run(root: &Path) -> Outcome {
    let mut wrong = Vec::new();
    let tracked = tracked(root)?;
    for path in &tracked {
        if let Ok(text) = std::fs::read_to_string(root.join(path)) {
            check_file(path, &text, &mut wrong);
        }
    }
    check_edges(root, &mut wrong)?;
    check_examples(root, &mut wrong);
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(format!("\n  {}", wrong.join("\n  ")))
    }
}

fn tracked(root: &Path) -> Result<Vec<String>, String> {
    let output = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .map_err(|error| format!("cannot ask git for the files: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let files: Vec<String> = text.lines().map(str::to_owned).collect();
    if files.is_empty() {
        Err("git knows no files here".into())
    } else {
        Ok(files)
    }
}

fn check_file(path: &str, text: &str, wrong: &mut Vec<String>) {
    if path.ends_with(".rs") {
        if !text.starts_with("//! ") {
            wrong.push(format!(
                "{path}: the first line does not say what the file is for (`//! ...`)"
            ));
        }
        let library = path.ends_with("/src/lib.rs");
        if library && !path.contains("ffi-c") && !text.contains("#![forbid(unsafe_code)]") {
            wrong.push(format!("{path}: #![forbid(unsafe_code)] is missing"));
        }
    }
    for (words, instead) in FORBIDDEN {
        if text.contains(words) && !path.ends_with(".lock") {
            wrong.push(format!("{path}: says \"{words}\"; {instead}"));
        }
    }
}

fn check_edges(root: &Path, wrong: &mut Vec<String>) -> Outcome {
    for (name, allowed) in EDGES {
        let directory = if name == "xtask" {
            root.join(name)
        } else {
            root.join("crates").join(name)
        };
        let manifest = std::fs::read_to_string(directory.join("Cargo.toml"))
            .map_err(|error| format!("{}: {error}", directory.display()))?;
        // Tests may use anything; only what ships is architecture.
        let shipped = manifest
            .split("[dev-dependencies]")
            .next()
            .unwrap_or_default();
        let edges = shipped
            .lines()
            .filter_map(|line| line.strip_prefix("talentdata-"));
        for edge in edges.filter_map(|line| line.split(['.', ' ', '=']).next()) {
            if !allowed.contains(&edge) {
                wrong.push(format!("crates/{name}/Cargo.toml: depends on {edge}, which the architecture does not allow"));
            }
        }
    }
    Ok(())
}

/// Holds each example that the README shows against the file that the tests compile.
fn check_examples(root: &Path, wrong: &mut Vec<String>) {
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap_or_default();
    for piece in readme.split("<!-- example ").skip(1) {
        let (path, rest) = piece.split_once(" -->").unwrap_or_default();
        let shown = rest.split("<!-- end -->").next().unwrap_or_default().trim();
        let code = shown
            .split_once('\n')
            .map_or("", |(_, code)| code)
            .trim_end_matches("```");
        if std::fs::read_to_string(root.join(path)).is_ok_and(|file| file == code) {
            continue;
        }
        wrong.push(format!("README.md: the example differs from {path}"));
    }
}
