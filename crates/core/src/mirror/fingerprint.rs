//! What is kept of a record to compare it with the next sync: 32 bytes.
//!
//! Identities are compared all with all, so they have 128 bits. What a record says is only ever compared
//! with what the record of the same identity said before, for which 64 bits are as good: a change goes unnoticed
//! once in 2^64 changes. All hashes are keyed, so that nobody outside can bring that about.

use super::canonical;
use crate::record::RawRecord;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use siphasher::sip128::{Hasher128, SipHasher13};
use std::hash::{BuildHasher, Hasher, RandomState};

/// Bytes of a fingerprint in the state file.
pub(super) const BYTES: usize = 32;

/// The key of a mirror, drawn at random when it is begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HashKey([u64; 2]);

/// What is kept of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fingerprint {
    pub(super) identity: u128,
    /// Of the record in canonical form.
    pub(super) contents: u64,
    /// Of its bytes, which tell at once that nothing has changed.
    pub(super) bytes: u64,
}

impl Fingerprint {
    pub(super) fn to_bytes(self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[..16].copy_from_slice(&self.identity.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.contents.to_le_bytes());
        bytes[24..].copy_from_slice(&self.bytes.to_le_bytes());
        bytes
    }

    pub(super) fn from_bytes(bytes: [u8; BYTES]) -> Self {
        let part = |from: usize| {
            let mut part = [0; 8];
            part.copy_from_slice(&bytes[from..from + 8]);
            u64::from_le_bytes(part)
        };
        Fingerprint {
            identity: u128::from(part(0)) | u128::from(part(8)) << 64,
            contents: part(16),
            bytes: part(24),
        }
    }
}

impl HashKey {
    pub(super) fn random() -> Self {
        // The standard library seeds its hashers from the operating system.
        let word = || RandomState::new().build_hasher().finish();
        HashKey([word(), word()])
    }

    fn hasher(&self) -> SipHasher13 {
        SipHasher13::new_with_keys(self.0[0], self.0[1])
    }

    /// The identity of a record: its `id` as text, else what it says. `form` is room to work in.
    pub(super) fn identity(&self, record: &RawRecord, form: &mut Vec<u8>) -> u128 {
        let mut hasher = self.hasher();
        match record.id() {
            Some(id) => {
                hasher.write(b"i");
                hasher.write(canonical::key(id).as_bytes());
            }
            None => {
                form.clear();
                canonical::of_record(record, form);
                hasher.write(b"c");
                hasher.write(form);
            }
        }
        hasher.finish128().as_u128()
    }

    /// The hash of what a record says.
    pub(super) fn contents(&self, record: &RawRecord, form: &mut Vec<u8>) -> u64 {
        form.clear();
        canonical::of_record(record, form);
        self.hash(form)
    }

    /// The hash of a record's bytes.
    pub(super) fn bytes(&self, record: &RawRecord) -> u64 {
        self.hash(record.as_bytes())
    }

    fn hash(&self, bytes: &[u8]) -> u64 {
        self.hasher().hash(bytes).as_u128() as u64
    }

    /// What users know a record by.
    pub(super) fn key(&self, record: &RawRecord, identity: u128) -> String {
        match record.id() {
            Some(id) => canonical::key(id).into_owned(),
            None => format!("{identity:032x}"),
        }
    }
}

impl Serialize for HashKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:016x}{:016x}", self.0[0], self.0[1]))
    }
}

impl<'de> Deserialize<'de> for HashKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let key = u128::from_str_radix(&text, 16).map_err(serde::de::Error::custom)?;
        Ok(HashKey([(key >> 64) as u64, key as u64]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_is_read_back() {
        let fingerprint = Fingerprint {
            identity: u128::MAX / 7,
            contents: 1 << 63,
            bytes: 3,
        };
        assert_eq!(Fingerprint::from_bytes(fingerprint.to_bytes()), fingerprint);
        let key = HashKey::random();
        let stored = serde_json::to_string(&key).unwrap();
        assert_eq!(serde_json::from_str::<HashKey>(&stored).unwrap(), key);
    }

    #[test]
    fn a_record_is_told_by_the_text_of_its_id_else_by_what_it_says() {
        let key = HashKey::random();
        let identity = |json: &'static str| {
            let record = RawRecord::of_json(json);
            key.identity(&record, &mut Vec::new())
        };
        assert_eq!(
            identity(r#"{"id":7,"x":1}"#),
            identity(r#"{"x":2,"id":"7"}"#)
        );
        assert_ne!(identity(r#"{"id":"7"}"#), identity(r#"{"id":"8"}"#));
        assert_eq!(identity(r#"{"x":1,"y":2}"#), identity(r#"{"y":2.0,"x":1}"#));
        assert_ne!(identity(r#"{"x":1}"#), identity(r#"{"x":2}"#));
    }
}
