//! Finds the sentence in which a service, or a proxy in front of it, says what is wrong.

use serde_json::Value;

/// The members of a JSON object in which services say what is wrong, the most informative first (RFC 6749, RFC 9457,
/// and common use).
const MESSAGE_FIELDS: [&str; 12] = [
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
    "fault",
    "faultstring",
];
/// The elements of an HTML or XML page in which it says what is wrong, the most informative first.
const ELEMENTS: [&str; 6] = ["title", "h1", "message", "faultstring", "detail", "error"];

/// The length of a body, in bytes, beyond which no sentence is searched. Bodies that explain something are short.
const LONGEST: usize = 64 * 1024;

/// Returns the sentence in which a JSON or HTML body says what is wrong; for other bodies, the first line.
pub(crate) fn sentence(body: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(body.get(..LONGEST).unwrap_or(body));
    let text = text.trim_start_matches('\u{feff}').trim();
    let said = match text.as_bytes().first()? {
        b'<' => ELEMENTS
            .iter()
            .find_map(|name| element(text, name))?
            .to_owned(),
        b'{' | b'[' => said_by(&serde_json::from_str(text).ok()?)?,
        _ => text.lines().next()?.to_owned(),
    };
    let words: Vec<&str> = said.split_whitespace().collect();
    Some(words.join(" ")).filter(|said| !said.is_empty())
}

/// Returns the first string in a member that says what is wrong. The member may also be an object, or an array of
/// either.
fn said_by(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()).filter(|text| !text.trim().is_empty()),
        Value::Array(items) => items.iter().find_map(said_by),
        Value::Object(members) => {
            let within = |name: &str| said_by(members.get(name)?);
            // OData puts the sentence into `value`, next to its language.
            let value = || within("value").filter(|_| members.contains_key("lang"));
            MESSAGE_FIELDS
                .iter()
                .find_map(|name| within(name))
                .or_else(value)
        }
        _ => None,
    }
}

/// Returns the description in a header `WWW-Authenticate` (RFC 6750).
pub(crate) fn challenge(header: &str) -> Option<String> {
    let (_, said) = header.split_once("error_description=\"")?;
    let (said, _) = said.split_once('"')?;
    Some(said.to_owned()).filter(|said| !said.trim().is_empty())
}

/// Returns the text of the first element of this name.
fn element<'a>(page: &'a str, name: &str) -> Option<&'a str> {
    let small = page.to_ascii_lowercase();
    let ends_name = |at: &usize| {
        let next = small
            .get(at + 1 + name.len()..)
            .and_then(|rest| rest.chars().next());
        next.is_some_and(|next| next == '>' || next.is_whitespace())
    };
    let tag = format!("<{name}");
    let mut begins = small.match_indices(&tag).map(|(at, _)| at);
    let begin = begins.find(ends_name)?;
    let begin = begin + small.get(begin..)?.find('>')? + 1;
    let end = begin + small.get(begin..)?.find('<')?;
    page.get(begin..end).filter(|text| !text.trim().is_empty())
}

/// Returns a sentence of a token endpoint without the words that may be a token, which the client could not recognize.
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
    fn the_sentence_of_a_body_is_found_in_every_usual_place() {
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
            (
                r#"{"error":{"code":"7","message":{"lang":"en","value":"OData."}}}"#,
                Some("OData."),
            ),
            (r#"{"fault":{"faultstring":"Quota."}}"#, Some("Quota.")),
            (
                "<?xml version='1.0'?><Error><Messages/><Message>Denied</Message></Error>",
                Some("Denied"),
            ),
            (r#"{"message":"cut"#, None),
            (r#"{"code":7}"#, None),
            ("", None),
            (" \n", None),
        ] {
            assert_eq!(sentence(body.as_bytes()).as_deref(), said, "{body}");
        }
    }

    #[test]
    fn the_description_of_a_challenge_is_found() {
        let header = r#"Bearer realm="x", error="invalid_token", error_description="Expired.""#;
        assert_eq!(challenge(header).as_deref(), Some("Expired."));
        assert_eq!(challenge("Bearer"), None);
    }

    #[test]
    fn possible_tokens_are_omitted_from_sentences_of_a_token_endpoint() {
        let said = "code AADSTS7000215: see https://login.example/errors/7000215 eyJhbGciOiJIUzI1NiIsInR5cCI6";
        let shown = without_tokens(said);
        assert_eq!(
            shown,
            "code AADSTS7000215: see https://login.example/errors/7000215 [...]"
        );
    }
}
