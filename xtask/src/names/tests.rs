//! The reserved names of our own code are those of the sources: each list must contain what is found there.

use super::reserved::*;
use std::path::Path;

const MODIFIERS: &str = " pub crate super async unsafe extern C nodiscard";

/// The hand-written sources below a directory, one behind the other.
fn sources(directory: &Path, extension: &str) -> String {
    let paths = std::fs::read_dir(directory).unwrap();
    let texts = paths.map(|entry| match entry.unwrap().path() {
        path if path.is_dir() => sources(&path, extension),
        path if path.extension().is_none_or(|own| own != extension) => String::new(),
        path => std::fs::read_to_string(path).unwrap(),
    });
    texts
        .filter(|text| !text.starts_with("//! Gen") && !text.starts_with("// Gen"))
        .collect()
}

/// The names behind these keywords, on lines indented by so many spaces.
fn declared<'a>(text: &'a str, indent: usize, keywords: &str) -> Vec<&'a str> {
    let is_among = |word: &str, words: &str| words.split(' ').any(|one| one == word);
    let name = |line: &'a str| {
        let (spaces, line) = line.split_at_checked(indent)?;
        let is_code = spaces.trim().is_empty() && !line.starts_with(['/', '#', ' ']);
        let words = line.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        let mut words = words.filter(|word| !is_among(word, MODIFIERS));
        let is_declared = is_code && is_among(words.next()?, keywords);
        words.next().filter(|_| is_declared)
    };
    text.lines().filter_map(name).collect()
}

/// The parts of a text that begin so, each up to its end.
fn parts(text: &str, begin: &str, end: &str) -> String {
    let parts = text.split(begin).skip(1);
    parts.map(|part| part.split(end).next().unwrap()).collect()
}

fn are_reserved(list: &str, reserved: &str, mut names: Vec<&str>) {
    assert!(names.len() > 5, "{list}: {names:?}");
    names.retain(|name| !reserved.split_whitespace().any(|one| one == *name));
    assert!(names.is_empty(), "add to {list}: {names:?}");
}

#[test]
fn names_of_hand_written_code_are_reserved() {
    let root = crate::root();
    let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap();
    let [types, core, library] = ["types", "core", "ffi-c"]
        .map(|name| sources(&root.join("crates").join(name).join("src"), "rs"));
    let clients = parts(&(core + &library), "\nimpl Client {\n", "\n}\n");
    are_reserved("RUST_CLIENT", RUST_CLIENT, declared(&clients, 4, "fn"));
    let exported = declared(&library, 0, "fn").into_iter();
    let calls = exported.filter_map(|name| name.strip_prefix("talentdata_client_"));
    are_reserved("C_CLIENT", C_CLIENT, calls.collect());
    let types = types + &library;
    are_reserved("TYPES", TYPES, declared(&types, 0, "struct enum type"));

    let cpp = sources(&root.join("bindings/c/include"), "hpp");
    let functions = cpp.lines();
    let functions = functions.filter_map(|line| line.strip_prefix("inline ")?.split_once('('));
    let functions = functions.filter_map(|(start, _)| start.rsplit([' ', '*', '&']).next());
    let mut names = declared(&cpp, 0, "class struct using namespace");
    names.extend(functions.filter(|name| !name.contains("::")));
    names.retain(|name| *name != "namespace");
    are_reserved("CPP_NAMESPACE", CPP_NAMESPACE, names);

    let package = |name: &str| read(&format!("bindings/python/talentdata/{name}"));
    let native = package("_talentdata.pyi");
    let client = parts(&native, "\nclass BaseClient", "\nclass ") + &package("_client.py");
    are_reserved("PYTHON_CLIENT", PYTHON_CLIENT, declared(&client, 4, "def"));
    let listed = package("__init__.py");
    let listed = listed.lines().map(str::trim);
    let listed = listed.filter_map(|line| line.strip_prefix('"')?.strip_suffix("\","));
    are_reserved("PYTHON_PACKAGE", PYTHON_PACKAGE, listed.collect());
}
