//! The records of a scan, beside the mirror until the scan is complete: what of them differs from the last sync.

use crate::canonical::{Hash, canonical, key};
use crate::file::{Claim, Fault};
use crate::seal::{Digest, SyncRow, of_record};
use rusqlite::{Connection, OptionalExtension, Statement, params};
use std::collections::HashSet;
use std::time::SystemTime;
use talentdata_columns::arrow::TableSchema;
use talentdata_core::scan::utc;
use talentdata_core::types::Resource;
use talentdata_core::{Error, ErrorKind, RawRecord};

/// Records of which the columns are inferred: the first that are new, and as many that have new fields.
const SAMPLE: usize = 1_000;

/// The text of a record whose bytes are those of the last sync is not kept twice.
const STAGED: &str = "CREATE TEMP TABLE staged (place INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, late INTEGER NOT NULL, \
     record INTEGER, position BLOB, text TEXT, hash BLOB, updated INTEGER NOT NULL) STRICT";

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
    /// Records of the last sync that were delivered again, and their digest.
    pub(crate) seen: Bits,
    pub(crate) digest: Digest,
    /// Whether two records were delivered under one `id`.
    pub(crate) repeated: bool,
    /// Texts from which new columns are inferred: the first, and further ones that have new fields.
    pub(crate) sample: Vec<String>,
    pub(crate) fresh: Vec<String>,
    fields: HashSet<String>,
    place: i64,
}

/// A set of small numbers.
#[derive(Default)]
pub(crate) struct Bits {
    words: Vec<u64>,
    pub(crate) count: u64,
}

impl Bits {
    fn insert(&mut self, number: i64) -> bool {
        let (word, bit) = ((number / 64) as usize, 1 << (number % 64));
        if word >= self.words.len() {
            self.words.resize(word + 1 + word / 8, 0);
        }
        let fresh = self.words[word] & bit == 0;
        self.words[word] |= bit;
        self.count += u64::from(fresh);
        fresh
    }

    pub(crate) fn contains(&self, number: i64) -> bool {
        let word = self.words.get((number / 64) as usize);
        word.is_some_and(|word| word & (1 << (number % 64)) != 0)
    }
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
        let list = resource.name();
        for (name, value) in ["base_url", "client_id"].into_iter().zip(of) {
            let select = "SELECT value FROM meta WHERE name = ?1";
            let known: Option<String> = connection
                .query_row(select, [name], |row| row.get(0))
                .optional()?;
            match known {
                None => {
                    connection.execute("INSERT INTO meta VALUES (?1, ?2)", [name, &value])?;
                }
                Some(known) if known != value => {
                    let message = format!(
                        "{name}: the mirror is of {known}, this sync of {value}; sync into another file"
                    );
                    return Err(Error::new(ErrorKind::InvalidArgument, message).into());
                }
                Some(_) => {}
            }
        }
        let before = SyncRow::last(&connection, list)?;
        if let Some(before) = &before
            && before.parameters != parameters
        {
            let message = format!(
                "parameters: the mirror has {list} with {}, this sync has {parameters}; sync into another file",
                before.parameters
            );
            return Err(Error::new(ErrorKind::InvalidArgument, message).into());
        }
        let columns = before
            .as_ref()
            .map(|before| TableSchema::from_json(&before.columns));
        let columns = columns.transpose()?;
        connection.execute_batch(STAGED)?;
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
            seen: Bits::default(),
            digest: Digest::default(),
            repeated: false,
            sample: Vec::new(),
            fresh: Vec::new(),
            place: 0,
        })
    }

    /// What stops a commit that is under way.
    pub(crate) fn interrupt(&self) -> rusqlite::InterruptHandle {
        self.connection.get_interrupt_handle()
    }

    /// Takes the records of a page: those that are delivered, or those that came before them during the scan.
    pub(crate) fn take(&mut self, records: &[RawRecord], late: bool) -> Result<(), Fault> {
        if records.is_empty() {
            return Ok(());
        }
        let connection = &self.connection;
        let mut known = connection.prepare_cached(
            "SELECT id, position, hash, text FROM record WHERE list = ?1 AND key = ?2 AND last IS NULL",
        )?;
        let mut insert = connection.prepare_cached(
            "INSERT INTO temp.staged VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (key) DO NOTHING",
        )?;
        let mut promote = connection
            .prepare_cached("DELETE FROM temp.staged WHERE key = ?1 AND late AND NOT ?2")?;
        for record in records {
            let text = record.as_str();
            let (base, by_id) = key(record);
            let (mut key, mut ordinal) = (base.clone(), 1);
            loop {
                let mut staged = Staged::default();
                let found = staged.compare(&mut known, self.list, &key, text)?;
                if staged.text.is_some() {
                    let mut fresh = false;
                    let hash = canonical(text, |name| {
                        fresh |= !self.fields.contains(name) && self.fields.insert(name.to_owned());
                    });
                    staged.updated = staged.hash != Some(hash);
                    staged.hash = Some(hash);
                    let full = self.sample.len() >= SAMPLE;
                    let sample = if full {
                        &mut self.fresh
                    } else {
                        &mut self.sample
                    };
                    if (fresh || !full) && sample.len() < SAMPLE {
                        sample.push(text.to_owned());
                    }
                }
                self.place += 1;
                let Staged {
                    record: id,
                    position,
                    text,
                    hash,
                    updated,
                } = &staged;
                let values = params![self.place, key, late, id, position, text, hash, updated];
                let taken = insert.execute(values)? == 1
                    || promote.execute(params![key, late])? == 1 && insert.execute(values)? == 1;
                if taken {
                    if let Some((id, hash)) = found
                        && self.seen.insert(id)
                    {
                        self.digest.add(hash);
                    }
                    break;
                }
                if late {
                    // It was shown before.
                    break;
                }
                if by_id {
                    self.repeated = true;
                    break;
                }
                ordinal += 1;
                key = format!("{base}~{ordinal}");
            }
        }
        Ok(())
    }
}

/// A record, compared with the last sync.
#[derive(Default)]
struct Staged<'a> {
    record: Option<i64>,
    position: Option<Vec<u8>>,
    /// None where the bytes are the same.
    text: Option<&'a str>,
    hash: Option<Hash>,
    updated: bool,
}

impl<'a> Staged<'a> {
    /// Looks the record up; returns the row of the last sync and what it adds to the digest.
    fn compare(
        &mut self,
        known: &mut Statement<'_>,
        list: &str,
        key: &str,
        text: &'a str,
    ) -> Result<Option<(i64, Hash)>, Fault> {
        self.text = Some(text);
        let mut rows = known.query([list, key])?;
        let Some(row) = rows.next()? else {
            return Ok(None);
        };
        let id = row.get(0)?;
        let position = row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
        let before = row.get_ref(3)?.as_str().map_err(rusqlite::Error::from)?;
        let hash = of_record(position, key, before);
        if before == text {
            self.text = None;
        } else {
            self.hash = Some(row.get(2)?);
        }
        self.record = Some(id);
        self.position = Some(position.to_vec());
        Ok(Some((id, hash)))
    }
}
