//! Changes a response as a rule says, and sends it on a connection taken over from the HTTP library.

use super::{Framing, How, Reply, Trickle};
use crate::http::Answer;
use crate::server::{Failure, wait};
use ::http::{Response, StatusCode};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http_body_util::Full;
use serde_json::Value;
use std::io;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Small, so that a cut between chunks, or within the size of one, is possible in every page.
const CHUNK_BYTES: usize = 64;

impl Reply {
    /// Body first, then the headers, so that a rule has the last word on them.
    pub(super) fn edit(&self, answer: &mut Answer) -> io::Result<()> {
        let new = self.new_body()?;
        if let Some(status) = self.status.filter(|status| *status != answer.status) {
            answer.status = status;
            // What was to be said with another status is of no use with this one.
            if new.is_none() {
                remove(answer, "content-type");
                remove(answer, "content-encoding");
                answer.body = Bytes::new();
            }
        }
        if let Some(body) = new {
            remove(answer, "content-encoding");
            answer.body = body;
        }
        if self.gzip_bomb_mb.is_some() {
            let encoding = ("content-encoding".into(), "gzip".into());
            answer.headers.push(encoding);
        } else if self.gzip && !has(answer, "content-encoding") {
            answer.gzip()?;
        }
        for (name, values) in &self.headers {
            remove(answer, name);
            for value in values.as_slice() {
                let header = (name.clone().into(), value.clone().into());
                answer.headers.push(header);
            }
        }
        for name in &self.omit_headers {
            remove(answer, name);
        }
        Ok(())
    }

    fn new_body(&self) -> io::Result<Option<Bytes>> {
        let text = self.body.as_ref().map(|body| match body {
            Value::String(text) => text.clone().into(),
            other => other.to_string().into(),
        });
        match self.gzip_bomb_mb {
            Some(mebibytes) => Ok(Some(bomb(mebibytes)?.into())),
            None => Ok(self.body_base64.clone().or(text)),
        }
    }

    /// Whether the bytes on the wire have to be ours, and not the HTTP library's. The connection ends afterwards.
    pub(super) fn needs_wire(&self, answer: &Answer) -> bool {
        let framed = has(answer, "content-length") || has(answer, "transfer-encoding");
        let raw = self.raw.is_some() || self.raw_base64.is_some();
        let slow = self.trickle.is_some() || self.endless || self.close_after_read;
        framed || raw || self.ends_early() || slow || self.framing.is_some()
    }

    /// Whether the connection ends as a fault, which must not be announced.
    fn ends_early(&self) -> bool {
        self.cut_at.is_some() || self.cut_at_wire.is_some() || self.how.is_some()
    }

    /// What is sent before the connection ends.
    pub(super) fn wire(&self, answer: &Answer) -> Vec<u8> {
        if self.close_after_read {
            return Vec::new();
        }
        let (mut bytes, body_cut) = match (&self.raw_base64, &self.raw) {
            (Some(raw), _) => (raw.to_vec(), None),
            (_, Some(raw)) => (raw.clone().into_bytes(), None),
            _ => self.encode(answer),
        };
        if let Some(cut) = self.cut_at_wire.or(body_cut) {
            bytes.truncate(cut);
        }
        bytes
    }

    /// The whole answer, and where `cut_at` falls in it.
    fn encode(&self, answer: &Answer) -> (Vec<u8>, Option<usize>) {
        let mut out = self.head(answer);
        let start = out.len();
        let cut = self.cut_at.filter(|cut| *cut < answer.body.len());
        if self.framing() != Framing::Chunked {
            out.extend_from_slice(&answer.body);
            return (out, cut.map(|cut| start + cut));
        }
        let mut wire_cut = None;
        for (number, chunk) in answer.body.chunks(CHUNK_BYTES).enumerate() {
            out.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            let within = cut.and_then(|cut| cut.checked_sub(number * CHUNK_BYTES));
            if let Some(within) = within.filter(|within| *within < chunk.len()) {
                wire_cut = Some(out.len() + within);
            }
            out.extend_from_slice(chunk);
            out.extend_from_slice(b"\r\n");
        }
        if !self.endless {
            out.extend_from_slice(b"0\r\n\r\n");
        }
        (out, wire_cut)
    }

    fn head(&self, answer: &Answer) -> Vec<u8> {
        let known = StatusCode::from_u16(answer.status).ok();
        let reason = known.and_then(|status| status.canonical_reason());
        let reason = reason.unwrap_or_default();
        let mut out = format!("HTTP/1.1 {} {reason}\r\n", answer.status);
        for (name, value) in &answer.headers {
            out += &format!("{name}: {value}\r\n");
        }
        match self.framing() {
            Framing::Length if !has(answer, "content-length") => {
                out += &format!("content-length: {}\r\n", answer.body.len());
            }
            Framing::Chunked if !has(answer, "transfer-encoding") => {
                out += "transfer-encoding: chunked\r\n";
            }
            _ => {}
        }
        if !self.ends_early() && !has(answer, "connection") {
            out += "connection: close\r\n";
        }
        (out + "\r\n").into_bytes()
    }

    fn framing(&self) -> Framing {
        let usual = if self.endless {
            Framing::Chunked
        } else {
            Framing::Length
        };
        self.framing.unwrap_or(usual)
    }

    /// What goes on without end after the body of an endless answer.
    pub(super) fn padding(&self) -> Vec<u8> {
        let spaces = vec![b' '; 16 << 10];
        match self.framing() {
            Framing::Chunked => [b"4000\r\n".as_slice(), &spaces, b"\r\n"].concat(),
            Framing::Length | Framing::Close => spaces,
        }
    }
}

/// `{"padding":"000..."}` with so many MiB of zeros, compressed.
fn bomb(mebibytes: u32) -> io::Result<Vec<u8>> {
    use io::{Read as _, Write as _};
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(br#"{"padding":""#)?;
    let mut zeros = io::repeat(b'0').take(u64::from(mebibytes) << 20);
    io::copy(&mut zeros, &mut encoder)?;
    encoder.write_all(br#""}"#)?;
    encoder.finish()
}

fn has(answer: &Answer, name: &str) -> bool {
    let mut names = answer.headers.iter().map(|(name, _)| name);
    names.any(|other| other.eq_ignore_ascii_case(name))
}

fn remove(answer: &mut Answer, name: &str) {
    let headers = &mut answer.headers;
    headers.retain(|(other, _)| !other.eq_ignore_ascii_case(name));
}

/// Does to `answer` what `reply` says. What is still valid HTTP is left to the library; all else is written to `spare`,
/// which is the same connection. The library then must not answer, and drops what is left of it, for which an error asks.
pub(crate) async fn play(
    reply: &Reply,
    mut answer: Answer,
    spare: &std::net::TcpStream,
) -> Result<Response<Full<Bytes>>, Failure> {
    reply.edit(&mut answer)?;
    wait(Duration::from_millis(reply.delay_ms)).await;
    if !reply.needs_wire(&answer)
        && let Ok(response) = answer.response()
    {
        return Ok(response);
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

/// Prepares the end of a connection; it comes when the socket is dropped.
pub(crate) async fn end(socket: &mut TcpStream, how: How) -> io::Result<()> {
    match how {
        How::Fin => Ok(()),
        How::Rst => socket.set_zero_linger(),
        How::Stall => {
            let mut unheard = [0; 1024];
            while socket.read(&mut unheard).await? > 0 {}
            Ok(())
        }
    }
}

async fn write(socket: &mut TcpStream, bytes: &[u8], trickle: Option<Trickle>) -> io::Result<()> {
    let most = trickle.map_or(bytes.len(), |trickle| trickle.bytes);
    for piece in bytes.chunks(most.max(1)) {
        socket.write_all(piece).await?;
        if let Some(trickle) = trickle {
            wait(Duration::from_millis(trickle.every_ms)).await;
        }
    }
    Ok(())
}
