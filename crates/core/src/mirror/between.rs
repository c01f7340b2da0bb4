//! Between which records another one stood, for those whose position does not say so.

/// What is kept of a missing record, and of a stray, beside its fingerprint.
pub(super) const BESIDE: usize = 40;

/// What is known of a missing record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Absence {
    /// When the last scan began that delivered it, in microseconds since 1970.
    pub(super) last_seen: i64,
    pub(super) between: Between,
}

/// The records of the list between which another one stood; 0 at an end of the list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Between {
    pub(super) before: u128,
    pub(super) behind: u128,
}

/// A number and two identities, as they are stored.
pub(super) fn beside(number: [u8; 8], between: Between) -> [u8; BESIDE] {
    let mut bytes = [0; BESIDE];
    bytes[..8].copy_from_slice(&number);
    bytes[8..24].copy_from_slice(&between.before.to_le_bytes());
    bytes[24..].copy_from_slice(&between.behind.to_le_bytes());
    bytes
}

/// Reads what [`beside`] has made.
pub(super) fn read_beside(bytes: &[u8; BESIDE]) -> ([u8; 8], Between) {
    let identity = |at: usize| {
        let mut identity = [0; 16];
        identity.copy_from_slice(&bytes[at..at + 16]);
        u128::from_le_bytes(identity)
    };
    let mut number = [0; 8];
    number.copy_from_slice(&bytes[..8]);
    let between = Between {
        before: identity(8),
        behind: identity(24),
    };
    (number, between)
}
