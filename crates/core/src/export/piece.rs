//! What a checkpoint says of a file: how long it is, and a hash of its end, which most changes touch.

use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use xxhash_rust::xxh3::xxh3_64;

/// How much of the end is looked at.
const TAIL: u64 = 4096;

/// A file, or its beginning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Piece {
    pub(super) bytes: u64,
    tail: String,
}

impl Piece {
    /// The first `bytes` bytes of a file; it is written on from there.
    pub(super) fn of(mut file: &File, bytes: u64) -> io::Result<Self> {
        let length = bytes.min(TAIL);
        let mut tail = Vec::new();
        file.seek(SeekFrom::Start(bytes - length))?;
        file.take(length).read_to_end(&mut tail)?;
        let tail = format!("{:016x}", xxh3_64(&tail));
        Ok(Piece { bytes, tail })
    }

    /// Why this is not the beginning of a file; none if it is.
    pub(super) fn misses(&self, file: &File) -> io::Result<Option<String>> {
        let length = file.metadata()?.len();
        if length < self.bytes {
            let expected = self.bytes;
            return Ok(Some(format!(
                "has {length} bytes, and its checkpoint speaks of {expected}"
            )));
        }
        let changed = Piece::of(file, self.bytes)? != *self;
        Ok(changed.then(|| "was changed since its checkpoint was written".to_owned()))
    }
}
