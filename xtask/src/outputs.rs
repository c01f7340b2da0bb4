//! The one table of generated files, and the two things done with it: write and check.

use crate::render::{render, rust};
use crate::spec::{FILE, Spec};
use crate::{Outcome, c, models, python};
use std::path::Path;

/// What makes the text of a file.
enum Source {
    /// A template; Rust is formatted.
    Template(&'static str),
    /// A function that is given the spec, and the path.
    By(fn(&Spec, &str) -> Result<String, String>),
}

use Source::{By, Template};

/// Every generated file of the repository.
#[rustfmt::skip]
const OUTPUTS: [(&str, Source); 26] = [
    ("crates/types/src/generated/models.rs", By(models::models)),
    ("crates/types/src/generated/operations.rs", Template(include_str!("templates/operations.rs.j2"))),
    ("crates/core/src/generated/calls.rs", Template(include_str!("templates/calls.rs.j2"))),
    ("crates/core/src/generated/settings.rs", Template(include_str!("templates/settings.rs.j2"))),
    ("bindings/python/talentdata/_errors.py", Template(include_str!("templates/_errors.py.j2"))),
    ("bindings/python/talentdata/_models.py", Template(include_str!("templates/_models.py.j2"))),
    ("bindings/python/talentdata/_lists.py", Template(include_str!("templates/_lists.py.j2"))),
    ("bindings/python/talentdata/_calls.py", Template(include_str!("templates/_calls.py.j2"))),
    ("bindings/python/talentdata/_settings.py", Template(include_str!("templates/_settings.py.j2"))),
    ("bindings/python/talentdata/_results.py", By(python::results)),
    ("bindings/python/talentdata/_list.py", By(python::blocking)),
    ("bindings/python/talentdata/_client.py", By(python::blocking)),
    ("bindings/c/include/talentdata/error.h", By(c::header)),
    ("bindings/c/include/talentdata/record.h", By(c::header)),
    ("bindings/c/include/talentdata/log.h", By(c::header)),
    ("bindings/c/include/talentdata/client.h", By(c::header)),
    ("bindings/c/include/talentdata/scan.h", By(c::header)),
    ("bindings/c/include/talentdata/job.h", By(c::header)),
    ("bindings/c/include/talentdata/mirror.h", By(c::header)),
    ("bindings/c/include/talentdata/models.h", Template(include_str!("templates/models.h.j2"))),
    ("bindings/c/include/talentdata/operations.h", Template(include_str!("templates/operations.h.j2"))),
    ("bindings/c/include/talentdata/errors.hpp", Template(include_str!("templates/errors.hpp.j2"))),
    ("bindings/c/include/talentdata/models.hpp", Template(include_str!("templates/models.hpp.j2"))),
    ("bindings/c/include/talentdata/operations.hpp", Template(include_str!("templates/operations.hpp.j2"))),
    ("bindings/c/symbols.txt", By(c::symbols)),
    ("docs/settings.md", Template(include_str!("templates/settings.md"))),
];

impl Source {
    fn text(&self, path: &str, spec: &Spec) -> Result<String, String> {
        match self {
            Template(text) if path.ends_with(".rs") => rust(path, text, spec.data()),
            Template(text) => render(path, text, spec.data()),
            By(make) => make(spec, path),
        }
    }
}

/// Writes every file whose text differs, and says what is not generated.
pub(crate) fn write(root: &Path) -> Outcome {
    let spec = Spec::load(root)?;
    for (path, text) in differing(&spec)? {
        save(root, path, &text)?;
    }
    print!("{}", spec.summary);
    Ok(())
}

/// Takes a file from elsewhere as the spec of the workspace, and generates from it.
pub(crate) fn adopt(root: &Path, file: &Path) -> Outcome {
    let spec = Spec::load_file(root, file, &file.display().to_string())?;
    save(root, FILE, &format!("{:#}\n", spec.document.value))?;
    write(root)
}

fn save(root: &Path, path: &str, text: &str) -> Outcome {
    std::fs::write(root.join(path), text)
        .map_err(|error| format!("cannot write {path}: {error}"))?;
    println!("wrote {path}");
    Ok(())
}

/// Says what a spec would yield, from a file anywhere; writes nothing.
pub(crate) fn dry_run(root: &Path, file: &Path) -> Outcome {
    let spec = Spec::load_file(root, file, &file.display().to_string())?;
    for (path, _) in differing(&spec)? {
        println!("would write {path}");
    }
    print!("{}", spec.summary);
    let (api, lists) = (&spec.api, spec.api.lists().count());
    let [operations, models, enums] = [api.operations.len(), api.models.len(), api.enums.len()];
    println!(
        "{operations} operations, {lists} of them lists; {models} models, {enums} enums; nothing was written"
    );
    Ok(())
}

/// Fails, naming the files, when any differs from what the spec yields.
pub(crate) fn check(root: &Path) -> Outcome {
    let stale = differing(&Spec::load(root)?)?;
    let stale: Vec<&str> = stale.into_iter().map(|(path, _)| path).collect();
    match stale.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "out of date: {}; run `cargo xtask generate`",
            stale.join(", ")
        )),
    }
}

/// Writes the C headers that depend on a spec into a directory.
pub(crate) fn headers(spec: &Spec, directory: &Path) -> Outcome {
    let of_c = |path: &str| path.ends_with("/models.h") || path.ends_with("/operations.h");
    for (path, source) in OUTPUTS.iter().filter(|(path, _)| of_c(path)) {
        let name = path.rsplit('/').next().unwrap_or_default();
        save(directory, name, &source.text(path, spec)?)?;
    }
    Ok(())
}

fn differing(spec: &Spec) -> Result<Vec<(&'static str, String)>, String> {
    let texts = OUTPUTS
        .iter()
        .map(|(path, source)| Ok((*path, source.text(path, spec)?)));
    let mut texts = texts.collect::<Result<Vec<(&str, String)>, String>>()?;
    let present = |path: &str| std::fs::read_to_string(spec.root.join(path)).unwrap_or_default();
    texts.retain(|(path, text)| present(path) != *text);
    Ok(texts)
}

#[cfg(test)]
mod tests;
