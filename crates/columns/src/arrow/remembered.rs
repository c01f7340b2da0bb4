//! The columns of lists that a client read before. An engine that asks for the columns first needs no second scan.

use super::schema::{ColumnTypes, TableSchema};
use arrow_schema::SchemaRef;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use talentdata_core::internal::process::lock;
use talentdata_core::types::ListName;
use talentdata_core::{Client, Result, ScanOptions};

/// The number of schemas that a client remembers. A program may read a list with any number of filters.
const MOST_SCHEMAS: usize = 100;

/// The remembered columns of lists, by the options on which they depend. Every later reader of a list gets the same
/// columns.
#[derive(Debug, Default)]
pub struct SchemaMemory(Mutex<VecDeque<RememberedColumns>>);

/// The columns of a list that was read with these options.
#[derive(Debug)]
struct RememberedColumns {
    list: ListName,
    options: ScanOptions,
    columns: ColumnTypes,
    schema: Arc<TableSchema>,
}

impl RememberedColumns {
    fn is_of(&self, list: ListName, options: &ScanOptions, columns: ColumnTypes) -> bool {
        let of = |options: &ScanOptions| {
            let ScanOptions {
                arguments,
                fields,
                drop,
                hash,
                ..
            } = options.clone();
            (arguments, fields, drop, hash)
        };
        self.list == list && self.columns == columns && of(&self.options) == of(options)
    }
}

impl SchemaMemory {
    /// Returns the remembered columns.
    pub fn get(
        &self,
        list: ListName,
        options: &ScanOptions,
        columns: ColumnTypes,
    ) -> Option<Arc<TableSchema>> {
        let all = lock(&self.0);
        let known = all.iter().find(|one| one.is_of(list, options, columns))?;
        Some(Arc::clone(&known.schema))
    }

    /// Remembers the columns that a scan inferred, unless columns are remembered already.
    ///
    /// # Errors
    /// `InvalidArgument` for columns that no table can have.
    pub fn note(
        &self,
        list: ListName,
        options: &ScanOptions,
        columns: ColumnTypes,
        schema: &SchemaRef,
    ) -> Result<()> {
        self.keep(list, options, columns, TableSchema::from_arrow(schema)?);
        Ok(())
    }

    /// Returns the remembered columns. If there are none, requests the first records and decides from them.
    ///
    /// # Errors
    /// The errors of a scan.
    pub async fn get_or_read(
        &self,
        client: &Client,
        list: ListName,
        options: &ScanOptions,
        columns: ColumnTypes,
    ) -> Result<Arc<TableSchema>> {
        if let Some(known) = self.get(list, options, columns) {
            return Ok(known);
        }
        let raw = client.resource(list);
        let decided = TableSchema::of_scan(&raw, options.clone(), columns).await?;
        Ok(self.keep(list, options, columns, decided))
    }

    /// Remembers these columns, unless others are remembered already, and returns the remembered columns.
    fn keep(
        &self,
        list: ListName,
        options: &ScanOptions,
        columns: ColumnTypes,
        schema: TableSchema,
    ) -> Arc<TableSchema> {
        let mut all = lock(&self.0);
        if let Some(known) = all.iter().find(|one| one.is_of(list, options, columns)) {
            return Arc::clone(&known.schema);
        }
        if all.len() == MOST_SCHEMAS {
            all.pop_front();
        }
        let schema = Arc::new(schema);
        all.push_back(RememberedColumns {
            list,
            options: options.clone(),
            columns,
            schema: Arc::clone(&schema),
        });
        schema
    }
}
