//! `bindings/c/include/talentdata.h`, from the Rust signatures by cbindgen.

use super::{accessors, parse};
use crate::names;
use crate::names::taken::type_name;
use crate::spec::Spec;
use cbindgen::{
    Builder, Config, DocumentationStyle, EnumConfig, ExportConfig, Language, RenameRule, Style,
};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

const SOURCES: &str = "crates/ffi-c/src";

/// The header, as the sources stand and the spec yields the accessors.
pub(crate) fn file(spec: &Spec) -> Result<String, String> {
    let root = &spec.root;
    // The accessors on disk may be those of another spec, and cbindgen reads files only.
    let fresh = accessors::file(spec)?;
    let accessors = tempfile::Builder::new()
        .suffix(".rs")
        .tempfile()
        .and_then(|file| std::fs::write(file.path(), fresh).map(|()| file))
        .map_err(|error| format!("cannot write the accessors: {error}"))?;
    let mut sources = hand_written(root)?;
    sources.push(accessors.path().to_owned());
    sources.push(root.join("crates/core/src/error/kind.rs"));
    let names = type_names(&sources)?;
    let mut builder = Builder::new().with_config(config(&names));
    for source in &sources {
        builder = builder.with_src(source);
    }
    let bindings = builder
        .generate()
        .map_err(|error| format!("cbindgen: {error}"))?;
    let mut text = Vec::new();
    bindings.write(&mut text);
    let text = String::from_utf8(text).map_err(|error| error.to_string())?;
    check(&text, &names)?;
    Ok(text)
}

/// Refuses functions that say too little, or share the name of a type.
fn check(header: &str, types: &[String]) -> Result<(), String> {
    let types: Vec<String> = types
        .iter()
        .map(|name| format!("talentdata_{}", names::snake(name)))
        .collect();
    for function in parse::functions(header)? {
        let points = |one: &parse::Parameter| {
            one.is_out() && (one.kind.ends_with("**") || one.kind.contains("talentdata_text"))
        };
        let owns = function.frees()
            || function.result == "talentdata_text"
            || function.parameters.iter().any(points);
        let needed = [
            ("Threads:", true),
            ("Errors:", function.can_fail()),
            ("Ownership:", owns),
        ];
        for (words, needed) in needed {
            if needed && !function.doc.contains(words) {
                let name = function.name;
                return Err(format!(
                    "the documentation of {name} has no line \"{words}\""
                ));
            }
        }
        for one in &function.parameters {
            let documented = function.doc.contains(&format!("@param {} ", one.name));
            if function.can_fail() && !documented {
                let (name, parameter) = (function.name, &one.name);
                return Err(format!(
                    "the documentation of {name} does not say what {parameter} is"
                ));
            }
        }
        if types.contains(&function.name) {
            return Err(format!(
                "{} is the name of a type and of a function",
                function.name
            ));
        }
    }
    Ok(())
}

/// The files of the crate in the order of their names, without the generated one.
fn hand_written(root: &Path) -> Result<Vec<PathBuf>, String> {
    let folder = root.join(SOURCES);
    let entries = std::fs::read_dir(&folder).map_err(|error| format!("{SOURCES}: {error}"))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        // cbindgen follows its modules, and would meet every file twice.
        .filter(|path| !path.ends_with("lib.rs"))
        .collect();
    files.sort();
    Ok(files)
}

/// Every public type of these files.
fn type_names(sources: &[PathBuf]) -> Result<Vec<String>, String> {
    let mut names = Vec::new();
    for source in sources {
        let text = std::fs::read_to_string(source)
            .map_err(|error| format!("{}: {error}", source.display()))?;
        let file =
            syn::parse_file(&text).map_err(|error| format!("{}: {error}", source.display()))?;
        names.extend(file.items.iter().filter_map(type_name));
    }
    Ok(names)
}

fn config(names: &[String]) -> Config {
    let version = env!("CARGO_PKG_VERSION");
    let mut rename: HashMap<String, String> = names
        .iter()
        .map(|name| (name.clone(), format!("talentdata_{}", names::snake(name))))
        .collect();
    rename.insert(
        "FFI_ArrowArrayStream".into(),
        "struct ArrowArrayStream".into(),
    );
    // Enums that only numbers refer to.
    let include = ["Resource", "LogLevel", "Consistency"]
        .map(str::to_owned)
        .to_vec();
    Config {
        language: Language::C,
        cpp_compat: true,
        style: Style::Type,
        include_guard: Some("TALENTDATA_H".into()),
        documentation_style: DocumentationStyle::Doxy,
        line_length: 100,
        header: Some(PREAMBLE.into()),
        after_includes: Some(format!(
            "\n/** The version of this header; talentdata_library_version tells that of the library. */\n#define TALENTDATA_VERSION \"{version}\"\n\n/** Of the Arrow C data interface; talentdata/arrow.h defines it where no Arrow library does. */\nstruct ArrowArrayStream;"
        )),
        usize_is_size_t: true,
        no_includes: true,
        sys_includes: ["stdbool.h", "stddef.h", "stdint.h"]
            .map(str::to_owned)
            .to_vec(),
        export: ExportConfig {
            include,
            rename,
            ..ExportConfig::default()
        },
        enumeration: EnumConfig {
            rename_variants: RenameRule::QualifiedScreamingSnakeCase,
            ..EnumConfig::default()
        },
        ..Config::default()
    }
}

const PREAMBLE: &str = "\
/* Generated by `cargo xtask generate` from crates/ffi-c; do not edit. */

/**
 * @file
 * libtalentdata: contacts, skills, roles and the rest of the talent data service, from C and C++.
 *
 * Conventions, which hold for every function:
 *
 * - Errors. A function that can fail returns NULL when all went well, else an error that the caller
 *   frees. \"Those of a call\" are CONNECT, TLS, TRANSPORT, TIMEOUT, REDIRECT, TOO_LARGE, DECODE,
 *   SCHEMA, AUTH, TOKEN_RESPONSE, FORBIDDEN, NOT_FOUND, CONFLICT, BAD_REQUEST, RATE_LIMITED, SERVER,
 *   API, CONFIG (a credential is missing), CLOSED (the client is being freed) and INVALID_ARGUMENT
 *   (called from a log callback). INTERNAL, a defect of the library, can come from any function.
 * - Results. They are written through the last arguments, named *_out, only when all went well.
 * - NULL. No pointer may be NULL unless it is said; the error names the argument. A free function
 *   takes NULL and does nothing.
 * - Ownership. What is given is freed by the function that is named. What is lent is not freed, and
 *   is valid until its owner is.
 * - Text is UTF-8. Going in, it is ended by a NUL, or, in functions that end in _n, has a length
 *   in bytes, at most 1 MiB. Coming out, it is a talentdata_text, and no NUL ends it.
 * - Threads. \"Any\" means: at once, from any number of threads. Any thread may free what another
 *   made. What is freed must not be passed to a call that begins later.
 * - Nothing has to be set up before the first call or torn down after the last. Signal handlers,
 *   errno, locale and working directory stay as they are.
 */";
