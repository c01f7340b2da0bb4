//! The statement that applies the changes of a mirror to a table of a database.

use crate::boundary::{array, get, guard, guard_or, invalid, slot, terminated};
use crate::error::Error;
use crate::text::Text;
use std::ffi::c_char;
use std::mem::MaybeUninit;
use talentdata_core::{Dialect as CoreDialect, Result, merge_sql};

/// For whom a statement is.
#[derive(Clone, Copy)]
#[repr(u32)]
pub enum Dialect {
    /// DuckDB from 1.4.
    Duckdb = 1,
    /// PostgreSQL from 15.
    Postgresql = 2,
    /// The Python package deltalake: a JSON object with the arguments of DeltaTable.merge.
    Delta = 3,
}

impl Dialect {
    fn of(number: u32) -> Result<CoreDialect> {
        match number {
            number if number == Dialect::Duckdb as u32 => Ok(CoreDialect::DuckDb),
            number if number == Dialect::Postgresql as u32 => Ok(CoreDialect::PostgreSql),
            number if number == Dialect::Delta as u32 => Ok(CoreDialect::Delta),
            other => Err(invalid(
                "dialect",
                format_args!("{other} is not a known dialect"),
            )),
        }
    }
}

/// A statement for a database. Freed with talentdata_statement_free.
pub struct Statement {
    text: String,
}

/// The statement that applies the changes of a mirror, which stand in a relation called `changes`, to a table with the
/// column `_key` and those that are given. Inserted, updated and returned records are written, deleted ones are removed,
/// missing ones stay as they are; of several generations the newest change of a record counts. Generations are applied
/// in their order. Applied twice, the statement does no harm.
///
/// @param dialect a talentdata_dialect
/// @param table the table, NUL-terminated UTF-8 text; it may be qualified, as in `warehouse.contacts`
/// @param columns the columns of the table beside `_key`, each NUL-terminated UTF-8 text; those of a change (`_op` and
/// so on) are passed over. May be NULL where there are none.
/// @param columns_count how many these are
/// @param statement_out the statement
/// Ownership: the caller frees `*statement_out` with talentdata_statement_free.
/// Threads: any.
/// Errors: INVALID_ARGUMENT for NULL, an unknown dialect, text that is not UTF-8, and names that are empty or that the
/// database cannot tell apart.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_merge_sql(
    dialect: u32,
    table: *const c_char,
    columns: *const *const c_char,
    columns_count: usize,
    statement_out: Option<&mut MaybeUninit<Box<Statement>>>,
) -> Option<Box<Error>> {
    guard(|| {
        let dialect = Dialect::of(dialect)?;
        let table = terminated(&table, "table")?;
        let columns = array(&columns, columns_count, "columns")?.iter();
        let columns = columns.map(|column| terminated(column, "columns"));
        let columns = columns.collect::<Result<Vec<&str>>>()?;
        let statement = slot(statement_out, "statement_out")?;
        let text = merge_sql(dialect, table, &columns)?;
        statement.write(Box::new(Statement { text }));
        Ok(())
    })
}

/// The text of a statement.
///
/// @param statement the statement
/// @param text_out its text
/// Ownership: `*text_out` is valid until the statement is freed.
/// Threads: any.
/// Errors: INVALID_ARGUMENT for NULL.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_statement_text(
    statement: Option<&Statement>,
    text_out: Option<&mut MaybeUninit<Text>>,
) -> Option<Box<Error>> {
    get((statement, "statement"), (text_out, "text_out"), |one| {
        Ok(Text::of(&one.text))
    })
}

/// Frees a statement; does nothing when it is NULL.
///
/// Ownership: `statement` and what was read from it must not be used any more.
/// Threads: one at a time per handle.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_statement_free(statement: Option<Box<Statement>>) {
    guard_or((), || drop(statement));
}
