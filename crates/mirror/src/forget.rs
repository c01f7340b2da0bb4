//! Removes lists and single records from a mirror, so that no byte of them remains in its files.

use crate::bookmark::Bookmark;
use crate::clean::{clean, is_due, require};
use crate::commit::changes_digest;
use crate::erase::take_out;
use crate::file::{Claim, MirrorResult, at, damaged};
use crate::mark::{ListState, Marker};
use crate::mirror::{Mirror, lacks_list};
use crate::position::SyncPoint;
use crate::receipt::{ChangeCounts, SyncRow};
use crate::sql::{bind, run, sql};
use crate::tables::new_id;
use crate::upgrade::upgrade;
use crate::views;
use rusqlite::{Connection, named_params};
use serde::Serialize;
use serde_json::{Number, Value};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use talentdata_core::internal::{HASHED_FIELDS, KEY_NAME, utc};
use talentdata_core::scan::HashKey;
use talentdata_core::types::ListName;
use talentdata_core::{Error, ErrorKind, RawRecord, Result};

/// Removes a list and its history from a mirror. Only the number of its last sync remains, and is not used again.
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
/// use talentdata_mirror::{Mirror, Sync, forget};
///
/// let path = directory.path().join("talent.db");
/// Sync::new(ListName::Contacts, &path).job(&client)?.run()?;
///
/// forget(&path, ListName::Contacts)?;
/// assert!(Mirror::open(&path)?.resources()?.is_empty());
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// `InvalidArgument` for a list that the mirror does not have; `Busy` while a sync is writing to the mirror, or if the
/// list was removed but a reader still needs its bytes; `Path`; `Io`.
pub fn forget(path: &Path, resource: ListName) -> Result<()> {
    let list = resource.name();
    Writing::open(path)?.apply(list, |connection, _| {
        let state = ListState::read(connection, list)?;
        if state.sync.is_none() {
            // A removal that was interrupted before it cleaned the file is finished now.
            let is_unfinished = is_due(connection)? && !state.epoch.is_empty();
            return if is_unfinished {
                Ok(((), None))
            } else {
                Err(lacks_list(path, resource).into())
            };
        }
        let fork = state.compared(path, list).fork;
        run(connection, sql!("forget"), named_params! {":list": list})?;
        views::drop(connection, list)?;
        require(connection)?;
        let state = ListState {
            fork,
            ..ListState::read(connection, list)?
        };
        Ok(((), Some(state)))
    })
}

/// An erasure of records of a list in a mirror, with all their versions and changes.
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
/// use talentdata_mirror::{Erase, Mirror, Sync};
///
/// let path = directory.path().join("talent.db");
/// Sync::new(ListName::Contacts, &path).job(&client)?.run()?;
/// # let first = Mirror::open(&path)?.records(ListName::Contacts, None)?.next().unwrap()?;
/// # let id = first.id().unwrap().trim_matches('"');
///
/// let erased = Erase::new(ListName::Contacts, &path, [id]).run()?;
/// assert_eq!((erased.records, erased.versions), (1, 1));
/// assert_eq!(Mirror::open(&path)?.records(ListName::Contacts, None)?.count(), 249);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Erase {
    /// The list.
    pub resource: ListName,
    /// The file of the mirror.
    pub path: PathBuf,
    /// The ids of the records, as text. If the list was synced with `id` in `hash`, also the ids before they were
    /// hashed.
    pub records: Vec<String>,
    /// True to report each record as a change `erased` with its key, so that copies can follow.
    pub announced: bool,
    /// True to keep a digest of each id, so that later syncs do not store the record again.
    pub keep_out: bool,
    /// The key of the hashed ids, or the error of reading it. Needed only for an id that is given as it was before it was
    /// hashed.
    pub hash_key: Result<Option<HashKey>>,
}

/// The numbers of records, versions and changes that an erasure removed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Erasure {
    /// The number of records, without records that were erased before.
    pub records: u64,
    /// The number of their versions.
    pub versions: u64,
    /// The number of their changes.
    pub changes: u64,
    /// The bookmark of the last sync. An announced erasure counts as a sync.
    pub bookmark: String,
}

impl Erase {
    /// Creates an announced erasure of the records with these ids.
    pub fn new<I: Into<String>>(
        resource: ListName,
        path: impl Into<PathBuf>,
        records: impl IntoIterator<Item = I>,
    ) -> Self {
        Erase {
            resource,
            path: path.into(),
            records: records.into_iter().map(Into::into).collect(),
            announced: true,
            keep_out: false,
            hash_key: Ok(None),
        }
    }

    /// Sets [`announced`](Self::announced).
    pub fn with_announced(mut self, announced: bool) -> Self {
        self.announced = announced;
        self
    }

    /// Sets [`keep_out`](Self::keep_out).
    pub fn with_keep_out(mut self, keep_out: bool) -> Self {
        self.keep_out = keep_out;
        self
    }

    /// Sets [`hash_key`](Self::hash_key).
    pub fn with_hash_key(mut self, key: Result<Option<HashKey>>) -> Self {
        self.hash_key = key;
        self
    }

    /// Erases the records in one transaction, and cleans the file. If the service still lists them, the next sync
    /// brings them back, unless they are kept out. If the process ends before the file is clean, the next erasure or
    /// sync cleans it. Records that were erased before are skipped while their change `erased` is kept. An erasure that
    /// is not announced can be repeated until the file is clean.
    ///
    /// # Errors
    /// `InvalidArgument` for a list that the mirror does not have, for an id that no record has, and for records
    /// without an id; `Config` if ids are hashed and the key is missing, and `Mismatch` if it is another key. Nothing
    /// is erased in these cases. `Busy` while a sync is writing to the mirror, or if the records were erased but a
    /// reader still needs their bytes. `Path`; `Io`; `StorageFull`.
    pub fn run(&self) -> Result<Erasure> {
        self.run_in(Writing::open(&self.path)?)
    }

    pub(crate) fn run_in(&self, writing: Writing) -> Result<Erasure> {
        writing.apply(self.resource.name(), |connection, marker| {
            self.erase(connection, marker)
        })
    }

    /// Erases the records in the open transaction. Returns the state of the list if there is a new sync.
    fn erase(
        &self,
        connection: &Connection,
        marker: &Marker,
    ) -> MirrorResult<(Erasure, Option<ListState>)> {
        let list = self.resource.name();
        let mut syncs = SyncRow::all(connection, list)?;
        let state = ListState::read(connection, list)?.compared(&self.path, list);
        let Some(last) = syncs.last() else {
            return Err(lacks_list(&self.path, self.resource).into());
        };
        if last.number() != state.last {
            return Err(damaged(format!("the last sync of {list} is missing")).into());
        }
        self.find(connection, last)?;
        let records: i64 =
            connection.query_row("SELECT count(*) FROM erased", [], |row| row.get(0))?;
        let mut erasure = Erasure {
            records: records.unsigned_abs(),
            bookmark: last.bookmark.to_string(),
            ..Erasure::default()
        };
        if records == 0 {
            return Ok((erasure, None));
        }
        let taken = take_out(connection, list, &mut syncs)?;
        (erasure.versions, erasure.changes) = (taken.versions, taken.changes);
        require(connection)?;
        let Some(last) = syncs.pop().filter(|_| self.announced) else {
            return Ok((erasure, None));
        };
        let row = announce(connection, list, last, &state, erasure.records)?;
        erasure.bookmark = row.bookmark.to_string();
        marker.note(list, &state, Some(&row.id));
        let state = ListState {
            last: row.number(),
            sync: Some(row.id),
            ..state
        };
        Ok((erasure, Some(state)))
    }

    /// Returns the keys that each record may have in the mirror. A hashed id is the digest of a text or of a number.
    ///
    /// # Errors
    /// `Config` if ids are hashed and there is no key; `Mismatch` if it is another key.
    fn keys(&self, last: &SyncRow) -> MirrorResult<Vec<Vec<String>>> {
        let parameters: Value = serde_json::from_str(&last.source.parameters)?;
        let hashed = parameters[HASHED_FIELDS].as_array();
        let is_id = |name: &Value| name == "id" || name == "/id";
        let is_hashed = hashed.is_some_and(|names| names.iter().any(is_id));
        let digests = |id: &String| {
            if !is_hashed || HashKey::is_digest(id) {
                return Ok(vec![id.clone()]);
            }
            let list = self.resource.name();
            let Some(key) = self.hash_key.as_ref().map_err(Error::clone)? else {
                return Err(Error::config(format!(
                    "hash_key: the ids of {list} are hashed, so {id:?} can only be found with the key; give the key of the sync, or the digest that _key shows"
                )));
            };
            if parameters[KEY_NAME] != key.name() {
                return Err(Error::new(
                    ErrorKind::Mismatch,
                    format!(
                        "hash_key: the ids of {list} were hashed with another key; give the key of the sync"
                    ),
                ));
            }
            let text = Value::from(id.as_str()).to_string();
            let is_number = serde_json::from_str::<Number>(id).is_ok();
            let number = is_number.then_some(id);
            Ok([Some(&text), number]
                .into_iter()
                .flatten()
                .map(|json| key.digest(json))
                .collect())
        };
        Ok(self.records.iter().map(digests).collect::<Result<_>>()?)
    }

    /// Finds all kept versions and changes of the records. `last` is the last sync of the list.
    ///
    /// # Errors
    /// `InvalidArgument` if there is no id, if no record has one of the ids, or if records have no id; and the errors
    /// of [`keys`](Self::keys).
    fn find(&self, connection: &Connection, last: &SyncRow) -> MirrorResult<()> {
        let list = self.resource.name();
        if self.records.is_empty() {
            let message = "records: no ids were given; give the id of each record to erase";
            return Err(Error::invalid(message).into());
        }
        let mut texts = connection.prepare(sql!("maybe_without_id"))?;
        let mut texts = texts.query([list])?;
        while let Some(row) = texts.next()? {
            if RawRecord::parse(row.get_ref(0)?.as_str()?)?.id().is_none() {
                return Err(Error::invalid(format!(
                    "records: {list} has records without an id, so the versions of one person are unknown; forget the whole list, and sync it again"
                ))
                .into());
            }
        }
        connection.execute_batch(sql!("erasing"))?;
        let keys = self.keys(last)?;
        let mut insert = connection.prepare("INSERT OR IGNORE INTO erased VALUES (?1)")?;
        for key in keys.iter().flatten() {
            insert.execute([key])?;
        }
        let values = named_params! {
            ":list": list,
            ":keep_out": self.keep_out,
            ":is_reported": self.announced || self.keep_out,
        };
        run(connection, sql!("find_erased"), values)?;
        let mut unknown = connection.prepare(sql!("find_unknown"))?;
        bind(&mut unknown, values)?;
        let unknown = unknown.raw_query().mapped(|row| row.get(0));
        let unknown = unknown.collect::<rusqlite::Result<HashSet<String>>>()?;
        let mut ids = self.records.iter().zip(&keys);
        let is_unknown = |keys: &[String]| keys.iter().all(|key| unknown.contains(key));
        // If nothing tells that the records were erased, a repeated command can only finish the cleaning.
        let is_repeated = !self.announced && !self.keep_out && is_due(connection)?;
        let is_repeated = is_repeated && ids.clone().all(|(_, keys)| is_unknown(keys));
        if let Some((first, _)) = ids.find(|(_, keys)| is_unknown(keys) && !is_repeated) {
            let count = 1 + ids.filter(|(_, keys)| is_unknown(keys)).count();
            let all = self.records.len();
            return Err(Error::invalid(format!(
                "records: {list} has no record with {count} of the {all} ids, the first is {first:?}; an id is the text that _key shows; nothing was erased"
            ))
            .into());
        }
        if self.keep_out {
            let secret = format!("{}{}", new_id(connection)?, new_id(connection)?);
            let values = named_params! {":list": list, ":secret": secret};
            run(connection, sql!("keep_out"), values)?;
            run(connection, sql!("reseal_list"), values)?;
        }
        run(connection, sql!("leave_announced"), values)?;
        Ok(())
    }
}

/// Reports the erased records in a new sync, which is otherwise a copy of the last one.
fn announce(
    connection: &Connection,
    list: &str,
    last: SyncRow,
    state: &ListState,
    records: u64,
) -> MirrorResult<SyncRow> {
    let (number, id, ended) = (state.last + 1, new_id(connection)?, utc(SystemTime::now()));
    let values = named_params! {":list": list, ":sync": number, ":ended": ended};
    run(connection, sql!("announce_erased"), values)?;
    let mut row = last;
    row.bookmark = Bookmark::new([&state.mirror, &state.epoch, &id], number);
    row.id = id;
    row.changes = changes_digest(connection, list, number - 1)?;
    let receipt = &mut row.receipt;
    receipt.generation = number.unsigned_abs();
    receipt.bookmark = row.bookmark.to_string();
    receipt.ended = ended;
    receipt.changes = ChangeCounts {
        erased: records,
        ..ChangeCounts::default()
    };
    (receipt.removed, receipt.erased_since) = (None, 0);
    (receipt.scan.requests, receipt.scan.seconds) = (0, 0.0);
    row.insert(connection, list, state)?;
    Ok(row)
}

/// Removes the changes `erased` of a list up to a sync. Call it after every copy has applied them. The receipts of the
/// syncs keep the times and the numbers of erasures.
///
/// # Errors
/// `InvalidArgument` for a list that the mirror does not have, or a sync that does not exist yet; `Mismatch` for the
/// bookmark of another history; `Busy` while a sync is writing to the mirror, or if a reader still needs the bytes;
/// `Path`; `Io`.
pub fn acknowledge(path: &Path, resource: ListName, up_to: &SyncPoint) -> Result<()> {
    let list = resource.name();
    let number = Mirror::open(path)?.number_of(resource, "up_to", up_to)?;
    Writing::open(path)?.apply(list, |connection, _| {
        let mut syncs = SyncRow::all(connection, list)?;
        connection.execute_batch(sql!("erasing"))?;
        let values = named_params! {":list": list, ":sync": number};
        if run(connection, sql!("find_acknowledged"), values)?
            .iter()
            .sum::<u64>()
            > 0
        {
            take_out(connection, list, &mut syncs)?;
            require(connection)?;
        }
        Ok(((), None))
    })
}

/// A mirror that is open for removing records.
pub(crate) struct Writing {
    claim: Claim,
    pub(crate) connection: Connection,
}

impl Writing {
    /// Opens an existing mirror.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        Mirror::open(path)?;
        let claim = Claim::acquire(path)?;
        let connection = claim.open().map_err(at(path))?;
        Ok(Writing { claim, connection })
    }

    /// Changes a list in one transaction, and then cleans the file. `change` returns the new state of the list if the
    /// state changed.
    fn apply<T>(
        self,
        list: &str,
        change: impl FnOnce(&Connection, &Marker) -> MirrorResult<(T, Option<ListState>)>,
    ) -> Result<T> {
        let Writing { claim, connection } = &self;
        let marker = Marker::new(claim);
        let commit = || -> MirrorResult<T> {
            connection.execute_batch("PRAGMA secure_delete = ON; BEGIN IMMEDIATE")?;
            upgrade(connection)?;
            let (done, state) = change(connection, &marker)?;
            connection.execute_batch("COMMIT")?;
            if let Some(state) = state {
                marker.note(list, &state, None);
            }
            Ok(done)
        };
        let apply = || -> MirrorResult<T> {
            let done = commit();
            if done.is_err() && !connection.is_autocommit() {
                connection.execute_batch("ROLLBACK")?;
            }
            let is_clean = clean(connection);
            let done = done?;
            if !is_clean? {
                let path = claim.path.display();
                return Err(Error::new(
                    ErrorKind::Busy,
                    format!(
                        "{path}: the records are no longer in the mirror, but a program that reads it still needs their bytes; close it and repeat the command, or let the next sync remove them"
                    ),
                )
                .into());
            }
            Ok(done)
        };
        apply().map_err(at(&claim.path))
    }
}
