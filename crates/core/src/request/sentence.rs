//! Finds the sentence in which a service, or a proxy in front of it, says what is wrong.

use serde_json::Value;

/// The members of a JSON object in which services say what is wrong, the most informative first (RFC 6749, RFC 9457,
/// and common use).
const MESSAGE_FIELDS: [&str; 10] = [
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

/// Returns the sentence in which a JSON or HTML body says what is wrong; for other bodies, the first line.
pub(crate) fn sentence(body: &[u8]) -> Option<String> {
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

/// Returns the first string in a member that says what is wrong. The member may also be an object, or an array of
/// either.
fn said_by(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()).filter(|text| !text.trim().is_empty()),
        Value::Array(items) => items.iter().find_map(said_by),
        Value::Object(members) => {
            let mut members = MESSAGE_FIELDS.iter().filter_map(|name| members.get(*name));
            members.find_map(said_by)
        }
        _ => None,
    }
}

/// Returns the text of the first element of this name.
fn element<'a>(page: &'a str, name: &str) -> Option<&'a str> {
    let small = page.to_ascii_lowercase();
    let begin = small.find(&format!("<{name}"))?;
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
            (r#"{"message":"cut"#, None),
            (r#"{"code":7}"#, None),
            ("", None),
            (" \n", None),
        ] {
            assert_eq!(sentence(body.as_bytes()).as_deref(), said, "{body}");
        }
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
