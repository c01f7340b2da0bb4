//! A response as the bytes of HTTP/1.1, with the places where a script wants them cut.

use http::StatusCode;

use super::Reply;
use super::edit::has;
use super::script::Framing;
use crate::answer::Answer;

/// Small, so that a cut between chunks, or within the size of one, is possible in every page.
const CHUNK_BYTES: usize = 64;

impl Reply {
    /// Whether the bytes on the wire have to be ours, and not the HTTP library's. The connection ends afterwards.
    pub(super) fn needs_wire(&self, answer: &Answer) -> bool {
        let framed = has(answer, "content-length") || has(answer, "transfer-encoding");
        let raw = self.raw.is_some() || self.raw_base64.is_some();
        let cut = self.cut_at.is_some() || self.cut_at_wire.is_some() || self.how.is_some();
        let slow = self.trickle.is_some() || self.endless || self.close_after_read;
        framed || raw || cut || slow || self.framing.is_some()
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
        let mut out = format!(
            "HTTP/1.1 {} {}\r\n",
            answer.status,
            reason.unwrap_or_default()
        );
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
        // A connection that ends as a fault must not be announced to end.
        let fault = self.cut_at.is_some() || self.cut_at_wire.is_some() || self.how.is_some();
        if !fault && !has(answer, "connection") {
            out += "connection: close\r\n";
        }
        (out + "\r\n").into_bytes()
    }

    pub(super) fn framing(&self) -> Framing {
        let usual = if self.endless {
            Framing::Chunked
        } else {
            Framing::Length
        };
        self.framing.unwrap_or(usual)
    }
}

/// What goes on for ever after the body of an endless answer.
pub(super) fn padding(framing: Framing) -> Vec<u8> {
    let spaces = vec![b' '; 16 << 10];
    match framing {
        Framing::Chunked => [b"4000\r\n".as_slice(), &spaces, b"\r\n"].concat(),
        Framing::Length | Framing::Close => spaces,
    }
}
