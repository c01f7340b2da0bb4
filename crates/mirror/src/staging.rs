//! The records of a scan, compared while they arrive with what the last sync saw, and kept beside the mirror until the scan
//! is complete. Of a record that has not changed, the row of its version is enough.

use crate::digest::key;
use crate::file::{Claim, Fault};
use crate::receipt::SyncRow;
use rusqlite::{Connection, OptionalExtension, params};
use std::time::SystemTime;
use talentdata_core::scan::utc;
use talentdata_core::types::Resource;
use talentdata_core::{Error, ErrorKind, RawRecord};

/// `record` is the version that was there before, if any; a text stands for a version of its own, and `op` for a change.
const TABLES: &str = "
    CREATE TEMP TABLE staged (place INTEGER PRIMARY KEY, key TEXT UNIQUE, record INTEGER UNIQUE, op TEXT, last_seen TEXT,
        position INTEGER, text TEXT) STRICT;
    CREATE TEMP TABLE late (record INTEGER PRIMARY KEY) STRICT;
";
/// Stages a delivered record, unless one with its key is staged.
const STAGE: &str = "
    INSERT OR IGNORE INTO staged (key, record, op, last_seen, position, text)
    SELECT iif(id IS NULL, ?2, NULL), id,
        CASE WHEN id IS NULL THEN 'insert' WHEN missing IS NOT NULL THEN 'reappeared' WHEN differ(text, ?3) THEN 'update' END,
        last_seen, position, iif(text = ?3 AND missing IS NULL, NULL, ?3)
    FROM (SELECT 1) LEFT JOIN record ON list = ?1 AND key = ?2 AND (last IS NULL OR missing IS NOT NULL)";
/// Notes that a record was seen that is not delivered.
const NOTE: &str = "
    INSERT OR IGNORE INTO late
    SELECT id FROM record WHERE list = ?1 AND key = ?2 AND (last IS NULL OR missing IS NOT NULL)";

/// The records of a scan that is under way.
pub(crate) struct Staging {
    pub(crate) connection: Connection,
    pub(crate) resource: Resource,
    pub(crate) parameters: String,
    pub(crate) started: String,
    /// The sync that this one is compared with.
    pub(crate) before: Option<SyncRow>,
    /// Whether two records were delivered under one `id`.
    pub(crate) is_repeated: bool,
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
        let refuse = |message| Err(Error::new(ErrorKind::InvalidArgument, message).into());
        for (name, value) in ["base_url", "client_id"].into_iter().zip(of) {
            let select = "SELECT value FROM meta WHERE name = ?1";
            let known = connection.query_row(select, [name], |row| row.get::<_, String>(0));
            let Some(known) = known.optional()? else {
                connection.execute("INSERT INTO meta VALUES (?1, ?2)", [name, &value])?;
                continue;
            };
            if known != value {
                return refuse(format!(
                    "{name}: the mirror is of {known}, this sync of {value}; sync into another file"
                ));
            }
        }
        let before = SyncRow::all(&connection, resource.name())?.pop();
        if let Some(before) = &before
            && before.parameters != parameters
        {
            return refuse(format!(
                "parameters: the mirror has {resource} with {}, this sync has {parameters}; sync into another file",
                before.parameters
            ));
        }
        connection.execute_batch(TABLES)?;
        Ok(Staging {
            connection,
            resource,
            parameters,
            started: utc(SystemTime::now()),
            before,
            is_repeated: false,
        })
    }

    /// Takes the records of a page: those that came before what was delivered already, and those that are delivered.
    pub(crate) fn take(&mut self, late: &[RawRecord], records: &[RawRecord]) -> Result<(), Fault> {
        let list = self.resource.name();
        let transaction = self.connection.unchecked_transaction()?;
        for record in late {
            let mut note = transaction.prepare_cached(NOTE)?;
            note.execute(params![list, key(record).0])?;
        }
        let mut stage = transaction.prepare_cached(STAGE)?;
        for record in records {
            let (base, by_id) = key(record);
            let (mut key, mut ordinal) = (base.clone(), 1);
            while stage.execute(params![list, key, record.as_str()])? == 0 {
                if by_id {
                    self.is_repeated = true;
                    break;
                }
                ordinal += 1;
                key = format!("{base}~{ordinal}");
            }
        }
        drop(stage);
        Ok(transaction.commit()?)
    }
}
