//! Judges a response: which error a status means, and whether a body is the JSON it should be.

use crate::error::failure::of_status;
use crate::error::{Error, ErrorKind, Result};
use crate::request::transport::Response;
use serde_json::Value;

/// The names of encodings that are read.
const UTF_8: [&str; 3] = ["utf-8", "utf8", "us-ascii"];

/// The members of a JSON object in which services say what is wrong, the most telling first (RFC 6749, RFC 9457, and use).
const SAYING: [&str; 10] = [
    "error_description",
    "message",
    "detail",
    "error",
    "errors",
    "title",
    "description",
    "reason",
    "msg",
    "errorMessage",
];

impl Response {
    /// The error that the status means.
    pub(crate) fn error_of_status(&self) -> Option<Error> {
        let status = self.status.as_u16();
        let failure = of_status(status)?;
        let limits = &self.limits;
        let wait = match status {
            429 => limits.retry_after.or(limits.reset),
            500..=599 => limits.retry_after,
            _ => None,
        };
        Some(Error::of(failure, failure.what).with_retry_after(wait))
    }

    /// What the service itself says about a failure, as the end of a message. A page comes from what stands before it.
    pub(crate) fn said(&self) -> String {
        let is_page = self.body.trim_ascii_start().starts_with(b"<");
        if self.status.is_success() && !is_page {
            return String::new();
        }
        let who = if is_page {
            "the page says"
        } else {
            "the service says"
        };
        sentence(&self.body).map_or_else(String::new, |said| format!("; {who}: {said}"))
    }

    /// The body as text that may be a JSON object.
    pub(crate) fn object_text(&self) -> Result<&str> {
        let text = self.json_text()?;
        if text.trim_start().starts_with('[') {
            let message = "the response is a JSON array; an object was expected";
            return Err(Error::schema(message));
        }
        Ok(text)
    }

    /// The body as text that may be JSON.
    pub(crate) fn json_text(&self) -> Result<&str> {
        let fail = |message: &str| Err(Error::new(ErrorKind::Decode, message));
        let kind = self.header("content-type").unwrap_or_default();
        let kind = kind.to_ascii_lowercase().replace([' ', '"'], "");
        let charset = kind.split(';').find_map(|one| one.strip_prefix("charset="));
        if let Some(charset) = charset.filter(|name| !UTF_8.contains(name)) {
            return fail(&format!(
                "the response is encoded as {charset}; only UTF-8 is read"
            ));
        }
        let text = match std::str::from_utf8(&self.body) {
            Ok(text) => text.strip_prefix('\u{feff}').unwrap_or(text),
            Err(error) => {
                let place = error.valid_up_to();
                let coding = self.header("content-encoding").unwrap_or("none");
                let said = format!("not UTF-8 at byte {place} (Content-Encoding: {coding})");
                return fail(&format!("the response is {said}"));
            }
        };
        match text.trim_start().as_bytes().first() {
            None => fail("the response is empty; JSON was expected")
                .map_err(|error| error.with_max_attempts(u32::MAX)),
            Some(b'<') => {
                fail("the response is HTML; a proxy or login page may stand before the service")
            }
            Some(_) => Ok(text),
        }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// The sentence in which a body says what is wrong: of a JSON object or a page, otherwise its first line.
pub(super) fn sentence(body: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(body);
    let text = text.trim_start_matches('\u{feff}').trim();
    let said = match text.as_bytes().first()? {
        b'<' => element(text, "title")
            .or_else(|| element(text, "h1"))?
            .to_owned(),
        b'{' | b'[' => said_by(&serde_json::from_str(text).ok()?)?,
        _ => text.lines().next()?.to_owned(),
    };
    let words: Vec<&str> = said.split_whitespace().collect();
    Some(words.join(" ")).filter(|said| !said.is_empty())
}

/// The first text in a member that says what is wrong. Errors are also objects, and arrays of either.
fn said_by(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()).filter(|text| !text.trim().is_empty()),
        Value::Array(items) => items.iter().find_map(said_by),
        Value::Object(members) => {
            let mut members = SAYING.iter().filter_map(|name| members.get(*name));
            members.find_map(said_by)
        }
        _ => None,
    }
}

/// The text of the first element of this name.
fn element<'a>(page: &'a str, name: &str) -> Option<&'a str> {
    let small = page.to_ascii_lowercase();
    let begin = small.find(&format!("<{name}"))?;
    let begin = begin + small.get(begin..)?.find('>')? + 1;
    let end = begin + small.get(begin..)?.find('<')?;
    page.get(begin..end).filter(|text| !text.trim().is_empty())
}

/// A sentence of a token endpoint without words that may be a token, which nobody could know as one.
pub(super) fn without_tokens(said: &str) -> String {
    let may_be_token = |word: &&str| {
        word.len() >= 24 && !word.contains("://") && word.contains(|it: char| it.is_ascii_digit())
    };
    let words = said.split(' ');
    let words = words.map(|word| {
        Some(word)
            .filter(|word| !may_be_token(word))
            .unwrap_or("[...]")
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_of_a_body_is_found_wherever_services_put_it() {
        for (body, said) in [
            (r#"{"message":"It is closed."}"#, Some("It is closed.")),
            (
                r#"{"error":"invalid_client","error_description":"Disabled."}"#,
                Some("Disabled."),
            ),
            (
                r#"{"error":{"code":7,"message":"No such list."}}"#,
                Some("No such list."),
            ),
            (
                r#"{"type":"about:blank","title":"Gone","detail":"Moved on."}"#,
                Some("Moved on."),
            ),
            (r#"{"title":"Gone","status":410}"#, Some("Gone")),
            (
                r#"{"errors":[{"detail":"Too old."},{"detail":"x"}]}"#,
                Some("Too old."),
            ),
            (r#"{"errors":["Too new."]}"#, Some("Too new.")),
            (r#"{"message":null,"error":"limit"}"#, Some("limit")),
            (r#"{"message":" ","detail":["a"]}"#, Some("a")),
            ("\u{feff}{\"message\":\"BOM\"}", Some("BOM")),
            (
                "upstream connect error\nreset",
                Some("upstream connect error"),
            ),
            (
                "<!doctype html><html><head><TITLE lang=en>Access\n Denied</TITLE>",
                Some("Access Denied"),
            ),
            (
                "<html><body><h1>502 Bad Gateway</h1>",
                Some("502 Bad Gateway"),
            ),
            ("<html><title></title></html>", None),
            (r#"{"message":"cut"#, None),
            (r#"{"code":7}"#, None),
            ("", None),
            (" \n", None),
        ] {
            assert_eq!(sentence(body.as_bytes()).as_deref(), said, "{body}");
        }
    }

    #[test]
    fn what_may_be_a_token_is_left_out_of_the_sentence_of_a_token_endpoint() {
        let said = "code AADSTS7000215: see https://login.example/errors/7000215 eyJhbGciOiJIUzI1NiIsInR5cCI6";
        let shown = without_tokens(said);
        assert_eq!(
            shown,
            "code AADSTS7000215: see https://login.example/errors/7000215 [...]"
        );
    }
}
