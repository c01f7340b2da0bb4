//! Prose of a spec in the form for comments and documentation.

/// Returns whether a character changes the direction of text or is invisible. Rust refuses some of them.
pub(crate) fn is_hidden(letter: char) -> bool {
    matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        || (letter.is_control() && !letter.is_whitespace())
}

/// Returns prose on one line, without hidden characters and without references to sections such as ` (sections 4 and
/// 9)`, because readers do not have that document.
///
/// Characters that begin or end a C comment are separated, and so is the trigraph for `\`, which would continue a C++
/// comment.
pub(crate) fn clean(text: &str) -> String {
    let text: String = text.chars().filter(|letter| !is_hidden(*letter)).collect();
    let mut line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for (from, to) in [("*/", "* /"), ("/*", "/ *"), ("??/", "? ?/")] {
        line = line.replace(from, to);
    }
    without_sections(&line).trim_end_matches('\\').to_owned()
}

fn without_sections(line: &str) -> String {
    const BEGIN: &str = " (section";
    let mut parts = line.split(BEGIN);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (inner, rest) = part.split_once(')').unwrap_or((part, ""));
        let words = inner.trim_start_matches('s').replace(',', " ");
        let is_number = |word: &str| word == "and" || word.parse::<u32>().is_ok();
        let is_reference = inner.len() < part.len() && words.split_whitespace().all(is_number);
        if is_reference && !words.trim().is_empty() {
            out += rest;
        } else {
            out += BEGIN;
            out += part;
        }
    }
    out
}

/// Returns prose on one line; `None` if it is empty.
pub(crate) fn one_line(text: Option<&str>) -> Option<String> {
    text.map(clean).filter(|text| !text.is_empty())
}

/// Returns a description, or the sentence that there is none.
pub(crate) fn or_not_described(text: Option<String>) -> String {
    text.unwrap_or_else(|| "Not described.".to_owned())
}

/// Returns the words with a capital first letter.
pub(crate) fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).collect()
}
