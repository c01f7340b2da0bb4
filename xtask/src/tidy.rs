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
    let mut git = Command::new("git");
    git.args(["ls-files", "--cached", "--others", "--exclude-standard"]);
    let tracked = crate::cargo::output(git.current_dir(root))?;
    let mut wrong = Vec::new();
    for path in tracked.lines() {
        let text = std::fs::read_to_string(root.join(path)).unwrap_or_default();
        let is_library = path.ends_with("/src/lib.rs") && !path.contains("ffi-c");
        if path.ends_with(".rs") && !text.is_empty() && !text.starts_with("//! ") {
            wrong.push(format!(
                "{path}: the first line does not say what the file is for (`//! ...`)"
            ));
        }
        if is_library && !text.contains("#![forbid(unsafe_code)]") {
            wrong.push(format!("{path}: #![forbid(unsafe_code)] is missing"));
        }
        let forbidden = FORBIDDEN
            .iter()
            .filter(|(words, _)| text.contains(words) && !path.ends_with(".lock"));
        wrong.extend(
            forbidden.map(|(words, instead)| format!("{path}: says \"{words}\"; {instead}")),
        );
    }
    for (name, allowed) in EDGES {
        let directory = if name == "xtask" {
            "xtask".to_owned()
        } else {
            format!("crates/{name}")
        };
        let manifest = std::fs::read_to_string(root.join(&directory).join("Cargo.toml"))
            .map_err(|error| format!("{directory}/Cargo.toml: {error}"))?;
        // Tests may use anything; only what ships is architecture.
        let shipped = manifest
            .split("[dev-dependencies]")
            .next()
            .unwrap_or_default();
        let edges = shipped
            .lines()
            .filter_map(|line| line.strip_prefix("talentdata-"));
        let edges = edges.filter_map(|line| line.split(['.', ' ', '=']).next());
        let refused = edges.filter(|edge| !allowed.contains(edge));
        wrong.extend(refused.map(|edge| {
            format!(
                "{directory}/Cargo.toml: depends on {edge}, which the architecture does not allow"
            )
        }));
    }
    // Each example that the README shows is the file that the tests compile.
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap_or_default();
    for piece in readme.split("<!-- example ").skip(1) {
        let (path, rest) = piece.split_once(" -->").unwrap_or_default();
        let shown = rest.split("<!-- end -->").next().unwrap_or_default().trim();
        let code = shown
            .split_once('\n')
            .map_or("", |(_, code)| code)
            .trim_end_matches("```");
        if !std::fs::read_to_string(root.join(path)).is_ok_and(|file| file == code) {
            wrong.push(format!("README.md: the example differs from {path}"));
        }
    }
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(format!("\n  {}", wrong.join("\n  "))),
    }
}
