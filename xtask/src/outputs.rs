//! The one table of generated files, and the two things done with it: write and check.

use crate::render::{render, rust, settings_page};
use crate::spec::{FILE, Spec};
use crate::{Outcome, c, models, python};
use std::path::Path;

/// What makes the text of a file.
enum Source {
    /// A template; Rust is formatted.
    Template(&'static str),
    /// A function that is given the spec.
    By(fn(&Spec) -> Result<String, String>),
    /// The exported functions of the C library.
    Header,
}

use Source::{By, Header, Template};

/// Every generated file of the repository.
#[rustfmt::skip]
const OUTPUTS: [(&str, Source); 26] = [
    ("crates/types/src/generated/models.rs", By(models::models)),
    ("crates/types/src/generated/operations.rs", Template("operations.rs.j2")),
    ("crates/core/src/generated/calls.rs", Template("calls.rs.j2")),
    ("crates/core/src/generated/settings.rs", Template("settings.rs.j2")),
    ("bindings/python/talentdata/_errors.py", Template("_errors.py.j2")),
    ("bindings/python/talentdata/_models.py", Template("_models.py.j2")),
    ("bindings/python/talentdata/_lists.py", Template("_lists.py.j2")),
    ("bindings/python/talentdata/_calls.py", Template("_calls.py.j2")),
    ("bindings/python/talentdata/_settings.py", Template("_settings.py.j2")),
    ("bindings/python/talentdata/_results.py", By(python::results)),
    ("bindings/python/talentdata/_list.py", By(python::list)),
    ("bindings/python/talentdata/_client.py", By(python::client)),
    ("bindings/c/include/talentdata/error.h", Header),
    ("bindings/c/include/talentdata/record.h", Header),
    ("bindings/c/include/talentdata/log.h", Header),
    ("bindings/c/include/talentdata/client.h", Header),
    ("bindings/c/include/talentdata/scan.h", Header),
    ("bindings/c/include/talentdata/job.h", Header),
    ("bindings/c/include/talentdata/mirror.h", Header),
    ("bindings/c/include/talentdata/models.h", Template("models.h.j2")),
    ("bindings/c/include/talentdata/operations.h", Template("operations.h.j2")),
    ("bindings/c/include/talentdata/errors.hpp", Template("errors.hpp.j2")),
    ("bindings/c/include/talentdata/models.hpp", Template("models.hpp.j2")),
    ("bindings/c/include/talentdata/operations.hpp", Template("operations.hpp.j2")),
    ("bindings/c/symbols.txt", By(c::symbols)),
    ("docs/settings.md", By(settings_page)),
];

impl Source {
    fn text(&self, path: &str, spec: &Spec) -> Result<String, String> {
        match self {
            Header => c::header(spec, path),
            Template(name) if name.contains(".rs.") => rust(name, spec),
            Template(name) => render(name, spec),
            By(make) => make(spec),
        }
    }
}

/// Writes every file whose text differs, and says what is not generated.
pub(crate) fn write(root: &Path) -> Outcome {
    let spec = Spec::load(root)?;
    for (path, text) in differing(&spec)? {
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

/// Writes the C headers that depend on the spec into a directory, for a spec from elsewhere.
pub(crate) fn headers(root: &Path, file: &Path, directory: &Path) -> Outcome {
    let spec = Spec::load_file(root, file, &file.display().to_string())?;
    for name in ["models.h", "operations.h"] {
        let text = render(&format!("{name}.j2"), &spec)?;
        std::fs::write(directory.join(name), text)
            .map_err(|error| format!("cannot write {name}: {error}"))?;
    }
    Ok(())
}

fn differing(spec: &Spec) -> Result<Vec<(&'static str, String)>, String> {
    let mut out = Vec::new();
    for (path, source) in &OUTPUTS {
        let text = source.text(path, spec)?;
        let present = std::fs::read_to_string(spec.root.join(path)).unwrap_or_default();
        if present != text {
            out.push((*path, text));
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests;
