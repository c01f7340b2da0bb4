//! The headers of the C library, which follow from its signatures, and the numbers that programs are compiled with.
//!
//! The exported functions do not depend on the spec. In this file, only the names of lists do.

use crate::generation::Spec;
use crate::ledger::{self, LEDGER};
use crate::render::render;
use cbindgen::{Builder, Config};
use minijinja::context;
use std::collections::BTreeSet;

/// The headers of the exported functions: the name, the headers that it includes, and the sources from which it is
/// made.
#[rustfmt::skip]
const HEADERS: [(&str, &[&str], &[&str]); 9] = [
    ("error", &["base"], &["core/src/error/kind.rs", "ffi-c/src/error.rs"]),
    ("record", &["error"], &["ffi-c/src/text.rs", "core/src/value.rs", "ffi-c/src/record.rs"]),
    ("log", &["base"], &["ffi-c/src/boundary.rs", "ffi-c/src/log.rs"]),
    ("client", &["error", "log"], &["ffi-c/src/config.rs", "ffi-c/src/options.rs", "ffi-c/src/client.rs"]),
    ("scan", &["error"], &["ffi-c/src/scan.rs"]),
    ("job", &["error"], &["columns/src/format.rs", "ffi-c/src/job.rs"]),
    ("call", &["error"], &["ffi-c/src/call.rs"]),
    ("mirror", &["error"], &["ffi-c/src/mirror.rs"]),
    ("talentdata_sandbox", &["client", "record"], &["ffi-sandbox/src/sandbox.rs"]),
];

/// Returns a header that cbindgen makes from its sources, as crates/ffi-c/cbindgen.toml says.
pub(crate) fn header(spec: &Spec, path: &str) -> Result<String, String> {
    let own = |name: &str| path.ends_with(&format!("/{name}.h"));
    let header = HEADERS.iter().find(|(name, ..)| own(name));
    let (name, includes, sources) = header.ok_or_else(|| format!("{path} has no sources"))?;
    let crates = spec.root.join("crates");
    let mut config = Config::from_file(crates.join("ffi-c/cbindgen.toml"))?;
    let guard = name.trim_start_matches("talentdata_").to_uppercase();
    config.include_guard = Some(format!("TALENTDATA_{guard}_H"));
    let includes = includes.iter().map(|one| format!("talentdata/{one}.h"));
    config.includes = includes.collect();
    config.after_includes = own("client").then(|| VERSION.to_owned());
    let builder = Builder::new().with_config(config);
    let sources = sources.iter().map(|source| crates.join(source));
    let builder = sources.fold(builder, |builder, source| builder.with_src(source));
    let bindings = builder
        .generate()
        .map_err(|error| format!("cbindgen: {error}"))?;
    let mut text = Vec::new();
    bindings.write(&mut text);
    String::from_utf8(text).map_err(|error| error.to_string())
}

/// The version of the header, as a string and as numbers.
const VERSION: &str = concat!(
    "\n/** The version of this header; talentdata_library_version returns that of the library. */",
    concat!(
        "\n#define TALENTDATA_VERSION \"",
        env!("CARGO_PKG_VERSION"),
        '"'
    ),
    concat!(
        "\n#define TALENTDATA_VERSION_MAJOR ",
        env!("CARGO_PKG_VERSION_MAJOR")
    ),
    concat!(
        "\n#define TALENTDATA_VERSION_MINOR ",
        env!("CARGO_PKG_VERSION_MINOR")
    ),
    concat!(
        "\n#define TALENTDATA_VERSION_PATCH ",
        env!("CARGO_PKG_VERSION_PATCH")
    ),
    "\n",
);

/// Returns `bindings/c/symbols.txt`: the numbers that the headers declare, and the lists.
pub(crate) fn symbols(spec: &Spec, path: &str) -> Result<String, String> {
    let headers = HEADERS
        .iter()
        .map(|(name, ..)| header(spec, &format!("/{name}.h")));
    let text = headers.collect::<Result<String, String>>()?;
    let before = ledger::numbers(&spec.root)?;
    let is_code = |line: &&str| !line.starts_with(['*', '/']) && !line.contains(" inline ");
    let lines = text.lines().map(str::trim).filter(is_code);
    let constants = lines.filter_map(|line| line.trim_end_matches(',').split_once(" = "));
    let constants: Vec<(&str, &str)> = constants.collect();
    for (name, number) in &constants {
        if before.get(*name).is_some_and(|given| given != number) {
            return Err(format!(
                "{name} was another number before, and programs are compiled with it; {LEDGER} has the number"
            ));
        }
    }
    let known = ledger::lists(&spec.root)?.into_iter();
    let lists = known.chain(spec.api.lists().map(|(_, list)| list.name.clone()));
    let lists: BTreeSet<String> = lists.collect();
    let data = context! { constants, lists };
    render(path, "symbols.txt.j2", data)
}
