//! Prose of a spec as it goes into comments and documentation.

/// Whether a character turns the direction of text or is not seen: Rust refuses some of them.
pub(crate) fn is_hidden(letter: char) -> bool {
    matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        || (letter.is_control() && !letter.is_whitespace())
}

/// Prose on one line without hidden characters; a comment of C ends at `*/`, and one of C++ goes on
/// behind a `\`.
pub(crate) fn clean(text: &str) -> String {
    let text: String = text.chars().filter(|letter| !is_hidden(*letter)).collect();
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.replace("*/", "* /").trim_end_matches('\\').to_owned()
}

/// Prose on one line; `None` if it says nothing.
pub(crate) fn one_line(text: Option<&str>) -> Option<String> {
    text.map(clean).filter(|text| !text.is_empty())
}

/// A description, or the sentence that there is none.
pub(crate) fn or_not_described(text: Option<String>) -> String {
    text.unwrap_or_else(|| "Not described.".to_owned())
}

/// The words with a capital first letter.
pub(crate) fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).collect()
}
