//! The form of a case, as `README.md` describes it, for every runner that is in Rust; what is not known is an error.

use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// Every suite of a directory; a file whose form is not known fails, and so does a directory that holds none.
pub(crate) fn suites(directory: &Path) -> Vec<Suite> {
    let entries = std::fs::read_dir(directory).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let paths = paths.filter(|path| path.extension().is_some_and(|one| one == "json"));
    let suites = paths.map(|path| {
        let text = std::fs::read_to_string(&path).unwrap();
        let suite: Suite = serde_json::from_str(&text)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let is_known = suite.schema_version == 1 && path.file_stem() == Some(suite.suite.as_ref());
        assert!(is_known, "{}: another version or name", path.display());
        suite
    });
    let suites: Vec<Suite> = suites.collect();
    assert!(!suites.is_empty(), "{} holds no cases", directory.display());
    suites
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Suite {
    schema_version: u32,
    pub(crate) suite: String,
    pub(crate) cases: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    pub(crate) id: String,
    #[serde(rename = "docs")]
    _docs: String,
    #[serde(default)]
    pub(crate) sandbox: SandboxOptions,
    #[serde(default)]
    pub(crate) client: ClientOptions,
    pub(crate) rules: Vec<Value>,
    #[serde(rename = "do")]
    pub(crate) verb: Verb,
    pub(crate) expect: Expect,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SandboxOptions {
    pub(crate) records: BTreeMap<String, u64>,
    pub(crate) max_limit: Option<u64>,
    pub(crate) gzip: bool,
    pub(crate) token_lifetime_s: Option<u64>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ClientOptions {
    pub(crate) client_secret: Option<String>,
    pub(crate) max_attempts: Option<u32>,
    pub(crate) attempt_s: Option<f64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verb {
    Version,
    Permissions,
    Check {
        version: String,
        categories: Vec<String>,
    },
    /// The name of a list.
    Scan(String),
    Page {
        list: String,
        limit: u64,
        offset: u64,
    },
    #[serde(untagged)]
    Repeat {
        repeat: u32,
        verb: Box<Verb>,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expect {
    pub(crate) error: Option<ExpectedError>,
    pub(crate) records: Option<usize>,
    pub(crate) ids: Option<Vec<String>>,
    pub(crate) completeness: Option<String>,
    #[serde(default)]
    pub(crate) value: BTreeMap<String, Value>,
    #[serde(default)]
    pub(crate) requests: BTreeMap<String, u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExpectedError {
    pub(crate) kind: String,
    pub(crate) says: Vec<String>,
    #[serde(default)]
    pub(crate) shows: Vec<String>,
    pub(crate) status: Option<u16>,
    pub(crate) attempts: Option<u32>,
    pub(crate) offset: Option<u64>,
    pub(crate) retry_after_s: Option<f64>,
}
