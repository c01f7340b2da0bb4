//! One term for one thing: the words that the vocabulary of ARCHITECTURE.md replaces stand in no source.

use crate::Outcome;
use std::path::Path;

/// Where the table begins.
const TITLE: &str = "\n## Vocabulary\n";

/// A row of the table that replaces words.
struct Row {
    term: String,
    replaced: Vec<String>,
}

/// Checks the hand-written sources and documents among the tracked files.
///
/// # Errors
/// When ARCHITECTURE.md has no vocabulary that replaces anything.
pub(super) fn check(root: &Path, tracked: &[String], wrong: &mut Vec<String>) -> Outcome {
    let architecture = std::fs::read_to_string(root.join("ARCHITECTURE.md"))
        .map_err(|error| format!("ARCHITECTURE.md: {error}"))?;
    let rows = rows(&architecture);
    if rows.is_empty() {
        return Err("ARCHITECTURE.md: the vocabulary is missing or replaces no word".into());
    }
    for path in tracked.iter().filter(|path| is_checked(path)) {
        if let Ok(text) = std::fs::read_to_string(root.join(path)) {
            check_text(path, &text, &rows, wrong);
        }
    }
    Ok(())
}

fn is_checked(path: &str) -> bool {
    let kinds = [".rs", ".py", ".pyi", ".c", ".cpp", ".h", ".hpp", ".md"];
    // The table and the test below have the words, and so has what was called something else before.
    let exempt = [
        "ARCHITECTURE.md",
        "CHANGELOG.md",
        "xtask/src/tidy/vocabulary.rs",
    ];
    let written = !path.contains("generated") && !exempt.contains(&path);
    written && kinds.iter().any(|kind| path.ends_with(kind))
}

fn rows(architecture: &str) -> Vec<Row> {
    let section = architecture.split_once(TITLE).map_or("", |(_, rest)| rest);
    let section = section.split("\n## ").next().unwrap_or_default();
    let rows = section.lines().filter_map(|line| {
        let cells: Vec<&str> = line.trim().trim_matches('|').split('|').collect();
        let [term, _, replaced] = cells.as_slice() else {
            return None;
        };
        let words = replaced.split(',').map(|word| word.trim().to_lowercase());
        let replaced: Vec<String> = words.filter(|word| !word.is_empty()).collect();
        let is_row = !replaced.is_empty() && !replaced[0].starts_with(['-', ':']);
        is_row.then(|| Row {
            term: term.trim().to_owned(),
            replaced,
        })
    });
    // The first is the head of the table.
    rows.skip(1).collect()
}

fn check_text(path: &str, text: &str, rows: &[Row], wrong: &mut Vec<String>) {
    for (number, line) in text.lines().enumerate() {
        let words = words(line);
        for row in rows {
            for replaced in &row.replaced {
                if contains(&words, replaced) {
                    wrong.push(format!(
                        "{path}:{}: \"{replaced}\" is called {} here (ARCHITECTURE.md, Vocabulary)",
                        number + 1,
                        row.term
                    ));
                }
            }
        }
    }
}

/// The words of a line in lower case; those of names such as `max_wait` and `MaxWait` stand apart.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for letter in line.chars() {
        let apart = !letter.is_alphanumeric() || letter.is_uppercase() && before.is_lowercase();
        if apart {
            words.push(String::new());
        }
        if letter.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(letter.to_lowercase());
        }
        before = letter;
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Whether the words hold `wanted`, one word or several in a row.
fn contains(words: &[String], wanted: &str) -> bool {
    let wanted: Vec<&str> = wanted.split(' ').collect();
    words.windows(wanted.len()).any(|some| some == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "# A\n\n## Vocabulary\n\n| term | what | not |\n|---|---|---|\n| queue | where calls wait | turnstile, the lane |\n| page | a response | |\n\n## Next\n\n| x | y | z |\n|---|---|---|\n| a | b | c |\n";

    #[test]
    fn replaced_words_are_found_in_prose_and_in_names_and_nowhere_else() {
        let rows = rows(TABLE);
        assert_eq!(rows.len(), 1);
        for (line, expected) in [
            ("let turnstile = 1;", 1),
            ("struct TurnstileState;", 1),
            ("fn pass_turnstile()", 1),
            ("// The Lane of a call", 1),
            ("// a lane, turnstiles, the planet", 0),
        ] {
            let mut wrong = Vec::new();
            check_text("x.rs", line, &rows, &mut wrong);
            assert_eq!(wrong.len(), expected, "{line}: {wrong:?}");
        }
    }
}
