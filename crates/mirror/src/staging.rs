//! The records of a scan, compared while they arrive with what the last sync saw, and kept beside the mirror until the scan
//! is complete.
//!
//! A list seldom changes its order, so its current versions are read in that order, along with the scan: a record that has
//! not changed costs a step of a cursor and sixteen bytes. Others are looked up, and stored in a temporary table if they
//! need a version of their own.

use crate::digest::{canonical, key, seal};
use crate::file::{Claim, Fault};
use crate::order::{Entry, GAP, NONE};
use crate::receipt::SyncRow;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::collections::{HashMap, HashSet};
use std::time::SystemTime;
use talentdata_columns::arrow::{Columns, TableSchema};
use talentdata_core::scan::utc;
use talentdata_core::types::Resource;
use talentdata_core::{Error, ErrorKind, RawRecord, Result as CoreResult, json};

/// New versions: of a record that was there before, its row, and whether its values differ. Without a text, it has moved.
const TABLE: &str = "CREATE TEMP TABLE staged (place INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, record INTEGER, \
     position INTEGER NOT NULL, differs INTEGER NOT NULL, text TEXT) STRICT";
const STAGE: &str =
    "INSERT INTO temp.staged VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING";
const CURRENT: &str = "SELECT id, position, key, text FROM record WHERE list = ?1 AND last IS NULL";

/// The records of a scan that is under way.
pub(crate) struct Staging {
    pub(crate) connection: Connection,
    pub(crate) list: &'static str,
    pub(crate) parameters: String,
    pub(crate) started: String,
    /// The sync that this one is compared with.
    pub(crate) before: Option<SyncRow>,
    pub(crate) shown: Shown,
    pub(crate) columns: Grown,
    /// The position of the version that was found last.
    behind: i64,
}

/// What a scan has shown.
#[derive(Default)]
pub(crate) struct Shown {
    /// The delivered records, in their order, and new ones that came late.
    pub(crate) order: Vec<Entry>,
    /// The digest of the versions of the last sync that it has shown.
    pub(crate) sum: u128,
    /// Whether two records were delivered under one `id`.
    pub(crate) repeated: bool,
    /// Rows of versions: one bit each.
    versions: HashMap<i64, u64>,
    /// Keys that came late, and were not delivered since.
    late: HashSet<String>,
    is_first: bool,
    /// The place of the last staged record.
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
        let list = resource.name();
        let before = SyncRow::all(&connection, list)?.pop();
        if let Some(before) = &before
            && before.parameters != parameters
        {
            return refuse(format!(
                "parameters: the mirror has {list} with {}, this sync has {parameters}; sync into another file",
                before.parameters
            ));
        }
        connection.execute_batch(TABLE)?;
        let known = before.as_ref().map(|before| before.columns.clone());
        let fields = known.iter().flat_map(|schema| &schema.fields);
        Ok(Staging {
            columns: Grown {
                resource,
                fields: fields.map(|column| column.name.clone()).collect(),
                known,
                sample: Vec::new(),
            },
            shown: Shown {
                is_first: before.is_none(),
                ..Shown::default()
            },
            connection,
            list,
            parameters,
            started: utc(SystemTime::now()),
            before,
            behind: NONE,
        })
    }

    /// Takes the records of a page: those that are delivered, or those that came before them during the scan.
    pub(crate) fn take(&mut self, records: &[RawRecord], late: bool) -> Result<(), Fault> {
        let transaction = self.connection.unchecked_transaction()?;
        let along = format!("{CURRENT} AND position > ?2 ORDER BY position");
        let mut along = transaction.prepare_cached(&along)?;
        let mut by_key = transaction.prepare_cached(&format!("{CURRENT} AND key = ?2"))?;
        let is_first = self.before.is_none();
        let mut records = records.iter().peekable();
        while records.peek().is_some() {
            let mut current = along.query(params![self.list, self.behind])?;
            for record in records.by_ref() {
                let (base, by_id) = key(record);
                let next = match is_first {
                    true => None,
                    false => current.next()?.map(Version::of).transpose()?,
                };
                let mut next = next.filter(|next| next.key == base);
                let is_next = next.is_some();
                let (mut key, mut ordinal) = (base.clone(), 1);
                let is_staged = loop {
                    let mut found;
                    let version = match next.take() {
                        None if !is_first => {
                            found = by_key.query(params![self.list, key])?;
                            found.next()?.map(Version::of).transpose()?
                        }
                        next => next,
                    };
                    self.behind = version.as_ref().map_or(self.behind, |found| found.position);
                    let text = record.as_str();
                    let taken = self.shown.take(&transaction, version, &key, text, late)?;
                    // A record that came late was shown before.
                    if taken != Taken::Repeated || late || by_id {
                        self.shown.repeated |= taken == Taken::Repeated && !late;
                        break taken == Taken::Staged;
                    }
                    ordinal += 1;
                    key = format!("{base}~{ordinal}");
                };
                if is_staged {
                    self.columns.learn(record.as_str());
                }
                if !is_next && !is_first {
                    break;
                }
            }
        }
        drop((along, by_key));
        Ok(transaction.commit()?)
    }
}

/// The current version of a record.
struct Version<'a> {
    id: i64,
    position: i64,
    key: &'a str,
    text: &'a str,
}

impl<'a> Version<'a> {
    fn of(row: &'a Row<'_>) -> Result<Self, Fault> {
        let text = |index| -> Result<&str, Fault> {
            Ok((row.get_ref(index)?.as_str()).map_err(rusqlite::Error::from)?)
        };
        Ok(Version {
            id: row.get(0)?,
            position: row.get(1)?,
            key: text(2)?,
            text: text(3)?,
        })
    }
}

/// What became of a record that a scan has shown.
#[derive(PartialEq)]
enum Taken {
    Unchanged,
    Staged,
    /// Its key was shown before.
    Repeated,
}

impl Shown {
    /// Whether the scan has shown this version.
    pub(crate) fn has(&self, id: i64) -> bool {
        (self.versions.get(&(id >> 6))).is_some_and(|bits| bits & (1 << (id & 63)) != 0)
    }

    /// A record that came late, and is delivered after that, is delivered.
    fn take(
        &mut self,
        connection: &Connection,
        version: Option<Version<'_>>,
        key: &str,
        text: &str,
        late: bool,
    ) -> Result<Taken, Fault> {
        let was_late = !late && self.late.remove(key);
        if was_late {
            let delete = "DELETE FROM temp.staged WHERE key = ?1 RETURNING place";
            let place = connection.query_row(delete, [key], |row| row.get(0));
            let place: Option<i64> = place.optional()?;
            self.order.retain(|entry| Some(-entry.record) != place);
        }
        let (record, position, differs) = match &version {
            Some(version) => {
                if !self.has(version.id) {
                    *self.versions.entry(version.id >> 6).or_default() |= 1 << (version.id & 63);
                    self.sum = self.sum.wrapping_add(seal(
                        [
                            ValueRef::Integer(version.position),
                            ValueRef::Text(key.as_bytes()),
                            ValueRef::Text(version.text.as_bytes()),
                        ]
                        .into_iter(),
                    ));
                } else if !was_late {
                    return Ok(Taken::Repeated);
                }
                let differs = version.text != text && canonical(version.text) != canonical(text);
                (Some(version.id), version.position, differs)
            }
            // In a new list, they stand as they come.
            None if self.is_first => {
                let last = self.order.last().map_or(0, |last| last.position);
                (None, last.saturating_add(GAP), false)
            }
            None => (None, NONE, false),
        };
        let is_unchanged = version.is_some_and(|version| version.text == text);
        if !is_unchanged {
            let values = params![self.place + 1, key, record, position, differs, text];
            if connection.prepare_cached(STAGE)?.execute(values)? == 0 {
                return Ok(Taken::Repeated);
            }
            self.place += 1;
        }
        // What came late, and was there before, stays where it was.
        if !late || record.is_none() {
            let record = record.unwrap_or(-self.place);
            self.order.push(Entry { record, position });
        }
        if late {
            self.late.insert(key.to_owned());
        }
        Ok(match is_unchanged {
            true => Taken::Unchanged,
            false => Taken::Staged,
        })
    }
}

/// The columns of a list, and texts from which further ones are inferred.
pub(crate) struct Grown {
    resource: Resource,
    known: Option<TableSchema>,
    fields: HashSet<String>,
    /// The first that have changed, and further ones that have new fields.
    sample: Vec<String>,
}

impl Grown {
    fn learn(&mut self, text: &str) {
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

    /// All columns, with those of new fields behind the others.
    pub(crate) fn columns(&self) -> CoreResult<TableSchema> {
        let mut grown = self.known.clone();
        for sample in self.sample.chunks(TableSchema::SAMPLE) {
            let records = RawRecord::parse_all(sample)?;
            let found = TableSchema::infer(self.resource, &records, Columns::Typed);
            let Some(grown) = &mut grown else {
                grown = Some(found);
                continue;
            };
            let known: HashSet<String> = grown.fields.iter().map(|one| one.name.clone()).collect();
            let new = found.fields.into_iter();
            grown
                .fields
                .extend(new.filter(|one| !known.contains(&one.name)));
        }
        let none = || TableSchema::infer(self.resource, &[], Columns::Typed);
        let text = serde_json::to_string(&grown.unwrap_or_else(none)).unwrap_or_default();
        // Where a table cannot have so many, their values are in the last column.
        TableSchema::from_json(&text).or_else(|error| self.known.clone().ok_or(error))
    }
}
