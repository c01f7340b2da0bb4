//! Keyed digests that take the place of values, so that equal values stay equal and nobody without the key can guess
//! them.

use crate::error::{Error, Result};
use crate::json;
use std::fmt;
use talentdata_types::Secret;

/// The name of the setting that has the key.
pub(crate) const HASH_KEY: &str = "hash_key";
/// The purpose of the key for digests of values.
const OF_VALUES: &str = "talentdata 2026 digests of values, version 1";
/// The purpose of the key for identities of records.
const OF_IDENTITIES: &str = "talentdata 2026 identities of records, version 1";
/// The purpose of the key for the name of the key.
const OF_ITS_NAME: &str = "talentdata 2026 name of a hash key, version 1";
/// The shortest key that cannot be guessed, in characters: 128 bits as hexadecimal digits.
const SHORTEST_KEY: usize = 32;
/// The number of hexadecimal digits of a digest.
const DIGEST_DIGITS: usize = 32;
/// The first characters of a digest. They change if the way to compute digests changes.
const DIGEST_MARK: &str = "h1:";

/// The key of the digests that replace values with the option `hash`.
#[derive(Clone)]
pub struct HashKey {
    secret: Secret,
    /// The key for digests of values, which is derived from the secret.
    of_values: [u8; blake3::KEY_LEN],
}

/// Omits the key.
impl fmt::Debug for HashKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("HashKey")
    }
}

impl HashKey {
    /// Creates the key from the text of the setting `hash_key`.
    ///
    /// # Errors
    /// `Config` if the text is so short that it could be guessed.
    pub fn new(secret: &Secret) -> Result<Self> {
        if secret.expose().chars().count() < SHORTEST_KEY {
            return Err(Error::config(format!(
                "{HASH_KEY} must have at least {SHORTEST_KEY} characters, so that nobody can guess it; make one with: openssl rand -hex 32"
            )));
        }
        Ok(HashKey {
            secret: secret.clone(),
            of_values: derived(secret, OF_VALUES),
        })
    }

    /// Returns the digest of a JSON value as text: `h1:` and 32 hexadecimal digits. Equal values have equal digests,
    /// regardless of their notation.
    pub fn digest(&self, json: &str) -> String {
        let mut canonical = String::with_capacity(json.len());
        write_canonical(json, &mut canonical);
        let hash = blake3::keyed_hash(&self.of_values, canonical.as_bytes()).to_hex();
        format!(
            "{DIGEST_MARK}{}",
            hash.get(..DIGEST_DIGITS).unwrap_or_default()
        )
    }

    /// Returns whether a text has the form of a digest.
    pub fn is_digest(text: &str) -> bool {
        text.strip_prefix(DIGEST_MARK).is_some_and(|digits| {
            digits.len() == DIGEST_DIGITS && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
        })
    }

    /// Returns a name that identifies this key in a file. The key cannot be derived from it.
    pub fn name(&self) -> String {
        let key = derived(&self.secret, OF_ITS_NAME);
        blake3::Hash::from_bytes(key)
            .to_hex()
            .get(..DIGEST_DIGITS)
            .unwrap_or_default()
            .to_owned()
    }

    /// Returns a key for the identities of records. It is different for each key of a scan.
    pub(crate) fn of_identities(&self, scan: &[u8]) -> [u8; blake3::KEY_LEN] {
        *blake3::keyed_hash(&derived(&self.secret, OF_IDENTITIES), scan).as_bytes()
    }
}

/// Returns the key for a purpose.
fn derived(secret: &Secret, purpose: &str) -> [u8; blake3::KEY_LEN] {
    blake3::derive_key(purpose, secret.expose().as_bytes())
}

/// Writes a JSON value in the one form that all equal values have: without white space, the members of objects sorted
/// by name (the last duplicate wins), strings with as few escapes as possible, integers in full (`1.0` is `1`), and
/// other numbers as an integer and an exponent (`1.50` is `15e-1`).
fn write_canonical(value: &str, out: &mut String) {
    match value.as_bytes().first() {
        Some(b'{') => {
            let members = json::members(value);
            let mut members = json::by_name(members);
            members.sort_by(|one, other| one.0.cmp(&other.0));
            out.push('{');
            for (index, (name, value)) in members.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                out.push_str(&quoted(name));
                out.push(':');
                write_canonical(value, out);
            }
            out.push('}');
        }
        Some(b'[') => {
            out.push('[');
            let mut is_first = true;
            json::each_item(value, |item| {
                if !std::mem::take(&mut is_first) {
                    out.push(',');
                }
                write_canonical(item, out);
            });
            out.push(']');
        }
        // Without escapes there is only one form.
        Some(b'"') if !json::is_escaped(value) => out.push_str(value),
        Some(b'"') => match json::decoded(value) {
            Some(text) => out.push_str(&quoted(&text)),
            None => out.push_str(value),
        },
        Some(b'-' | b'0'..=b'9') => match (json::whole(value), json::decimal(value)) {
            (Some(whole), _) => out.push_str(&whole.to_string()),
            (None, Some((is_negative, digits, exponent))) => {
                let sign = if is_negative { "-" } else { "" };
                out.push_str(&format!("{sign}{digits}e{exponent}"));
            }
            (None, None) => out.push_str(value),
        },
        _ => out.push_str(value),
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> HashKey {
        HashKey::new(&Secret::new(text.repeat(SHORTEST_KEY))).unwrap()
    }

    fn canonical(value: &str) -> String {
        let mut out = String::new();
        write_canonical(value, &mut out);
        out
    }

    #[test]
    fn equal_values_have_equal_digests_in_every_notation() {
        for (one, other) in [
            (r#""a\u0064a""#, r#""ada""#),
            ("1.0", "1"),
            ("1.50e1", "15"),
            ("0.50", "5e-1"),
            (r#"{"b": [1 ,2], "a":null}"#, r#"{"a":null,"b":[1.0,2]}"#),
            (r#"{"a":1,"a":2}"#, r#"{"a":2}"#),
        ] {
            assert_eq!(canonical(one), canonical(other));
            assert_eq!(key("k").digest(one), key("k").digest(other));
        }
        let different = [
            "1", "\"1\"", "-1", "1.5", "[1]", "{}", "[]", "\"\"", "true", "1e400",
        ];
        let digests: std::collections::HashSet<_> =
            different.map(|one| key("k").digest(one)).into();
        assert_eq!(digests.len(), different.len());
    }

    #[test]
    fn another_key_gives_other_digests_and_another_name() {
        assert_ne!(key("k").digest("1"), key("l").digest("1"));
        assert_ne!(key("k").name(), key("l").name());
        assert_ne!(key("k").of_identities(&[1]), key("k").of_identities(&[2]));
    }

    /// Stored digests must stay comparable with those of later versions.
    #[test]
    fn a_digest_is_the_same_in_every_version() {
        assert_eq!(
            key("k").digest(r#""ada@example.org""#),
            "h1:c746c5394123fe59e9322894cc520d1f"
        );
    }

    #[test]
    fn a_key_that_can_be_guessed_is_refused() {
        let error = HashKey::new(&Secret::new("too short")).unwrap_err();
        assert!(error.message().starts_with(HASH_KEY), "{error}");
    }
}
