//! Reads a mirror, without a service; and takes lists out of it.
//!
//! Each reader has its own connection and transaction, so that it sees one sync, whatever others commit meanwhile. It
//! compares what it has read with the digests that the syncs have written down, and after an error there is nothing more:
//! what was cut short never looks like an end.

use crate::digest::Hash;
use crate::file::{Claim, MirrorResult, at, damaged, open};
use crate::mark::{ListState, Marker};
use crate::position::{History, SyncPoint};
use crate::receipt::{CHANGES, RowsReceipt, SyncReceipt, SyncRow};
use crate::upgrade::upgrade;
use crate::views;
use rusqlite::{Connection, params};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::vec::IntoIter;
use talentdata_columns::arrow::{Column, Columns, OnNew, RecordBatches, TableOptions};
use talentdata_columns::export::{Format, Target, write_records};
use talentdata_core::types::ListName;
use talentdata_core::{Error, ErrorKind, RawRecord, Result};

/// Rows read at once: as many as the service gives at once.
const PAGE: usize = 100;

/// A change as a record of its own.
const LINE: &str = r#"printf('{"generation":%d,"op":%s,"key":%s,"last_seen":%s,"seen":%s,"record":%s}',
    sync, json_quote(op), json_quote(change.key), json_quote(change.last_seen), json_quote(seen), text)"#;
/// A change as a row of a table: the fields of the change stand behind those of the record, because of a name that occurs
/// twice the last counts.
const ROW: &str = r#"rtrim(substr(text, 1, length(text) - 1), char(9, 10, 13, 32)) || iif(instr(text, '"'), ',', '')
    || printf('"_generation":%d,"_op":%s,"_key":%s,"_last_seen":%s,"_seen":%s}',
    sync, json_quote(op), json_quote(change.key), json_quote(change.last_seen), json_quote(seen))"#;

/// The columns of a change, which stand before those of its record.
const COLUMNS: &str = r#"[{"name":"_generation","type":"int64"},{"name":"_op","type":"string"},
    {"name":"_key","type":"string"},{"name":"_last_seen","type":"timestamp","unit":"us","fraction":6,"empty":"null"},
    {"name":"_seen","type":"timestamp","unit":"us","fraction":6}]"#;

/// A mirror. It is opened anew for whatever is read, and what is being read stays as it is while a sync commits.
#[derive(Clone, Debug)]
pub struct Mirror {
    path: PathBuf,
}

impl Mirror {
    /// Opens a mirror.
    ///
    /// # Errors
    /// `Io` when there is none, or it cannot be read.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self> {
        let path = path.into();
        open(&path)?;
        Ok(Mirror { path })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The lists that it has.
    ///
    /// # Errors
    /// `Io`, when it cannot be read.
    pub fn resources(&self) -> Result<Vec<ListName>> {
        let has = |list: ListName| match self.syncs(list) {
            Ok(_) => Some(Ok(list)),
            Err(error) if error.kind() == ErrorKind::InvalidArgument => None,
            Err(error) => Some(Err(error)),
        };
        ListName::ALL.into_iter().filter_map(has).collect()
    }

    /// What the syncs of a list have done that are kept, the oldest first.
    ///
    /// # Errors
    /// `InvalidArgument` for a list that it does not have; `Io`.
    pub fn syncs(&self, resource: ListName) -> Result<Vec<SyncReceipt>> {
        let (_, history) = self.snapshot(resource)?;
        Ok(history.syncs.into_iter().map(|row| row.receipt).collect())
    }

    /// The list as a sync has read it; or as of the last sync, with records that are missing without a proof that they are
    /// gone.
    ///
    /// # Errors
    /// As [`syncs`](Self::syncs); `InvalidArgument` where there was no such sync, or it is no longer kept.
    pub fn records(&self, resource: ListName, at: Option<&SyncPoint>) -> Result<Rows> {
        let (mut rows, history) = self.snapshot(resource)?;
        let sync = match at {
            Some(at) => history.as_of(at)?.clone(),
            None => rows.sync.clone(),
        };
        let (number, with_missing) = (sync.number(), at.is_none());
        rows.rest = sync.digest ^ if with_missing { sync.missing } else { 0 };
        rows.sql = format!(
            "SELECT position, id, iif(seen, seal(position, key, text), seal(position, key, text, last, missing, last_seen)), text
             FROM (SELECT *, first <= {number} AND ifnull(last >= {number}, 1) AS seen FROM record INDEXED BY record_order
             WHERE list = ?1) WHERE position >= ?2 AND (position, id) > (?2, ?3)
             AND (seen OR {with_missing} AND missing IS NOT NULL) ORDER BY position, id LIMIT {PAGE}"
        );
        rows.sync = sync;
        Ok(rows)
    }

    /// What has changed after a sync, from the oldest change to the newest; after sync 0, everything. Note
    /// [`Rows::bookmark`] with what was loaded: the changes after it are the next ones.
    ///
    /// # Errors
    /// As [`syncs`](Self::syncs); `InvalidArgument` where there is no such sync in this history, changes after it are no
    /// longer kept, or its number alone may be that of another sync as well.
    pub fn changes(&self, resource: ListName, since: &SyncPoint) -> Result<Rows> {
        let (mut rows, history) = self.snapshot(resource)?;
        let since = history.since(since)?;
        let wanted = history.syncs.iter().filter(|row| row.number() > since);
        rows.rest = wanted.fold(0, |rest, row| rest ^ row.changes);
        rows.own = serde_json::from_str(COLUMNS).unwrap_or_default();
        let [digest, from] = CHANGES;
        rows.sql = format!(
            "SELECT sync, seq, seal{digest}, {LINE} {from} AND (sync, seq) > (?2, ?3) ORDER BY sync, seq LIMIT {PAGE}"
        );
        rows.behind = (since + 1, 0);
        Ok(rows)
    }

    /// One state of the file, for rows of the last sync of a list, and the syncs of the list.
    fn snapshot(&self, resource: ListName) -> Result<(Rows, History)> {
        let connection = open(&self.path)?;
        let list = resource.name();
        let read = || {
            Ok((
                SyncRow::all(&connection, list)?,
                ListState::read(&connection, list)?,
            ))
        };
        let (syncs, state) = read().map_err(at(&self.path))?;
        let Some(last) = syncs.last().cloned() else {
            let path = self.path.display();
            return Err(Error::invalid(format!(
                "{path} does not have {resource}; `talentdata sync` reads a list into a mirror"
            )));
        };
        let rows = Rows {
            connection,
            path: self.path.clone(),
            resource,
            sync: last,
            sql: String::new(),
            own: Vec::new(),
            behind: (i64::MIN, 0),
            given: 0,
            rest: 0,
            page: Some(IntoIter::default()),
        };
        let fork = state.compared(&self.path, list).fork;
        let history = History {
            list: resource,
            syncs,
            fork,
        };
        Ok((rows, history))
    }
}

/// The records of a list, in its order and byte for byte as a sync has read them; or changes, from the oldest to the newest,
/// each as `{"generation":17,"op":"update","key":"c-1","last_seen":...,"seen":...,"record":{...}}`.
pub struct Rows {
    connection: Connection,
    path: PathBuf,
    resource: ListName,
    sync: SyncRow,
    /// Gives the place of a row, its digest, and its text.
    sql: String,
    /// Columns that stand before those of the records.
    own: Vec<Column>,
    behind: (i64, i64),
    /// Rows that were read before the page.
    given: u64,
    /// The digest of the rows that are still to come.
    rest: Hash,
    /// Rows that were read; none after the last one, and after an error.
    page: Option<IntoIter<RawRecord>>,
}

impl Rows {
    /// The sync as of which the records are, or up to which the changes go.
    pub fn sync(&self) -> &SyncReceipt {
        &self.sync.receipt
    }

    /// The bookmark of this sync, to be noted with the rows, even if there are none.
    pub fn bookmark(&self) -> &str {
        &self.sync.receipt.bookmark
    }

    /// The rows in Arrow record batches of `rows` rows, with the columns of the mirror unless a schema is given; those of a
    /// change stand before those of its record. The metadata of their schema has the [`bookmark`](Self::bookmark) as
    /// `talentdata.bookmark`.
    ///
    /// # Errors
    /// `Io`, when the first rows cannot be read; `InvalidArgument` for a schema of another list. Of the batches: `Schema` for a
    /// field without a column, or a value that does not fit its column, where that is to fail.
    pub fn into_batches(mut self, rows: usize, table: TableOptions) -> Result<RecordBatches> {
        let (resource, table) = (self.resource, self.table(table));
        let bookmark = self.bookmark().to_owned();
        let batches = RecordBatches::new(resource, &table, rows, self)?;
        Ok(batches.with_metadata("talentdata.bookmark", bookmark))
    }

    /// Writes the rows as an export of the list writes them; returns the receipt of the sync with what was written, by which
    /// the file can be verified, and how the rows differed from their columns.
    ///
    /// # Errors
    /// `Io`, naming the file; `InvalidArgument` for a schema of another list; `Schema` as for the batches.
    pub fn write(
        mut self,
        format: Format,
        target: &Target,
        mut table: TableOptions,
    ) -> Result<RowsReceipt> {
        let resource = self.resource;
        let SyncReceipt {
            generation,
            bookmark,
            scan: mut export,
            ..
        } = self.sync.receipt.clone();
        let has_columns = format != Format::Jsonl;
        if has_columns {
            table = self.table(table);
        } else if !self.own.is_empty() && (table.schema.is_some() || table.on_new == OnNew::Fail) {
            let message = "schema, on_new_field: changes as JSON Lines have no columns; choose another format";
            return Err(Error::invalid(message.to_owned()));
        }
        let (written, differences) = write_records(resource, format, target, table, self)?;
        export.schema = differences;
        export.records = written.records;
        export.written = Some(written);
        Ok(RowsReceipt {
            generation,
            bookmark,
            export,
        })
    }

    /// The columns: those that are given, else those of the mirror.
    fn table(&mut self, mut table: TableOptions) -> TableOptions {
        self.sql = self.sql.replace(LINE, ROW);
        let is_json = table.columns == Columns::Json;
        let mirrored = || {
            let known = self.sync.columns.clone();
            if is_json { known.into_json() } else { known }
        };
        if !self.own.is_empty() {
            // Of some records of a list, a field that is missing is no news.
            let given = table.schema.take();
            let mut known = given.map_or_else(mirrored, Arc::unwrap_or_clone);
            // A field of the same name stays in the last column.
            let is_own = |name: &str| self.own.iter().any(|own| own.name == name);
            known.fields.retain(|field| !is_own(&field.name));
            known.fields.splice(0..0, self.own.iter().cloned());
            table.known = Some(Arc::new(known));
        } else if table.schema.is_none() {
            table.known = Some(Arc::new(mirrored()));
        }
        table
    }

    /// Reads a page, or finds the end.
    fn fill(&mut self) -> MirrorResult<()> {
        let (list, (first, second)) = (self.resource.name(), self.behind);
        let mut statement = self.connection.prepare_cached(&self.sql)?;
        let mut rows = statement.query(params![list, first, second])?;
        let mut texts: Vec<String> = Vec::new();
        while let Some(row) = rows.next()? {
            self.behind = (row.get(0)?, row.get(1)?);
            self.rest ^= row.get::<_, Hash>(2)?;
            texts.push(row.get(3)?);
        }
        if texts.is_empty() && self.rest != 0 {
            let what = format!("the rows of {list} are not those that its syncs have written");
            return Err(damaged(what).into());
        }
        let page = RawRecord::parse_page(&texts, self.given);
        let page = page.map_err(|error| damaged(error.message()))?;
        self.given += page.len() as u64;
        self.page = (!page.is_empty()).then(|| page.into_iter());
        Ok(())
    }
}

impl Iterator for Rows {
    type Item = Result<RawRecord>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.page.as_ref()?.len() == 0 {
            if let Err(fault) = self.fill() {
                self.page = None;
                return Some(Err(at(&self.path)(fault)));
            }
        }
        self.page.as_mut()?.next().map(Ok)
    }
}

/// Removes a list from a mirror, with all that is kept of it but the number of its last sync, which is not used again.
///
/// # Errors
/// `InvalidArgument` for a list that it does not have; `Io`, also while a sync is writing to it.
pub fn forget(path: &Path, resource: ListName) -> Result<()> {
    Mirror::open(path)?.syncs(resource)?;
    let (claim, list) = (Claim::acquire(path)?, resource.name());
    // What is forgotten is not to be found in the file.
    let sql = format!(
        "DELETE FROM change WHERE list = '{list}';
        DELETE FROM record WHERE list = '{list}';
        DELETE FROM sync WHERE list = '{list}';
        {}; COMMIT; VACUUM; PRAGMA wal_checkpoint(TRUNCATE)",
        views::drop(list)
    );
    let remove = || -> MirrorResult<()> {
        let connection = claim.open()?;
        connection.execute_batch("PRAGMA secure_delete = ON; BEGIN IMMEDIATE")?;
        upgrade(&connection)?;
        let fork = ListState::read(&connection, list)?
            .compared(path, list)
            .fork;
        connection.execute_batch(&sql)?;
        let state = ListState {
            fork,
            ..ListState::read(&connection, list)?
        };
        Marker::new(&claim).note(list, &state, None);
        Ok(())
    };
    remove().map_err(at(path))
}
