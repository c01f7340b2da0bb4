//! A spec with everything that is legal and awkward, generated into a copy of the workspace and compiled there.
//!
//! The copy is in the directory that cargo builds in, so that what other crates yield is there already.

use super::super::write;

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is copied for what is generated, and for cargo besides; the hand-written sources count, too.
const COPIED: [&str; 5] = [
    "crates",
    "spec",
    "docs",
    "bindings/c",
    "bindings/python/talentdata",
];
const BUILT: [&str; 5] = [
    "Cargo.toml",
    "Cargo.lock",
    "clippy.toml",
    "xtask",
    "tests/cases",
];

/// A native module that has every name, for Python.
pub(super) const NATIVE: &str = "\
import sys, types
class Native(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith('__'):
            raise AttributeError(name)
        made = type(name, (), {'__init__': lambda self, *_, **__: None, '__class_getitem__': classmethod(lambda cls, _: cls)})
        setattr(self, name, made)
        return made
native = Native('talentdata._talentdata')
native.__version__ = '0'
sys.modules['talentdata._talentdata'] = native
import talentdata
";

/// Checked in Python with it.
const IMPORT: &str = "\
assert talentdata.Contact.class_ and talentdata.Contact.n2fa and talentdata.Contact.json_
assert talentdata.ContactStateValue.OTHER_VALUE == 'other' and talentdata.ContactStateValue.N2ND == '2nd'
for name in ('import_', 'resource', 'ja_levels', 'companies', 'n2fa'):
    assert isinstance(getattr(talentdata.Client, name), property), name
assert not hasattr(talentdata.Client, 'pools') and 'pools' not in talentdata.ApiError.__doc__
";

/// Checked in Python after that.
const VENDOR: &str = "\
assert isinstance(talentdata.Client.owners, property)
assert talentdata.PetOwner.tags and talentdata.ErrorModel.code and talentdata.Country.C199 == 'c199'
";

/// Includes every C++ header, whose functions are checked whether they are called or not.
const CPP: &str = "\
#include <talentdata.hpp>
template <class Wanted, class T>
constexpr bool gives(talentdata::result<T> (talentdata::contact::*)() const) { return std::is_same_v<Wanted, T>; }
static_assert(gives<std::optional<std::int64_t>>(&talentdata::contact::try_age));
static_assert(gives<std::optional<std::int64_t>>(&talentdata::contact::try_null_age));
static_assert(gives<std::optional<double>>(&talentdata::contact::try_score));
static_assert(gives<std::optional<bool>>(&talentdata::contact::try_n2fa));
static_assert(gives<std::string>(&talentdata::contact::try_type));
static_assert(gives<std::optional<talentdata_contact_state_value>>(&talentdata::contact::try_state));
static_assert(std::string_view(talentdata::page_.name) == \"page\");
";

/// Our own lints, too: what is generated has to pass them like the rest.
pub(super) const CLIPPY: &str =
    "clippy --quiet -p talentdata-types -p talentdata-core -p talentdata-ffi-c -- -D warnings";

#[test]
fn whatever_a_spec_may_say_compiles_in_every_language() {
    let copy = copy("spec-trial");
    // In one copy: each compilation builds only what differs from the one before.
    super::changes::compile(&copy);
    let spec = copy.join("spec/openapi.json");
    let mut document = crate::spec::tests::ours();
    changed(&mut document);
    std::fs::write(&spec, serde_json::to_string_pretty(&document).unwrap()).unwrap();
    write(&copy).unwrap();
    cargo(&copy, "test --quiet -p talentdata-types --test spec");
    // What vendors write besides: the test of the types reads the spec as it stands, and knows it not.
    as_vendors_write(&mut document);
    std::fs::write(&spec, document.to_string()).unwrap();
    write(&copy).unwrap();
    cargo(&copy, CLIPPY);
    c_and_cpp(&copy, &["#include <talentdata.h>\n", CPP]);
    python(&copy, &format!("{NATIVE}{IMPORT}{VENDOR}"));
}

/// A copy of the workspace, in this directory of what cargo builds.
pub(super) fn copy(name: &str) -> PathBuf {
    let root = crate::root();
    // This program is in debug/deps of what cargo builds in.
    let program = std::env::current_exe().unwrap();
    let copy = program.ancestors().nth(3).unwrap().join(name);
    let _ = std::fs::remove_dir_all(&copy);
    copy_of(&copy);
    for name in BUILT {
        copied(&root.join(name), &copy.join(name));
    }
    // Cargo takes packages of one name and version for one, wherever they are.
    let manifest = copy.join("Cargo.toml");
    let text = std::fs::read_to_string(&manifest).unwrap();
    let version = concat!("version = \"", env!("CARGO_PKG_VERSION"));
    assert!(text.contains(version));
    let other = text.replacen(version, &format!("{version}-{name}"), 1);
    // It runs for moments, and without optimisation it is built in a third of the time.
    let optimised = "[profile.dev.package.talentdata-core]\nopt-level = 1";
    assert!(other.contains(optimised));
    let plain = optimised.replace('1', "0");
    std::fs::write(&manifest, other.replace(optimised, &plain)).unwrap();
    copy
}

/// Copies what files are generated from, and the files.
pub(super) fn copy_of(to: &Path) {
    for name in COPIED {
        copied(&crate::root().join(name), &to.join(name));
    }
}

/// What cargo has built of a copy.
pub(super) fn built(copy: &Path, name: &str) -> PathBuf {
    copy.parent().unwrap().join("debug").join(name)
}

pub(super) fn cargo(copy: &Path, arguments: &str) {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap());
    command.args(arguments.split(' ')).current_dir(copy);
    command.env("CARGO_TARGET_DIR", copy.parent().unwrap());
    // All it needs is there, or this test would not have been built.
    succeed(crate::undisturbed(&mut command).env("CARGO_NET_OFFLINE", "true"));
}

/// Runs a command whose output goes straight through.
pub(super) fn succeed(command: &mut Command) {
    let status = command.status();
    assert!(status.is_ok_and(|status| status.success()), "{command:?}");
}

/// What these include compiles: C, and C++ in both standards.
pub(super) fn c_and_cpp(copy: &Path, [c_text, cpp_text]: &[&str; 2]) {
    let directory = copy.join("bindings/c");
    let (c, cpp) = (directory.join("tests/all.c"), copy.join("all.cpp"));
    std::fs::write(&c, c_text).unwrap();
    std::fs::write(&cpp, cpp_text).unwrap();
    for (compiler, flags, file) in [
        ("cc", &["-std=c11"][..], &c),
        ("c++", &["-std=c++17"], &cpp),
        ("c++", &["-std=c++20", "-fno-exceptions"], &cpp),
    ] {
        let mut command = Command::new(compiler);
        command.args(["-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-pedantic"]);
        command
            .args(flags)
            .arg("-I")
            .arg(directory.join("include"))
            .arg(file);
        succeed(&mut command);
    }
}

pub(super) fn python(copy: &Path, code: &str) {
    let directory = copy.join("bindings/python");
    for arguments in [
        ["-m", "compileall", "-q", "talentdata"],
        ["-W", "error", "-c", code],
    ] {
        let mut command = Command::new("python3");
        succeed(command.args(arguments).current_dir(&directory));
    }
}

/// Files of a directory as they are, without what Python and builds leave behind.
fn copied(from: &Path, to: &Path) {
    if from.is_symlink() {
        // It leads to the same place in the copy.
        std::os::unix::fs::symlink(std::fs::read_link(from).unwrap(), to).unwrap();
    } else if from.is_dir() {
        for entry in std::fs::read_dir(from).unwrap() {
            let name: PathBuf = entry.unwrap().file_name().into();
            copied(&from.join(&name), &to.join(&name));
        }
    } else if from
        .extension()
        .is_none_or(|one| one != "so" && one != "pyc")
    {
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(from, to).unwrap();
    }
}

/// Everything that is legal and awkward, in records, in answers and in what answers hold.
fn changed(document: &mut Value) {
    let schemas = &mut document["components"]["schemas"];
    schemas["Email"] = json!({"type": "string", "format": "email"});
    schemas["Emails"] = json!({"type": "array", "items": {"$ref": "#/components/schemas/Email"}});
    schemas["Klass"] =
        json!({"properties": {"class": {"type": "string"}, "default": {"type": "array"}}});
    for model in ["Contact", "VersionResponse", "CategoryEntry"] {
        awkward(&mut schemas[model]);
    }
    let contact = &mut schemas["Contact"];
    let last = contact["properties"]
        .as_object_mut()
        .unwrap()
        .shift_remove("lastName");
    contact["properties"]["familyName"] = last.unwrap();
    let required = contact["required"].as_array_mut().unwrap();
    *required
        .iter_mut()
        .find(|name| **name == "lastName")
        .unwrap() = json!("familyName");
    lists(document["paths"].as_object_mut().unwrap());
}

/// Everything that vendors write and our own spec does not.
fn as_vendors_write(document: &mut Value) {
    let vendor: Value = serde_json::from_str(include_str!("vendor.json")).unwrap();
    let schemas = document["components"]["schemas"].as_object_mut().unwrap();
    schemas.extend(vendor["schemas"].as_object().unwrap().clone());
    // More values than a macro can recurse over.
    let countries: Vec<String> = (0..200).map(|number| format!("c{number}")).collect();
    schemas.insert("Country".into(), json!({ "enum": countries }));
    schemas["Node"]["properties"]["country"] = json!({"$ref": "#/components/schemas/Country"});
    let paths = document["paths"].as_object_mut().unwrap();
    paths.extend(vendor["paths"].as_object().unwrap().clone());
}

fn awkward(model: &mut Value) {
    let fields: Value = serde_json::from_str(include_str!("awkward.json")).unwrap();
    let properties = model["properties"].as_object_mut().unwrap();
    properties.extend(fields.as_object().unwrap().clone());
    let required = model["required"].as_array_mut().unwrap();
    let names = "sureAge nullAge sureScore nullActive sureAddress nullEntry words type";
    required.extend(names.split(' ').map(|name| json!(name)));
    model["additionalProperties"] = json!(false);
}

fn lists(paths: &mut serde_json::Map<String, Value>) {
    let model = paths.shift_remove("/v1/pools").unwrap();
    for (path, id) in [
        ("/v1/import", "listImports"),
        ("/v1/resource", "listResources"),
        ("/v1/type", "listTypes"),
        ("/v1/page", "listPages"),
        ("/v1/property", "listProperties"),
        ("/v1/2fa", "2faList"),
        ("/v1/self", "listSelf"),
    ] {
        let mut list = model.clone();
        list["get"]["operationId"] = json!(id);
        list["get"]["summary"] = json!("what \"\"\" is\nsaid \\d */ of it");
        paths.insert(path.into(), list);
    }
    // Parameters of the path, and no prose.
    let mut levels = model.clone();
    levels["parameters"] = levels["get"]["parameters"].take();
    levels["summary"] = json!("All of it.");
    let get = levels["get"].as_object_mut().unwrap();
    for key in ["parameters", "summary", "description"] {
        get.shift_remove(key);
    }
    levels["get"]["operationId"] = json!("listJaLevels");
    paths.insert("/v1/ja/levels".into(), levels);
    // Records within the response, with fields and without.
    for (path, id, record) in [
        (
            "/v1/companies",
            "listCompanies",
            json!({"properties": {"id": {"type": "string"}, "size": {"type": "integer"}}}),
        ),
        ("/v1/a/b/teams", "listTeams", json!({"type": "object"})),
    ] {
        let mut list = model.clone();
        list["get"]["operationId"] = json!(id);
        list["get"]["responses"]["200"]["content"]["application/json"]["schema"] = json!({
            "type": "object",
            "properties": {
                "items": {"type": "array", "items": record},
                "pagination": {"$ref": "#/components/schemas/Pagination"}
            }
        });
        paths.insert(path.into(), list);
    }
}
