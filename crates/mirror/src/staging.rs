//! The records of a scan, beside the mirror until the scan is complete: each compared with what the last sync saw.

use crate::canonical::key;
use crate::file::{Claim, Fault};
use crate::seal::SyncRow;
use rusqlite::{Connection, OptionalExtension, params};
use std::collections::HashSet;
use std::time::SystemTime;
use talentdata_columns::arrow::{Columns, TableSchema};
use talentdata_core::scan::utc;
use talentdata_core::types::Resource;
use talentdata_core::{Error, ErrorKind, RawRecord, Result as CoreResult, json};

/// The text of a record whose bytes are those of the last sync is not kept twice. `renewed` says that the record needs
/// a row of its own in the mirror.
const TABLE: &str = "CREATE TEMP TABLE staged (place INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, late INTEGER NOT NULL, \
     record INTEGER, position INTEGER, hash BLOB, text TEXT, renewed INTEGER NOT NULL) STRICT";

/// Stages a record, unless its key is staged already. A record that came late, and is delivered after that, is delivered.
const STAGE: &str = "INSERT INTO temp.staged (place, key, late, record, position, hash, text, renewed) \
     SELECT ?1, ?2, ?3, id, position, CASE WHEN text IS ?4 THEN NULL ELSE canonical(?4) END, nullif(?4, text), text IS NOT ?4 \
     FROM (SELECT 1) LEFT JOIN record ON list = ?5 AND key = ?2 AND last IS NULL WHERE true \
     ON CONFLICT (key) DO UPDATE SET (place, late, hash, text, renewed) = \
     (excluded.place, 0, excluded.hash, excluded.text, excluded.renewed) WHERE late AND NOT excluded.late \
     RETURNING renewed";

/// The records of a scan that is under way.
pub(crate) struct Staging {
    pub(crate) connection: Connection,
    pub(crate) resource: Resource,
    pub(crate) list: &'static str,
    pub(crate) parameters: String,
    pub(crate) started: String,
    /// The sync that this one is compared with.
    pub(crate) before: Option<SyncRow>,
    pub(crate) columns: Option<TableSchema>,
    /// Whether two records were delivered under one `id`.
    pub(crate) repeated: bool,
    /// Texts from which new columns are inferred: the first that have changed, and further ones that have new fields.
    pub(crate) sample: Vec<String>,
    fields: HashSet<String>,
    place: i64,
}

impl Staging {
    /// Opens the mirror; `of` are the service and the client.
    pub(crate) fn begin(
        claim: &Claim,
        resource: Resource,
        of: [String; 2],
        parameters: String,
    ) -> Result<Self, Fault> {
        let connection = claim.open()?;
        let refuse = |message| Error::new(ErrorKind::InvalidArgument, message);
        for (name, value) in ["base_url", "client_id"].into_iter().zip(of) {
            let insert = "INSERT INTO meta VALUES (?1, ?2) ON CONFLICT DO NOTHING";
            let select = "SELECT value FROM meta WHERE name = ?1";
            let get = |row: &rusqlite::Row<'_>| row.get(0);
            let known: Option<String> = connection.query_row(select, [name], get).optional()?;
            match known {
                None => drop(connection.execute(insert, [name, &value])?),
                Some(known) if known == value => {}
                Some(known) => {
                    let message = format!(
                        "{name}: the mirror is of {known}, this sync of {value}; sync into another file"
                    );
                    return Err(refuse(message).into());
                }
            }
        }
        let list = resource.name();
        let before = SyncRow::all(&connection, list)?.pop();
        if let Some(known) = before.as_ref().map(|before| &before.parameters)
            && *known != parameters
        {
            let message = format!(
                "parameters: the mirror has {list} with {known}, this sync has {parameters}; sync into another file"
            );
            return Err(refuse(message).into());
        }
        connection.execute_batch(TABLE)?;
        let columns = before.as_ref().map(|before| before.columns.clone());
        let fields = columns.iter().flat_map(TableSchema::iter);
        Ok(Staging {
            fields: fields.map(|column| column.name.clone()).collect(),
            connection,
            resource,
            list,
            parameters,
            started: utc(SystemTime::now()),
            before,
            columns,
            repeated: false,
            sample: Vec::new(),
            place: 0,
        })
    }

    /// Takes the records of a page: those that are delivered, or those that came before them during the scan.
    pub(crate) fn take(&mut self, records: &[RawRecord], late: bool) -> Result<(), Fault> {
        let transaction = self.connection.unchecked_transaction()?;
        let mut stage = transaction.prepare_cached(STAGE)?;
        for record in records {
            let text = record.as_str();
            let (base, by_id) = key(record);
            let (mut key, mut ordinal) = (base.clone(), 1);
            let renewed = loop {
                self.place += 1;
                let values = params![self.place, key, late, text, self.list];
                let staged = stage.query_row(values, |row| row.get(0)).optional()?;
                // A record that came late was shown before.
                if staged.is_some() || late || by_id {
                    self.repeated |= staged.is_none() && !late;
                    break staged == Some(true);
                }
                ordinal += 1;
                key = format!("{base}~{ordinal}");
            };
            if renewed {
                let mut fresh = false;
                json::each_member(text, |name, _| {
                    if let Some(name) = json::text(name)
                        && !self.fields.contains(&*name)
                    {
                        fresh = self.fields.insert(name.into_owned());
                    }
                });
                let most = if fresh { 2 } else { 1 };
                if self.sample.len() < most * TableSchema::SAMPLE {
                    self.sample.push(text.to_owned());
                }
            }
        }
        drop(stage);
        Ok(transaction.commit()?)
    }

    /// The columns of the list, with those of new fields behind the others.
    pub(crate) fn grown_columns(&self) -> CoreResult<TableSchema> {
        let infer =
            |records: &[RawRecord]| TableSchema::infer(self.resource, records, Columns::Typed);
        let mut grown = self.columns.clone();
        for sample in self.sample.chunks(TableSchema::SAMPLE) {
            let found = infer(&RawRecord::parse_all(sample)?);
            match &mut grown {
                None => grown = Some(found),
                Some(grown) => {
                    let known: HashSet<String> = grown.iter().map(|one| one.name.clone()).collect();
                    let new = found
                        .fields
                        .into_iter()
                        .filter(|one| !known.contains(&one.name));
                    grown.fields.extend(new);
                }
            }
        }
        let grown = grown.unwrap_or_else(|| infer(&[]));
        let text = serde_json::to_string(&grown).unwrap_or_default();
        // Where a table cannot have so many, their values are in the last column.
        TableSchema::from_json(&text).or_else(|error| self.columns.clone().ok_or(error))
    }
}
