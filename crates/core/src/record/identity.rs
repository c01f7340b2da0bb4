//! What tells one record from another: a keyed hash of its `id`, or of all its bytes where it has none.

use serde::{Deserialize, Serialize};
use siphasher::sip128::SipHasher13;
use std::hash::{BuildHasher, Hasher, RandomState};

/// The key with which a scan hashes identities.
///
/// It is drawn at random for each scan and kept in checkpoints, so that nobody who chooses ids can
/// make two of them collide.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct IdentityKey([u64; 2]);

impl IdentityKey {
    pub(crate) fn random() -> Self {
        // The standard library seeds its hashers from the operating system.
        let word = || RandomState::new().build_hasher().finish();
        IdentityKey([word(), word()])
    }

    /// A hash function that nobody outside can predict.
    pub(crate) fn hasher(&self) -> SipHasher13 {
        SipHasher13::new_with_keys(self.0[0], self.0[1])
    }

    /// The identity of a record: `bytes` is its raw `id` if it has one, else its JSON text.
    pub(crate) fn identify(&self, bytes: &[u8], by_id: bool) -> Identity {
        let (low, high) = self.hasher().hash(bytes).as_u64();
        Identity([high, low & !1 | u64::from(by_id)])
    }
}

/// A hash of 127 bits; the lowest bit says whether the record has an `id`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Identity([u64; 2]);

impl Identity {
    /// Whether it stands for an `id`. Records without one may be equal and still be two.
    pub(crate) fn by_id(self) -> bool {
        self.0[1] & 1 == 1
    }

    /// Enough of it for a hash table.
    pub(crate) fn short(self) -> u64 {
        self.0[0]
    }

    /// The identity as sixteen bytes.
    pub(crate) fn to_bytes(self) -> [u8; 16] {
        (u128::from(self.0[0]) << 64 | u128::from(self.0[1])).to_le_bytes()
    }

    pub(crate) fn from_bytes(bytes: [u8; 16]) -> Self {
        let hash = u128::from_le_bytes(bytes);
        Identity([(hash >> 64) as u64, hash as u64])
    }
}
