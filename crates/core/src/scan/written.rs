//! What an export has written, as its receipt has it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What an export has written; a file can be verified against it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Written {
    /// The name of the file, without its directory; null for standard output and other streams.
    pub file: Option<String>,
    /// The format: `jsonl`, `csv`, `parquet` or `arrow`.
    pub format: String,
    /// The size of the file, in bytes.
    pub bytes: u64,
    /// The BLAKE3 of the file, as 64 hexadecimal digits.
    pub blake3: String,
    /// Records in the file.
    pub records: u64,
    /// The sum, modulo 2^128, of the XXH3-128 hashes of the records, as 32 hexadecimal digits. A record is hashed as
    /// the line that it is in JSON Lines, whatever the format of the file. The same records give the same digest in
    /// any order; one that is missing, repeated or altered gives another.
    pub records_digest: String,
}
