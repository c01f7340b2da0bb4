//! What follows from the signatures of the C library: its header, the list of symbols, and a test of NULL.
//!
//! The exported functions do not depend on the spec, and neither does anything here but the names of lists.

use crate::names;
use crate::render::render_with;
use crate::spec::Spec;
use cbindgen::{Builder, Config};
use minijinja::{Value, context};
use quote::ToTokens;
use std::collections::BTreeMap;
use std::path::Path;
use syn::{Attribute, Expr, ExprLit, FnArg, Item, Lit, Pat, ReturnType};

/// The sources of the exported functions, in the order of the header.
const SOURCES: [&str; 14] = [
    "ffi-c/src/text.rs",
    "core/src/error/kind.rs",
    "ffi-c/src/error.rs",
    "core/src/nested/kind.rs",
    "ffi-c/src/record.rs",
    "ffi-c/src/config.rs",
    "ffi-c/src/options.rs",
    "ffi-c/src/client.rs",
    "ffi-c/src/log.rs",
    "ffi-c/src/boundary.rs",
    "ffi-c/src/scan.rs",
    "columns/src/format.rs",
    "ffi-c/src/job.rs",
    "ffi-c/src/mirror.rs",
];

/// What the handles hold is known to the library alone.
const HANDLES: [&str; 8] = [
    "Client", "Config", "Error", "Job", "Mirror", "Options", "Record", "Scan",
];

/// What the library exports, so that a change of it shows in review, and the lists that it ever had.
const LEDGER: &str = "bindings/c/symbols.txt";

/// The functions and the constants of the library.
struct Library {
    functions: Vec<Function>,
    constants: Vec<(String, u32)>,
}

/// A function of the library.
struct Function {
    name: String,
    /// Names and types, without blanks.
    parameters: Vec<(String, String)>,
    result: String,
    must_use: bool,
    doc: String,
}

/// `talentdata/functions.h`; how it is made is in crates/ffi-c/cbindgen.toml.
pub(crate) fn header(spec: &Spec) -> Result<String, String> {
    let crates = spec.root.join("crates");
    let mut config = Config::from_file(crates.join("ffi-c/cbindgen.toml"))?;
    let mut version = format!(
        "\n/** The version of this header; talentdata_library_version returns that of the library. */\n\
         #define TALENTDATA_VERSION \"{}\"\n",
        env!("CARGO_PKG_VERSION")
    );
    for (part, number) in [
        ("MAJOR", env!("CARGO_PKG_VERSION_MAJOR")),
        ("MINOR", env!("CARGO_PKG_VERSION_MINOR")),
        ("PATCH", env!("CARGO_PKG_VERSION_PATCH")),
    ] {
        version += &format!("#define TALENTDATA_VERSION_{part} {number}\n");
    }
    config.after_includes = Some(version);
    let builder = Builder::new().with_config(config);
    let sources = SOURCES.iter().map(|source| crates.join(source));
    let builder = sources.fold(builder, |builder, source| builder.with_src(source));
    let bindings = builder.generate();
    let bindings = bindings.map_err(|error| format!("cbindgen: {error}"))?;
    let mut text = Vec::new();
    bindings.write(&mut text);
    String::from_utf8(text).map_err(|error| error.to_string())
}

/// `bindings/c/symbols.txt`.
pub(crate) fn symbols(spec: &Spec) -> Result<String, String> {
    let Library {
        functions,
        constants,
    } = library(&spec.root)?;
    let mut functions: Vec<String> = functions.into_iter().map(|one| one.name).collect();
    functions.sort();
    let before = ledger(&spec.root)?;
    for (name, number) in &constants {
        if before
            .get(name)
            .is_some_and(|given| *given != number.to_string())
        {
            return Err(format!(
                "{name} was another number before, and programs are compiled with it; {LEDGER} has the number"
            ));
        }
    }
    let mut lists = lists(&spec.root)?;
    lists.extend(spec.api.lists().map(|(_, list)| list.name.clone()));
    lists.sort();
    lists.dedup();
    render_with("symbols.txt.j2", context! { functions, constants, lists })
}

/// The names of all lists that the library ever had.
pub(crate) fn lists(root: &Path) -> Result<Vec<String>, String> {
    let ledger = ledger(root)?.into_iter();
    let names = ledger.filter(|(_, kind)| kind == "list");
    Ok(names.map(|(name, _)| name).collect())
}

/// The lines `name = number` and `name = list` that are committed.
fn ledger(root: &Path) -> Result<BTreeMap<String, String>, String> {
    let text = std::fs::read_to_string(root.join(LEDGER)).map_err(|error| {
        format!("{LEDGER}, which has the numbers and lists so far: {error}; get it back from git")
    })?;
    let pairs = text.lines().filter_map(|line| line.split_once(" = "));
    Ok(pairs
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect())
}

/// `bindings/c/tests/null_arguments.c`: every function with each of its pointers as NULL.
pub(crate) fn nulls(spec: &Spec) -> Result<String, String> {
    let functions = library(&spec.root)?.functions;
    let null_calls: Vec<Value> = functions.iter().flat_map(null_calls).collect();
    render_with("null_arguments.c.j2", context! { null_calls })
}

fn null_calls(function: &Function) -> Vec<Value> {
    let Function {
        name,
        parameters,
        doc,
        ..
    } = function;
    let allows = |one: &str| {
        let start = format!("@param {one} ");
        let text = doc.split_once(&start).map_or("", |(_, rest)| rest);
        let text = text.split("@param").next().unwrap_or_default();
        ["or NULL", "absent", "may be NULL"]
            .iter()
            .any(|words| text.contains(words) && !one.ends_with("_out"))
    };
    let is_pointer = |of: &str| !["u32", "u64", "usize"].contains(&of) && !of.ends_with("Number");
    let nullable = parameters
        .iter()
        .filter(|(one, of)| is_pointer(of) && !allows(one));
    let calls = nullable.map(|(null, of)| {
        let arguments = parameters.iter().enumerate();
        let arguments = arguments.map(|(index, (one, of))| match (one == null, of.as_str()) {
            (true, "Text") => "(talentdata_text){NULL, 0}".to_owned(),
            (true, _) => "NULL".to_owned(),
            (_, "Text") => format!("fixture_text(\"{one}\")"),
            (_, "LogCallback") => "fixture_log".to_owned(),
            (_, "u32" | "u64" | "usize" | "FormatNumber" | "ErrorKindNumber") => "0".to_owned(),
            (_, "LogLevelNumber") => "TALENTDATA_LOG_LEVEL_INFO".to_owned(),
            (_, "ReleaseCallback" | "*mutc_void") => "NULL".to_owned(),
            _ if one.ends_with("_out") => format!("fixture_slot({index})"),
            _ => {
                let handle = HANDLES.iter().find(|one| of.contains(**one));
                format!("all->{}", names::snake(handle.unwrap_or(&"")))
            }
        });
        let arguments: Vec<String> = arguments.collect();
        context! {
            call => format!("{name}({})", arguments.join(", ")), function => name, null,
            // The error of a value names the thing that has it.
            shown => if of == "Text" && null == "value" { "value" } else { null },
            can_fail => function.result == "Option<Box<Error>>" && !name.ends_with("_error"),
            gives => function.must_use,
        }
    });
    calls.collect()
}

fn library(root: &Path) -> Result<Library, String> {
    let (mut functions, mut constants) = (Vec::new(), Vec::new());
    for source in SOURCES {
        let path = root.join("crates").join(source);
        let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let text = std::fs::read_to_string(&path).map_err(|error| failed(&error))?;
        let file = syn::parse_file(&text).map_err(|error| failed(&error))?;
        for item in &file.items {
            match item {
                Item::Fn(item) if item.sig.abi.is_some() => functions.push(function(item)?),
                Item::Enum(item) if item.attrs.iter().any(|one| one.path().is_ident("repr")) => {
                    constants.extend(values(item)?);
                }
                _ => {}
            }
        }
    }
    Ok(Library {
        functions,
        constants,
    })
}

/// The name and number of every value of an enum.
fn values(item: &syn::ItemEnum) -> Result<Vec<(String, u32)>, String> {
    let of = names::constant(&item.ident.to_string());
    let values = item.variants.iter().map(|variant| {
        let name = format!(
            "TALENTDATA_{of}_{}",
            names::constant(&variant.ident.to_string())
        );
        let number = variant.discriminant.as_ref().map(|(_, number)| number);
        let number = number.and_then(|number| compact(number).parse().ok());
        let number = number.ok_or_else(|| format!("{name} has no plain number"))?;
        Ok((name, number))
    });
    values.collect()
}

fn function(item: &syn::ItemFn) -> Result<Function, String> {
    let name = item.sig.ident.to_string();
    let parameters = item.sig.inputs.iter().map(|input| match input {
        FnArg::Typed(input) => match &*input.pat {
            Pat::Ident(parameter) => Ok((parameter.ident.to_string(), compact(&input.ty))),
            _ => Err(format!("{name} has a parameter without a name")),
        },
        FnArg::Receiver(_) => Err(format!("{name} is a method")),
    });
    Ok(Function {
        parameters: parameters.collect::<Result<_, _>>()?,
        result: match &item.sig.output {
            ReturnType::Default => String::new(),
            ReturnType::Type(_, result) => compact(result),
        },
        must_use: item.attrs.iter().any(|one| one.path().is_ident("must_use")),
        doc: documentation(&item.attrs),
        name,
    })
}

/// The text of a part without blanks.
fn compact(part: &impl ToTokens) -> String {
    let text = part.to_token_stream().to_string();
    text.split_whitespace().collect()
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
mod tests;
