//! Decompresses bodies piece by piece. Like other clients, it accepts names of codings in any case, several codings,
//! and several gzip members.

use flate2::Crc;
use flate2::write::{DeflateDecoder, GzDecoder, ZlibDecoder};
use http::HeaderMap;
use http::header::CONTENT_ENCODING;
use std::borrow::Cow;
use std::io::{self, Write};

/// The size of the pieces in which a body is decompressed. One piece yields at most about a thousand times as much,
/// which is not part of the memory that pages share.
const PIECE: usize = 512;

/// Decodes one body.
pub(super) struct Decoder(Vec<Coding>);

/// One coding, and the bytes that it has not passed on yet.
enum Coding {
    Gzip(Gzip),
    /// The first two bytes, which distinguish zlib from raw deflate, are not known yet.
    Deflate(Vec<u8>),
    Zlib(ZlibDecoder<Vec<u8>>),
    Raw(DeflateDecoder<Vec<u8>>),
}

/// Gzip in one or several members.
#[derive(Default)]
struct Gzip {
    /// The current member, if one began.
    member: Option<Box<Member>>,
    /// True if the bytes after the last member are not another member.
    is_over: bool,
}

/// A member: a header, a deflate stream, and a trailer of eight bytes with the checksum and the length of the text.
struct Member {
    /// Reads the header only.
    head: GzDecoder<Vec<u8>>,
    stream: DeflateDecoder<Vec<u8>>,
    text: Crc,
    trailer: Vec<u8>,
}

impl Decoder {
    /// Returns the decoder of a body with these headers.
    pub(super) fn new(headers: &HeaderMap) -> Self {
        let lines = headers.get_all(CONTENT_ENCODING).into_iter();
        let lines = lines.filter_map(|line| line.to_str().ok());
        let names = lines.flat_map(|line| line.split(','));
        let codings = names.filter_map(|name| match &*name.trim().to_ascii_lowercase() {
            // Old servers call it `x-gzip` (RFC 9110, section 8.4.1.3).
            "gzip" | "x-gzip" => Some(Coding::Gzip(Gzip::default())),
            "deflate" => Some(Coding::Deflate(Vec::new())),
            // Servers also write `identity`, `none` or `utf-8`. Other compressions were not requested, and their result
            // is not JSON.
            _ => None,
        });
        let mut codings: Vec<Coding> = codings.collect();
        codings.reverse();
        Decoder(codings)
    }

    /// Returns the size of the pieces to decode.
    pub(super) fn piece(&self) -> usize {
        if self.is_identity() {
            usize::MAX
        } else {
            PIECE
        }
    }

    /// Returns whether the body is not encoded.
    pub(super) fn is_identity(&self) -> bool {
        self.0.is_empty()
    }

    /// Decodes the next piece of the body. `piece` says how long it may be.
    pub(super) fn decode<'a>(&mut self, piece: &'a [u8]) -> io::Result<Cow<'a, [u8]>> {
        let mut bytes = Cow::Borrowed(piece);
        for coding in &mut self.0 {
            bytes = coding.decode(&bytes)?.into();
        }
        Ok(bytes)
    }

    /// Checks that the body was complete.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        self.0.iter_mut().try_for_each(Coding::finish)
    }
}

impl Coding {
    fn decode(&mut self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        if let Coding::Deflate(begun) = self {
            begun.extend_from_slice(bytes);
            let [first, second, ..] = begun[..] else {
                return Ok(Vec::new());
            };
            // Some old servers send raw deflate without the zlib frame, whose first two bytes are a multiple of 31 (RFC
            // 1950).
            let is_zlib = first & 15 == 8 && u16::from_be_bytes([first, second]).is_multiple_of(31);
            let begun = std::mem::take(begun);
            *self = if is_zlib {
                Coding::Zlib(ZlibDecoder::new(Vec::new()))
            } else {
                Coding::Raw(DeflateDecoder::new(Vec::new()))
            };
            return self.decode(&begun);
        }
        match self {
            Coding::Gzip(gzip) => gzip.decode(bytes),
            Coding::Zlib(zlib) => {
                write_some(zlib, bytes)?;
                Ok(std::mem::take(zlib.get_mut()))
            }
            Coding::Raw(raw) => {
                write_some(raw, bytes)?;
                Ok(std::mem::take(raw.get_mut()))
            }
            Coding::Deflate(_) => Ok(Vec::new()),
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        match self {
            Coding::Gzip(gzip) => gzip.finish(),
            Coding::Zlib(zlib) => check_end(zlib),
            Coding::Raw(raw) => check_end(raw),
            Coding::Deflate(begun) if begun.is_empty() => Ok(()),
            Coding::Deflate(_) => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// Writes until the decoder takes no more bytes, because its stream is over. Any bytes after that are ignored.
fn write_some(decoder: &mut impl Write, mut bytes: &[u8]) -> io::Result<()> {
    loop {
        match decoder.write(bytes)? {
            0 => return decoder.flush(),
            written => bytes = &bytes[written..],
        }
    }
}

impl Gzip {
    fn decode(&mut self, mut bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut decoded = Vec::new();
        while let (Some(next), false) = (bytes.first(), self.is_over) {
            if self.member.as_deref().is_some_and(Member::is_over) {
                // Servers join members, and some add padding after the last one.
                self.member = None;
                self.is_over = *next != 0x1f;
                continue;
            }
            let member = self.member.get_or_insert_with(|| Box::new(Member::new()));
            let taken = member.decode(bytes, &mut decoded)?;
            bytes = &bytes[taken..];
        }
        Ok(decoded)
    }

    fn finish(&mut self) -> io::Result<()> {
        match &mut self.member {
            None => Ok(()),
            Some(member) if member.head.header().is_none() => {
                Err(io::ErrorKind::UnexpectedEof.into())
            }
            // The text is complete without the trailer, and other clients read it.
            Some(member) => check_end(&mut member.stream),
        }
    }
}

impl Member {
    /// The length of the trailer in bytes.
    const TRAILER: usize = 8;

    fn new() -> Self {
        Member {
            head: GzDecoder::new(Vec::new()),
            stream: DeflateDecoder::new(Vec::new()),
            text: Crc::new(),
            trailer: Vec::new(),
        }
    }

    fn is_over(&self) -> bool {
        self.trailer.len() == Self::TRAILER
    }

    /// Decodes some of these bytes, and returns how many.
    fn decode(&mut self, bytes: &[u8], decoded: &mut Vec<u8>) -> io::Result<usize> {
        if self.head.header().is_none() {
            return self.head.write(bytes);
        }
        let taken = self.stream.write(bytes)?;
        self.stream.flush()?;
        self.text.update(self.stream.get_ref());
        decoded.append(self.stream.get_mut());
        if taken > 0 {
            return Ok(taken);
        }
        let taken = bytes.len().min(Self::TRAILER - self.trailer.len());
        self.trailer.extend(&bytes[..taken]);
        let (sum, length) = (self.text.sum(), self.text.amount());
        let wanted = [sum.to_le_bytes(), length.to_le_bytes()].concat();
        if self.is_over() && self.trailer != wanted {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(taken)
    }
}

/// Checks that a stream is complete: it would take no more bytes.
fn check_end(decoder: &mut impl Write) -> io::Result<()> {
    match decoder.write(&[0]) {
        Ok(0) => Ok(()),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
    use http::HeaderValue;

    const TEXT: &[u8] = b"{\"roles\":[],\"permissions\":[]}";

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn zlib(text: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn deflate(text: &[u8]) -> Vec<u8> {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    /// Returns the text of a body that arrives in pieces of this size.
    fn decode(codings: &[&'static str], body: &[u8], size: usize) -> io::Result<Vec<u8>> {
        let mut headers = HeaderMap::new();
        for coding in codings {
            headers.append(CONTENT_ENCODING, HeaderValue::from_static(coding));
        }
        let (mut decoder, mut text) = (Decoder::new(&headers), Vec::new());
        for piece in body.chunks(size) {
            text.extend_from_slice(&decoder.decode(piece)?);
        }
        decoder.finish()?;
        Ok(text)
    }

    #[test]
    fn every_coding_is_decoded_in_pieces_of_any_size() {
        let (first, second) = TEXT.split_at(9);
        let members = [gzip(first), gzip(second)].concat();
        for (codings, body) in [
            (&["gzip"][..], gzip(TEXT)),
            (&["GZIP"], gzip(TEXT)),
            (&["x-gzip"], gzip(TEXT)),
            (&["gzip"], members),
            (&["gzip"], [gzip(TEXT), vec![0; 8]].concat()),
            (&["gzip"], [gzip(TEXT), b"junk".to_vec()].concat()),
            (&["gzip, identity"], gzip(TEXT)),
            (&["gzip, gzip"], gzip(&gzip(TEXT))),
            (&["gzip", "gzip"], gzip(&gzip(TEXT))),
            (&["deflate"], zlib(TEXT)),
            (&["Deflate"], deflate(TEXT)),
            (&["deflate, gzip"], gzip(&zlib(TEXT))),
            (&["identity"], TEXT.to_vec()),
            (&["none"], TEXT.to_vec()),
            (&["utf-8"], TEXT.to_vec()),
            (&[""], TEXT.to_vec()),
            (&[], TEXT.to_vec()),
        ] {
            for size in [1, 7, 4096] {
                let text = decode(codings, &body, size).unwrap();
                assert_eq!(text, TEXT, "{codings:?} in pieces of {size}");
            }
        }
        assert_eq!(decode(&["gzip"], b"", 1).unwrap(), b"");
    }

    #[test]
    fn gzip_is_complete_without_its_trailer() {
        let whole = gzip(TEXT);
        for missing in 0..=Member::TRAILER {
            let text = decode(&["gzip"], &whole[..whole.len() - missing], 7);
            assert_eq!(text.unwrap(), TEXT, "{missing}");
        }
    }

    #[test]
    fn incomplete_and_damaged_bodies_are_errors() {
        let whole = gzip(TEXT);
        for length in 1..whole.len() - Member::TRAILER {
            let error = decode(&["gzip"], &whole[..length], 7).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "{length}");
        }
        let mut damaged = whole;
        *damaged.last_mut().unwrap() ^= 1;
        assert!(decode(&["gzip"], &[damaged, gzip(b"")].concat(), 7).is_err());
        assert!(decode(&["gzip"], TEXT, 7).is_err());
        assert!(decode(&["deflate"], &zlib(TEXT)[..9], 7).is_err());
    }
}
