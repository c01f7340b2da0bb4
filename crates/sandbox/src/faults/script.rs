//! The form of a fault script, as it is posted. A word that is not known is an error, or a test would test nothing.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Script {
    pub(super) rules: Vec<Rule>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rule {
    #[serde(rename = "match", default)]
    pub(super) condition: Condition,
    pub(super) reply: Reply,
}

/// Which requests a rule is for; without any member, all of them.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Condition {
    pub(super) method: Option<String>,
    pub(super) path: Option<String>,
    /// Only this one of the matching requests, counted from 1.
    pub(super) nth: Option<u64>,
    /// This one and all later ones.
    pub(super) from: Option<u64>,
    /// Connections instead of requests: `how` is done as soon as one is accepted.
    pub(super) accept: bool,
}

/// What is done to the response that the service gave; without any member, nothing.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Reply {
    pub(crate) status: Option<u16>,
    /// Replaced or added; an array sends the header several times.
    pub(crate) headers: BTreeMap<String, Values>,
    pub(crate) omit_headers: Vec<String>,
    /// JSON; a string is sent as it is, without quotes.
    #[serde(deserialize_with = "present")]
    pub(crate) body: Option<Value>,
    #[serde(deserialize_with = "base64")]
    pub(crate) body_base64: Option<Bytes>,
    pub(crate) gzip: bool,
    /// In place of the body, a gzipped JSON object of so many MiB.
    pub(crate) gzip_bomb_mb: Option<u32>,
    pub(crate) delay_ms: u64,
    /// Nothing is answered; the connection ends as `how` says.
    pub(crate) close_after_read: bool,
    /// In place of the whole answer, status line and all.
    pub(crate) raw: Option<String>,
    #[serde(deserialize_with = "base64")]
    pub(crate) raw_base64: Option<Bytes>,
    pub(crate) framing: Option<Framing>,
    /// Bytes of the body (as it is encoded, without chunk sizes) that are sent before the connection ends.
    pub(crate) cut_at: Option<usize>,
    /// The same, counted from the first byte of the status line.
    pub(crate) cut_at_wire: Option<usize>,
    pub(crate) how: Option<How>,
    pub(crate) trickle: Option<Trickle>,
    /// After the body, spaces without end.
    pub(crate) endless: bool,
}

/// One value of a header, or several.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(crate) enum Values {
    One(String),
    Many(Vec<String>),
}

impl Values {
    pub(super) fn as_slice(&self) -> &[String] {
        match self {
            Self::One(value) => std::slice::from_ref(value),
            Self::Many(values) => values,
        }
    }
}

/// How the end of the body is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Framing {
    /// By `content-length`.
    Length,
    /// By chunks of 64 bytes.
    Chunked,
    /// By the end of the connection.
    Close,
}

/// How a connection ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum How {
    /// In order.
    #[default]
    Fin,
    /// By a reset.
    Rst,
    /// Not at all: it stays open and silent until the client closes it.
    Stall,
}

/// So many bytes at a time.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Trickle {
    pub(crate) bytes: usize,
    #[serde(default)]
    pub(crate) every_ms: u64,
}

/// Tells a body that is `null` from a body that is not given.
fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

fn base64<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Bytes>, D::Error> {
    let text = String::deserialize(from)?;
    let bytes = STANDARD.decode(text).map_err(serde::de::Error::custom)?;
    Ok(Some(bytes.into()))
}
