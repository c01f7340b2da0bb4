//! The table of generated files, and its two uses: writing and checking them.

use crate::generation::{FILE, Spec};
use crate::render::{render, template};
use crate::{Outcome, c, models, options, python};
use std::path::Path;

/// A function that makes the text of a file, given its path.
type Make = fn(&Spec, &str) -> Result<String, String>;

/// Every generated file of the repository.
#[rustfmt::skip]
const OUTPUTS: [(&str, Make); 28] = [
    ("crates/types/src/generated/models.rs", models::models),
    ("crates/types/src/generated/operations.rs", template),
    ("crates/core/src/generated/calls.rs", template),
    ("crates/core/src/generated/checks.rs", template),
    ("crates/core/src/settings/config.rs", template),
    ("bindings/python/talentdata/_errors.py", template),
    ("bindings/python/talentdata/_models.py", template),
    ("bindings/python/talentdata/_operations.py", template),
    ("bindings/python/talentdata/_settings.py", template),
    ("bindings/python/talentdata/_results.py", python::results),
    ("bindings/python/talentdata/_list.py", python::blocking),
    ("bindings/python/talentdata/_client.py", python::blocking),
    ("bindings/c/include/talentdata/error.h", c::header),
    ("bindings/c/include/talentdata/record.h", c::header),
    ("bindings/c/include/talentdata/log.h", c::header),
    ("bindings/c/include/talentdata/client.h", c::header),
    ("bindings/c/include/talentdata/scan.h", c::header),
    ("bindings/c/include/talentdata/job.h", c::header),
    ("bindings/c/include/talentdata/call.h", c::header),
    ("bindings/c/include/talentdata/mirror.h", c::header),
    ("bindings/c/include/talentdata_sandbox.h", c::header),
    ("bindings/c/include/talentdata/service.h", template),
    ("bindings/c/include/talentdata/errors.hpp", template),
    ("bindings/c/include/talentdata/service.hpp", template),
    ("bindings/c/symbols.txt", c::symbols),
    ("docs/errors.md", |spec, path| render(path, "errors.md", spec.data.clone())),
    ("docs/options.md", |_, path| render(path, "options.md", options::view())),
    ("docs/settings.md", |spec, path| render(path, "settings.md", spec.data.clone())),
];

/// Runs `generate` with these arguments.
pub(crate) fn generate(root: &Path, words: &[&str]) -> Outcome {
    let mut words = words.to_vec();
    let mut flag = |name: &str| {
        let found = words.iter().position(|word| *word == name);
        found.map(|index| words.remove(index)).is_some()
    };
    let (strictly, dry_run) = (flag("--strict"), flag("--dry-run"));
    let load = |file: Option<&str>| {
        let (spec, label) = match file {
            Some(file) => (Spec::load_file(root, Path::new(file))?, file),
            None => (Spec::load(root)?, FILE),
        };
        spec.document.refusals(label, strictly)?;
        Ok::<Spec, String>(spec)
    };
    match words.as_slice() {
        [] if !dry_run => write(&load(None)?),
        ["--check"] if !dry_run => check(&load(None)?),
        ["--spec", file] if dry_run => said(&load(Some(file))?),
        ["--spec", file] => adopt(&load(Some(file))?),
        ["--spec", file, "--header", directory] if !dry_run => {
            header(&load(Some(file))?, Path::new(directory))
        }
        _ => Err(format!(
            "generate does not take {}; cargo xtask lists what it takes",
            words.join(" ")
        )),
    }
}

/// Writes every file whose text differs, and prints the parts of the spec that are not generated.
pub(crate) fn write(spec: &Spec) -> Outcome {
    for (path, text) in differing(spec)? {
        save(&spec.root, path, &text)?;
    }
    print!("{}", summary(spec));
    Ok(())
}

/// Adopts a file from elsewhere as the spec of the workspace, and generates from it.
fn adopt(spec: &Spec) -> Outcome {
    save(&spec.root, FILE, &format!("{:#}\n", spec.document.value))?;
    write(spec)
}

/// Returns the parts that are kept from the previous spec, and those that are not generated.
fn summary(spec: &Spec) -> String {
    let kept = spec.kept.iter().map(|one| format!("  {one}\n"));
    let kept = kept.collect::<String>();
    if kept.is_empty() {
        return spec.document.summary();
    }
    format!("Kept of {FILE}:\n{kept}{}", spec.document.summary())
}

fn save(root: &Path, path: &str, text: &str) -> Outcome {
    std::fs::write(root.join(path), text)
        .map_err(|error| format!("cannot write {path}: {error}"))?;
    println!("wrote {path}");
    Ok(())
}

/// Prints which files a spec would change, and writes nothing.
fn said(spec: &Spec) -> Outcome {
    for (path, _) in differing(spec)? {
        println!("would write {path}");
    }
    print!("{}", summary(spec));
    let (api, lists) = (&spec.api, spec.api.lists().count());
    let [operations, models, enums] = [api.operations.len(), api.models.len(), api.enums.len()];
    println!(
        "{operations} operations, {lists} of them lists; {models} models, {enums} enums; nothing was written"
    );
    Ok(())
}

/// Fails with the names of the files that differ from the generated ones, if there are any.
pub(crate) fn check(spec: &Spec) -> Outcome {
    let stale = differing(spec)?.into_iter().map(|(path, _)| path);
    let stale: Vec<&str> = stale.collect();
    if stale.is_empty() {
        Ok(())
    } else {
        Err(format!(
            "out of date: {}; run `cargo xtask generate`",
            stale.join(", ")
        ))
    }
}

/// Writes the C header that depends on a spec into a directory.
pub(crate) fn header(spec: &Spec, directory: &Path) -> Outcome {
    save(directory, "service.h", &template(spec, "service.h")?)
}

fn differing(spec: &Spec) -> Result<Vec<(&'static str, String)>, String> {
    let texts = OUTPUTS
        .iter()
        .map(|(path, make)| Ok((*path, make(spec, path)?)));
    let mut texts = texts.collect::<Result<Vec<(&str, String)>, String>>()?;
    let present = |path: &str| std::fs::read_to_string(spec.root.join(path)).unwrap_or_default();
    texts.retain(|(path, text)| present(path) != *text);
    Ok(texts)
}

#[cfg(test)]
mod tests;
