//! Reads a mirror, without a service.
//! Each reader has its own connection and transaction, so it sees one sync regardless of later commits. It compares the
//! rows with the digests that the syncs wrote. After an error it returns no more rows, so incomplete rows never look
//! complete.

use crate::digest::Hash;
use crate::file::{MirrorResult, at, damaged, open};
use crate::history::SyncSummary;
use crate::mark::ListState;
use crate::position::{History, SyncPoint};
use crate::receipt::{RowsReceipt, SyncReceipt, SyncRow};
use crate::sql::{bind, run, sql};
use rusqlite::{Connection, named_params};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::vec::IntoIter;
use talentdata_columns::arrow::{
    Column, ColumnTypes, NewFieldPolicy, RecordBatches, TableOptions, TableSchema,
};
use talentdata_columns::export::{Format, Target, write_records};
use talentdata_core::types::ListName;
use talentdata_core::{Error, ErrorKind, RawRecord, Result};

/// The columns of a change, which come before those of its record.
const CHANGE_COLUMNS: &str = r#"[{"name":"_generation","type":"int64"},{"name":"_op","type":"string"},
    {"name":"_key","type":"string"},{"name":"_last_seen","type":"timestamp","unit":"us","fraction":6,"empty":"null"},
    {"name":"_seen","type":"timestamp","unit":"us","fraction":6},{"name":"_changed","type":"json","empty":"null"}]"#;
/// The column for the version of a record before an update.
const BEFORE_COLUMN: &str = r#"[{"name":"_before","type":"json","empty":"null"}]"#;
/// The column of current records that marks missing ones.
const CURRENT_COLUMN: &str =
    r#"[{"name":"_missing_since","type":"timestamp","unit":"us","fraction":6,"empty":"null"}]"#;

/// A mirror that is open for reading. Each read opens the file again, and sees one state even while a sync commits.
#[derive(Clone, Debug)]
pub struct Mirror {
    path: PathBuf,
}

impl Mirror {
    /// Opens a mirror.
    ///
    /// # Errors
    /// `Path` if the file does not exist or is not a mirror; `Io` if it cannot be read.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self> {
        let path = path.into();
        open(&path)?;
        Ok(Mirror { path })
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the lists in the mirror.
    ///
    /// # Errors
    /// `Io` if the file cannot be read.
    pub fn resources(&self) -> Result<Vec<ListName>> {
        let has = |list: ListName| match self.syncs(list) {
            Ok(_) => Some(Ok(list)),
            Err(error) if error.kind() == ErrorKind::InvalidArgument => None,
            Err(error) => Some(Err(error)),
        };
        ListName::ALL.into_iter().filter_map(has).collect()
    }

    /// Returns the receipts of the kept syncs of a list, oldest first.
    ///
    /// # Errors
    /// `InvalidArgument` for a list that the mirror does not have; `Io`.
    pub fn syncs(&self, resource: ListName) -> Result<Vec<SyncReceipt>> {
        let (_, history) = self.snapshot(resource)?;
        Ok(history.syncs.into_iter().map(|row| row.receipt).collect())
    }

    /// Returns a row for each kept sync of a list, oldest first.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let records = [("contacts".to_owned(), 250)].into();
    /// # let sandbox = talentdata_sandbox::Sandbox::start(talentdata_sandbox::Options { records, ..Default::default() })?;
    /// # let mut settings = talentdata_core::Client::builder();
    /// # settings.base_url(sandbox.base_url()).client_id(sandbox.client_id()).client_secret(sandbox.client_secret());
    /// # settings.budget("process");
    /// # let client = talentdata_core::blocking::Client::new(&settings)?;
    /// # let directory = tempfile::tempdir()?;
    /// use talentdata_core::ListName;
    /// use talentdata_mirror::{Mirror, Sync, history_table};
    ///
    /// let path = directory.path().join("talent.db");
    /// Sync::new(ListName::Contacts, &path).job(&client)?.run()?;
    ///
    /// let history = Mirror::open(&path)?.history(ListName::Contacts)?;
    /// assert_eq!((history.len(), history[0].inserts), (1, 250));
    /// let table = history_table(ListName::Contacts, &history)?;
    /// assert_eq!(table.schema().field(0).name(), "generation");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// See [`syncs`](Self::syncs).
    pub fn history(&self, resource: ListName) -> Result<Vec<SyncSummary>> {
        let syncs = self.syncs(resource)?.into_iter();
        Ok(syncs.map(SyncSummary::from).collect())
    }

    /// Returns the list as the last sync read it, without missing records.
    ///
    /// # Errors
    /// See [`syncs`](Self::syncs).
    pub fn present(&self, resource: ListName) -> Result<Rows> {
        let (connection, history) = self.snapshot(resource)?;
        let (sync, digest) = (history.last.clone(), history.last.digest);
        Ok(self.rows(connection, resource, Query::Records, sync, digest))
    }

    /// Returns the list as a sync read it. Without a sync, returns the list as of the last sync, including missing
    /// records, which are not proven to be gone.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let records = [("contacts".to_owned(), 250)].into();
    /// # let sandbox = talentdata_sandbox::Sandbox::start(talentdata_sandbox::Options { records, ..Default::default() })?;
    /// # let mut settings = talentdata_core::Client::builder();
    /// # settings.base_url(sandbox.base_url()).client_id(sandbox.client_id()).client_secret(sandbox.client_secret());
    /// # settings.budget("process");
    /// # let client = talentdata_core::blocking::Client::new(&settings)?;
    /// # let directory = tempfile::tempdir()?;
    /// use talentdata_core::ListName;
    /// use talentdata_mirror::{Mirror, Sync};
    ///
    /// let path = directory.path().join("talent.db");
    /// Sync::new(ListName::Contacts, &path).job(&client)?.run()?;
    ///
    /// let mirror = Mirror::open(&path)?;
    /// let records = mirror.records(ListName::Contacts, None)?;
    /// assert_eq!(records.count(), 250);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// See [`syncs`](Self::syncs); also `InvalidArgument` if the sync does not exist or is no longer kept; `Mismatch`
    /// for the bookmark of another history.
    pub fn records(&self, resource: ListName, at: Option<&SyncPoint>) -> Result<Rows> {
        let (connection, history) = self.snapshot(resource)?;
        let (query, sync, missing) = match at {
            Some(at) => (Query::Records, history.as_of(at)?.clone(), 0),
            None => (Query::Current, history.last.clone(), history.last.missing),
        };
        let digest = sync.digest ^ missing;
        Ok(self.rows(connection, resource, query, sync, digest))
    }

    /// Creates the iterator over rows whose combined digest must be `digest`.
    fn rows(
        &self,
        connection: Connection,
        resource: ListName,
        query: Query,
        sync: SyncRow,
        digest: Hash,
    ) -> Rows {
        Rows {
            connection: Some(connection),
            path: self.path.clone(),
            resource,
            query,
            sync,
            after: (i64::MIN, 0),
            digest,
            earlier: 0,
            has_versions: false,
            with_before: false,
            page: IntoIter::default(),
        }
    }

    /// Returns the changes after a sync, oldest first. After sync 0, these are all changes. Store [`Rows::bookmark`]
    /// with the rows that you load, and pass it the next time.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let records = [("contacts".to_owned(), 250)].into();
    /// # let sandbox = talentdata_sandbox::Sandbox::start(talentdata_sandbox::Options { records, ..Default::default() })?;
    /// # let mut settings = talentdata_core::Client::builder();
    /// # settings.base_url(sandbox.base_url()).client_id(sandbox.client_id()).client_secret(sandbox.client_secret());
    /// # settings.budget("process");
    /// # let client = talentdata_core::blocking::Client::new(&settings)?;
    /// # let directory = tempfile::tempdir()?;
    /// use talentdata_core::ListName;
    /// use talentdata_mirror::{Mirror, Sync, SyncPoint};
    ///
    /// let path = directory.path().join("talent.db");
    /// Sync::new(ListName::Contacts, &path).job(&client)?.run()?;
    /// # sandbox.change("contacts", talentdata_sandbox::Change::Insert(1))?;
    /// Sync::new(ListName::Contacts, &path).job(&client)?.run()?;
    ///
    /// let changes = Mirror::open(&path)?.changes(ListName::Contacts, &SyncPoint::Sync(1))?;
    /// let changes: Vec<_> = changes.collect::<Result<_, _>>()?;
    /// assert_eq!(changes.len(), 1);
    /// assert!(changes[0].as_str().contains(r#""op":"insert""#));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// See [`syncs`](Self::syncs); also `Mismatch` if the sync is of another history, if changes after it are no longer
    /// kept, or if its number alone is ambiguous. Load the whole list again in these cases.
    pub fn changes(&self, resource: ListName, since: &SyncPoint) -> Result<Rows> {
        let (connection, history) = self.snapshot(resource)?;
        let since = history.since("since", since)?;
        let wanted = history.syncs.iter().filter(|row| row.number() > since);
        let digest = wanted.fold(0, |digest, row| digest ^ row.changes);
        let prepared = connection.execute_batch(sql!("earlier"));
        prepared.map_err(|fault| at(&self.path)(fault.into()))?;
        let rows = self.rows(connection, resource, Query::Changes, history.last, digest);
        Ok(Rows {
            after: (since + 1, 0),
            ..rows
        })
    }

    /// Returns the number of the sync in the argument `name`, if all changes after it are kept.
    pub(crate) fn number_of(&self, resource: ListName, name: &str, at: &SyncPoint) -> Result<i64> {
        self.snapshot(resource)?.1.since(name, at)
    }

    /// Opens the file in its current state, and reads the history of a list.
    fn snapshot(&self, resource: ListName) -> Result<(Connection, History)> {
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
            return Err(lacks_list(&self.path, resource));
        };
        let history = History {
            list: resource,
            syncs,
            last,
            fork: state.compared(&self.path, list).fork,
        };
        Ok((connection, history))
    }
}

/// Returns the error for a list that a mirror does not have.
pub(crate) fn lacks_list(path: &Path, resource: ListName) -> Error {
    let path = path.display();
    Error::invalid(format!(
        "{path} does not have {resource}; a sync reads a list into a mirror"
    ))
}

/// The kinds of rows in a mirror.
#[derive(Clone, Copy, PartialEq)]
enum Query {
    /// Records as a sync read them.
    Records,
    /// Records as of the last sync, including missing ones.
    Current,
    /// Changes as objects.
    Changes,
    /// Changes as rows of a table.
    ChangeRows,
    /// Records as of the last sync as rows of a table, which marks missing ones.
    CurrentRows,
}

/// An iterator over rows of a mirror: the records of a list in its order, byte for byte as a sync read them, or
/// changes, oldest first, each as
/// `{"generation":17,"op":"update","key":"c-1","last_seen":...,"seen":...,"changed":["email"],"record":{...}}`.
/// `changed` has the names of the fields that an update changed. It is null for other changes.
pub struct Rows {
    /// `None` after the last row and after an error, so that the reader needs no byte of the file anymore.
    connection: Option<Connection>,
    path: PathBuf,
    resource: ListName,
    query: Query,
    sync: SyncRow,
    /// The position of the last row that was read.
    after: (i64, i64),
    /// The combined digest of the remaining rows.
    digest: Hash,
    /// The number of rows before the page.
    earlier: u64,
    /// True after a search for the versions before updates.
    has_versions: bool,
    /// True if updates have the record before.
    with_before: bool,
    /// Rows that were read.
    page: IntoIter<RawRecord>,
}

/// Omits the rows, which may be confidential.
impl std::fmt::Debug for Rows {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Rows")
            .field("path", &self.path)
            .field("resource", &self.resource)
            .field("generation", &self.sync.receipt.generation)
            .finish_non_exhaustive()
    }
}

impl Rows {
    /// Returns the receipt of the sync whose records these are, or of the last sync whose changes are included.
    pub fn sync(&self) -> &SyncReceipt {
        &self.sync.receipt
    }

    /// Returns the bookmark of this sync. Store it with the rows, even if there are none.
    pub fn bookmark(&self) -> &str {
        &self.sync.receipt.bookmark
    }

    /// Adds to each change the version of the record before an update: the member `before` of an object, or the column
    /// `_before` of a table.
    ///
    /// # Errors
    /// `InvalidArgument` for rows that are not changes.
    pub fn with_before(mut self, before: bool) -> Result<Self> {
        if before && self.query != Query::Changes {
            return Err(Error::invalid(
                "before: only changes have a version before them; omit this option for records",
            ));
        }
        self.with_before = before;
        Ok(self)
    }

    /// Returns the rows as Arrow record batches, with the columns of the mirror unless you give a schema. The columns
    /// of a change come before those of its record. The metadata of the schema has the [`bookmark`](Self::bookmark) as
    /// `talentdata.bookmark`.
    ///
    /// # Errors
    /// `Io` if the first rows cannot be read; `InvalidArgument` for a schema of another list. A batch fails with
    /// `Schema` for a field without a column or a value that does not fit its column, if the options say so.
    pub fn into_batches(mut self, table: TableOptions) -> Result<RecordBatches> {
        let (resource, table) = (self.resource, self.table(table));
        let bookmark = self.bookmark().to_owned();
        let batches = RecordBatches::new(resource, &table, self)?;
        Ok(batches.with_metadata("talentdata.bookmark", bookmark))
    }

    /// Writes the rows as an export of the list writes them. Returns the receipt of the sync, with the facts about the
    /// written file for its verification, and with the differences between the rows and their columns.
    ///
    /// # Errors
    /// `Io` with the path; `InvalidArgument` for a schema of another list; `Schema` as for batches
    /// ([`into_batches`](Self::into_batches)).
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
            erased_since,
            scan: mut export,
            ..
        } = self.sync.receipt.clone();
        let has_columns = format != Format::Jsonl;
        if has_columns {
            table = self.table(table);
        } else if self.query == Query::Changes
            && (table.schema.is_some() || table.on_new == NewFieldPolicy::Fail)
        {
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
            erased_since,
            export,
        })
    }

    /// Turns changes and current records into rows of a table. Returns the options with the given columns, or with
    /// those of the mirror.
    fn table(&mut self, mut table: TableOptions) -> TableOptions {
        let is_json = table.columns == ColumnTypes::Json;
        let mirrored = || {
            let known = self.sync.columns.clone();
            if is_json { known.into_json() } else { known }
        };
        if self.query == Query::Changes {
            // Changes contain only some records of the list, so a field that all of them lack is not reported.
            let given = table.schema.take();
            let mut known = given.map_or_else(mirrored, Arc::unwrap_or_clone);
            let mut own = own_columns(CHANGE_COLUMNS);
            if self.with_before {
                own.extend(own_columns(BEFORE_COLUMN));
            }
            remove_named(&mut known, &own);
            known.fields.splice(0..0, own);
            table.known = Some(Arc::new(known));
            self.query = Query::ChangeRows;
        } else if table.schema.is_none() {
            let mut known = mirrored();
            if self.query == Query::Current {
                let own = own_columns(CURRENT_COLUMN);
                remove_named(&mut known, &own);
                known.fields.extend(own);
                self.query = Query::CurrentRows;
            }
            table.known = Some(Arc::new(known));
        }
        table
    }

    /// Reads the next page. Returns false at the end.
    fn fill(&mut self, connection: &Connection) -> MirrorResult<bool> {
        let list = self.resource.name();
        let mut found = self.read_page(connection)?;
        if found.lacks_versions && !self.has_versions {
            let values = named_params! {":list": list, ":since": self.after.0 - 1};
            run(connection, sql!("find_earlier"), values)?;
            self.has_versions = true;
            found = self.read_page(connection)?;
        }
        self.after = found.last.unwrap_or(self.after);
        self.digest ^= found.digest;
        if found.texts.is_empty() && self.digest != 0 {
            let what = format!("the rows of {list} differ from what its syncs wrote");
            return Err(damaged(what).into());
        }
        let page = RawRecord::parse_page(&found.texts, self.earlier);
        let page = page.map_err(|error| damaged(error.message()))?;
        self.earlier += page.len() as u64;
        self.page = page.into_iter();
        Ok(self.page.len() > 0)
    }

    /// Reads the rows after the last one that was read.
    fn read_page(&self, connection: &Connection) -> MirrorResult<FoundRows> {
        let is_change = matches!(self.query, Query::Changes | Query::ChangeRows);
        // Each row consists of two numbers for its position, its digest, and its text.
        let mut statement = connection.prepare_cached(if is_change {
            sql!("changes")
        } else {
            sql!("records")
        })?;
        let values = named_params! {
            ":list": self.resource.name(),
            ":first": self.after.0,
            ":second": self.after.1,
            ":sync": self.sync.number(),
            ":with_missing": matches!(self.query, Query::Current | Query::CurrentRows),
            ":is_row": matches!(self.query, Query::ChangeRows | Query::CurrentRows),
            ":with_before": self.with_before,
        };
        bind(&mut statement, values)?;
        let mut rows = statement.raw_query();
        let mut found = FoundRows::default();
        while let Some(row) = rows.next()? {
            found.last = Some((row.get(0)?, row.get(1)?));
            found.digest ^= row.get::<_, Hash>(2)?;
            found.texts.push(row.get(3)?);
            found.lacks_versions |= is_change && row.get(4)?;
        }
        Ok(found)
    }
}

/// Reads the columns that describe a row.
fn own_columns(json: &str) -> Vec<Column> {
    serde_json::from_str(json).unwrap_or_default()
}

/// Removes the columns with the names of our own columns. A field of such a name stays in the last column.
fn remove_named(known: &mut TableSchema, own: &[Column]) {
    let is_own = |name: &str| own.iter().any(|own| own.name == name);
    known.fields.retain(|field| !is_own(&field.name));
}

/// A page of rows from the file.
#[derive(Default)]
struct FoundRows {
    texts: Vec<String>,
    /// The combined digest of the rows.
    digest: Hash,
    /// The position of the last row.
    last: Option<(i64, i64)>,
    /// True if the version before an update was not found.
    lacks_versions: bool,
}

impl Iterator for Rows {
    type Item = Result<RawRecord>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.page.len() == 0 {
            let connection = self.connection.take()?;
            match self.fill(&connection) {
                Ok(true) => self.connection = Some(connection),
                Ok(false) => {}
                Err(fault) => return Some(Err(at(&self.path)(fault))),
            }
        }
        self.page.next().map(Ok)
    }
}
