//! Names of tables and columns, quoted so that they are nothing but names.

use super::Dialect;
use crate::error::{Error, ErrorKind, Result};
use std::collections::HashMap;

/// PostgreSQL cuts longer names off, without an error.
const MOST_BYTES: usize = 63;

/// The name in double quotes.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The name of a table with each of its parts in double quotes, whether it has them already or not.
pub(super) fn quoted_table(table: &str) -> Result<String> {
    let mut parts = Vec::new();
    let mut rest = Some(table);
    while let Some(text) = rest {
        let (part, behind) = match text.strip_prefix('"') {
            Some(text) => until_quote(text).ok_or_else(|| {
                invalid(format!("table: {table:?} has a quote that is not closed"))
            })?,
            None => {
                let end = text.find('.').unwrap_or(text.len());
                let (part, behind) = text.split_at(end);
                (part.to_owned(), behind)
            }
        };
        check("table", &part)?;
        parts.push(quoted(&part));
        rest = match behind {
            "" => None,
            behind => Some(behind.strip_prefix('.').ok_or_else(|| {
                invalid(format!("table: {table:?} has something behind a quote"))
            })?),
        };
    }
    Ok(parts.join("."))
}

/// The name up to its closing quote, in which two quotes are one, and what is behind.
fn until_quote(text: &str) -> Option<(String, &str)> {
    let mut part = String::new();
    let mut rest = text;
    loop {
        let (before, behind) = rest.split_once('"')?;
        part += before;
        match behind.strip_prefix('"') {
            Some(behind) => {
                part.push('"');
                rest = behind;
            }
            None => return Some((part, behind)),
        }
    }
}

/// Refuses names that are none, and those that the dialect cannot tell apart.
pub(super) fn check_columns(dialect: Dialect, columns: &[&str]) -> Result<()> {
    let mut seen = HashMap::new();
    for column in columns {
        check("columns", column)?;
        let known_as = match dialect {
            Dialect::DuckDb | Dialect::Delta => column.to_lowercase(),
            Dialect::PostgreSql => column[..column.floor_char_boundary(MOST_BYTES)].to_owned(),
        };
        if let Some(other) = seen.insert(known_as, column) {
            return Err(invalid(format!(
                "columns: {dialect} cannot tell {column:?} from {other:?}; leave one of them out, its values are in \
                 _record, too"
            )));
        }
    }
    Ok(())
}

fn check(argument: &str, name: &str) -> Result<()> {
    if name.is_empty() {
        return Err(invalid(format!("{argument}: a name must not be empty")));
    }
    if name.contains('\0') {
        return Err(invalid(format!("{argument}: {name:?} contains a NUL")));
    }
    Ok(())
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::InvalidArgument, message)
}
