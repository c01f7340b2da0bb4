//! Digests of a file and of its records, for the receipt.

use blake3::Hasher;
use serde::{Deserialize, Serialize};
use std::io::{self, Write};
use xxhash_rust::xxh3::xxh3_128;

/// A writer that hashes the bytes that it writes.
/// BLAKE3 is a cryptographic hash, so a receipt in a safe place proves that nobody changed the file. SHA-256 would take
/// three times the processor time: a seventh of an export of JSON Lines.
pub(crate) struct HashingWriter<W> {
    /// The name of the output in errors.
    name: String,
    writer: W,
    pub(crate) hasher: Box<Hasher>,
}

impl<W: Write> HashingWriter<W> {
    pub(crate) fn new(name: String, writer: W) -> Self {
        let hasher = Box::default();
        HashingWriter {
            name,
            writer,
            hasher,
        }
    }

    fn named(&self, error: io::Error) -> io::Error {
        match error.kind() {
            // The caller tries again.
            io::ErrorKind::Interrupted => error,
            kind => io::Error::new(kind, format!("{}: {error}", self.name)),
        }
    }
}

impl<W: Write> Write for HashingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.writer.write(bytes);
        let written = written.map_err(|error| self.named(error))?;
        self.hasher.update(bytes.get(..written).unwrap_or_default());
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush().map_err(|error| self.named(error))
    }
}

/// The digest of records in any order, and their number.
/// The hashes are added, because with exclusive or two equal records would cancel each other out. The hash is fast and
/// not cryptographic, because a cryptographic one is expensive for short records. It detects every accident, but an
/// attacker who chooses the records can create two sets with the same digest. The BLAKE3 of the file detects that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RecordsDigest {
    pub(crate) count: u64,
    sum: u128,
}

impl RecordsDigest {
    /// Adds a record as it is in a line of JSON Lines, without the line break.
    pub(crate) fn add(&mut self, line: &[u8]) {
        self.count += 1;
        self.sum = self.sum.wrapping_add(xxh3_128(line));
    }

    /// Returns the sum as 32 hexadecimal digits.
    pub(crate) fn to_hex(self) -> String {
        format!("{:032x}", self.sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_recognised_in_any_order_but_not_in_pairs() {
        let of = |lines: &[&str]| {
            let mut digest = RecordsDigest::default();
            lines.iter().for_each(|line| digest.add(line.as_bytes()));
            digest
        };
        assert_eq!(of(&["a", "b", "b"]), of(&["b", "a", "b"]));
        assert_ne!(of(&["a", "b", "b"]).sum, of(&["a"]).sum);
        assert_ne!(of(&["a", "b"]).sum, of(&["b", "b"]).sum);
        let text = serde_json::to_string(&of(&["a", "b"])).unwrap();
        let read: RecordsDigest = serde_json::from_str(&text).unwrap();
        assert_eq!(read, of(&["a", "b"]), "{text}");
    }
}
