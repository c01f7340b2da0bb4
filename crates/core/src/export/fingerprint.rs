//! The fingerprint of a file: its length and a hash of its last bytes, which change in most edits.

use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use xxhash_rust::xxh3::xxh3_64;

/// How many of the last bytes are hashed.
const TAIL: u64 = 4096;

/// The fingerprint of a file, or of its first bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileFingerprint {
    pub(super) bytes: u64,
    tail: String,
}

impl FileFingerprint {
    /// Of the first `bytes` bytes; leaves the file positioned behind them.
    pub(super) fn of(mut file: &File, bytes: u64) -> io::Result<Self> {
        let length = bytes.min(TAIL);
        let mut tail = Vec::new();
        file.seek(SeekFrom::Start(bytes - length))?;
        file.take(length).read_to_end(&mut tail)?;
        let tail = format!("{:016x}", xxh3_64(&tail));
        Ok(FileFingerprint { bytes, tail })
    }

    /// Why a file does not begin with these bytes; none if it does.
    pub(super) fn mismatch(&self, file: &File) -> io::Result<Option<String>> {
        let length = file.metadata()?.len();
        if length < self.bytes {
            let expected = self.bytes;
            return Ok(Some(format!(
                "has {length} bytes, but its checkpoint expects at least {expected}"
            )));
        }
        let changed = FileFingerprint::of(file, self.bytes)? != *self;
        Ok(changed.then(|| "was changed after its checkpoint was written".to_owned()))
    }
}
