//! The scripts of `sql/`, and the functions that run them with values for their parameters.

use rusqlite::fallible_iterator::FallibleIterator;
use rusqlite::{Batch, Connection, Error, Result, Statement, ToSql};

/// The text of a script in `sql/`.
macro_rules! sql {
    ($name:literal) => {
        include_str!(concat!("../sql/", $name, ".sql"))
    };
}
pub(crate) use sql;

/// Values by the names of their parameters.
pub(crate) type Values<'a> = [(&'a str, &'a dyn ToSql)];

/// Binds the parameters of a statement. Values that it does not name are for other statements.
///
/// # Errors
/// `InvalidParameterName` for a parameter without a value.
pub(crate) fn bind(statement: &mut Statement<'_>, values: &Values<'_>) -> Result<()> {
    for index in 1..=statement.parameter_count() {
        let name = statement.parameter_name(index).unwrap_or_default();
        let Some((_, value)) = values.iter().find(|(known, _)| *known == name) else {
            return Err(Error::InvalidParameterName(name.to_owned()));
        };
        statement.raw_bind_parameter(index, value)?;
    }
    Ok(())
}

/// Runs the statements of a script, and returns the number of rows that each changed.
pub(crate) fn run(connection: &Connection, script: &str, values: &Values<'_>) -> Result<Vec<u64>> {
    let (mut statements, mut changed) = (Batch::new(connection, script), Vec::new());
    while let Some(mut statement) = statements.next()? {
        bind(&mut statement, values)?;
        changed.push(statement.raw_execute()? as u64);
    }
    Ok(changed)
}

/// Returns the statements of a script, each on one line and without comments.
pub(crate) fn one_line_each(script: &str) -> Vec<String> {
    let lines = script.lines().filter_map(|line| line.split("--").next());
    let lines: Vec<&str> = lines
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let code = lines.join(" ").replace("( ", "(").replace(" )", ")");
    let statements = code.split_terminator(';').map(str::trim);
    statements.map(str::to_owned).collect()
}

/// Replaces each `{name}` of a template with the text of this name.
pub(crate) fn fill(template: &str, texts: &[(&str, &str)]) -> String {
    let text = |part| texts.iter().find(|(name, _)| *name == part);
    let parts = template.split(['{', '}']);
    parts
        .map(|part| text(part).map_or(part, |(_, text)| text))
        .collect()
}
