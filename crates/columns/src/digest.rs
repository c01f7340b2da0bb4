//! Digests by which a receipt recognises a file and its records.

use blake3::Hasher;
use serde::{Deserialize, Serialize};
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use xxhash_rust::xxh3::xxh3_128;

/// How much of a file is read at once.
const CHUNK: usize = 256 * 1024;

/// BLAKE3 and size of what passes through a writer, which somebody else owns in the meantime.
///
/// It is a cryptographic hash, so that a receipt that is kept safe proves that nobody has changed the file. SHA-256, which
/// does the same, takes three times the processor time: a seventh of an export of JSON Lines.
#[derive(Clone)]
pub(crate) struct FileDigest(Arc<Mutex<State>>);

struct State {
    hasher: Hasher,
    bytes: u64,
}

impl FileDigest {
    pub(crate) fn new() -> Self {
        FileDigest(Arc::new(Mutex::new(State {
            hasher: Hasher::new(),
            bytes: 0,
        })))
    }

    /// A writer that passes on to `writer` what it is given.
    pub(crate) fn through<W>(&self, writer: W) -> Digesting<W> {
        let digest = self.clone();
        Digesting { writer, digest }
    }

    pub(crate) fn update(&self, bytes: &[u8]) {
        let mut state = self.state();
        state.hasher.update(bytes);
        state.bytes += bytes.len() as u64;
    }

    /// The size so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.state().bytes
    }

    /// The BLAKE3 so far, as 64 hexadecimal digits.
    pub(crate) fn to_hex(&self) -> String {
        self.state().hasher.finalize().to_string()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A writer whose bytes are digested.
pub(crate) struct Digesting<W> {
    writer: W,
    digest: FileDigest,
}

impl<W: Write> Write for Digesting<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.writer.write(bytes)?;
        self.digest.update(bytes.get(..written).unwrap_or_default());
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// Hands on what is read, chunk by chunk.
pub(crate) fn in_chunks(mut reader: impl Read, mut take: impl FnMut(&[u8])) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK];
    loop {
        match reader.read(&mut chunk) {
            Ok(0) => return Ok(()),
            Ok(length) => take(chunk.get(..length).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// The digest of records in any order, and how many they are.
///
/// The hashes are added, since two equal records would cancel each other out if they were combined by exclusive or. The
/// hash is a fast one, because records are too short for a cryptographic one to be cheap. It therefore finds every
/// accident, but whoever chooses the records can make two sets of them have the same digest; against that stands the
/// BLAKE3 of the file.
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

    /// The sum as 32 hexadecimal digits.
    pub(crate) fn to_hex(self) -> String {
        format!("{:032x}", self.sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_recognised_by_its_hash() {
        let digest = FileDigest::new();
        let mut written = Vec::new();
        let mut writer = digest.through(&mut written);
        writer.write_all(b"a").unwrap();
        writer.write_all(b"bc").unwrap();
        let expected = "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85";
        assert_eq!((digest.bytes(), digest.to_hex().as_str()), (3, expected));
        assert_eq!(written, b"abc");
    }

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
