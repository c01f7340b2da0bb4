//! Receives the records of a sync. While records arrive, they are compared with the records of the last sync and stored
//! in temporary tables. When the scan is complete, one transaction commits the difference.

use crate::bookmark::Bookmark;
use crate::clean::{clean, empty_log, require};
use crate::digest::{Hash, key, keyed_digest};
use crate::erase::take_out;
use crate::file::{Claim, MirrorResult, at, damaged};
use crate::keep::{micros, old};
use crate::mark::{ListState, Marker};
use crate::options::Sync;
use crate::order::{UNPLACED, assign_positions};
use crate::receipt::{ListSource, Removed, SyncReceipt, SyncRow, Withheld};
use crate::sql::{Values, run, sql};
use crate::tables::new_id;
use crate::upgrade::upgrade;
use crate::views;
use rusqlite::{Connection, OptionalExtension, named_params, params};
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use talentdata_columns::arrow::{ColumnTypes, NewFieldPolicy, TableSchema};
use talentdata_columns::internal::Checker;
use talentdata_core::internal::json;
use talentdata_core::internal::sink::Sink;
use talentdata_core::internal::utc;
use talentdata_core::scan::{Basis, Batch, Completeness, Doubt, Receipt, SchemaDifferences};
use talentdata_core::{Config, Error, ErrorKind, RawRecord, Result};

/// The text between the address of a service and the client ID.
const CLIENT: &str = " (client ";

/// The records of a scan that is running.
pub(crate) struct Staging {
    pub(crate) connection: Connection,
    sync: Sync,
    source: ListSource,
    pub(crate) started: SystemTime,
    /// The start time on a monotonic clock.
    began: Instant,
    /// The last sync, with which this one is compared.
    before: Option<SyncRow>,
    /// The state of the list before this sync.
    state: ListState,
    marker: Marker,
    /// The random id of this sync, which every copy of the file has.
    id: String,
    /// The end times of the previous syncs that are kept.
    ends: Vec<i64>,
    /// The secret of the mirror, and the digests of the records that must not be stored.
    secret: String,
    kept_out: HashSet<String>,
    /// The number of delivered records that were not stored.
    left_out: u64,
    /// True if two delivered records have the same `id`.
    has_repeated_id: bool,
}

impl Sink for Staging {
    const NAME: &'static str = "sync";
    type Done = SyncReceipt;

    fn write(&mut self, batch: Batch) -> Result<Receipt> {
        self.take(&batch.inserted_behind_us, &batch.records)
            .map_err(at(&self.sync.path))?;
        Ok(batch.receipt)
    }

    fn finish(&mut self, receipt: Receipt) -> Result<SyncReceipt> {
        // If the clock was set back during the scan, the end must still not be before the start.
        let ended = SystemTime::now().max(self.started + self.began.elapsed());
        self.commit(receipt, ended).map_err(at(&self.sync.path))
    }

    fn abandon(self, error: Error) -> Error {
        let (list, message) = (self.list(), error.message());
        let message = match &self.before {
            Some(last) => format!(
                "{message}; the mirror keeps {list} as it was after sync {}",
                last.number()
            ),
            None => format!("{message}; the mirror has no {list} yet"),
        };
        error.with_message(message)
    }
}

impl Staging {
    /// Opens the mirror for a sync with the service and the client of this configuration.
    pub(crate) fn begin(claim: &Claim, sync: &Sync, config: &Config) -> MirrorResult<Self> {
        let resource = sync.resource;
        let parameters = sync.scan.identity(resource.shape(), config)?;
        let client_id = config.client_id().unwrap_or("none");
        let source = ListSource {
            service: format!("{}{CLIENT}{client_id})", config.base_url()),
            parameters: serde_json::to_string(&parameters)?,
        };
        let connection = claim.open()?;
        if !sync.dry_run {
            // A process that removed rows may have ended before it cleaned the file.
            clean_or_warn(&connection, &sync.path);
        }
        let mut syncs = SyncRow::all(&connection, resource.name())?;
        let ends = syncs
            .iter()
            .map(|sync| micros(&sync.receipt.ended))
            .collect();
        let before = syncs.pop();
        let stored = ListState::read(&connection, resource.name())?;
        if before
            .as_ref()
            .is_some_and(|before| before.number() != stored.last)
        {
            return Err(damaged(format!("the last sync of {resource} is missing")).into());
        }
        let mut state = stored.compared(&sync.path, resource.name());
        if before.is_none() {
            state.epoch = new_id(&connection)?;
        }
        let id = new_id(&connection)?;
        check_source(&connection, sync, &source, before.as_ref())?;
        connection.execute_batch(sql!("staging"))?;
        let (secret, kept_out) = kept_out(&connection, resource.name())?;
        Ok(Staging {
            connection,
            sync: sync.clone(),
            source,
            started: SystemTime::now(),
            began: Instant::now(),
            before,
            state,
            marker: Marker::new(claim),
            id,
            ends,
            secret,
            kept_out,
            left_out: 0,
            has_repeated_id: false,
        })
    }

    /// Stores the records of a page: the records that were inserted behind the scan, and the delivered ones.
    pub(crate) fn take(
        &mut self,
        inserted_behind_us: &[RawRecord],
        records: &[RawRecord],
    ) -> MirrorResult<()> {
        let list = self.list();
        let transaction = self.connection.unchecked_transaction()?;
        for record in inserted_behind_us {
            let values = [(":list", list), (":key", &key(record).0)];
            transaction.execute(sql!("stage_late"), &values)?;
        }
        let mut stage = transaction.prepare_cached(sql!("stage"))?;
        for record in records {
            let (base, by_id) = key(record);
            if !self.kept_out.is_empty()
                && self.kept_out.contains(&keyed_digest(&self.secret, &base))
            {
                self.left_out += 1;
                continue;
            }
            let (mut key, mut ordinal) = (base.clone(), 1);
            let text = record.as_str();
            while stage.execute(&[(":list", list), (":key", &key), (":text", text)])? == 0 {
                if by_id {
                    self.has_repeated_id = true;
                    break;
                }
                ordinal += 1;
                key = format!("{base}~{ordinal}");
            }
        }
        drop(stage);
        Ok(transaction.commit()?)
    }

    /// Commits the changes. After an error, or if the process ends, the mirror is not modified.
    pub(crate) fn commit(&self, mut scan: Receipt, ended: SystemTime) -> MirrorResult<SyncReceipt> {
        if self.has_repeated_id {
            scan.completeness = Completeness::NotProven;
            (scan.basis, scan.assumes) = (None, None);
            scan.doubts.retain(|doubt| *doubt != Doubt::RepeatedId);
            scan.doubts.push(Doubt::RepeatedId);
        }
        let list = self.list();
        self.connection.execute_batch("BEGIN IMMEDIATE")?;
        upgrade(&self.connection)?;
        let mut receipt = self.apply(scan, &utc(ended))?;
        if self.sync.dry_run {
            self.connection.execute_batch("ROLLBACK")?;
            let _ = empty_log(&self.connection);
            receipt.bookmark = String::new();
            return Ok(receipt);
        }
        self.marker.note(list, &self.state, Some(&self.id));
        self.connection.execute_batch("COMMIT")?;
        let state = ListState {
            last: self.number(),
            sync: Some(self.id.clone()),
            ..self.state.clone()
        };
        self.marker.note(list, &state, None);
        if let Some(differences) = &receipt.scan.schema {
            differences.log(list);
        }
        clean_or_warn(&self.connection, &self.sync.path);
        // Without a log, the file alone is the whole mirror. If a reader still needs the log, it remains.
        self.connection.busy_timeout(Duration::ZERO)?;
        let _ = empty_log(&self.connection);
        Ok(receipt)
    }

    fn list(&self) -> &'static str {
        self.sync.resource.name()
    }

    /// Returns the number of this sync.
    fn number(&self) -> i64 {
        self.state.last + 1
    }

    /// Writes the changes that this sync found, in the open transaction.
    fn apply(&self, mut scan: Receipt, ended: &str) -> MirrorResult<SyncReceipt> {
        let (connection, last) = (&self.connection, self.before.as_ref());
        let values = named_params! {
            ":list": self.list(),
            ":sync": self.number(),
            ":before": last.map_or(0, SyncRow::number),
            ":last_seen": last.map_or("", |last| &last.receipt.started),
            ":ended": ended,
            ":is_counted": scan.basis == Some(Basis::Counted),
            ":is_proven": scan.basis.is_some(),
        };
        let records = self.check_unchanged()?;
        self.assign_positions()?;
        run(connection, sql!("end_versions"), values)?;
        run(connection, sql!("insert_versions"), values)?;
        let withheld = self.report_missing(records, values)?;
        let columns = self.columns()?;
        scan.schema = Some(self.differences(&columns)?);
        views::define(connection, self.list(), &columns)?;
        let mut removed = self.prune(ended)?;
        let (records, before) = self.erase_deleted(ended)?;
        if records > 0 {
            removed.get_or_insert_default().records = records;
        }
        if removed.is_some() {
            require(connection)?;
        }
        let receipt = SyncReceipt {
            generation: self.number().unsigned_abs(),
            started: utc(self.started),
            ended: ended.to_owned(),
            withheld,
            removed,
            kept_out: self.left_out,
            scan,
            dry_run: self.sync.dry_run,
            ..SyncReceipt::default()
        };
        self.write(receipt, columns, before)
    }

    /// Checks that nothing changed the list since the last sync. Returns the number of its records, including missing
    /// ones.
    fn check_unchanged(&self) -> MirrorResult<u64> {
        let (connection, list) = (&self.connection, self.list());
        let (count, digest) = sum(connection, sql!("current"), named_params! {":list": list})?;
        let (missing, missing_digest) = missing(connection, list)?;
        let known = self.before.as_ref().map(|last| (last.digest, last.missing));
        if known.unwrap_or_default() != (digest, missing_digest) {
            let what = format!("{list} was changed after the last sync");
            return Err(damaged(what).into());
        }
        Ok(count + missing)
    }

    /// Assigns positions to new and moved records.
    fn assign_positions(&self) -> MirrorResult<()> {
        let mut select = self
            .connection
            .prepare("SELECT ifnull(position, ?1) FROM staged ORDER BY place")?;
        let rows = select.query_map([UNPLACED], |row| row.get(0))?;
        let mut positions = rows.collect::<rusqlite::Result<Vec<i64>>>()?;
        let assigned = assign_positions(&mut positions);
        let mut update = self
            .connection
            .prepare("UPDATE staged SET position = ?2, is_placed = 1 WHERE place = ?1 + 1")?;
        for index in assigned {
            update.execute(params![index as i64, positions[index]])?;
        }
        Ok(())
    }

    /// Writes deletes and missing records. If the sync does not allow that many deletes, none is written, and their
    /// number is returned.
    fn report_missing(&self, records: u64, values: &Values<'_>) -> MirrorResult<Option<Withheld>> {
        let deletes = run(&self.connection, sql!("find_gone"), values)?
            .iter()
            .sum();
        let is_allowed = self.sync.max_deletes.allows(deletes, records);
        if !is_allowed {
            self.connection.execute("DELETE FROM gone", [])?;
        }
        run(&self.connection, sql!("report_missing"), values)?;
        Ok((!is_allowed).then_some(Withheld { deletes, records }))
    }

    /// Returns all columns. The columns of new fields follow the known ones. They are inferred from the first records
    /// with new fields, and from the first of the other new or changed records.
    fn columns(&self) -> MirrorResult<TableSchema> {
        let known = self.before.as_ref().map(|before| &before.columns);
        let names = known.into_iter().flat_map(|known| &known.fields);
        let mut fields: HashSet<String> = names.map(|column| column.name.clone()).collect();
        let select = "SELECT text FROM staged WHERE text IS NOT NULL ORDER BY place";
        let (mut statement, mut samples) = (self.connection.prepare(select)?, [vec![], vec![]]);
        for text in statement.query_map([], |row| row.get::<_, String>(0))? {
            let (text, known) = (text?, fields.len());
            json::each_member(&text, |name, _| {
                if !fields.contains(name) {
                    fields.insert(name.to_owned());
                }
            });
            let sample = &mut samples[usize::from(fields.len() == known)];
            if sample.len() < TableSchema::SAMPLE {
                sample.push(text);
            }
        }
        let records = RawRecord::parse_all(&samples.concat())?;
        let mut found = TableSchema::infer(self.sync.resource, &records, ColumnTypes::Typed);
        found = found.altered(&self.sync.scan.altered(self.sync.resource.shape()));
        let Some(known) = known else { return Ok(found) };
        if self.sync.on_new == NewFieldPolicy::Freeze {
            return Ok(known.clone());
        }
        let mut grown = known.clone();
        (found.fields).retain(|column| known.fields.iter().all(|known| known.name != column.name));
        grown.fields.append(&mut found.fields);
        // If a table cannot have that many columns, the values of new fields are in the last column.
        Ok(TableSchema::from_json(&grown.to_json()).unwrap_or_else(|_| known.clone()))
    }

    /// Returns the differences between the new and changed records and the columns of the mirror. The first sync
    /// compares the records with the columns that it decides, and never fails because of a difference.
    fn differences(&self, columns: &TableSchema) -> MirrorResult<SchemaDifferences> {
        let before = self.before.as_ref().map(|before| &before.columns);
        let on_new = match (before, self.sync.on_new) {
            (None, NewFieldPolicy::Fail) => NewFieldPolicy::Keep,
            (_, on_new) => on_new,
        };
        let mut checker = Checker::new(Arc::new(before.unwrap_or(columns).clone()), on_new);
        let select = "SELECT place - 1, text FROM staged WHERE text IS NOT NULL ORDER BY place";
        let mut statement = self.connection.prepare(select)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let place = row.get::<_, i64>(0)?.unsigned_abs();
            let record = RawRecord::parse_at(row.get_ref(1)?.as_str()?, place)?;
            checker.check(&record)?;
        }
        Ok(checker.differences())
    }

    /// Removes the history that is older than `keep`. The newest of the old syncs remains, and is the first that can
    /// still be read.
    fn prune(&self, ended: &str) -> MirrorResult<Option<Removed>> {
        let begun = self.before.as_ref().map_or(0, |before| before.begun);
        let kept = self.sync.keep.and_then(|keep| self.last_old(ended, keep));
        let Some(kept) = kept.filter(|kept| *kept != begun) else {
            return Ok(None);
        };
        let values = named_params! {":list": self.list(), ":kept": kept};
        Ok(match run(&self.connection, sql!("prune"), values)?[..] {
            [syncs, changes, versions] if syncs + changes + versions > 0 => Some(Removed {
                syncs,
                changes,
                versions,
                records: 0,
            }),
            _ => None,
        })
    }

    /// Returns the number of the last sync that is older than an age, if there is one.
    fn last_old(&self, ended: &str, age: Duration) -> Option<i64> {
        let ends: Vec<i64> = [&*self.ends, &[micros(ended)]].concat();
        let count = old(&ends, age) as i64;
        // The kept syncs have consecutive numbers, and `before` is the last of them.
        (count > 0).then_some(self.state.last - (self.ends.len() as i64) + count)
    }

    /// Erases the records whose delete is older than `keep_deleted`, and reports them. Returns their number, and the
    /// digest of the list before this sync without them.
    fn erase_deleted(&self, ended: &str) -> MirrorResult<(u64, Hash)> {
        let (connection, list) = (&self.connection, self.list());
        let digest = |last: Option<&SyncRow>| last.map_or(0, |last| last.digest);
        let (age, before) = (self.sync.keep_deleted, digest(self.before.as_ref()));
        let Some(old) = age.and_then(|age| self.last_old(ended, age)) else {
            return Ok((0, before));
        };
        connection.execute_batch(sql!("erasing"))?;
        let values = named_params! {
            ":list": list,
            ":old": old,
            ":sync": self.number(),
            ":ended": ended,
        };
        let records = run(connection, sql!("find_deleted"), values)?.iter().sum();
        if records == 0 {
            return Ok((0, before));
        }
        run(connection, sql!("find_erased"), values)?;
        let mut syncs = SyncRow::all(connection, list)?;
        take_out(connection, list, &mut syncs)?;
        run(connection, sql!("announce_erased"), values)?;
        Ok((records, digest(syncs.last())))
    }

    /// Completes the receipt with the counts from the file, and writes the row of this sync. `digest` is that of the list
    /// before this sync.
    fn write(
        &self,
        mut receipt: SyncReceipt,
        columns: TableSchema,
        digest: Hash,
    ) -> MirrorResult<SyncReceipt> {
        let (connection, last) = (&self.connection, self.before.as_ref());
        let (list, number, state) = (self.list(), self.number(), &self.state);
        let before = last.map_or(0, SyncRow::number);
        let values = named_params! {":list": list, ":sync": number, ":before": before};
        let (_, changed) = sum(connection, sql!("changed"), values)?;
        let (missing, missing_digest) = missing(connection, list)?;
        let values = named_params! {":list": list, ":sync": number};
        let counts: String =
            connection.query_row(sql!("count_changes"), values, |row| row.get(0))?;
        let bookmark = Bookmark::new([&state.mirror, &state.epoch, &self.id], number);
        receipt.bookmark = bookmark.to_string();
        receipt.changes = serde_json::from_str(&counts)?;
        receipt.missing = missing;
        receipt.shortfall = receipt.why();
        let row = SyncRow {
            receipt,
            digest: digest ^ changed,
            missing: missing_digest,
            changes: changes_digest(connection, list, number - 1)?,
            source: self.source.clone(),
            columns,
            id: self.id.clone(),
            begun: last.map_or(number, |last| last.begun),
            bookmark,
        };
        row.insert(connection, list, state)?;
        let service = named_params! {":service": self.source.service};
        run(connection, sql!("write_service"), service)?;
        Ok(row.receipt)
    }
}

/// Cleans the file if that is due. A failure is only a warning, because the sync has already been committed.
fn clean_or_warn(connection: &Connection, path: &Path) {
    let why = match clean(connection) {
        Ok(true) => return,
        Ok(false) => "a program that reads it still needs them".to_owned(),
        Err(fault) => at(path)(fault).message().to_owned(),
    };
    tracing::warn!(
        path = %path.display(),
        "bytes of removed records are still in the mirror; the next sync removes them: {why}"
    );
}

/// Checks that the lists of a mirror have the same service, client and parameters as a sync into it.
///
/// # Errors
/// `Mismatch`, with the name of the setting that differs.
fn check_source(
    connection: &Connection,
    sync: &Sync,
    source: &ListSource,
    before: Option<&SyncRow>,
) -> MirrorResult<()> {
    let refuse = |why: String| Err(Error::new(ErrorKind::Mismatch, why).into());
    let service = connection.query_row(sql!("service"), [], |row| row.get::<_, String>(0));
    if let Some(known) = service.optional()?.filter(|known| *known != source.service) {
        let new = &source.service;
        let client = |service: &str| service.split_once(CLIENT).map(|(_, id)| id.to_owned());
        if client(&known) != client(new) {
            return refuse(format!(
                "client_id: the mirror belongs to {known}, this sync to {new}, and another client may see other records; sync \
                 into another file"
            ));
        }
        if !sync.same_service {
            return refuse(format!(
                "base_url: the mirror belongs to {known}, this sync to {new}; if these are two addresses of one service, set \
                 same_service, otherwise sync into another file"
            ));
        }
    }
    let (list, new) = (sync.resource, &source.parameters);
    match before.map(|last| &last.source.parameters) {
        Some(known) if known != new => refuse(format!(
            "parameters: the mirror has {list} with {known}, this sync has {new}; sync into another file"
        )),
        _ => Ok(()),
    }
}

/// Returns the secret of a mirror, and the digests of the records of a list that must not be stored.
fn kept_out(connection: &Connection, list: &str) -> MirrorResult<(String, HashSet<String>)> {
    let mut statement = connection.prepare("SELECT digest FROM kept_out WHERE list = ?1")?;
    let digests = statement.query_map([list], |row| row.get(0))?;
    let digests: HashSet<String> = digests.collect::<rusqlite::Result<_>>()?;
    if digests.is_empty() {
        return Ok((String::new(), digests));
    }
    let secret = "SELECT about ->> '$.secret' FROM mirror";
    Ok((connection.query_row(secret, [], |row| row.get(0))?, digests))
}

/// Returns the number of some versions of records, and their digest.
fn sum(connection: &Connection, sql: &str, values: &Values<'_>) -> MirrorResult<(u64, Hash)> {
    Ok(connection.query_row(sql, values, |row| {
        Ok((row.get::<_, i64>(0)?.unsigned_abs(), row.get(1)?))
    })?)
}

/// Returns the number of the missing records of a list, and the digest of their last known versions.
pub(crate) fn missing(connection: &Connection, list: &str) -> MirrorResult<(u64, Hash)> {
    sum(connection, sql!("missing"), named_params! {":list": list})
}

/// Returns the digest of the changes of a list after a sync.
pub(crate) fn changes_digest(connection: &Connection, list: &str, sync: i64) -> MirrorResult<Hash> {
    let values = named_params! {":list": list, ":sync": sync};
    Ok(connection.query_row(sql!("changes_digest"), values, |row| row.get(0))?)
}
