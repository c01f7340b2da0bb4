//! The reserved names of our own code are those of the sources: each list must contain what is found there.

use super::reserved::*;
use std::path::{Path, PathBuf};

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
    for directory in ["crates/types/src", "crates/ffi-c/src", "crates/core/src"] {
        for file in files(&root.join(directory), "rs") {
            let text = std::fs::read_to_string(file).unwrap();
            let mut in_client = false;
            for line in text.lines() {
                if !line.starts_with(' ') {
                    in_client = line == "impl Client {" || (in_client && line != "}");
                }
                let begun = ["", "pub ", "pub(crate) "].map(|one| line.strip_prefix(one));
                let item = begun.into_iter().flatten().last().unwrap_or(line);
                if directory != "crates/core/src" {
                    types.extend(word(item, &["struct ", "enum ", "type "]).map(str::to_owned));
                }
                let function = line.trim_start_matches(|letter| letter != 'f');
                if line.starts_with("    ") && !line.starts_with("     ") && in_client {
                    let name = line
                        .contains("fn ")
                        .then(|| line.split("fn ").nth(1))
                        .flatten();
                    client.extend(name.and_then(|name| word(name, &[""])).map(str::to_owned));
                }
                let exported = word(function, &["fn talentdata_client_"]);
                c_client.extend(exported.map(str::to_owned));
            }
        }
    }
    are_reserved("TYPES", TYPES, &types);
    are_reserved("RUST_CLIENT", RUST_CLIENT, &client);
    are_reserved("C_CLIENT", C_CLIENT, &c_client);

    let mut headers = files(&root.join("bindings/c/include"), "hpp");
    headers.retain(|path| {
        !["models.hpp", "operations.hpp", "errors.hpp"]
            .iter()
            .any(|one| path.ends_with(one))
    });
    let headers = headers
        .iter()
        .map(|path| std::fs::read_to_string(path).unwrap());
    let headers: String = headers.collect();
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
