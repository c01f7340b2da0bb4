//! What the C library exports, from the Rust signatures: the same files that cbindgen makes the header of.

use crate::names;
use crate::render::rust;
use crate::spec::Spec;
use quote::ToTokens;
use std::path::{Path, PathBuf};
use syn::{Attribute, Expr, ExprLit, FnArg, Item, Lit, Pat, ReturnType};

const SOURCES: &str = "crates/ffi-c/src";
/// Enums of the core that C has as they are.
const SHARED: [&str; 4] = [
    "crates/core/src/error/kind.rs",
    "crates/columns/src/arrow/schema.rs",
    "crates/columns/src/format.rs",
    "crates/core/src/nested/kind.rs",
];

/// A file of Rust, as it stands or as it is about to be generated.
pub(crate) struct Source {
    pub(super) name: String,
    pub(super) text: String,
    items: Vec<Item>,
}

/// A function of the library.
pub(super) struct Function {
    pub(super) name: String,
    pub(super) parameters: Vec<Parameter>,
    /// Whether it returns an error.
    pub(super) can_fail: bool,
    /// Whether it returns a text.
    pub(super) lends: bool,
    /// Whether the compiler warns when the result is ignored.
    pub(super) must_use: bool,
    /// Its documentation.
    pub(super) doc: String,
}

pub(super) struct Parameter {
    pub(super) name: String,
    pub(super) kind: Kind,
}

/// What is passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Where a result is written; whether that is, or lends, something that the caller has to know the life of.
    Out {
        owner: bool,
    },
    /// A handle, by the name of its type without the prefix.
    Handle(String),
    Text,
    Texts,
    /// Texts with their lengths.
    TextsOfLength,
    Callback,
    /// A pointer that only the caller understands, or a callback that may be left out.
    Passed,
    Number,
}

impl Function {
    /// Whether the documentation says that this parameter may be NULL.
    fn allows_null(&self, parameter: &Parameter) -> bool {
        let start = format!("@param {} ", parameter.name);
        let line = self.doc.lines().find(|line| line.contains(&start));
        line.is_some_and(|line| line.contains("or NULL"))
    }

    /// Whether NULL is an error there.
    pub(super) fn needs(&self, parameter: &Parameter) -> bool {
        let pointer = !matches!(parameter.kind, Kind::Passed | Kind::Number);
        pointer && !self.allows_null(parameter)
    }

    pub(super) fn frees(&self) -> bool {
        self.name.ends_with("_free")
    }
}

/// The hand-written files of the library in the order of their names, those that the spec yields, and those of the core.
pub(super) fn sources(spec: &Spec) -> Result<&[Source], String> {
    if spec.library.get().is_none() {
        // A second one would be the same.
        let _ = spec.library.set(read(spec)?);
    }
    Ok(spec.library.get().map_or(&[], Vec::as_slice))
}

fn read(spec: &Spec) -> Result<Vec<Source>, String> {
    let mut sources = Vec::new();
    for path in hand_written(&spec.root)? {
        sources.push(source(&path)?);
    }
    // What is on disk may be of another spec.
    for (name, text) in [
        ("models.rs", rust("ffi_models.rs.j2", spec)?),
        ("calls.rs", rust("ffi_calls.rs.j2", spec)?),
        ("settings.rs", rust("ffi_settings.rs.j2", spec)?),
    ] {
        sources.push(parsed(format!("generated/{name}"), text)?);
    }
    for path in SHARED {
        sources.push(source(&spec.root.join(path))?);
    }
    Ok(sources)
}

fn hand_written(root: &Path) -> Result<Vec<PathBuf>, String> {
    let mut files = Vec::new();
    let mut waiting = vec![root.join(SOURCES)];
    while let Some(directory) = waiting.pop() {
        let entries = std::fs::read_dir(&directory)
            .map_err(|error| format!("{}: {error}", directory.display()))?;
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            if path.is_dir() && !path.ends_with("generated") {
                waiting.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs")
                // cbindgen follows its modules, and would meet every file twice.
                && path != root.join(SOURCES).join("lib.rs")
            {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

fn source(path: &Path) -> Result<Source, String> {
    let text =
        std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    parsed(path.display().to_string(), text)
}

fn parsed(name: String, text: String) -> Result<Source, String> {
    let file = syn::parse_file(&text).map_err(|error| format!("{name}: {error}"))?;
    Ok(Source {
        name,
        text,
        items: file.items,
    })
}

/// Every public type.
pub(super) fn types(sources: &[Source]) -> Vec<String> {
    let names = items(sources).filter_map(|item| match item {
        Item::Struct(item) => Some(item.ident.to_string()),
        Item::Enum(item) => Some(item.ident.to_string()),
        Item::Type(item) => Some(item.ident.to_string()),
        _ => None,
    });
    names.collect()
}

/// Every exported function.
pub(super) fn functions(sources: &[Source]) -> Result<Vec<Function>, String> {
    let functions = items(sources).filter_map(|item| match item {
        Item::Fn(item) if item.sig.abi.is_some() => Some(function(item)),
        _ => None,
    });
    functions.collect()
}

/// The name and number of every value of an enum.
pub(super) fn constants(sources: &[Source]) -> Result<Vec<(String, u32)>, String> {
    let mut out = Vec::new();
    for item in items(sources) {
        let Item::Enum(item) = item else { continue };
        if !item.attrs.iter().any(|one| one.path().is_ident("repr")) {
            continue;
        }
        for variant in &item.variants {
            let value = names::constant(&variant.ident.to_string());
            let name = format!(
                "TALENTDATA_{}_{value}",
                names::constant(&item.ident.to_string())
            );
            let number = variant
                .discriminant
                .as_ref()
                .and_then(|(_, number)| number_of(number));
            let number = number.ok_or_else(|| format!("{name} has no plain number"))?;
            out.push((name, number));
        }
    }
    Ok(out)
}

fn items(sources: &[Source]) -> impl Iterator<Item = &Item> {
    sources.iter().flat_map(|source| &source.items)
}

fn number_of(expression: &Expr) -> Option<u32> {
    match expression {
        Expr::Lit(ExprLit {
            lit: Lit::Int(number),
            ..
        }) => number.base10_parse().ok(),
        _ => None,
    }
}

fn function(item: &syn::ItemFn) -> Result<Function, String> {
    let name = item.sig.ident.to_string();
    let result = match &item.sig.output {
        ReturnType::Default => String::new(),
        ReturnType::Type(_, result) => compact(result),
    };
    let parameters = item.sig.inputs.iter().map(|input| match input {
        FnArg::Typed(input) => match &*input.pat {
            Pat::Ident(parameter) => Ok(Parameter {
                kind: kind(&parameter.ident.to_string(), &compact(&input.ty))
                    .ok_or_else(|| format!("{name}: {} is of no known type", parameter.ident))?,
                name: parameter.ident.to_string(),
            }),
            _ => Err(format!("{name} has a parameter without a name")),
        },
        FnArg::Receiver(_) => Err(format!("{name} is a method")),
    });
    Ok(Function {
        parameters: parameters.collect::<Result<_, _>>()?,
        can_fail: result == "Option<Box<Error>>",
        lends: result == "Text",
        must_use: item.attrs.iter().any(|one| one.path().is_ident("must_use")),
        doc: documentation(&item.attrs),
        name,
    })
}

/// The text of a type without blanks.
fn compact(part: &impl ToTokens) -> String {
    let text = part.to_token_stream().to_string();
    text.split_whitespace().collect()
}

fn kind(name: &str, of: &str) -> Option<Kind> {
    if name.ends_with("_out") {
        let owner = ["Box<", "Text", "*const"]
            .iter()
            .any(|one| of.contains(one));
        return Some(Kind::Out { owner });
    }
    Some(match of {
        "*constc_char" => Kind::Text,
        "*const*constc_char" => Kind::Texts,
        "*constText" => Kind::TextsOfLength,
        "LogCallback" => Kind::Callback,
        "ReleaseCallback" | "*mutc_void" => Kind::Passed,
        "bool" | "f64" | "i64" | "u32" | "u64" | "usize" => Kind::Number,
        _ => {
            let held = of.strip_prefix("Option<")?.strip_suffix('>')?;
            let handle = match held.strip_suffix('>') {
                Some(held) => held
                    .strip_prefix("NonNull<")
                    .or(held.strip_prefix("Box<"))?,
                None => held.strip_prefix("&mut").or(held.strip_prefix('&'))?,
            };
            Kind::Handle(names::snake(handle))
        }
    })
}

fn documentation(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| {
        let value = &attribute.meta.require_name_value().ok()?.value;
        match value {
            Expr::Lit(ExprLit {
                lit: Lit::Str(text),
                ..
            }) if attribute.path().is_ident("doc") => Some(text.value()),
            _ => None,
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_in_every_directory_but_what_is_generated() {
        let root = tempfile::tempdir().unwrap();
        for name in [
            "lib.rs",
            "scan.rs",
            "scan/deep/page.rs",
            "generated/models.rs",
        ] {
            let path = root.path().join(SOURCES).join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let found = hand_written(root.path()).unwrap();
        let sources = root.path().join(SOURCES);
        let names = found
            .iter()
            .map(|path| path.strip_prefix(&sources).unwrap());
        let names: Vec<String> = names.map(|name| name.display().to_string()).collect();
        assert_eq!(names, ["scan/deep/page.rs", "scan.rs"]);
    }
}
