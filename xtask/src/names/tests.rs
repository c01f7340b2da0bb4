//! The reserved names of our own code are those of the sources: each list must contain what is found there.

use super::reserved::*;
use std::path::{Path, PathBuf};
use syn::{ImplItem, Item, Type};

/// The hand-written files below a directory.
fn files(directory: &Path, extension: &str) -> Vec<PathBuf> {
    let mut out = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("generated") {
            out.extend(files(&path, extension));
        } else if path.extension().is_some_and(|own| own == extension) {
            out.push(path);
        }
    }
    out
}

/// The word behind the first of these beginnings that a line has.
fn word<'a>(line: &'a str, beginnings: &[&str]) -> Option<&'a str> {
    let rest = beginnings.iter().find_map(|one| line.strip_prefix(one))?;
    let rest = rest.trim_start_matches("[[nodiscard]] ");
    let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
    Some(&rest[..end.unwrap_or(rest.len())])
}

fn is_client(of: &Type) -> bool {
    matches!(of, Type::Path(of) if of.path.is_ident("Client"))
}

fn are_reserved(list: &str, reserved: &str, names: &[String]) {
    assert!(!names.is_empty(), "{list}: none found");
    let missing = |name: &&String| !reserved.split_whitespace().any(|one| one == name.as_str());
    let missing: Vec<&String> = names.iter().filter(missing).collect();
    assert!(missing.is_empty(), "add to {list}: {missing:?}");
}

#[test]
fn names_of_hand_written_code_are_reserved() {
    let root = crate::root();
    let (mut types, mut client, mut c_client) = (Vec::new(), Vec::new(), Vec::new());
    let mut exported = Vec::new();
    for directory in ["crates/types/src", "crates/ffi-c/src", "crates/core/src"] {
        for file in files(&root.join(directory), "rs") {
            let text = std::fs::read_to_string(file).unwrap();
            for item in syn::parse_file(&text).unwrap().items {
                match item {
                    Item::Impl(item) if item.trait_.is_none() && is_client(&item.self_ty) => {
                        client.extend(item.items.iter().filter_map(|one| match one {
                            ImplItem::Fn(method) => Some(method.sig.ident.to_string()),
                            _ => None,
                        }));
                    }
                    Item::Fn(item) => {
                        let name = item.sig.ident.to_string();
                        c_client.extend(name.strip_prefix("talentdata_client_").map(str::to_owned));
                        exported.extend(name.starts_with("talentdata_").then_some(name));
                    }
                    // Those of the core stand in no scope of generated code.
                    _ if directory == "crates/core/src" => {}
                    Item::Struct(item) => types.push(item.ident.to_string()),
                    Item::Enum(item) => types.push(item.ident.to_string()),
                    Item::Type(item) => types.push(item.ident.to_string()),
                    _ => {}
                }
            }
        }
    }
    are_reserved("TYPES", TYPES, &types);
    are_reserved("RUST_CLIENT", RUST_CLIENT, &client);
    are_reserved("C_CLIENT", C_CLIENT, &c_client);
    // Of the sources that headers are made of none is missing.
    let symbols = std::fs::read_to_string(root.join("bindings/c/symbols.txt")).unwrap();
    are_reserved("bindings/c/symbols.txt, by SOURCES", &symbols, &exported);

    let mut headers = files(&root.join("bindings/c/include"), "hpp");
    headers.retain(|path| !path.ends_with("errors.hpp") && !path.ends_with("models.hpp"));
    headers.retain(|path| !path.ends_with("operations.hpp"));
    let texts = headers.iter().map(std::fs::read_to_string);
    let headers: String = texts.map(Result::unwrap).collect();
    let declared = headers.lines().filter_map(|line| {
        let function = line
            .strip_prefix("inline ")
            .filter(|rest| rest.contains('('));
        let function =
            function.and_then(|rest| rest.split('(').next()?.rsplit([' ', '*', '&']).next());
        function.or_else(|| word(line, &["class ", "struct ", "using ", "namespace "]))
    });
    let declared =
        declared.filter(|name| *name != "namespace" && !name.is_empty() && !name.contains("::"));
    let declared: Vec<String> = declared.map(str::to_owned).collect();
    are_reserved("CPP_NAMESPACE", CPP_NAMESPACE, &declared);

    let package = root.join("bindings/python/talentdata");
    let read = |name: &str| std::fs::read_to_string(package.join(name)).unwrap();
    let native = read("_talentdata.pyi");
    let base = native.split("\nclass BaseClient").nth(1).unwrap();
    let methods = format!(
        "{}{}",
        base.split("\nclass ").next().unwrap(),
        read("_client.py")
    );
    let methods = methods
        .lines()
        .filter_map(|line| word(line, &["    def ", "    async def "]));
    let methods: Vec<String> = methods.map(str::to_owned).collect();
    are_reserved("PYTHON_CLIENT", PYTHON_CLIENT, &methods);
    let package = read("__init__.py");
    let listed = package
        .lines()
        .filter_map(|line| line.trim().strip_prefix('"')?.strip_suffix("\","));
    let listed: Vec<String> = listed.map(str::to_owned).collect();
    are_reserved("PYTHON_PACKAGE", PYTHON_PACKAGE, &listed);
}
