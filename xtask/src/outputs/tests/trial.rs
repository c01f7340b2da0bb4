//! Tests a spec with everything that is legal and awkward, and with the changes of the table: it is generated into a
//! copy of the workspace and compiled there.
//!
//! The copy is in the directory that cargo builds in, so that other crates are built already.

use super::super::{Spec, write};
use crate::spec::tests::{Change, apply, ours};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The files to copy: for the generator, for cargo, and the hand-written sources.
const COPIED: &str = "crates spec docs bindings/c bindings/python/talentdata Cargo.toml Cargo.lock clippy.toml xtask tests/cases";

/// The checks in Python, with a native module that has every name.
const PYTHON: &str = "\
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
assert talentdata.Contact.class_ and talentdata.Contact.n2fa and talentdata.Contact.json_
assert talentdata.ContactStandingValue.OTHER_VALUE == 'other' and talentdata.ContactStandingValue.N2ND == '2nd'
for name in ('import_', 'resource', 'ja_levels', 'companies', 'n2fa', 'owners'):
    assert isinstance(getattr(talentdata.Client, name), property), name
assert not hasattr(talentdata.Client, 'ja_departments')
assert talentdata.PetOwner.tags and talentdata.ErrorModel.code and talentdata.Country.C199 == 'c199'
";

/// Includes every C++ header, so that all functions are checked, called or not.
const CPP: &str = "\
#include <talentdata.hpp>
template <class Wanted, class T>
constexpr bool gives(talentdata::result<T> (talentdata::contact::*)() const) { return std::is_same_v<Wanted, T>; }
static_assert(gives<std::optional<std::int64_t>>(&talentdata::contact::try_age));
static_assert(gives<std::optional<std::int64_t>>(&talentdata::contact::try_null_age));
static_assert(gives<std::optional<double>>(&talentdata::contact::try_score));
static_assert(gives<std::optional<bool>>(&talentdata::contact::try_n2fa));
static_assert(gives<std::string>(&talentdata::contact::try_type));
static_assert(gives<std::optional<talentdata_contact_standing_value>>(&talentdata::contact::try_standing));
static_assert(std::string_view(talentdata::page_.name) == \"page\");
";

/// Limits the documents, each of which is compiled in every language. A change that fits into none of them must be
/// tested elsewhere.
const DOCUMENTS: usize = 2;

#[test]
fn everything_that_a_spec_may_contain_compiles_in_every_language() {
    // One copy is enough, so that each compilation builds only the differences.
    let copy = copy("spec-trial");
    let generate = |document: &Value| {
        std::fs::write(copy.join(crate::generation::FILE), document.to_string()).unwrap();
        write(&Spec::load(&copy).unwrap()).unwrap();
    };
    let mut base = ours();
    make_awkward(&mut base);
    generate(&base);
    // With these packages, dependencies have the features that they were built with already.
    cargo(
        &copy,
        "test --quiet --workspace --exclude xtask --test spec",
    );
    // Additions that vendors write. The test of the types reads the spec itself, and does not know them.
    change(include_str!("vendor.json"), &mut base);
    let documents = with_changes(&base);
    assert!(documents.len() <= DOCUMENTS);
    for document in documents {
        generate(&document);
        // Our own lints apply to generated code, too.
        cargo(
            &copy,
            "clippy --quiet --workspace --lib --example bench_floor -- -D warnings",
        );
        c_and_cpp(&copy);
        let package = copy.join("bindings/python");
        for arguments in [
            ["-m", "compileall", "-q", "talentdata"],
            ["-W", "error", "-c", PYTHON],
        ] {
            succeed(
                Command::new("python3")
                    .args(arguments)
                    .current_dir(&package),
            );
        }
    }
}

/// Makes everything awkward that is legal, in records, in responses and in their parts.
fn make_awkward(document: &mut Value) {
    let awkward: Value = serde_json::from_str(include_str!("awkward.json")).unwrap();
    change(&awkward["change"].to_string(), document);
    for model in ["Contact", "VersionResponse", "CategoryEntry"] {
        let model = &mut document["components"]["schemas"][model];
        let properties = model["properties"].as_object_mut().unwrap();
        properties.extend(awkward["fields"].as_object().unwrap().clone());
        let required = model["required"].as_array_mut().unwrap();
        let names = "sureAge nullAge sureScore nullActive sureAddress nullEntry words type";
        required.extend(names.split(' ').map(|name| json!(name)));
        model["additionalProperties"] = json!(false);
    }
}

/// Applies a change in the form of the table of changes.
pub(super) fn change(text: &str, document: &mut Value) {
    apply(&serde_json::from_str(text).unwrap(), document);
}

/// Returns a spec with all changes of the table that are not refused, in several documents if they contradict each
/// other.
fn with_changes(base: &Value) -> Vec<Value> {
    let mut out: Vec<(Value, Vec<String>)> = Vec::new();
    let rows = include_str!("../../spec/tests/changes.json");
    let rows: Vec<Value> = serde_json::from_str(rows).unwrap();
    for (number, row) in rows.iter().enumerate() {
        let change = moved(row, number);
        if !change.refused.is_empty() || change.apart {
            continue;
        }
        let places: Vec<String> = change.set.keys().chain(&change.remove).cloned().collect();
        let within = |one: &String, two: &String| format!("{one}/").starts_with(&format!("{two}/"));
        let meets = |one: &String| {
            places
                .iter()
                .any(|two| within(one, two) || within(two, one))
        };
        let index = out.iter().position(|(_, taken)| !taken.iter().any(meets));
        let index = index.unwrap_or_else(|| {
            out.push((base.clone(), Vec::new()));
            out.len() - 1
        });
        let (document, taken) = &mut out[index];
        apply(&change, document);
        taken.extend(places);
    }
    out.into_iter().map(|(document, _)| document).collect()
}

/// Returns the change of a row at a field, a list, a limit or a path of its own, if it can be made there as well.
fn moved(row: &Value, number: usize) -> Change {
    const PROPERTIES: &str = "/components/schemas/Contact/properties/";
    let ours = ours();
    let limit = format!("/components/parameters/Limit{number}");
    let pools = format!("/paths/~1v1~1pools{number}");
    let text = row.to_string();
    let text = text.replace("/components/parameters/Limit/", &format!("{limit}/"));
    let text = text.replace("/paths/~1v1~1pools/", &format!("{pools}/"));
    let text = text.replace("\"doIt\"", &format!("\"doIt{number}\""));
    let mut change: Change = serde_json::from_str(&text).unwrap();
    // A change within a field needs the field.
    let contact = ours["components"]["schemas"]["Contact"]["properties"].as_object();
    for (name, field) in contact.unwrap() {
        if text.contains(&format!("{PROPERTIES}{name}/")) {
            let place = format!("{PROPERTIES}{name}");
            change.set.entry(place).or_insert(field.clone());
        }
    }
    let set = std::mem::take(&mut change.set).into_iter();
    change.set = set
        .map(|(place, value)| match place.strip_prefix("/paths/~1v1~1") {
            None if let Some(field) = place.strip_prefix(PROPERTIES) => {
                let (name, below) = field.split_at(field.find('/').unwrap_or(field.len()));
                (format!("{PROPERTIES}{name}{number}{below}"), value)
            }
            Some(rest) if !place.starts_with(&pools) && ours.pointer(&place).is_none() => {
                (format!("/paths/~1v1~1moved{number}~1{rest}"), value)
            }
            _ => (place, value),
        })
        .collect();
    if text.contains(&limit) || text.contains(&pools) {
        let mut list = ours["paths"]["/v1/pools"].clone();
        list["get"]["operationId"] = json!(format!("listPools{number}"));
        list["get"]["parameters"][0] = json!({"$ref": format!("#{limit}")});
        let common = ours["components"]["parameters"]["Limit"].clone();
        change.set.extend([(pools, list), (limit, common)]);
    }
    change
}

/// Makes a copy of the workspace, with this name in the directory that cargo builds in.
pub(super) fn copy(name: &str) -> PathBuf {
    // This program is in debug/deps of that directory.
    let program = std::env::current_exe().unwrap();
    let copy = program.ancestors().nth(3).unwrap().join(name);
    let _ = std::fs::remove_dir_all(&copy);
    copy_to(&copy);
    // Cargo treats packages with the same name and version as one, even in different places. The requirements of the
    // workspace's own packages contain the version, too.
    let version = concat!("version = \"", env!("CARGO_PKG_VERSION"));
    let manifest = copy.join("Cargo.toml");
    let text = std::fs::read_to_string(&manifest).unwrap();
    std::fs::write(
        &manifest,
        text.replace(version, &format!("{version}-{name}")),
    )
    .unwrap();
    // The programs run only briefly, and are built in a third of the time without debug information and optimisation.
    replace(&manifest, "debug = \"line-tables-only\"", "debug = false");
    for package in ["core", "sandbox"] {
        let level = format!("[profile.dev.package.talentdata-{package}]\nopt-level = ");
        replace(&manifest, &format!("{level}1"), &format!("{level}0"));
    }
    copy
}

/// Replaces the first occurrence of a text in a file.
pub(super) fn replace(file: &Path, from: &str, to: &str) {
    let text = std::fs::read_to_string(file).unwrap();
    assert!(text.contains(from), "{}: {from}", file.display());
    std::fs::write(file, text.replacen(from, to, 1)).unwrap();
}

/// Copies the files and directories of the workspace. A link leads to the same place in the copy.
pub(super) fn copy_to(to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    let mut command = Command::new("cp");
    command.args(["-r", "--no-dereference", "--parents"]);
    command.args(COPIED.split(' ')).arg(to);
    succeed(command.current_dir(crate::workspace::root()));
}

pub(super) fn cargo(copy: &Path, arguments: &str) {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap());
    command.args(arguments.split(' ')).current_dir(copy);
    command.env("CARGO_TARGET_DIR", copy.parent().unwrap());
    // Everything needed is there, or this test would not have been built.
    succeed(crate::undisturbed(&mut command).env("CARGO_NET_OFFLINE", "true"));
}

/// Runs a command without capturing its output.
pub(super) fn succeed(command: &mut Command) {
    let status = command.status();
    assert!(status.is_ok_and(|status| status.success()), "{command:?}");
}

/// Warnings that projects turn into errors.
const WARNINGS: &str = "-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wcast-qual -Wundef -Wcomment \
    -Wtrigraphs -Wswitch-default -Wswitch-enum -Wdouble-promotion -Wredundant-decls -Wmissing-declarations -Wlogical-op";
const WARNINGS_OF_C: &str =
    "-Wc++-compat -Wstrict-prototypes -Wdeclaration-after-statement -Wbad-function-cast";
const WARNINGS_OF_CPP: &str = "-Wold-style-cast -Wuseless-cast -Wzero-as-null-pointer-constant -Wextra-semi \
    -Wnon-virtual-dtor -Woverloaded-virtual -Wsuggest-override -Wredundant-tags";

/// Checks that all headers compile in C, and in two standards of C++.
fn c_and_cpp(copy: &Path) {
    std::fs::write(copy.join("all.c"), "#include <talentdata.h>\n").unwrap();
    std::fs::write(copy.join("all.cpp"), CPP).unwrap();
    for (compiler, arguments) in [
        ("cc", "-std=c11 all.c"),
        ("cc", "-std=c2x all.c"),
        ("c++", "-std=c++17 all.cpp"),
        ("c++", "-std=c++20 -fno-exceptions all.cpp"),
    ] {
        let mut command = Command::new(compiler);
        command
            .args(["-fsyntax-only", "-Werror"])
            .args(WARNINGS.split(' '));
        let own = if compiler == "cc" {
            WARNINGS_OF_C
        } else {
            WARNINGS_OF_CPP
        };
        command.args(own.split(' '));
        command.args(["-I", "bindings/c/include"]);
        succeed(command.args(arguments.split(' ')).current_dir(copy));
    }
}
