//! Credentials and tokens: random, so that nobody types a real secret, and compared in constant time.

use std::fmt::Write as _;
use std::hint::black_box;
use std::io;

/// The one client that a sandbox knows.
pub(crate) struct Credentials {
    pub(crate) client_id: String,
    pub(crate) client_secret: String,
}

impl Credentials {
    pub(crate) fn random() -> io::Result<Self> {
        Ok(Self {
            client_id: format!("sandbox-client-{}", random_hex::<8>()?),
            client_secret: format!("sandbox-secret-{}", random_hex::<24>()?),
        })
    }

    /// Both are always compared to the end, so that the time taken tells nothing.
    pub(crate) fn are(&self, client_id: &str, client_secret: &str) -> bool {
        let id = same(&self.client_id, client_id);
        let secret = same(&self.client_secret, client_secret);
        id & secret
    }
}

/// `N` bytes from the operating system's generator, in hexadecimal.
pub(crate) fn random_hex<const N: usize>() -> io::Result<String> {
    let mut bytes = [0_u8; N];
    getrandom::fill(&mut bytes)?;
    Ok(bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

fn same(ours: &str, theirs: &str) -> bool {
    let (ours, theirs) = (ours.as_bytes(), theirs.as_bytes());
    let pairs = ours.iter().zip(theirs);
    let difference = pairs.fold(0_u8, |sum, (a, b)| black_box(sum | (a ^ b)));
    difference == 0 && ours.len() == theirs.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_equal_texts_are_the_same() {
        let ours = Credentials {
            client_id: "id".into(),
            client_secret: "secret".into(),
        };
        assert!(ours.are("id", "secret"));
        for (id, secret) in [
            ("id", "secreT"),
            ("ID", "secret"),
            ("id", "secre"),
            ("id", "secrets"),
            ("", ""),
        ] {
            assert!(!ours.are(id, secret), "{id} {secret}");
        }
    }

    #[test]
    fn random_texts_differ() {
        let one = random_hex::<16>().unwrap();
        assert_eq!(one.len(), 32);
        assert_ne!(one, random_hex::<16>().unwrap());
    }
}
