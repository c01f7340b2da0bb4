//! Makes foreign text fit to be shown: secrets removed, control characters escaped, length bounded.

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use talentdata_types::Secret;

/// How much of a body an error keeps, in bytes.
const KEPT: usize = 512;

/// What stands where a secret stood.
const REDACTED: &str = "[redacted]";

/// Knows the forms in which a secret may come back in an answer.
#[derive(Clone, Default)]
pub(crate) struct Scrubber {
    needles: Vec<String>,
}

impl Scrubber {
    /// Hides these secrets as they are, as JSON, URL-encoded and in base64.
    pub(crate) fn new<'a>(secrets: impl IntoIterator<Item = &'a Secret>) -> Self {
        let mut needles = Vec::new();
        for secret in secrets {
            let plain = secret.expose();
            if plain.is_empty() {
                continue;
            }
            let json = serde_json::Value::from(plain).to_string();
            let url: String = url::form_urlencoded::byte_serialize(plain.as_bytes()).collect();
            let spaced = url.replace('+', "%20");
            needles.extend([lower_escapes(&url), lower_escapes(&spaced), spaced, url]);
            needles.push(json.trim_matches('"').to_owned());
            needles.push(json.trim_matches('"').replace('/', "\\/"));
            needles.extend(base64_forms(plain.as_bytes()));
            needles.push(plain.to_owned());
        }
        needles.sort_by_key(|needle| std::cmp::Reverse(needle.len()));
        needles.dedup();
        Scrubber { needles }
    }

    /// The text without the secrets.
    pub(crate) fn scrub(&self, text: &str) -> String {
        self.needles.iter().fold(text.to_owned(), |text, needle| {
            text.replace(needle, REDACTED)
        })
    }

    /// The beginning of a body, fit for an error; none when the body is empty.
    pub(crate) fn snippet(&self, body: &[u8]) -> Option<String> {
        if body.is_empty() {
            return None;
        }
        // A secret that straddles the cut is hidden too, so the scrubbing comes first.
        let longest = self.needles.first().map_or(0, String::len);
        let head = &body[..body.len().min(KEPT + longest)];
        let text = visible(&self.scrub(&String::from_utf8_lossy(head)));
        let mut end = text.len().min(KEPT);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        Some(text[..end].to_owned())
    }
}

/// The text with control and direction-changing characters escaped, for terminals and logs.
pub(crate) fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\n' | '\t' => out.push(' '),
            _ if drives_terminal(letter) => out.extend(letter.escape_unicode()),
            _ => out.push(letter),
        }
    }
    out
}

/// Whether a terminal that is shown this character may do something else than show it: a control
/// character, or one that changes the direction of writing.
pub fn drives_terminal(letter: char) -> bool {
    let turns = matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    letter.is_control() || turns
}

/// Percent escapes with small hexadecimal letters, as some encoders write them.
fn lower_escapes(text: &str) -> String {
    let mut pieces = text.split('%');
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |done, piece| {
        let (digits, rest) = piece.split_at_checked(2).unwrap_or((piece, ""));
        format!("{done}%{}{rest}", digits.to_lowercase())
    })
}

/// Base64 of the bytes at each of the three alignments, without the letters that neighbours share.
fn base64_forms(bytes: &[u8]) -> Vec<String> {
    let mut forms = Vec::new();
    for shift in 0..3 {
        let mut shifted = vec![0; shift];
        shifted.extend_from_slice(bytes);
        let letters = STANDARD_NO_PAD.encode(&shifted);
        let own = letters
            .get((shift * 8).div_ceil(6)..shifted.len() * 8 / 6)
            .unwrap_or_default();
        // A shorter form would hide ordinary text.
        if own.len() >= 8 {
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
            r#"{"clientSecret":"CANARY-s3cr3t/+==\""}"#,
            r#"{"clientSecret":"CANARY-s3cr3t\/+==\""}"#,
            "q=CANARY-s3cr3t%2F%2B%3D%3D%22",
            "q=CANARY-s3cr3t%2f%2b%3d%3d%22",
            "QmFzaWMgeDpDQU5BUlktczNjcjN0Lys9PSI",
            "Q0FOQVJZLXMzY3IzdC8rPT0i",
        ] {
            let shown = scrubber.snippet(text.as_bytes()).unwrap();
            assert!(
                !shown.contains("s3cr3t") && shown.contains(REDACTED),
                "{text} -> {shown}"
            );
            assert!(
                !shown.contains("czNjcjN0") && !shown.contains("zM2NyM3"),
                "{text} -> {shown}"
            );
        }
    }

    #[test]
    fn a_snippet_is_bounded_and_harmless() {
        let long = "\u{1b}[31mred \u{202e}".repeat(100);
        let shown = Scrubber::default().snippet(long.as_bytes()).unwrap();
        assert!(shown.len() <= KEPT && !shown.contains('\u{1b}') && !shown.contains('\u{202e}'));
    }

    #[test]
    fn a_secret_across_the_cut_is_hidden() {
        let scrubber = Scrubber::new([&Secret::new("CANARYCANARY")]);
        let body = format!("{}CANARYCANARY tail", "x".repeat(KEPT - 6));
        assert!(
            !scrubber
                .snippet(body.as_bytes())
                .unwrap()
                .contains("CANARY")
        );
    }
}
