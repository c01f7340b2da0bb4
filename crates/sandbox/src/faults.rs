//! Faults on demand. Rules change a response, or write it themselves to a connection that they take over from the HTTP
//! library.
//!
//! The README of this crate describes the rules.

use crate::http::{Answer, gzip, set};
use ::http::header::{
    CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING,
};
use ::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use std::io;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// The size of a chunk. Chunks are small, so that a page can be cut between two chunks and within the size line of a
/// chunk.
const CHUNK_BYTES: usize = 64;

/// The error that ends a connection early.
pub(crate) type ConnectionFailure = Box<dyn std::error::Error + Send + Sync>;

/// The rules of a sandbox.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Script {
    pub(crate) rules: Vec<Rule>,
}

/// A rule: the requests to which it applies, and the changes to their responses.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rule {
    #[serde(rename = "match", default)]
    pub(crate) condition: Condition,
    pub(crate) reply: FaultReply,
    /// The number of requests or connections that matched so far.
    #[serde(skip)]
    matches: u64,
}

impl Rule {
    /// Counts a match, and returns whether the rule applies to it.
    pub(crate) fn applies_to_next(&mut self) -> bool {
        self.matches += 1;
        let Condition { nth, from, .. } = self.condition;
        nth.is_none_or(|nth| self.matches == nth) && from.is_none_or(|from| self.matches >= from)
    }
}

/// The requests to which a rule applies. An empty condition matches all requests.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Condition {
    pub(crate) method: Option<String>,
    pub(crate) path: Option<String>,
    /// The number of the only matching request to which the rule applies, counted from 1.
    nth: Option<u64>,
    /// The number of the first matching request to which the rule applies, counted from 1.
    from: Option<u64>,
    /// True if the rule matches connections instead of requests. A connection ends, as `how` says, when it is accepted.
    pub(crate) accept: bool,
}

/// The changes to the response of the service. An empty reply changes nothing.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct FaultReply {
    #[serde(deserialize_with = "status")]
    status: Option<StatusCode>,
    /// Headers to replace or add. An array sends the header several times.
    #[serde(deserialize_with = "headers")]
    headers: HeaderMap,
    omit_headers: Vec<String>,
    /// The body as JSON. A string is sent without quotes.
    #[serde(deserialize_with = "body")]
    body: Option<Bytes>,
    #[serde(deserialize_with = "base64")]
    body_base64: Option<Bytes>,
    gzip: bool,
    /// The size, in MiB, of the gzipped JSON object that replaces the body.
    gzip_bomb_mb: Option<u32>,
    delay_ms: u64,
    /// True if the connection ends, as `how` says, without a response.
    close_after_read: bool,
    /// The bytes that replace the whole response, including the status line.
    raw: Option<String>,
    framing: Option<Framing>,
    /// The number of bytes of the encoded body, without chunk sizes, that are sent before the connection ends.
    cut_at: Option<usize>,
    /// The number of bytes that are sent before the connection ends, counted from the first byte of the status line.
    cut_at_wire: Option<usize>,
    pub(crate) how: Option<How>,
    trickle: Option<Trickle>,
    /// True if spaces follow the body without end.
    endless: bool,
}

/// The marker for the end of the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Framing {
    /// The header `content-length`.
    Length,
    /// A chunked body. Chunks have 64 bytes.
    Chunked,
    /// The end of the connection.
    Close,
}

/// The way in which a connection ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum How {
    /// An orderly close.
    #[default]
    Fin,
    /// A reset.
    Rst,
    /// No end: the connection remains open and silent until the client closes it.
    Stall,
}

/// The number of bytes that are sent at once, and the pause between them.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct Trickle {
    bytes: usize,
    #[serde(default)]
    every_ms: u64,
}

fn status<'de, D: Deserializer<'de>>(from: D) -> Result<Option<StatusCode>, D::Error> {
    let status = StatusCode::from_u16(u16::deserialize(from)?);
    status.map(Some).map_err(D::Error::custom)
}

fn headers<'de, D: Deserializer<'de>>(from: D) -> Result<HeaderMap, D::Error> {
    let mut headers = HeaderMap::new();
    for (name, values) in Map::deserialize(from)? {
        let name: HeaderName = name.parse().map_err(D::Error::custom)?;
        let values = match values {
            Value::Array(values) => values,
            value => vec![value],
        };
        for value in values {
            let text = String::deserialize(value).map_err(D::Error::custom)?;
            let header = HeaderValue::try_from(text).map_err(D::Error::custom)?;
            headers.append(&name, header);
        }
    }
    Ok(headers)
}

fn body<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Bytes>, D::Error> {
    Ok(Some(match Value::deserialize(from)? {
        Value::String(text) => text.into(),
        other => other.to_string().into(),
    }))
}

fn base64<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Bytes>, D::Error> {
    let text = String::deserialize(from)?;
    let bytes = STANDARD.decode(text).map_err(D::Error::custom)?;
    Ok(Some(bytes.into()))
}

impl FaultReply {
    /// Changes the body and then the headers. The headers of a rule override headers that follow from the body.
    fn edit(&self, answer: &mut Answer) -> io::Result<()> {
        let new = match self.gzip_bomb_mb {
            Some(mebibytes) => Some(bomb(mebibytes)?.into()),
            None => self.body_base64.clone().or(self.body.clone()),
        };
        if let Some(status) = self.status.filter(|status| *status != answer.status()) {
            *answer.status_mut() = status;
            // The body belongs to the original status and does not fit the new one.
            if new.is_none() {
                answer.headers_mut().remove(CONTENT_TYPE);
                answer.headers_mut().remove(CONTENT_ENCODING);
                answer.body_mut().clear();
            }
        }
        if let Some(body) = new {
            answer.headers_mut().remove(CONTENT_ENCODING);
            *answer.body_mut() = body;
        }
        if self.gzip_bomb_mb.is_some() {
            set(answer, CONTENT_ENCODING.as_str(), "gzip");
        } else if self.gzip && !answer.headers().contains_key(CONTENT_ENCODING) {
            gzip(answer)?;
        }
        answer.headers_mut().extend(self.headers.clone());
        for name in &self.omit_headers {
            answer.headers_mut().remove(name);
        }
        Ok(())
    }

    /// Returns whether the sandbox must write the bytes itself, because the HTTP library cannot. The connection ends
    /// afterwards.
    fn needs_wire(&self, headers: &HeaderMap) -> bool {
        let has_framing =
            headers.contains_key(CONTENT_LENGTH) || headers.contains_key(TRANSFER_ENCODING);
        let is_paced = self.trickle.is_some() || self.endless || self.close_after_read;
        let is_replaced = self.raw.is_some() || self.framing.is_some();
        has_framing || is_replaced || is_paced || self.ends_early()
    }

    /// Returns whether the end of the connection is a fault, so that no header may announce it.
    fn ends_early(&self) -> bool {
        self.cut_at.is_some() || self.cut_at_wire.is_some() || self.how.is_some()
    }

    /// Returns the bytes that are sent before the connection ends.
    fn wire(&self, answer: &Answer) -> Vec<u8> {
        if self.close_after_read {
            return Vec::new();
        }
        let mut bytes = match &self.raw {
            Some(raw) => raw.clone().into_bytes(),
            None => self.encode(answer),
        };
        bytes.truncate(self.cut_at_wire.unwrap_or(usize::MAX));
        bytes
    }

    /// Returns the response, with the body truncated at `cut_at`.
    fn encode(&self, answer: &Answer) -> Vec<u8> {
        let (mut out, body) = (self.head(answer), answer.body());
        let cut = self.cut_at.filter(|cut| *cut < body.len());
        let sent = &body[..cut.unwrap_or(body.len())];
        if self.framing() != Framing::Chunked {
            out.extend_from_slice(sent);
            return out;
        }
        for chunk in sent.chunks(CHUNK_BYTES) {
            out.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            out.extend_from_slice(chunk);
            out.extend_from_slice(b"\r\n");
        }
        if !self.endless && cut.is_none() {
            out.extend_from_slice(b"0\r\n\r\n");
        }
        out
    }

    fn head(&self, answer: &Answer) -> Vec<u8> {
        let (status, headers) = (answer.status(), answer.headers());
        let reason = status.canonical_reason().unwrap_or_default();
        let mut out = format!("HTTP/1.1 {} {reason}\r\n", status.as_str()).into_bytes();
        for (name, value) in headers {
            out.extend([name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
        }
        let framing = match self.framing() {
            Framing::Length if !headers.contains_key(CONTENT_LENGTH) => {
                format!("content-length: {}\r\n", answer.body().len())
            }
            Framing::Chunked if !headers.contains_key(TRANSFER_ENCODING) => {
                "transfer-encoding: chunked\r\n".to_owned()
            }
            _ => String::new(),
        };
        out.extend_from_slice(framing.as_bytes());
        if !self.ends_early() && !headers.contains_key(CONNECTION) {
            out.extend_from_slice(b"connection: close\r\n");
        }
        out.extend_from_slice(b"\r\n");
        out
    }

    fn framing(&self) -> Framing {
        self.framing.unwrap_or(if self.endless {
            Framing::Chunked
        } else {
            Framing::Length
        })
    }

    /// Returns the bytes that an endless response repeats after its body.
    fn padding(&self) -> Vec<u8> {
        let spaces = vec![b' '; 16 << 10];
        match self.framing() {
            Framing::Chunked => [b"4000\r\n".as_slice(), &spaces, b"\r\n"].concat(),
            Framing::Length | Framing::Close => spaces,
        }
    }
}

/// Returns `{"padding":"000..."}` with this many MiB of zeros, compressed.
fn bomb(mebibytes: u32) -> io::Result<Vec<u8>> {
    use io::{Read as _, Write as _};
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(br#"{"padding":""#)?;
    let mut zeros = io::repeat(b'0').take(u64::from(mebibytes) << 20);
    io::copy(&mut zeros, &mut encoder)?;
    encoder.write_all(br#""}"#)?;
    encoder.finish()
}

/// Changes `answer` as `reply` says. If the result is valid HTTP, the library sends it. Otherwise this function writes
/// it to `spare`, which is the same connection, and returns an error, so that the library sends nothing and closes the
/// connection.
pub(crate) async fn play(
    reply: &FaultReply,
    mut answer: Answer,
    spare: &std::net::TcpStream,
) -> Result<Answer, ConnectionFailure> {
    reply.edit(&mut answer)?;
    wait(Duration::from_millis(reply.delay_ms)).await;
    if !reply.needs_wire(answer.headers()) {
        return Ok(answer);
    }
    let mut socket = TcpStream::from_std(spare.try_clone()?)?;
    write(&mut socket, &reply.wire(&answer), reply.trickle).await?;
    if reply.endless {
        let padding = reply.padding();
        loop {
            write(&mut socket, &padding, reply.trickle).await?;
        }
    }
    end(&mut socket, reply.how.unwrap_or_default()).await?;
    Err("the connection was taken over by a fault".into())
}

/// Prepares the end of a connection. The connection ends when the socket is dropped.
pub(crate) async fn end(socket: &mut TcpStream, how: How) -> io::Result<()> {
    match how {
        How::Fin => Ok(()),
        How::Rst => socket.set_zero_linger(),
        How::Stall => {
            let mut ignored = [0; 1024];
            while socket.read(&mut ignored).await? > 0 {}
            Ok(())
        }
    }
}

async fn write(socket: &mut TcpStream, bytes: &[u8], trickle: Option<Trickle>) -> io::Result<()> {
    let piece_bytes = trickle.map_or(bytes.len(), |trickle| trickle.bytes);
    for piece in bytes.chunks(piece_bytes.max(1)) {
        socket.write_all(piece).await?;
        if let Some(trickle) = trickle {
            wait(Duration::from_millis(trickle.every_ms)).await;
        }
    }
    Ok(())
}

/// Waits for this time. A timer takes at least a millisecond, so a time of 0 needs none.
pub(crate) async fn wait(time: Duration) {
    if time > Duration::ZERO {
        tokio::time::sleep(time).await;
    }
}
