//! Makes foreign text fit to be shown: removes secrets, escapes control characters, and limits the length.

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use talentdata_types::Secret;

/// Limits the foreign text that an error keeps in one place, in bytes.
pub(super) const MAX_FOREIGN_BYTES: usize = 512;

/// Limits the length of a request ID, in bytes.
const LONGEST_ID: usize = 128;

/// Replaces a text in which a secret would not be found.
pub(super) const OMITTED: &str = "the text is omitted, because a secret or token shorter than 8 characters could not be hidden in it";

/// Replaces a secret.
const REDACTED: &str = "[redacted]";

/// The length from which a piece of a secret is hidden, in bytes. A shorter piece is too similar to ordinary text. So a
/// secret that is itself shorter cannot be hidden: it would be found within ordinary words, and the gaps would reveal
/// it.
const SHORTEST_PIECE: usize = 8;

/// The forms in which secrets may come back in a response.
#[derive(Clone, Default)]
pub(crate) struct Scrubber {
    /// All forms, the longest first. If one form begins with another, the longer one is meant.
    needles: Vec<String>,
    /// True if one of the secrets is too short to be hidden.
    has_short_secret: bool,
}

impl Scrubber {
    /// Returns a scrubber that hides these secrets as they are, as JSON, URL-encoded and in base64.
    pub(crate) fn new<'a>(secrets: impl IntoIterator<Item = &'a Secret>) -> Self {
        let (mut needles, mut has_short_secret) = (Vec::new(), false);
        for secret in secrets {
            let plain = secret.expose();
            if plain.len() < SHORTEST_PIECE {
                has_short_secret |= !plain.is_empty();
                continue;
            }
            let json = serde_json::Value::from(plain).to_string();
            let url: String = url::form_urlencoded::byte_serialize(plain.as_bytes()).collect();
            needles.extend([url.replace('+', "%20"), url]);
            needles.push(json.trim_matches('"').to_owned());
            needles.push(json.trim_matches('"').replace('/', "\\/"));
            needles.extend(base64_forms(plain.as_bytes()));
            needles.push(plain.to_owned());
        }
        needles.sort_by_key(|needle| std::cmp::Reverse(needle.len()));
        needles.dedup();
        Scrubber {
            needles,
            has_short_secret,
        }
    }

    /// Returns whether one of the secrets is too short to be hidden, so that no foreign text may be shown.
    pub(crate) fn has_short_secret(&self) -> bool {
        self.has_short_secret
    }

    /// Returns the ID of a request as it may be shown; `None` if it could contain a short secret.
    pub(crate) fn request_id(&self, id: &str) -> Option<String> {
        (!self.has_short_secret).then(|| self.redact(id, LONGEST_ID))
    }

    /// Returns the beginning of a foreign text, at most `most` bytes, with secrets hidden and terminal controls
    /// escaped.
    pub(crate) fn redact_untrusted(&self, text: &str, most: usize) -> String {
        if self.has_short_secret {
            OMITTED.to_owned()
        } else {
            self.redact(text, most)
        }
    }

    /// Redacts a text of our own, which may quote foreign text.
    ///
    /// The text is cut last, because half a secret cannot be recognized. Text after the cut is not examined.
    pub(super) fn redact(&self, text: &str, most: usize) -> String {
        let mut shown = String::new();
        let mut rest = text;
        while let Some(letter) = rest.chars().next() {
            let whole = shown.len();
            let read = match self.secret_at(rest) {
                Some(length) => {
                    shown.push_str(REDACTED);
                    length
                }
                None => {
                    push_visible(&mut shown, letter);
                    letter.len_utf8()
                }
            };
            if shown.len() > most {
                shown.truncate(whole);
                break;
            }
            rest = rest.get(read..).unwrap_or_default();
        }
        shown
    }

    /// Returns the beginning of a body, fit for an error; `None` if the body is empty or no foreign text may be shown.
    pub(crate) fn snippet(&self, body: &[u8]) -> Option<String> {
        // Text that is not UTF-8 would take three times the memory of a large body.
        let start = body.get(..4 * MAX_FOREIGN_BYTES).unwrap_or(body);
        (!body.is_empty() && !self.has_short_secret)
            .then(|| self.redact_untrusted(&String::from_utf8_lossy(start), MAX_FOREIGN_BYTES))
    }

    /// Returns the length of the secret that the text begins with. Case is ignored, because host names and percent
    /// escapes occur in both. At the end of the text a piece of a secret counts as well, because the text may have been
    /// cut earlier.
    fn secret_at(&self, text: &str) -> Option<usize> {
        self.needles.iter().find_map(|needle| {
            let length = needle.len().min(text.len());
            let enough = length == needle.len() || length >= SHORTEST_PIECE;
            let mut pairs = needle.bytes().zip(text.bytes());
            let same = enough && pairs.all(|(one, other)| one.eq_ignore_ascii_case(&other));
            same.then_some(length)
        })
    }
}

/// Adds a character in a visible form to which a terminal does not react.
fn push_visible(shown: &mut String, letter: char) {
    match letter {
        '\n' | '\t' => shown.push(' '),
        _ if is_terminal_control(letter) => shown.extend(letter.escape_unicode()),
        _ => shown.push(letter),
    }
}

/// Returns whether a terminal may react to this character instead of showing it: a control character, or one that
/// changes the direction of writing.
pub fn is_terminal_control(letter: char) -> bool {
    let turns = matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    letter.is_control() || turns
}

/// Returns base64 of the bytes at each of the three alignments, without the letters that neighbours share.
fn base64_forms(bytes: &[u8]) -> Vec<String> {
    let mut forms = Vec::new();
    for shift in 0..3 {
        let mut shifted = vec![0; shift];
        shifted.extend_from_slice(bytes);
        let letters = STANDARD_NO_PAD.encode(&shifted);
        let own = letters
            .get((shift * 8).div_ceil(6)..shifted.len() * 8 / 6)
            .unwrap_or_default();
        if own.len() >= SHORTEST_PIECE {
            forms.push(own.replace('+', "-").replace('/', "_"));
            forms.push(own.to_owned());
        }
    }
    forms
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_a_secret_is_hidden() {
        let scrubber = Scrubber::new([&Secret::new("CANARY-s3cr3t/+==\"")]);
        for text in [
            "a CANARY-s3cr3t/+==\" b",
            "a canary-S3CR3T/+==\" b",
            r#"{"clientSecret":"CANARY-s3cr3t/+==\""}"#,
            r#"{"clientSecret":"CANARY-s3cr3t\/+==\""}"#,
            "q=CANARY-s3cr3t%2F%2B%3D%3D%22",
            "q=CANARY-s3cr3t%2f%2b%3d%3d%22",
            "QmFzaWMgeDpDQU5BUlktczNjcjN0Lys9PSI",
            "Q0FOQVJZLXMzY3IzdC8rPT0i",
        ] {
            let shown = scrubber.snippet(text.as_bytes()).unwrap();
            assert!(shown.contains(REDACTED), "{text} -> {shown}");
            for piece in ["s3cr3t", "S3CR3T", "czNjcjN0", "zM2NyM3"] {
                assert!(!shown.contains(piece), "{text} -> {shown}");
            }
        }
    }

    /// Returns a text in which each piece of eight letters contains a K, which is in no other text here.
    fn secret(length: usize) -> String {
        let text: String = (0..length.div_ceil(8))
            .map(|n| format!("tK{n:06X}"))
            .collect();
        text[..length].to_owned()
    }

    #[test]
    fn a_secret_that_occurs_several_times_is_hidden_at_any_cut() {
        for length in [12, 40, 1200, 16_000] {
            let secret = secret(length);
            let scrubber = Scrubber::new([&Secret::new(secret.as_str())]);
            for before in (0..MAX_FOREIGN_BYTES).step_by(7) {
                for times in [1, 2, 9] {
                    let echo = format!("{} {secret} and", "x".repeat(before)).repeat(times);
                    let shown = scrubber.snippet(echo.as_bytes()).unwrap();
                    assert!(shown.len() <= MAX_FOREIGN_BYTES, "{shown}");
                    assert!(!shown.contains('K'), "{shown}");
                }
            }
        }
    }

    #[test]
    fn a_secret_in_a_text_that_was_cut_before_is_hidden() {
        let secret = secret(1200);
        let scrubber = Scrubber::new([&Secret::new(secret.as_str())]);
        let shown =
            scrubber.redact_untrusted(&format!("{secret} {}", &secret[..700]), MAX_FOREIGN_BYTES);
        assert_eq!(shown, format!("{REDACTED} {REDACTED}"));
        assert_eq!(
            scrubber.redact_untrusted("a cat", MAX_FOREIGN_BYTES),
            "a cat"
        );
    }
}
