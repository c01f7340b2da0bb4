//! What a scan means for the mirror. Its records are compared with those of the last sync while they arrive, and kept beside
//! the mirror until the scan is complete; one transaction then commits the difference.

use crate::bookmark::Bookmark;
use crate::digest::{Hash, key};
use crate::file::{Claim, MirrorResult, at, damaged};
use crate::keep::{micros, old};
use crate::mark::{ListState, Marker};
use crate::options::Sync;
use crate::order::{NONE, place};
use crate::receipt::{CHANGES, Removed, SyncReceipt, SyncRow, Withheld};
use crate::tables::{new_id, seal_list};
use crate::upgrade::upgrade;
use crate::views;
use rusqlite::{Connection, OptionalExtension, params};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Instant, SystemTime};
use talentdata_columns::arrow::{Checker, Columns, OnNew, TableSchema};
use talentdata_core::scan::{Basis, Batch, Completeness, Doubt, Receipt, SchemaDifferences, utc};
use talentdata_core::sink::Sink;
use talentdata_core::{Config, Error, RawRecord, Result, json};

/// The records of the scan in their order. `record` is the version that was there before, if any; `text` is none where it
/// is the same, and `op` where that is no change. `fresh` are those that need a version of their own, because they are new
/// or were given another position. Nothing is rolled back here: a sync that fails is over.
const TABLES: &str = "
    PRAGMA temp.journal_mode = OFF;
    CREATE TEMP TABLE staged (place INTEGER PRIMARY KEY, key TEXT, record INTEGER UNIQUE, op TEXT, last_seen TEXT,
        position INTEGER, is_placed INTEGER, text TEXT) STRICT;
    CREATE UNIQUE INDEX temp.staged_key ON staged (key) WHERE key IS NOT NULL;
    CREATE TEMP TABLE late (record INTEGER PRIMARY KEY) STRICT;
    CREATE TEMP VIEW fresh AS
        SELECT place, ifnull(staged.key, old.key) AS key, record, op, staged.last_seen, staged.position,
            ifnull(staged.text, old.text) AS text
        FROM staged LEFT JOIN record AS old ON old.id = record WHERE staged.text IS NOT NULL OR is_placed;
";
/// Stages a delivered record, unless one with its key is staged.
const STAGE: &str = "
    INSERT OR IGNORE INTO staged (key, record, op, last_seen, position, text)
    SELECT iif(id IS NULL, ?2, NULL), id,
        CASE WHEN id IS NULL THEN 'insert' WHEN missing IS NOT NULL THEN 'reappeared' WHEN differ(text, ?3) THEN 'update' END,
        last_seen, position, iif(text = ?3 AND missing IS NULL, NULL, ?3)
    FROM (SELECT 1) LEFT JOIN record ON list = ?1 AND key = ?2 AND (last IS NULL OR missing IS NOT NULL)";
/// Notes that a record is there which is not delivered.
const NOTE: &str = "
    INSERT OR IGNORE INTO late
    SELECT id FROM record WHERE list = ?1 AND key = ?2 AND (last IS NULL OR missing IS NOT NULL)";

/// The records of a scan that is under way.
pub(crate) struct Staging {
    pub(crate) connection: Connection,
    sync: Sync,
    /// The service and the client, and how the list is read.
    of: [String; 2],
    pub(crate) started: SystemTime,
    /// When it began by a clock that nobody sets.
    began: Instant,
    /// The sync that this one is compared with.
    before: Option<SyncRow>,
    /// The list before this sync, and the mark that is left of it.
    state: ListState,
    marker: Marker,
    /// The random id of this sync, the same in each copy of the file.
    id: String,
    /// When the syncs had ended that are kept, this one not among them.
    ends: Vec<i64>,
    /// Whether two records were delivered under one `id`.
    is_repeated: bool,
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
        // A clock that was set back during the scan does not make it end before it began.
        let ended = SystemTime::now().max(self.started + self.began.elapsed());
        self.commit(receipt, ended).map_err(at(&self.sync.path))
    }

    fn abandon(self, error: Error) -> Error {
        let message = format!("{}; the mirror is as it was", error.message());
        error.with_message(message)
    }
}

impl Staging {
    /// Opens the mirror for a sync of the service and the client of this configuration.
    pub(crate) fn begin(claim: &Claim, sync: &Sync, config: &Config) -> MirrorResult<Self> {
        let resource = sync.resource;
        let parameters = sync.scan.arguments.recorded(resource.shape().operation);
        let client_id = config.client_id().unwrap_or("none");
        let of = [
            format!("{} (client {client_id})", config.base_url()),
            serde_json::to_string(&parameters)?,
        ];
        let connection = claim.open()?;
        let mut syncs = SyncRow::all(&connection, resource.name())?;
        let ends = syncs.iter().map(|sync| micros(&sync.receipt.ended));
        let (ends, before) = (ends.collect(), syncs.pop());
        let state = ListState::read(&connection, resource.name())?;
        if before
            .as_ref()
            .is_some_and(|before| before.number() != state.last)
        {
            return Err(damaged(format!("the last sync of {resource} is lacking")).into());
        }
        let mut state = state.compared(&sync.path, resource.name());
        if before.is_none() {
            state.epoch = new_id(&connection)?;
        }
        let id = new_id(&connection)?;
        let service = "SELECT about ->> '$.of[0]' FROM sync LIMIT 1";
        let service = connection.query_row(service, [], |row| row.get(0));
        let filters = before.as_ref().map(|before| before.of[1].clone());
        let names = ["base_url, client_id", "parameters"];
        for ((name, known), new) in names.iter().zip([service.optional()?, filters]).zip(&of) {
            if let Some(known) = known.filter(|known| known != new) {
                let message = format!(
                    "{name}: the mirror has {resource} of {known}, this sync has {new}; sync into another file"
                );
                return Err(Error::invalid(message).into());
            }
        }
        connection.execute_batch(TABLES)?;
        Ok(Staging {
            connection,
            sync: sync.clone(),
            of,
            started: SystemTime::now(),
            began: Instant::now(),
            before,
            state,
            marker: Marker::new(claim),
            id,
            ends,
            is_repeated: false,
        })
    }

    /// Takes the records of a page: those that came before what was delivered already, and those that are delivered.
    pub(crate) fn take(&mut self, late: &[RawRecord], records: &[RawRecord]) -> MirrorResult<()> {
        let list = self.sync.resource.name();
        let transaction = self.connection.unchecked_transaction()?;
        for record in late {
            transaction.execute(NOTE, params![list, key(record).0])?;
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

    /// Commits what has changed. After an error, or when the process ends, the mirror is as it was.
    pub(crate) fn commit(&self, mut scan: Receipt, ended: SystemTime) -> MirrorResult<SyncReceipt> {
        if self.is_repeated {
            scan.completeness = Completeness::NotProven;
            (scan.basis, scan.assumes) = (None, None);
            scan.doubts.retain(|doubt| *doubt != Doubt::RepeatedId);
            scan.doubts.push(Doubt::RepeatedId);
        }
        let list = self.sync.resource.name();
        self.connection.execute_batch("BEGIN IMMEDIATE")?;
        upgrade(&self.connection)?;
        let receipt = self.apply(scan, &utc(ended))?;
        self.marker.note(list, &self.state, Some(&self.id));
        self.connection.execute_batch("COMMIT")?;
        let state = ListState {
            last: self.state.last + 1,
            sync: Some(self.id.clone()),
            ..self.state.clone()
        };
        self.marker.note(list, &state, None);
        if let Some(differences) = &receipt.scan.schema {
            differences.log(self.sync.resource.name());
        }
        // So that the file alone is the whole mirror; where a reader still needs the log, it stays, and nobody waits.
        let truncate = "PRAGMA busy_timeout = 0; PRAGMA wal_checkpoint(TRUNCATE)";
        let _ = self.connection.execute_batch(truncate);
        Ok(receipt)
    }

    fn apply(&self, mut scan: Receipt, ended: &str) -> MirrorResult<SyncReceipt> {
        let (connection, list) = (&self.connection, self.sync.resource.name());
        let last = self.before.as_ref();
        let before = last.map_or(0, SyncRow::number);
        let seen = |which: &str| {
            let from = format!("INDEXED BY record_order WHERE {which}");
            sum(connection, list, "position, key, text", &from)
        };
        let (count, mut digest) = seen("last IS NULL")?;
        let (missing_before, lacking) = missing(connection, list)?;
        let known = last.map(|last| (last.digest, last.missing));
        if known.unwrap_or_default() != (digest, lacking) {
            let what = format!("{list} is not as the sync before has left it, when this one began");
            return Err(damaged(what).into());
        }
        self.place()?;
        let last_seen = last.map_or("", |last| &last.receipt.started);
        // Where the clock has gone back since then, it does not tell when a change happened.
        let since = if last_seen <= ended {
            format!("'{last_seen}'")
        } else {
            "NULL".to_owned()
        };
        let number = self.state.last + 1;
        // Ends the versions that are no longer current, and writes the new ones in the order of the list.
        connection.execute_batch(&format!(
            "UPDATE record SET last = ifnull(last, {before}), missing = NULL WHERE id IN (SELECT record FROM fresh);
            UPDATE record INDEXED BY record_order SET last = {before}, missing = 0, last_seen = '{last_seen}'
                WHERE list = '{list}' AND last IS NULL AND id NOT IN (SELECT record FROM late)
                AND NOT EXISTS (SELECT 1 FROM staged WHERE staged.record = record.id);
            INSERT INTO record (list, key, first, position, text, plain)
                SELECT '{list}', key, {number}, position, text, plain(text) FROM fresh ORDER BY place;
            INSERT INTO change
                SELECT '{list}', {number}, row_number() OVER (ORDER BY place), op, new.key,
                    iif(op = 'update', {since}, iif(fresh.last_seen <= '{ended}', fresh.last_seen, NULL)), '{ended}', new.id
                FROM fresh JOIN record AS new ON new.list = '{list}' AND new.position = fresh.position AND first = {number}
                WHERE op IS NOT NULL;"
        ))?;
        // A scan that counted the list proves by itself that a record is gone, another one if the scan before was proven
        // and lacked it too.
        let is_proven = scan.basis.is_some();
        let is_proof = match scan.basis {
            None => "0",
            Some(Basis::Counted) => "1",
            Some(Basis::Joined) => "missing",
        };
        let absent = format!("FROM record WHERE list = '{list}' AND missing IS NOT NULL");
        let gone = format!("{is_proof} AND id NOT IN (SELECT record FROM late)");
        let deletes = format!("SELECT count(*) {absent} AND {gone}");
        let deletes = connection.query_row(&deletes, [], |row| row.get::<_, i64>(0))?;
        let (deletes, records) = (deletes.unsigned_abs(), count + missing_before);
        let is_allowed = self.sync.max_deletes.allows(deletes, records);
        connection.execute_batch(&format!(
            "INSERT INTO change
                SELECT '{list}', {number}, row_number() OVER (ORDER BY position, id)
                    + (SELECT ifnull(max(seq), 0) FROM change WHERE list = '{list}' AND sync = {number}),
                    op, key, iif(last_seen <= '{ended}', last_seen, NULL), '{ended}', id
                FROM (SELECT *, CASE WHEN {is_allowed} AND {gone} THEN 'delete' WHEN last = {before} THEN 'missing' END AS op
                    {absent})
                WHERE op IS NOT NULL;
            UPDATE record SET missing = iif({is_allowed} AND {gone}, NULL, {is_proven} AND id NOT IN (SELECT record FROM late))
                WHERE list = '{list}' AND missing IS NOT NULL;"
        ))?;
        let (_, changed) = seen(&format!("(first = {number} OR last = {before})"))?;
        digest ^= changed;
        let (missing, lacking) = missing(connection, list)?;
        let columns = self.columns()?;
        scan.schema = Some(self.differences(&columns)?);
        let [current, reported] = views::of(list, &columns);
        connection.execute_batch(&[views::drop(list), current, reported].join(";"))?;
        let [of, from] = CHANGES;
        let changes = format!(
            "SELECT digest{of}, (SELECT json_group_object(op, count) FROM (SELECT op, count(*) AS count FROM change \
             WHERE list = ?1 AND sync = {number} GROUP BY op)) {from} AND sync = {number}"
        );
        let changes = connection.query_row(&changes, [list], |row| Ok((row.get(0)?, row.get(1)?)));
        let (changes, counts): (Hash, String) = changes?;
        let ListState {
            mirror,
            epoch,
            fork,
            ..
        } = &self.state;
        let bookmark = Bookmark::new([mirror, epoch, &self.id], number);
        let mut receipt = SyncReceipt {
            generation: number.unsigned_abs(),
            bookmark: bookmark.to_string(),
            started: utc(self.started),
            ended: ended.to_owned(),
            changes: serde_json::from_str(&counts)?,
            missing,
            withheld: (!is_allowed).then_some(Withheld { deletes, records }),
            removed: self.prune(ended)?,
            scan,
            ..SyncReceipt::default()
        };
        receipt.shortfall = receipt.why();
        let row = SyncRow {
            receipt,
            digest,
            missing: lacking,
            changes,
            of: self.of.clone(),
            columns,
            id: self.id.clone(),
            begun: last.map_or(number, |last| last.begun),
            bookmark,
        };
        let insert = "INSERT INTO sync VALUES (?1, ?2, ?3, ?4, seal(?1, ?2, ?3, ?4))";
        let about = serde_json::to_string(&row)?;
        connection.execute(insert, params![list, number, row.id, about])?;
        let insert = "INSERT INTO list VALUES (?1, ?2, ?3, json_object('fork', ?4), x'')
            ON CONFLICT DO UPDATE SET epoch = ?2, last = ?3, about = json_set(about, '$.fork', ?4)";
        connection.execute(insert, params![list, epoch, number, fork])?;
        seal_list(connection, list)?;
        Ok(row.receipt)
    }

    /// Gives positions to the records that are new or have moved.
    fn place(&self) -> MirrorResult<()> {
        let order = "SELECT ifnull(position, ?1) FROM staged ORDER BY place";
        let mut order = self.connection.prepare(order)?;
        let order = order.query_map([NONE], |row| row.get(0))?;
        let mut order = order.collect::<rusqlite::Result<Vec<i64>>>()?;
        let given = place(&mut order);
        let moved = "UPDATE staged SET position = ?2, is_placed = 1 WHERE place = ?1 + 1";
        let mut moved = self.connection.prepare(moved)?;
        for index in given {
            moved.execute(params![index as i64, order[index]])?;
        }
        Ok(())
    }

    /// All columns, with those of new fields behind the others. They are inferred from records with new fields, and from
    /// the first of the others that are new.
    fn columns(&self) -> MirrorResult<TableSchema> {
        let known = self.before.as_ref().map(|before| &before.columns);
        let names = known.into_iter().flat_map(|known| &known.fields);
        let mut fields: HashSet<String> = names.map(|column| column.name.clone()).collect();
        let texts = "SELECT text FROM staged WHERE text IS NOT NULL ORDER BY place";
        let (mut texts, mut samples) = (self.connection.prepare(texts)?, [vec![], vec![]]);
        for text in texts.query_map([], |row| row.get::<_, String>(0))? {
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
        let mut found = TableSchema::infer(self.sync.resource, &records, Columns::Typed);
        let Some(known) = known else { return Ok(found) };
        if self.sync.on_new == OnNew::Freeze {
            return Ok(known.clone());
        }
        let mut grown = known.clone();
        (found.fields).retain(|column| known.fields.iter().all(|known| known.name != column.name));
        grown.fields.append(&mut found.fields);
        // Where a table cannot have so many, their values are in the last column.
        Ok(TableSchema::from_json(&grown.to_json()).unwrap_or_else(|_| known.clone()))
    }

    /// How the records that are new or changed differ from the columns that the mirror had; before its first sync, from those
    /// that it gets, which are no reason to fail.
    fn differences(&self, columns: &TableSchema) -> MirrorResult<SchemaDifferences> {
        let before = self.before.as_ref().map(|before| &before.columns);
        let on_new = match (before, self.sync.on_new) {
            (None, OnNew::Fail) => OnNew::Keep,
            (_, on_new) => on_new,
        };
        let mut checker = Checker::new(Arc::new(before.unwrap_or(columns).clone()), on_new);
        let texts = "SELECT place - 1, text FROM staged WHERE text IS NOT NULL ORDER BY place";
        let mut texts = self.connection.prepare(texts)?;
        let mut rows = texts.query([])?;
        while let Some(row) = rows.next()? {
            let place = row.get::<_, i64>(0)?.unsigned_abs();
            let record = RawRecord::parse_at(row.get_ref(1)?.as_str()?, place)?;
            checker.check(&record)?;
        }
        Ok(checker.differences())
    }

    /// Removes what is older than `keep`: the last sync that is old is the first that can still be read.
    fn prune(&self, ended: &str) -> MirrorResult<Option<Removed>> {
        let (connection, list) = (&self.connection, self.sync.resource.name());
        let ends: Vec<i64> = [&*self.ends, &[micros(ended)]].concat();
        let old = self.sync.keep.map_or(0, |keep| old(&ends, keep));
        let begun = self.before.as_ref().map_or(0, |before| before.begun);
        // Those that are kept have numbers in a row, and `before` has the last of them.
        let kept = self.state.last - (self.ends.len() as i64) + old as i64;
        if old == 0 || kept == begun {
            return Ok(None);
        }
        let delete =
            |from: &str| connection.execute(&format!("DELETE FROM {from}"), params![list, kept]);
        let removed = Removed {
            syncs: delete("sync WHERE list = ?1 AND number < ?2")? as u64,
            changes: delete("change WHERE list = ?1 AND sync <= ?2")? as u64,
            versions: delete(
                "record WHERE list = ?1 AND last < ?2 AND missing IS NULL \
                 AND id NOT IN (SELECT record FROM change WHERE list = ?1)",
            )? as u64,
        };
        let is_any = removed.syncs + removed.changes + removed.versions > 0;
        Ok(is_any.then_some(removed))
    }
}

/// How many versions of a list there are of some, and their digest.
fn sum(connection: &Connection, list: &str, of: &str, from: &str) -> MirrorResult<(u64, Hash)> {
    let sql = format!("SELECT count(*), digest({of}) FROM record {from} AND list = ?1");
    Ok(connection.query_row(&sql, [list], |row| {
        Ok((row.get::<_, i64>(0)?.unsigned_abs(), row.get(1)?))
    })?)
}

/// How many records of a list are missing, and the digest of all that is known of them.
pub(crate) fn missing(connection: &Connection, list: &str) -> MirrorResult<(u64, Hash)> {
    let of = "position, key, text, last, missing, last_seen";
    sum(connection, list, of, "WHERE missing IS NOT NULL")
}
