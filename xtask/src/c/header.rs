//! `bindings/c/include/talentdata.h`, from the Rust signatures by cbindgen.

use super::exports::{self, Function, Kind, Parameter};
use crate::names;
use crate::render::{render_with, version};
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
    let names = exports::types(sources);
    check(&exports::functions(sources)?, &names)?;
    // cbindgen reads files only.
    let fresh = tempfile::tempdir().map_err(|error| format!("no temporary directory: {error}"))?;
    let mut builder = Builder::new().with_config(config(&names)?);
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

fn config(names: &[String]) -> Result<Config, String> {
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
    Ok(Config {
        language: Language::C,
        cpp_compat: true,
        style: Style::Type,
        include_guard: Some("TALENTDATA_H".into()),
        documentation_style: DocumentationStyle::Doxy,
        line_length: 100,
        header: Some(
            render_with("preamble.h.j2", version())?
                .trim_end()
                .to_owned(),
        ),
        after_includes: Some(
            render_with("after_includes.h.j2", version())?
                .trim_end()
                .to_owned(),
        ),
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
    })
}
