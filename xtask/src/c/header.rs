//! `bindings/c/include/talentdata.h`, from the Rust signatures by cbindgen.

use super::exports::{self, Function, Kind, Parameter};
use crate::names;
use crate::spec::Spec;
use cbindgen::{
    Builder, Config, DocumentationStyle, EnumConfig, ExportConfig, FunctionConfig, Language,
    RenameRule, Style,
};
use std::collections::HashMap;

/// The macro before functions whose result must not be ignored.
const NODISCARD: &str = "TALENTDATA_NODISCARD";

/// The header, as the sources stand and the spec yields the accessors.
pub(crate) fn file(spec: &Spec) -> Result<String, String> {
    let sources = exports::sources(spec)?;
    let names = exports::types(&sources);
    check(&exports::functions(&sources)?, &names)?;
    // cbindgen reads files only.
    let fresh = tempfile::tempdir().map_err(|error| format!("no temporary directory: {error}"))?;
    let mut builder = Builder::new().with_config(config(&names));
    for (index, source) in sources.iter().enumerate() {
        let file = fresh.path().join(format!("{index}.rs"));
        std::fs::write(&file, &source.text)
            .map_err(|error| format!("cannot write {}: {error}", source.name))?;
        builder = builder.with_src(file);
    }
    let bindings = builder
        .generate()
        .map_err(|error| format!("cbindgen: {error}"))?;
    let mut text = Vec::new();
    bindings.write(&mut text);
    String::from_utf8(text).map_err(|error| error.to_string())
}

/// Refuses functions that say too little, or share the name of a type.
fn check(functions: &[Function], types: &[String]) -> Result<(), String> {
    let types: Vec<String> = types
        .iter()
        .map(|name| format!("talentdata_{}", names::snake(name)))
        .collect();
    for function in functions {
        let name = &function.name;
        let owner = |one: &Parameter| one.kind == Kind::Out { owner: true };
        let owns = function.frees() || function.lends || function.parameters.iter().any(owner);
        let needed = [
            ("Threads:", true),
            ("Errors:", function.can_fail),
            ("Ownership:", owns),
        ];
        for (words, needed) in needed {
            if needed && !function.doc.contains(words) {
                return Err(format!(
                    "the documentation of {name} has no line \"{words}\""
                ));
            }
        }
        if function.can_fail != function.must_use {
            return Err(format!(
                "{name} must be #[must_use] exactly when it returns an error"
            ));
        }
        for Parameter { name: one, .. } in &function.parameters {
            if function.can_fail && !function.doc.contains(&format!("@param {one} ")) {
                return Err(format!(
                    "the documentation of {name} does not say what {one} is"
                ));
            }
        }
        if types.contains(name) {
            return Err(format!("{name} is the name of a type and of a function"));
        }
    }
    Ok(())
}

fn config(names: &[String]) -> Config {
    let mut rename: HashMap<String, String> = names
        .iter()
        .map(|name| (name.clone(), format!("talentdata_{}", names::snake(name))))
        .collect();
    rename.insert(
        "FFI_ArrowArrayStream".into(),
        "struct ArrowArrayStream".into(),
    );
    // Enums that only numbers refer to.
    let include = [
        "Resource", "LogLevel", "Dialect", "Columns", "OnNew", "Format",
    ];
    let include = include.map(str::to_owned).to_vec();
    Config {
        language: Language::C,
        cpp_compat: true,
        style: Style::Type,
        include_guard: Some("TALENTDATA_H".into()),
        documentation_style: DocumentationStyle::Doxy,
        line_length: 100,
        header: Some(PREAMBLE.into()),
        after_includes: Some(format!(
            "\n{}\n\n{MARKS}\n\n/** From the Arrow C data interface; talentdata/arrow.h defines it where no Arrow library does. */\nstruct ArrowArrayStream;",
            version()
        )),
        function: FunctionConfig {
            must_use: Some(NODISCARD.into()),
            ..FunctionConfig::default()
        },
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

/// The version as text and as numbers, which the preprocessor can compare.
fn version() -> String {
    format!(
        "/** The version of this header; talentdata_library_version returns that of the library. */\n\
         #define TALENTDATA_VERSION \"{}\"\n\
         #define TALENTDATA_VERSION_MAJOR {}\n\
         #define TALENTDATA_VERSION_MINOR {}\n\
         #define TALENTDATA_VERSION_PATCH {}\n\
         /** Version 1.2.3 is 1002003. */\n\
         #define TALENTDATA_VERSION_NUMBER (TALENTDATA_VERSION_MAJOR * 1000000 + TALENTDATA_VERSION_MINOR * 1000 + TALENTDATA_VERSION_PATCH)",
        env!("CARGO_PKG_VERSION"),
        env!("CARGO_PKG_VERSION_MAJOR"),
        env!("CARGO_PKG_VERSION_MINOR"),
        env!("CARGO_PKG_VERSION_PATCH"),
    )
}

/// What makes a compiler warn about an ignored error.
const MARKS: &str = "\
/** A function whose result must not be ignored: it is an error, or NULL. */
#if defined(__cplusplus) && __cplusplus >= 201703L
#define TALENTDATA_NODISCARD [[nodiscard]]
#elif defined(__GNUC__)
#define TALENTDATA_NODISCARD __attribute__((warn_unused_result))
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 202311L
#define TALENTDATA_NODISCARD [[nodiscard]]
#else
#define TALENTDATA_NODISCARD
#endif";

const PREAMBLE: &str = "\
/* Generated by `cargo xtask generate` from crates/ffi-c; do not edit. */

/**
 * @file
 * libtalentdata: contacts, skills, roles and the rest of the talent data service, from C and C++.
 *
 * Conventions for every function:
 *
 * - Errors. A function that can fail returns NULL on success, otherwise an error that the caller frees
 *   with talentdata_error_free. \"Those of a call\" are CONNECT, TLS, TRANSPORT, TIMEOUT, REDIRECT,
 *   TOO_LARGE, DECODE, SCHEMA, AUTH, TOKEN_RESPONSE, FORBIDDEN, NOT_FOUND, CONFLICT, BAD_REQUEST,
 *   RATE_LIMITED, SERVER, API, CONFIG (a credential is missing), CLOSED (the client is closed) and
 *   INVALID_ARGUMENT (called from a log callback). Any function can return INTERNAL, a bug in the
 *   library.
 * - Results are written through the last arguments, named *_out, and only on success.
 * - NULL. No pointer may be NULL unless its description allows it; the error names the argument. A free
 *   function does nothing when it is passed NULL.
 * - Ownership. Arguments are borrowed for the duration of the call unless stated otherwise. A handle
 *   that the caller owns is freed with the function named in its description. Everything else that a
 *   function returns is borrowed: it must not be freed and is valid until its owner is freed.
 * - Text is UTF-8. Text passed in is NUL-terminated or, for functions whose name ends in _n, has a length
 *   in bytes; at most 8 MiB. Text returned is a talentdata_text, which is not NUL-terminated.
 * - Threads. \"Any\" means any number of threads at the same time. A handle may be freed by another
 *   thread than the one that created it, but never while a call with it may be in progress or about to
 *   begin. To end work that other threads do: talentdata_client_close, talentdata_scan_cancel and
 *   talentdata_exporter_cancel, which make their calls return, then join the threads, then free the handles.
 * - There is nothing to set up before the first call or to tear down after the last. Signal handlers,
 *   errno, locale and working directory are left as they are.
 */";
