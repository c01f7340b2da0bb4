//! What a complete scan means for the mirror: the one transaction of a sync.

use crate::canonical::Hash;
use crate::file::{Fault, io_error};
use crate::order::{Positions, between};
use crate::seal::{Digest, SyncRow, of, of_missing, of_record};
use crate::staging::Staging;
use crate::sync::{ChangeCounts, MaxDeletes, SyncReceipt};
use crate::views;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior, params};
use std::ops::RangeInclusive;
use std::time::{Duration, SystemTime};
use talentdata_columns::arrow::{Column, Columns, TableSchema};
use talentdata_core::RawRecord;
use talentdata_core::scan::{Basis, Completeness, Doubt, Receipt, utc};

/// What the caller wants of the commit.
pub(crate) struct Plan {
    pub(crate) max_deletes: MaxDeletes,
    pub(crate) keep: Option<Duration>,
    pub(crate) ended: SystemTime,
}

/// A record that was missing before, and was not delivered now either.
struct StillMissing {
    key: String,
    record: i64,
    last_seen: String,
    /// Whether the scan before, which lacked it too, was proven.
    proven: bool,
}

impl Staging {
    /// Commits what has changed. After an error, or when the process ends, the mirror is as it was.
    pub(crate) fn commit(self, mut scan: Receipt, plan: &Plan) -> Result<SyncReceipt, Fault> {
        if self.repeated {
            scan.completeness = Completeness::NotProven;
            (scan.basis, scan.assumes) = (None, None);
            if !scan.doubts.contains(&Doubt::RepeatedId) {
                scan.doubts.push(Doubt::RepeatedId);
            }
        }
        let transaction =
            Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)?;
        let receipt = Commit::begin(&self, &transaction)?.run(scan, plan)?;
        transaction.commit()?;
        // So that the file alone is the whole mirror; where a reader still needs the log, it stays.
        let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
        let _ = self.connection.query_row(checkpoint, [], |_| Ok(()));
        Ok(receipt)
    }
}

/// The transaction of a sync, on its way.
struct Commit<'a> {
    staging: &'a Staging,
    connection: &'a Connection,
    list: &'static str,
    number: i64,
    ended: String,
    /// Open records of the last sync that were not delivered.
    absent: Vec<i64>,
    digest: Digest,
    records: i64,
    changes: Digest,
    counts: ChangeCounts,
    seq: i64,
}

impl<'a> Commit<'a> {
    /// Finds out what was not delivered.
    ///
    /// # Errors
    /// `Io` when another sync has ended meanwhile, or the last one's records are not those that it saw.
    fn begin(staging: &'a Staging, connection: &'a Connection) -> Result<Self, Fault> {
        let list = staging.list;
        let last = SyncRow::last(connection, list)?;
        let moment =
            |row: &Option<SyncRow>| row.as_ref().map(|row| (row.number, row.started.clone()));
        if moment(&last) != moment(&staging.before) {
            let message = format!("another sync of {list} has ended meanwhile; sync again");
            return Err(io_error(message).into());
        }
        let sql = "SELECT id FROM record INDEXED BY record_key WHERE list = ?1 AND last IS NULL";
        let mut statement = connection.prepare(sql)?;
        let mut rows = statement.query([list])?;
        let mut absent = Vec::new();
        while let Some(row) = rows.next()? {
            let id = row.get(0)?;
            if !staging.seen.contains(id) {
                absent.push(id);
            }
        }
        let mut digest = staging.digest;
        for id in &absent {
            digest.add(hash_of(connection, *id)?);
        }
        let (records, missing) = match &last {
            Some(last) => (last.records, last.missing),
            None => (0, Hash::default()),
        };
        let expected = last
            .as_ref()
            .map_or(Digest::default(), |last| Digest::from_bytes(last.digest));
        let found = staging.seen.count as i64 + absent.len() as i64;
        if (found, digest) != (records, expected)
            || of_missing(connection, list)?.bytes() != missing
        {
            let what = format!("the records of {list} are not those that the last sync saw");
            return Err(Fault::Damaged(what));
        }
        Ok(Commit {
            staging,
            connection,
            list,
            number: last.map_or(0, |last| last.number) + 1,
            ended: String::new(),
            absent,
            digest,
            records,
            changes: Digest::default(),
            counts: ChangeCounts::default(),
            seq: 0,
        })
    }

    fn run(mut self, scan: Receipt, plan: &Plan) -> Result<SyncReceipt, Fault> {
        let (connection, list, number) = (self.connection, self.list, self.number);
        self.ended = utc(plan.ended);
        let proven = scan.completeness == Completeness::Proven;
        let counted = proven && scan.basis == Some(Basis::Counted);
        let still = self.still_missing()?;
        let before = self.records as u64 + count(connection, list)?;
        let is_gone = |one: &StillMissing| counted || proven && one.proven;
        let deletes = still.iter().filter(|one| is_gone(one)).count()
            + if counted { self.absent.len() } else { 0 };
        let withheld = SyncReceipt::is_withheld(plan.max_deletes, deletes as u64, before);
        let withheld = withheld.filter(|_| proven);

        self.write_delivered()?;
        let last_seen = self
            .staging
            .before
            .as_ref()
            .map(|before| before.started.clone());
        let last_seen = last_seen.unwrap_or_default();
        for id in std::mem::take(&mut self.absent) {
            let key = self.close(id)?;
            if counted && withheld.is_none() {
                self.report("delete", &key, Some(&last_seen), id)?;
                continue;
            }
            let insert = "INSERT INTO missing VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
            let values = params![list, key, number, id, last_seen, proven];
            connection.prepare_cached(insert)?.execute(values)?;
            self.report("missing", &key, Some(&last_seen), id)?;
        }
        for one in still
            .iter()
            .filter(|one| is_gone(one) && withheld.is_none())
        {
            let delete = "DELETE FROM missing WHERE list = ?1 AND key = ?2";
            connection
                .prepare_cached(delete)?
                .execute([list, &one.key])?;
            self.report("delete", &one.key, Some(&one.last_seen), one.record)?;
        }
        let update = "UPDATE missing SET proven = ?2 WHERE list = ?1 AND proven <> ?2";
        connection.execute(update, params![list, proven])?;

        let columns = self.columns()?;
        views::make(connection, list, &columns)?;
        let mut receipt = SyncReceipt {
            generation: number.unsigned_abs(),
            started: self.staging.started.clone(),
            ended: self.ended.clone(),
            changes: self.counts,
            missing: count(connection, list)?,
            withheld,
            confirms: None,
            shortfall: None,
            scan,
        };
        receipt.shortfall = receipt.why();
        let row = SyncRow {
            number,
            started: receipt.started.clone(),
            ended: receipt.ended.clone(),
            records: self.records,
            digest: self.digest.bytes(),
            changes: Some(self.changes.bytes()),
            missing: of_missing(connection, list)?.bytes(),
            parameters: self.staging.parameters.clone(),
            columns: serde_json::to_string(&columns).unwrap_or_default(),
            receipt: serde_json::to_string(&receipt).unwrap_or_default(),
        };
        row.write(connection, list)?;
        if let Some(keep) = plan.keep {
            prune(
                connection,
                list,
                &utc(plan
                    .ended
                    .checked_sub(keep)
                    .unwrap_or(SystemTime::UNIX_EPOCH)),
            )?;
        }
        Ok(receipt)
    }

    fn still_missing(&self) -> Result<Vec<StillMissing>, Fault> {
        let sql = "SELECT key, record, last_seen, proven FROM missing AS one WHERE list = ?1 \
                   AND NOT EXISTS (SELECT 1 FROM temp.staged WHERE key = one.key)";
        let mut statement = self.connection.prepare(sql)?;
        let rows = statement.query_map([self.list], |row| {
            Ok(StillMissing {
                key: row.get(0)?,
                record: row.get(1)?,
                last_seen: row.get(2)?,
                proven: row.get(3)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Writes the versions that the delivered records need, in the order of the list.
    fn write_delivered(&mut self) -> Result<(), Fault> {
        self.forget_places_of_moved()?;
        let sql = "SELECT place, late, position, text IS NOT NULL FROM temp.staged ORDER BY place";
        let mut statement = self.connection.prepare(sql)?;
        let mut rows = statement.query([])?;
        let (mut before, mut waiting) = (None::<Vec<u8>>, None::<(RangeInclusive<i64>, usize)>);
        while let Some(row) = rows.next()? {
            let (place, late): (i64, bool) = (row.get(0)?, row.get(1)?);
            let Some(position) = row.get::<_, Option<Vec<u8>>>(2)? else {
                let (range, count) = waiting.unwrap_or((place..=place, 0));
                waiting = Some((*range.start()..=place, count + 1));
                continue;
            };
            if !late {
                self.write_between(before.as_deref(), Some(&position), waiting.take())?;
            }
            if row.get(3)? {
                self.write_range(place..=place, "", std::iter::once(position.clone()))?;
            }
            if !late {
                before = Some(position);
            }
        }
        self.write_between(before.as_deref(), None, waiting)
    }

    /// Takes away the positions of records that have moved to another place of the list, so that they get new ones.
    fn forget_places_of_moved(&self) -> Result<(), Fault> {
        let (mut places, mut positions) = (Vec::new(), Positions::default());
        let sql = "SELECT place, position FROM temp.staged WHERE position IS NOT NULL AND NOT late ORDER BY place";
        let mut statement = self.connection.prepare(sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            places.push(row.get::<_, i64>(0)?);
            positions.push(row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?);
        }
        drop(rows);
        let sql = "UPDATE temp.staged SET position = NULL WHERE place = ?1";
        let mut statement = self.connection.prepare(sql)?;
        let moved = places.iter().zip(positions.moved());
        for (place, _) in moved.filter(|(_, moved)| *moved) {
            statement.execute([place])?;
        }
        Ok(())
    }

    /// Writes records without a position between two others.
    fn write_between(
        &mut self,
        before: Option<&[u8]>,
        behind: Option<&[u8]>,
        waiting: Option<(RangeInclusive<i64>, usize)>,
    ) -> Result<(), Fault> {
        match waiting {
            Some((range, count)) => self.write_range(
                range,
                "AND position IS NULL",
                between(before, behind, count),
            ),
            None => Ok(()),
        }
    }

    fn write_range(
        &mut self,
        range: RangeInclusive<i64>,
        which: &str,
        mut positions: impl Iterator<Item = Vec<u8>>,
    ) -> Result<(), Fault> {
        let connection = self.connection;
        let sql = format!(
            "SELECT key, record, text, hash, updated FROM temp.staged WHERE place BETWEEN ?1 AND ?2 {which} ORDER BY place"
        );
        let mut statement = connection.prepare_cached(&sql)?;
        let mut insert = connection.prepare_cached(
            "INSERT INTO record (list, key, first, position, hash, text) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?;
        let mut rows = statement.query([range.start(), range.end()])?;
        while let Some(row) = rows.next()? {
            let position = positions.next().unwrap_or_default();
            let key = row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?;
            let known: Option<i64> = row.get(1)?;
            let kept = match (known, row.get_ref(2)?) {
                (Some(id), rusqlite::types::ValueRef::Null) => Some(text_of(connection, id)?),
                _ => None,
            };
            if let Some(id) = known {
                self.close(id)?;
            }
            let (hash, text) = match &kept {
                Some((hash, text)) => (*hash, text.as_str()),
                None => (
                    row.get(3)?,
                    row.get_ref(2)?.as_str().map_err(rusqlite::Error::from)?,
                ),
            };
            insert.execute(params![self.list, key, self.number, position, hash, text])?;
            let id = connection.last_insert_rowid();
            self.digest.add(of_record(&position, key, text));
            self.records += 1;
            match known {
                None => self.report_new(key, id)?,
                Some(_) if row.get(4)? => {
                    let before = self
                        .staging
                        .before
                        .as_ref()
                        .map(|before| before.started.as_str());
                    self.report("update", key, before, id)?;
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// Reports a record that the last sync did not see.
    fn report_new(&mut self, key: &str, id: i64) -> Result<(), Fault> {
        let sql = "DELETE FROM missing WHERE list = ?1 AND key = ?2 RETURNING last_seen";
        let missing = match self.staging.before {
            // Of the first sync none can be missing.
            None => None,
            Some(_) => (self.connection.prepare_cached(sql)?)
                .query_row([self.list, key], |row| row.get::<_, String>(0))
                .optional()?,
        };
        let op = if missing.is_some() {
            "reappeared"
        } else {
            "insert"
        };
        self.report(op, key, missing.as_deref(), id)
    }

    /// Ends the current version of a record; returns its key.
    fn close(&mut self, id: i64) -> Result<String, Fault> {
        self.digest.remove(hash_of(self.connection, id)?);
        self.records -= 1;
        let sql = "UPDATE record SET last = ?2 WHERE id = ?1 RETURNING key";
        let mut update = self.connection.prepare_cached(sql)?;
        Ok(update.query_row([id, self.number - 1], |row| row.get(0))?)
    }

    fn report(
        &mut self,
        op: &str,
        key: &str,
        last_seen: Option<&str>,
        record: i64,
    ) -> Result<(), Fault> {
        self.seq += 1;
        *(match op {
            "insert" => &mut self.counts.insert,
            "update" => &mut self.counts.update,
            "delete" => &mut self.counts.delete,
            "missing" => &mut self.counts.missing,
            _ => &mut self.counts.reappeared,
        }) += 1;
        let values = params![
            self.list,
            self.number,
            self.seq,
            op,
            key,
            last_seen,
            self.ended,
            record
        ];
        let mut insert = self.connection.prepare_cached(CHANGE)?;
        insert.execute(values)?;
        self.changes
            .add(of_change(self.seq, op, key, last_seen, &self.ended, record));
        Ok(())
    }

    /// The columns of the list, with those of new fields behind the others.
    fn columns(&self) -> Result<TableSchema, Fault> {
        let mut grown = match &self.staging.columns {
            Some(known) => known.clone(),
            None => self.inferred(&self.staging.sample)?,
        };
        let known = grown.clone();
        for sample in [&self.staging.sample, &self.staging.fresh] {
            let found = self.inferred(sample)?.fields;
            let is_new = |column: &Column| grown.iter().all(|known| known.name != column.name);
            let new: Vec<Column> = found.into_iter().filter(is_new).collect();
            grown.fields.extend(new);
        }
        let text = serde_json::to_string(&grown).unwrap_or_default();
        // Where a table cannot have so many, their values are in the last column.
        Ok(TableSchema::from_json(&text).unwrap_or(known))
    }

    fn inferred(&self, sample: &[String]) -> Result<TableSchema, Fault> {
        let records = sample.iter().map(|text| RawRecord::parse(text));
        let records = records.collect::<talentdata_core::Result<Vec<_>>>()?;
        Ok(TableSchema::infer(
            self.staging.resource,
            &records,
            Columns::Typed,
        ))
    }
}

const CHANGE: &str = "INSERT INTO change VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";

/// What a change adds to the digest of its sync's changes.
pub(crate) fn of_change(
    seq: i64,
    op: &str,
    key: &str,
    last_seen: Option<&str>,
    seen: &str,
    record: i64,
) -> Hash {
    let last_seen = last_seen.unwrap_or_default().as_bytes();
    let (seq, record) = (seq.to_le_bytes(), record.to_le_bytes());
    of(&[
        &seq,
        op.as_bytes(),
        key.as_bytes(),
        last_seen,
        seen.as_bytes(),
        &record,
    ])
}

/// How many records of a list are missing.
fn count(connection: &Connection, list: &str) -> Result<u64, Fault> {
    let sql = "SELECT count(*) FROM missing WHERE list = ?1";
    let count: i64 = connection.query_row(sql, [list], |row| row.get(0))?;
    Ok(count.unsigned_abs())
}

fn hash_of(connection: &Connection, id: i64) -> Result<Hash, Fault> {
    let sql = "SELECT position, key, text FROM record WHERE id = ?1";
    let hash = |row: &Row<'_>| {
        let position = row.get_ref(0)?.as_blob()?;
        Ok(of_record(
            position,
            row.get_ref(1)?.as_str()?,
            row.get_ref(2)?.as_str()?,
        ))
    };
    Ok(connection.prepare_cached(sql)?.query_row([id], hash)?)
}

fn text_of(connection: &Connection, id: i64) -> Result<(Hash, String), Fault> {
    let sql = "SELECT hash, text FROM record WHERE id = ?1";
    let mut select = connection.prepare_cached(sql)?;
    Ok(select.query_row([id], |row| Ok((row.get(0)?, row.get(1)?)))?)
}

/// Removes what was over before a time: the last sync that had ended by then is the first that can still be read.
fn prune(connection: &Connection, list: &str, before: &str) -> Result<(), Fault> {
    let sql = "SELECT max(number) FROM sync WHERE list = ?1 AND ended <= ?2";
    let first: Option<i64> = connection.query_row(sql, [list, before], |row| row.get(0))?;
    let Some(first) = first else {
        return Ok(());
    };
    connection.execute(
        "DELETE FROM change WHERE list = ?1 AND sync <= ?2",
        params![list, first],
    )?;
    connection.execute(
        "DELETE FROM sync WHERE list = ?1 AND number < ?2",
        params![list, first],
    )?;
    connection.execute(
        "DELETE FROM record WHERE list = ?1 AND last < ?2 AND id NOT IN (SELECT record FROM change WHERE list = ?1) \
         AND id NOT IN (SELECT record FROM missing WHERE list = ?1)",
        params![list, first],
    )?;
    let kept = SyncRow::all(connection, list)?
        .into_iter()
        .find(|row| row.number == first);
    if let Some(row) = kept.filter(|row| row.changes.is_some()) {
        SyncRow {
            changes: None,
            ..row
        }
        .write(connection, list)?;
    }
    Ok(())
}
