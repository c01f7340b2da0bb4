//! The SQL that a list accepts: `SELECT * or names FROM list [LIMIT n]`. The error for any other statement says what to
//! do.

use talentdata_core::types::ListName;
use talentdata_core::{Error, Result};

/// A query for one list.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ListQuery {
    /// The columns in their order; `None` for all.
    pub(crate) columns: Option<Vec<String>>,
    pub(crate) list: ListName,
    pub(crate) limit: Option<u64>,
}

/// The smallest part of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
enum SqlToken {
    /// A name or a keyword without quotes.
    Word(String),
    /// A name in quotes.
    Quoted(String),
    Number(String),
    Sign(char),
}

impl ListQuery {
    /// Reads a statement.
    ///
    /// # Errors
    /// `InvalidArgument` for any other statement, and for an unknown list.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let mut tokens = SqlTokens {
            rest: tokens(text)?,
        };
        tokens.keyword("SELECT")?;
        let columns = tokens.columns()?;
        tokens.keyword("FROM")?;
        let mut names = vec![tokens.name("the name of a list")?];
        while tokens.take_sign('.') {
            names.push(tokens.name("the name of a list")?);
        }
        if names.len() > 3 {
            return Err(refused("a list has a catalogue, a schema and a name"));
        }
        // A catalogue or a schema may have any name, because a program that attaches the driver chooses it.
        let list = names.pop().unwrap_or_default();
        let list: ListName = list
            .parse()
            .map_err(|why| Error::invalid(format!("sql: {why}")))?;
        let limit = if tokens.take_keyword("LIMIT") {
            Some(tokens.number()?)
        } else {
            None
        };
        while tokens.take_sign(';') {}
        tokens.end()?;
        Ok(ListQuery {
            columns,
            list,
            limit,
        })
    }
}

/// The tokens of a statement that were not read yet, the next one last.
struct SqlTokens {
    rest: Vec<SqlToken>,
}

impl SqlTokens {
    fn take_keyword(&mut self, keyword: &str) -> bool {
        let is_next = matches!(self.rest.last(), Some(SqlToken::Word(word)) if word.eq_ignore_ascii_case(keyword));
        if is_next {
            self.rest.pop();
        }
        is_next
    }

    fn take_sign(&mut self, sign: char) -> bool {
        let is_next = self.rest.last() == Some(&SqlToken::Sign(sign));
        if is_next {
            self.rest.pop();
        }
        is_next
    }

    fn keyword(&mut self, keyword: &str) -> Result<()> {
        if self.take_keyword(keyword) {
            return Ok(());
        }
        Err(self.unexpected(keyword))
    }

    /// Reads `*`, or names that are separated by commas.
    fn columns(&mut self) -> Result<Option<Vec<String>>> {
        if self.take_sign('*') {
            return Ok(None);
        }
        let mut names = vec![self.name("* or the name of a column")?];
        while self.take_sign(',') {
            names.push(self.name("the name of a column")?);
        }
        Ok(Some(names))
    }

    fn name(&mut self, what: &str) -> Result<String> {
        match self.rest.pop() {
            Some(SqlToken::Word(word)) if !is_keyword(&word) => Ok(word),
            Some(SqlToken::Quoted(name)) if !name.is_empty() => Ok(name),
            other => {
                self.rest.extend(other);
                Err(self.unexpected(what))
            }
        }
    }

    fn number(&mut self) -> Result<u64> {
        let number = match self.rest.last() {
            Some(SqlToken::Number(digits)) => digits.parse().ok(),
            _ => None,
        };
        let number = number.ok_or_else(|| self.unexpected("a number of rows"))?;
        self.rest.pop();
        Ok(number)
    }

    /// Checks that nothing follows.
    fn end(&mut self) -> Result<()> {
        if self.rest.is_empty() {
            return Ok(());
        }
        Err(self.unexpected("the end"))
    }

    fn unexpected(&self, wanted: &str) -> Error {
        let found = match self.rest.last() {
            None => "the end".to_owned(),
            Some(SqlToken::Word(text) | SqlToken::Number(text)) => format!("{text:?}"),
            Some(SqlToken::Quoted(name)) => format!("the name {name:?}"),
            Some(SqlToken::Sign(sign)) => format!("{sign:?}"),
        };
        refused(&format!("found {found} instead of {wanted}"))
    }
}

/// Returns whether a word without quotes is a keyword, and so not a name.
fn is_keyword(word: &str) -> bool {
    const KEYWORDS: [&str; 12] = [
        "ALL", "DISTINCT", "FROM", "GROUP", "HAVING", "JOIN", "LIMIT", "ORDER", "SELECT", "UNION",
        "WHERE", "WITH",
    ];
    KEYWORDS.iter().any(|one| one.eq_ignore_ascii_case(word))
}

/// Cuts a statement into tokens, the first one last. White space and comments separate them.
fn tokens(text: &str) -> Result<Vec<SqlToken>> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let (token, length) = if rest.starts_with("--") {
            (None, rest.find('\n').unwrap_or(rest.len()))
        } else if let Some(comment) = rest.strip_prefix("/*") {
            let end = comment.find("*/");
            let end = end.ok_or_else(|| refused("a comment has no end"))?;
            (None, end + 4)
        } else if first == '"' {
            let (name, length) = quoted(rest)?;
            (Some(SqlToken::Quoted(name)), length)
        } else if first.is_ascii_digit() {
            let length = length_of(rest, |one| {
                one.is_alphanumeric() || one == '.' || one == '_'
            });
            (Some(SqlToken::Number(rest[..length].to_owned())), length)
        } else if first.is_alphabetic() || first == '_' {
            let length = length_of(rest, |one| {
                one.is_alphanumeric() || one == '_' || one == '$'
            });
            (Some(SqlToken::Word(rest[..length].to_owned())), length)
        } else {
            (Some(SqlToken::Sign(first)), first.len_utf8())
        };
        tokens.extend(token);
        rest = rest[length..].trim_start();
    }
    tokens.reverse();
    Ok(tokens)
}

/// Returns the number of bytes before the first character that does not belong to the token.
fn length_of(text: &str, belongs: impl Fn(char) -> bool) -> usize {
    text.find(|one| !belongs(one)).unwrap_or(text.len())
}

/// Reads a name in quotes, in which two quotes stand for one. Returns it with its length in the text.
fn quoted(text: &str) -> Result<(String, usize)> {
    let mut name = String::new();
    let mut rest = &text[1..];
    loop {
        let end = rest
            .find('"')
            .ok_or_else(|| refused("a name has no closing quote"))?;
        name.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix('"') {
            Some(more) => {
                name.push('"');
                rest = more;
            }
            None => return Ok((name, text.len() - rest.len())),
        }
    }
}

/// Returns the error for a statement that a list does not accept.
fn refused(why: &str) -> Error {
    Error::invalid(format!(
        "sql: {why}; a list accepts SELECT * or column names FROM list LIMIT n; for other queries, let DuckDB read it \
         through this driver, or open a mirror with SQLite"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use talentdata_core::ErrorKind;

    const CONTACTS: ListName = ListName::Contacts;
    const SKILLS: ListName = ListName::JaSkills;

    #[test]
    fn queries_of_one_list_are_parsed() {
        for (text, columns, list, limit) in [
            ("SELECT * FROM contacts", None, CONTACTS, None),
            ("select*from contacts;", None, CONTACTS, None),
            (
                "SELECT * FROM  \"db\".\"main\".\"ja-skills\"",
                None,
                SKILLS,
                None,
            ),
            (
                "SELECT * FROM main.ja_skills LIMIT 0",
                None,
                SKILLS,
                Some(0),
            ),
            (
                "SELECT id, \"first\"\"Name\" FROM JA_SKILLS",
                Some(vec!["id", "first\"Name"]),
                SKILLS,
                None,
            ),
            (
                "-- all\nSELECT /* these * */ _extra FROM contacts -- end",
                Some(vec!["_extra"]),
                CONTACTS,
                None,
            ),
            (
                "SELECT \"from\" FROM contacts LIMIT 18446744073709551615 ; ;",
                Some(vec!["from"]),
                CONTACTS,
                Some(u64::MAX),
            ),
            (
                "SELECT größe FROM \"contacts\"",
                Some(vec!["größe"]),
                CONTACTS,
                None,
            ),
        ] {
            let columns = columns.map(|names| names.into_iter().map(str::to_owned).collect());
            assert_eq!(
                ListQuery::parse(text).unwrap(),
                ListQuery {
                    columns,
                    list,
                    limit
                },
                "{text}"
            );
        }
    }

    #[test]
    fn other_statements_are_refused_with_advice() {
        for (text, words) in [
            ("", "the end instead of SELECT"),
            ("SELECT", "the end instead of * or the name"),
            ("SELECT FROM contacts", "\"FROM\" instead of"),
            ("SELECT * contacts", "\"contacts\" instead of FROM"),
            ("SELECT count(*) FROM contacts", "'(' instead of FROM"),
            (
                "SELECT DISTINCT id FROM contacts",
                "\"DISTINCT\" instead of",
            ),
            ("SELECT id AS x FROM contacts", "\"AS\" instead of FROM"),
            ("SELECT 1", "\"1\" instead of"),
            ("SELECT 'id' FROM contacts", "'\\'' instead of"),
            (
                "SELECT * FROM contacts WHERE id = 1",
                "\"WHERE\" instead of the end",
            ),
            ("SELECT * FROM contacts, pools", "',' instead of the end"),
            ("SELECT * FROM contacts c", "\"c\" instead of the end"),
            (
                "SELECT * FROM contacts; SELECT * FROM pools",
                "\"SELECT\" instead of the end",
            ),
            ("SELECT * FROM contacts ORDER BY id", "\"ORDER\" instead of"),
            (
                "SELECT * FROM contacts LIMIT",
                "the end instead of a number",
            ),
            ("SELECT * FROM contacts LIMIT -1", "'-' instead of a number"),
            (
                "SELECT * FROM contacts LIMIT 1.5",
                "\"1.5\" instead of a number",
            ),
            (
                "SELECT * FROM contacts LIMIT 18446744073709551616",
                "instead of a number",
            ),
            (
                "SELECT * FROM contacts LIMIT 1 OFFSET 5",
                "\"OFFSET\" instead of the end",
            ),
            (
                "SELECT * FROM a.b.c.contacts",
                "a catalogue, a schema and a name",
            ),
            ("SELECT * FROM \"contacts", "no closing quote"),
            ("SELECT * FROM \"\"", "the name \"\" instead of"),
            ("SELECT * /* FROM contacts", "a comment has no end"),
            ("DELETE FROM contacts", "\"DELETE\" instead of SELECT"),
            ("SELECT * FROM ja-skills", "no list is named \"ja\""),
        ] {
            let error = ListQuery::parse(text).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            assert!(error.message().contains(words), "{text}: {error}");
            assert!(
                error.message().contains("DuckDB") != words.contains("no list"),
                "{text}: {error}"
            );
        }
    }

    #[test]
    fn no_statement_panics() {
        let mut random = fastrand::Rng::with_seed(49);
        let parts = [
            "SELECT",
            "*",
            "FROM",
            "contacts",
            "\"ja-skills\"",
            ".",
            ",",
            ";",
            "LIMIT",
            "10",
            "--",
            "/*",
            "*/",
            "\"",
            "'",
            "(",
            "ß",
            "\0",
            "\n",
            " ",
            "😀",
            "9999999999999999999999",
            "_",
            "$",
        ];
        let mut read = 0;
        for _ in 0..10_000 {
            let mut text =
                "SELECT id, \"a\"\"b\" FROM \"db\".main.contacts /* c */ LIMIT 10;".to_owned();
            for _ in 0..random.usize(0..4) {
                let at = random.usize(0..=text.len());
                let part = parts[random.usize(0..parts.len())];
                if text.is_char_boundary(at) {
                    text.insert_str(at, part);
                }
                let cut = random.usize(0..=text.len());
                if random.bool() && text.is_char_boundary(cut) {
                    text.replace_range(
                        cut..text[cut..]
                            .char_indices()
                            .nth(1)
                            .map_or(text.len(), |(at, _)| cut + at),
                        "",
                    );
                }
            }
            read += usize::from(ListQuery::parse(&text).is_ok());
        }
        assert!((1000..9000).contains(&read), "{read}");
    }
}
