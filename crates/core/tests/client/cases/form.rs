//! The form of a case, as `tests/cases/README.md` describes it; what is not known is an error.

use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use talentdata_core::types::Resource;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Suite {
    pub(super) schema_version: u32,
    pub(super) suite: String,
    pub(super) cases: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Case {
    pub(super) id: String,
    #[serde(rename = "docs")]
    _docs: String,
    #[serde(default)]
    pub(super) sandbox: SandboxOptions,
    #[serde(default)]
    pub(super) client: ClientOptions,
    pub(super) rules: Vec<Value>,
    #[serde(rename = "do")]
    pub(super) verb: Verb,
    pub(super) expect: Expect,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct SandboxOptions {
    pub(super) records: BTreeMap<String, u64>,
    pub(super) max_limit: Option<u64>,
    pub(super) gzip: bool,
    pub(super) token_lifetime_s: Option<u64>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ClientOptions {
    pub(super) client_secret: Option<String>,
    pub(super) max_attempts: Option<u32>,
    pub(super) attempt_s: Option<f64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Verb {
    Version,
    Permissions,
    Check {
        version: String,
        categories: Vec<String>,
    },
    Scan(Named),
    Page {
        list: Named,
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
#[serde(try_from = "String")]
pub(super) struct Named(pub(super) Resource);

impl TryFrom<String> for Named {
    type Error = talentdata_core::types::UnknownResource;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        name.parse().map(Named)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Expect {
    pub(super) error: Option<ExpectedError>,
    pub(super) records: Option<usize>,
    pub(super) ids: Option<Vec<String>>,
    pub(super) completeness: Option<String>,
    #[serde(default)]
    pub(super) value: BTreeMap<String, Value>,
    #[serde(default)]
    pub(super) requests: BTreeMap<String, u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExpectedError {
    pub(super) kind: String,
    pub(super) says: Vec<String>,
    pub(super) status: Option<u16>,
    pub(super) attempts: Option<u32>,
    pub(super) offset: Option<u64>,
    pub(super) retry_after_s: Option<f64>,
}
