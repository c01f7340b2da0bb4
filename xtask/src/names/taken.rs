//! Names that our own hand-written code has, read from its sources, so that nothing generated takes them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Types that generated Rust says without a path, so that no model may be named like them.
const SAID_IN_RUST: [&str; 14] = [
    "Box",
    "Err",
    "From",
    "Lists",
    "MaybeUninit",
    "None",
    "Ok",
    "Option",
    "Result",
    "Self",
    "Some",
    "String",
    "Vec",
    "ErrorKind",
];

/// What hand-written code names, so that nothing generated may.
#[derive(Clone)]
pub(crate) struct Taken {
    /// Methods of a Rust client.
    pub(crate) client: BTreeSet<String>,
    /// Types that stand beside the models, in Rust and in C.
    pub(crate) types: BTreeSet<String>,
    /// Names in the C++ namespace.
    pub(crate) cpp: BTreeSet<String>,
    /// Attributes of a Python client.
    pub(crate) python_client: BTreeSet<String>,
    /// Names that `import talentdata` gives.
    pub(crate) python: BTreeSet<String>,
}

impl Taken {
    /// Reads the hand-written sources.
    pub(crate) fn read(root: &Path) -> Result<Taken, String> {
        let mut types: BTreeSet<String> = SAID_IN_RUST.map(str::to_owned).into();
        types.extend(
            [
                "Resource",
                "Columns",
                "Format",
                "OnNew",
                "ValueKind",
                "OptionalInteger",
                "OptionalNumber",
                "OptionalBoolean",
            ]
            .map(str::to_owned),
        );
        for directory in ["crates/types/src", "crates/ffi-c/src"] {
            for file in sources(&root.join(directory))? {
                let items = parsed(&file)?.items;
                types.extend(items.iter().filter_map(type_name));
            }
        }
        // Every client can be cloned.
        let mut client = BTreeSet::from(["clone".to_owned()]);
        for file in sources(&root.join("crates/core/src"))? {
            if read(&file)?.contains("impl Client") {
                client.extend(parsed(&file)?.items.iter().flat_map(client_methods));
            }
        }
        let mut cpp = BTreeSet::new();
        let include = root.join("bindings/c/include");
        let mut headers = files(&include.join("talentdata"), "hpp")?;
        headers.retain(|path| !path.ends_with("models.hpp") && !path.ends_with("calls.hpp"));
        headers.push(include.join("talentdata.hpp"));
        for header in headers {
            cpp.extend(read(&header)?.lines().filter_map(cpp_name));
        }
        let package = root.join("bindings/python/talentdata");
        let native = read(&package.join("_talentdata.pyi"))?;
        let base = native
            .split("\nclass BaseClient")
            .nth(1)
            .unwrap_or_default();
        let base = base.split("\nclass ").next().unwrap_or_default();
        let methods = format!("{base}{}", read(&package.join("_client.py"))?);
        let quoted = read(&package.join("__init__.py"))?;
        let listed = quoted.lines().filter_map(|line| {
            let name = line.trim().strip_prefix('"')?.strip_suffix("\",")?;
            Some(name.to_owned())
        });
        let errors = read(&package.join("_errors.py"))?;
        let classes = errors
            .lines()
            .filter_map(|line| line.strip_prefix("class "));
        let classes = classes.filter_map(|line| Some(line.split_once('(')?.0.to_owned()));
        Ok(Taken {
            client,
            types,
            cpp,
            python_client: methods
                .lines()
                .filter_map(method_name)
                // It comes from the table of settings.
                .chain(["with_options".to_owned()])
                .collect(),
            python: ["Any", "Field", "None", "True", "False"]
                .map(str::to_owned)
                .into_iter()
                .chain(listed)
                .chain(classes)
                .collect(),
        })
    }
}

/// The hand-written Rust files of a directory and the directories in it.
fn sources(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let mut out = files(directory, "rs")?;
    for entry in entries(directory)? {
        if entry.is_dir() && !entry.ends_with("generated") {
            out.extend(sources(&entry)?);
        }
    }
    Ok(out)
}

fn files(directory: &Path, extension: &str) -> Result<Vec<PathBuf>, String> {
    let mut found = entries(directory)?;
    found.retain(|path| path.extension().is_some_and(|own| own == extension));
    Ok(found)
}

fn entries(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = std::fs::read_dir(directory)
        .map_err(|error| format!("{}: {error}", directory.display()))?;
    Ok(entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect())
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn parsed(path: &Path) -> Result<syn::File, String> {
    syn::parse_file(&read(path)?).map_err(|error| format!("{}: {error}", path.display()))
}

/// The name of a type.
pub(crate) fn type_name(item: &syn::Item) -> Option<String> {
    match item {
        syn::Item::Struct(item) => Some(item.ident.to_string()),
        syn::Item::Enum(item) => Some(item.ident.to_string()),
        syn::Item::Type(item) => Some(item.ident.to_string()),
        _ => None,
    }
}

fn client_methods(item: &syn::Item) -> Vec<String> {
    let syn::Item::Impl(block) = item else {
        return Vec::new();
    };
    let of_client = matches!(&*block.self_ty, syn::Type::Path(one) if one.path.is_ident("Client"));
    let methods = block.items.iter().filter_map(|item| match item {
        syn::ImplItem::Fn(method) if of_client => Some(method.sig.ident.to_string()),
        _ => None,
    });
    methods.collect()
}

/// What a line of a C++ header that begins at the margin declares.
fn cpp_name(line: &str) -> Option<String> {
    let name = |text: &str| {
        let end = text.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
        text[..end.unwrap_or(text.len())].to_owned()
    };
    for word in ["class ", "struct ", "using ", "namespace "] {
        if let Some(rest) = line.strip_prefix(word) {
            return Some(name(rest.trim_start_matches("[[nodiscard]] ")));
        }
    }
    let rest = line.strip_prefix("inline ")?;
    let function = rest.split('(').next().filter(|_| rest.contains('('))?;
    Some(name(function.rsplit([' ', '*']).next()?))
}

fn method_name(line: &str) -> Option<String> {
    let line = line.strip_prefix("    ")?;
    let line = line.strip_prefix("async ").unwrap_or(line);
    Some(line.strip_prefix("def ")?.split('(').next()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_a_c_client_are_kept() {
        for file in sources(&crate::root().join("crates/ffi-c/src")).unwrap() {
            for item in parsed(&file).unwrap().items {
                let syn::Item::Fn(function) = item else {
                    continue;
                };
                let name = function.sig.ident.to_string();
                if let Some(name) = name.strip_prefix("talentdata_client_") {
                    let mut kept = super::super::kept::C_CLIENT.split(' ');
                    assert!(kept.any(|one| one == name), "{name} is not in C_CLIENT");
                }
            }
        }
    }

    #[test]
    fn hand_written_names_are_found_in_the_sources() {
        let taken = Taken::read(&crate::root()).unwrap();
        for (names, wanted) in [
            (&taken.client, &["resource", "config", "call", "clone"][..]),
            (
                &taken.types,
                &["Record", "Secret", "Scan", "Receipt", "Text"],
            ),
            (
                &taken.cpp,
                &["record", "result", "scan", "list_of", "detail", "io_error"],
            ),
            (&taken.python_client, &["close", "base_url", "with_options"]),
            (&taken.python, &["Client", "Error", "AuthError", "Field"]),
        ] {
            for name in wanted {
                assert!(names.contains(*name), "{name} is not in {names:?}");
            }
        }
    }
}
