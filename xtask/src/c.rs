//! What follows from the signatures of the C library: its headers, the list of symbols, and a test of NULL.
//!
//! The exported functions do not depend on the spec, and neither does anything here but the names of lists.

use crate::names;
use crate::render::{render_with, version};
use crate::spec::Spec;
use cbindgen::{
    Builder, Config, DocumentationStyle, EnumConfig, ExportConfig, FunctionConfig, Language,
    RenameRule, Style,
};
use minijinja::{Value, context};
use quote::ToTokens;
use std::collections::BTreeMap;
use std::path::Path;
use syn::{Attribute, Expr, ExprLit, FnArg, Item, Lit, Pat, ReturnType};

/// The headers of the exported functions, and the sources of each.
const TOPICS: [(&str, &[&str]); 8] = [
    ("base", &["ffi-c/src/text.rs"]),
    ("error", &["ffi-c/src/error.rs", "core/src/error/kind.rs"]),
    (
        "record",
        &["ffi-c/src/record.rs", "core/src/nested/kind.rs"],
    ),
    (
        "client",
        &[
            "ffi-c/src/config.rs",
            "ffi-c/src/options.rs",
            "ffi-c/src/client.rs",
        ],
    ),
    ("log", &["ffi-c/src/log.rs", "ffi-c/src/boundary.rs"]),
    ("scan", &["ffi-c/src/scan.rs"]),
    ("job", &["ffi-c/src/job.rs", "columns/src/format.rs"]),
    ("mirror", &["ffi-c/src/mirror.rs"]),
];

/// Types of Rust that C knows by other names. What the handles hold is known to the library alone.
const HANDLES: &str = "Client Config Error Job Mirror Options Record Scan";
/// Numbers that are enums in C, and are checked here.
const NUMBERS: &str = "ErrorKindNumber FormatNumber LogLevelNumber";
/// What cbindgen declares.
const DECLARED: &str = "Arrival ErrorKind Format LogLevel ValueKind Text LogCallback \
                        ReleaseCallback OptionalInteger OptionalNumber OptionalBoolean";
/// A type of the crate `arrow`.
const STREAM: (&str, &str) = ("FFI_ArrowArrayStream", "struct ArrowArrayStream");

fn words(all: &'static str) -> impl Iterator<Item = &'static str> + Clone {
    all.split(' ')
}

/// The name in C of a type.
fn c_name(of: &str) -> String {
    let of = match of {
        "OptionalNumber" => of,
        _ => of.trim_end_matches("Number"),
    };
    format!("talentdata_{}", names::snake(of))
}

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

/// The header of a topic.
pub(crate) fn header(spec: &Spec, topic: &str) -> Result<String, String> {
    check(&library(&spec.root)?)?;
    let (_, sources) = TOPICS
        .iter()
        .find(|(name, _)| *name == topic)
        .ok_or_else(|| format!("there is no header {topic}"))?;
    let mut builder = Builder::new().with_config(config(topic)?);
    for source in *sources {
        builder = builder.with_src(spec.root.join("crates").join(source));
    }
    let bindings = builder
        .generate()
        .map_err(|error| format!("cbindgen: {error}"))?;
    let mut text = Vec::new();
    bindings.write(&mut text);
    let text = String::from_utf8(text).map_err(|error| error.to_string())?;
    // What cbindgen puts last would stand behind the guard.
    let trailer = render_with("trailer.h.j2", context! { topic })?;
    let end = text.rfind("#endif").ok_or("a header without a guard")?;
    Ok(format!("{}{trailer}\n{}", &text[..end], &text[end..]))
}

fn config(topic: &str) -> Result<Config, String> {
    let part = |template: &str| {
        let data = context! { topic, handles => words(HANDLES).map(c_name).collect::<Vec<_>>(), ..version() };
        render_with(template, data).map(|text| Some(text.trim_end().to_owned()))
    };
    let foreign = words(HANDLES).chain(words(NUMBERS));
    let named = foreign.clone().chain(words(DECLARED));
    let rename = named.map(|one| (one.to_owned(), c_name(one)));
    let rename = rename.chain([(STREAM.0.to_owned(), STREAM.1.to_owned())]);
    let includes = match topic {
        "base" => Vec::new(),
        "record" => vec!["talentdata/error.h".to_owned()],
        "log" => vec!["talentdata/client.h".to_owned()],
        _ => vec!["talentdata/base.h".to_owned()],
    };
    let needed = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect();
    Ok(Config {
        language: Language::C,
        cpp_compat: true,
        style: Style::Type,
        include_guard: Some(format!("TALENTDATA_{}_H", names::constant(topic))),
        documentation_style: DocumentationStyle::Doxy,
        line_length: 100,
        header: part("preamble.h.j2")?,
        after_includes: part("after_includes.h.j2")?,
        function: FunctionConfig {
            must_use: Some("TALENTDATA_NODISCARD".into()),
            ..FunctionConfig::default()
        },
        usize_is_size_t: true,
        no_includes: true,
        includes,
        sys_includes: match topic {
            "base" => needed(&["stdbool.h", "stddef.h", "stdint.h", "string.h"]),
            _ => Vec::new(),
        },
        export: ExportConfig {
            // Enums that only numbers refer to.
            include: match topic {
                "job" => needed(&["Format"]),
                "log" => needed(&["LogLevel"]),
                _ => Vec::new(),
            },
            exclude: foreign.chain([STREAM.0]).map(str::to_owned).collect(),
            rename: rename.collect(),
            ..ExportConfig::default()
        },
        enumeration: EnumConfig {
            rename_variants: RenameRule::QualifiedScreamingSnakeCase,
            ..EnumConfig::default()
        },
        ..Config::default()
    })
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
                let handle = words(HANDLES).find(|one| of.contains(*one));
                format!("all->{}", names::snake(handle.unwrap_or_default()))
            }
        });
        let arguments: Vec<String> = arguments.collect();
        context! {
            call => format!("{name}({})", arguments.join(", ")), function => name, null,
            // The error of a value names the thing that has it.
            shown => if of == "Text" && null == "value" { "value" } else { null },
            can_fail => function.result == "Option<Box<Error>>" && !name.ends_with("_error"),
            gives => function.result.contains("Box<"),
        }
    });
    calls.collect()
}

/// Refuses functions that say too little, or share the name of a type.
fn check(library: &Library) -> Result<(), String> {
    for function in &library.functions {
        let name = &function.name;
        let can_fail = function.result == "Option<Box<Error>>";
        let owner = |of: &str| {
            ["Box<", "Text", "*const"]
                .iter()
                .any(|one| of.contains(one))
        };
        let outs = function
            .parameters
            .iter()
            .filter(|one| one.0.ends_with("_out"));
        let owns = name.ends_with("_free") || outs.into_iter().any(|one| owner(&one.1));
        let needed = [
            ("Threads:", true),
            ("Errors:", can_fail && !name.ends_with("_error")),
            ("Ownership:", owns || (!can_fail && owner(&function.result))),
        ];
        for (words, needed) in needed {
            if needed && !function.doc.contains(words) {
                return Err(format!(
                    "the documentation of {name} has no line \"{words}\""
                ));
            }
        }
        if function.result.contains("Box<") != function.must_use {
            return Err(format!(
                "{name} must be #[must_use] exactly when the caller has to free its result"
            ));
        }
        for (one, _) in &function.parameters {
            let is_said = function.doc.contains(&format!("@param {one} "));
            if can_fail && function.parameters.len() > 1 && !is_said {
                return Err(format!(
                    "the documentation of {name} does not say what {one} is"
                ));
            }
        }
        let mut types = words(HANDLES).chain(words(DECLARED));
        if types.any(|of| c_name(of) == *name) {
            return Err(format!("{name} is the name of a type and of a function"));
        }
    }
    Ok(())
}

fn library(root: &Path) -> Result<Library, String> {
    let (mut functions, mut constants) = (Vec::new(), Vec::new());
    let sources = TOPICS.iter().flat_map(|(_, sources)| *sources);
    for source in sources {
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
