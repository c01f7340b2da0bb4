//! The one table of generated files, and the two things done with it: write and check.

use crate::spec::{FILE, Spec};
use crate::{Outcome, c, models, python, rust, rust_calls, rust_lists, sandbox_routes, settings};
use std::path::Path;

/// Turns the spec into the text of one file.
type Render = fn(&Spec) -> Result<String, String>;

/// Every generated file of the repository.
const OUTPUTS: [(&str, Render); 24] = [
    ("crates/types/src/generated/models.rs", models::models),
    ("crates/types/src/generated/operations.rs", rust::operations),
    ("crates/core/src/generated/lists.rs", rust_lists::lists),
    ("crates/core/src/generated/calls.rs", rust_calls::calls),
    ("crates/core/src/generated/settings.rs", settings::settings),
    (
        "crates/sandbox/src/generated/lists.rs",
        sandbox_routes::lists,
    ),
    (
        "crates/sandbox/src/generated/spec.json",
        sandbox_routes::table,
    ),
    ("bindings/python/talentdata/_errors.py", python::errors),
    ("bindings/python/talentdata/_models.py", python::models),
    ("bindings/python/talentdata/_lists.py", python::lists),
    ("bindings/python/talentdata/_calls.py", python::calls),
    ("bindings/python/talentdata/_settings.py", settings::client),
    ("crates/ffi-c/src/generated/models.rs", c::accessors::file),
    ("crates/ffi-c/src/generated/calls.rs", c::calls::file),
    (
        "crates/ffi-c/src/generated/settings.rs",
        settings::functions,
    ),
    ("bindings/c/include/talentdata.h", c::header::file),
    ("bindings/c/include/talentdata/errors.hpp", c::cpp::errors),
    ("bindings/c/include/talentdata/models.hpp", c::cpp::file),
    (
        "bindings/c/include/talentdata/calls.hpp",
        c::cpp_calls::file,
    ),
    (
        "bindings/c/include/talentdata/settings.hpp",
        settings::setters,
    ),
    ("bindings/c/symbols.txt", c::symbols::file),
    ("bindings/c/tests/null_arguments.c", c::nulls::file),
    ("bindings/c/tests/settings.cpp", settings::test),
    ("README.md", settings::readme),
];

/// Writes every file whose text differs, and says what is not generated.
pub(crate) fn write(root: &Path) -> Outcome {
    write_all(&Spec::load(root)?)
}

fn write_all(spec: &Spec) -> Outcome {
    for (path, text) in differing(spec)? {
        let target = spec.root.join(path);
        let directory = target.parent().ok_or(format!("{path} has no directory"))?;
        std::fs::create_dir_all(directory)
            .and_then(|()| std::fs::write(&target, text))
            .map_err(|error| format!("cannot write {path}: {error}"))?;
        println!("wrote {path}");
    }
    print!("{}", spec.summary);
    Ok(())
}

/// Takes a file from elsewhere as the spec of the workspace, and generates from it.
pub(crate) fn adopt(root: &Path, file: &Path) -> Outcome {
    let spec = Spec::load_file(root, file, &file.display().to_string())?;
    let text = format!("{:#}\n", spec.document.value);
    std::fs::write(root.join(FILE), text)
        .map_err(|error| format!("cannot write {FILE}: {error}"))?;
    println!("wrote {FILE}");
    write(root)
}

/// Says what a spec would yield, from a file anywhere; writes nothing.
pub(crate) fn dry_run(root: &Path, file: &Path) -> Outcome {
    let spec = Spec::load_file(root, file, &file.display().to_string())?;
    for (path, _) in differing(&spec)? {
        println!("would write {path}");
    }
    print!("{}", spec.summary);
    let api = &spec.api;
    println!(
        "{} operations, {} of them lists; {} models, {} enums; nothing was written",
        api.operations.len(),
        api.lists().count(),
        api.models.len(),
        api.enums.len()
    );
    Ok(())
}

/// Fails, naming the files, when any differs from what the spec yields.
pub(crate) fn check(root: &Path) -> Outcome {
    let differing = differing(&Spec::load(root)?)?;
    let stale: Vec<&str> = differing.into_iter().map(|(path, _)| path).collect();
    if stale.is_empty() {
        return Ok(());
    }
    Err(format!(
        "out of date: {}; run `cargo xtask generate`",
        stale.join(", ")
    ))
}

fn differing(spec: &Spec) -> Result<Vec<(&'static str, String)>, String> {
    let mut out = Vec::new();
    for (path, render) in OUTPUTS {
        let text = render(spec)?;
        let present = std::fs::read_to_string(spec.root.join(path)).unwrap_or_default();
        if present != text {
            out.push((path, text));
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests;
