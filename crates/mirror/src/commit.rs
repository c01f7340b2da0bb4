//! What a complete scan means for the mirror: the one transaction of a sync.

use crate::digest::Hash;
use crate::file::{Fault, damaged, io_error};
use crate::order::{NONE, place};
use crate::receipt::{CHANGES_OF, MaxDeletes, SyncReceipt, SyncRow, Withheld};
use crate::staging::Staging;
use crate::views;
use rusqlite::{Connection, params};
use std::collections::HashSet;
use std::time::{Duration, SystemTime};
use talentdata_columns::arrow::{Columns, TableSchema};
use talentdata_core::scan::{Basis, Completeness, Doubt, Receipt, utc};
use talentdata_core::{RawRecord, json};

/// What the caller wants of the commit.
pub(crate) struct Plan {
    pub(crate) max_deletes: MaxDeletes,
    pub(crate) keep: Option<Duration>,
    pub(crate) ended: SystemTime,
}

impl Staging {
    /// Commits what has changed. After an error, or when the process ends, the mirror is as it was.
    pub(crate) fn commit(self, mut scan: Receipt, plan: &Plan) -> Result<SyncReceipt, Fault> {
        if self.is_repeated {
            scan.completeness = Completeness::NotProven;
            (scan.basis, scan.assumes) = (None, None);
            if !scan.doubts.contains(&Doubt::RepeatedId) {
                scan.doubts.push(Doubt::RepeatedId);
            }
        }
        self.connection.execute_batch("BEGIN IMMEDIATE")?;
        let receipt = self.apply(scan, plan)?;
        self.connection.execute_batch("COMMIT")?;
        // So that the file alone is the whole mirror; where a reader still needs the log, it stays.
        let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
        let _ = self.connection.query_row(checkpoint, [], |_| Ok(()));
        Ok(receipt)
    }

    fn apply(&self, scan: Receipt, plan: &Plan) -> Result<SyncReceipt, Fault> {
        let (connection, list) = (&self.connection, self.resource.name());
        let last = SyncRow::all(connection, list)?.pop();
        let moment = |row: &SyncRow| (row.number(), row.receipt.started.clone());
        if last.as_ref().map(moment) != self.before.as_ref().map(moment) {
            let message = format!("another sync of {list} has ended meanwhile; sync again");
            return Err(io_error(message).into());
        }
        let (had, seen, missing) = state(connection, list)?;
        let known = last.as_ref().map(|last| (last.digest, last.missing));
        if known.unwrap_or_default() != (seen, missing) {
            let what = format!("the records of {list} are not those that the last sync saw");
            return Err(damaged(what).into());
        }
        self.place()?;
        let before = last.as_ref().map_or(0, SyncRow::number);
        let last_seen = last.as_ref().map_or("", |last| &last.receipt.started);
        let (number, ended) = (before + 1, utc(plan.ended));
        connection.execute_batch(&format!(
            "
            -- Ends the versions that are no longer current, and writes the new ones in the order of the list.
            UPDATE record SET last = ifnull(last, {before}), missing = NULL
                WHERE id IN (SELECT record FROM staged WHERE text IS NOT NULL);
            UPDATE record INDEXED BY record_order SET last = {before}, missing = 0, last_seen = '{last_seen}'
                WHERE list = '{list}' AND last IS NULL AND id NOT IN (SELECT record FROM late)
                AND NOT EXISTS (SELECT 1 FROM staged WHERE staged.record = record.id);
            INSERT INTO record (list, key, first, position, text)
                SELECT '{list}', ifnull(staged.key, old.key), {number}, staged.position, staged.text
                FROM staged LEFT JOIN record AS old ON old.id = staged.record WHERE staged.text IS NOT NULL ORDER BY place;
            INSERT INTO change
                SELECT '{list}', {number}, row_number() OVER (ORDER BY place), op, new.key,
                    iif(op = 'update', '{last_seen}', staged.last_seen), '{ended}', new.id
                FROM staged JOIN record AS new
                ON new.list = '{list}' AND new.position = staged.position AND new.first = {number}
                WHERE op IS NOT NULL;
            "
        ))?;
        // A scan that counted the list proves by itself that a record is gone, another one if the scan before was proven
        // and lacked it too.
        let is_proven = scan.completeness == Completeness::Proven;
        let is_proof = match (is_proven, scan.basis) {
            (false, _) => "0",
            (true, Some(Basis::Counted)) => "1",
            (true, _) => "missing",
        };
        let lacking = format!("FROM record WHERE list = '{list}' AND missing IS NOT NULL");
        let gone = format!("{is_proof} AND id NOT IN (SELECT record FROM late)");
        let count = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
        let deletes = count(&format!("SELECT count(*) {lacking} AND {gone}"))?.unsigned_abs();
        let is_allowed = plan.max_deletes.allows(deletes, had);
        let op = format!(
            "CASE WHEN {is_allowed} AND {gone} THEN 'delete' WHEN last = {before} THEN 'missing' END"
        );
        connection.execute_batch(&format!(
            "
            INSERT INTO change
                SELECT '{list}', {number}, row_number() OVER (ORDER BY position, id)
                    + (SELECT ifnull(max(seq), 0) FROM change WHERE list = '{list}' AND sync = {number}),
                    op, key, last_seen, '{ended}', id
                FROM (SELECT *, {op} AS op {lacking}) WHERE op IS NOT NULL;
            UPDATE record SET missing = iif({is_allowed} AND {gone}, NULL, {is_proven} AND id NOT IN (SELECT record FROM late))
                WHERE list = '{list}' AND missing IS NOT NULL;
            "
        ))?;
        let columns = self.columns()?;
        views::make(connection, list, &columns)?;
        let (_, digest, missing) = state(connection, list)?;
        let mut receipt = SyncReceipt {
            generation: number.unsigned_abs(),
            started: self.started.clone(),
            ended,
            missing: count(&format!("SELECT count(*) {lacking}"))?.unsigned_abs(),
            withheld: (!is_allowed).then_some(Withheld {
                deletes,
                records: had,
            }),
            scan,
            ..SyncReceipt::default()
        };
        let changes = format!(
            "SELECT digest{} {} AND sync = ?2",
            CHANGES_OF.0, CHANGES_OF.1
        );
        let changes = connection.query_row(&changes, params![list, number], |row| row.get(0))?;
        let counts = "SELECT json_group_object(op, count) FROM \
             (SELECT op, count(*) AS count FROM change WHERE list = ?1 AND sync = ?2 GROUP BY op)";
        let counts: String =
            connection.query_row(counts, params![list, number], |row| row.get(0))?;
        receipt.changes = serde_json::from_str(&counts).unwrap_or_default();
        receipt.shortfall = receipt.why();
        let row = SyncRow {
            receipt,
            digest,
            missing,
            changes: Some(changes),
            parameters: self.parameters.clone(),
            columns,
        };
        row.write(connection, list)?;
        if let Some(keep) = plan.keep {
            let before = plan.ended.checked_sub(keep);
            let before = utc(before.unwrap_or(SystemTime::UNIX_EPOCH));
            prune(connection, list, &before)?;
        }
        Ok(row.receipt)
    }

    /// Gives positions to the records that are new or have moved; the latter need new versions.
    fn place(&self) -> Result<(), Fault> {
        let order = "SELECT ifnull(position, ?1) FROM staged ORDER BY place";
        let mut order = self.connection.prepare(order)?;
        let order = order.query_map([NONE], |row| row.get(0))?;
        let mut order = order.collect::<rusqlite::Result<Vec<i64>>>()?;
        let given = place(&mut order);
        let update = "UPDATE staged SET position = ?2, \
             text = ifnull(text, (SELECT old.text FROM record AS old WHERE old.id = record)) WHERE place = ?1";
        let mut update = self.connection.prepare(update)?;
        for index in given {
            update.execute(params![index as i64 + 1, order[index]])?;
        }
        Ok(())
    }

    /// All columns, with those of new fields behind the others. They are inferred from the first texts that are new, and
    /// further ones with new fields.
    fn columns(&self) -> Result<TableSchema, Fault> {
        let known = self.before.as_ref().map(|before| &before.columns);
        let names = known.into_iter().flatten();
        let mut fields: HashSet<String> = names.map(|column| column.name.clone()).collect();
        let texts = "SELECT text FROM staged WHERE text IS NOT NULL ORDER BY place";
        let (mut texts, mut sample) = (self.connection.prepare(texts)?, Vec::new());
        let mut rows = texts.query([])?;
        while let Some(row) = rows.next()? {
            let (text, mut max) = (row.get_ref(0)?.as_str().unwrap_or_default(), 1);
            json::each_member(text, |name, _| {
                if let Some(name) = json::text(name)
                    && !fields.contains(&*name)
                {
                    fields.insert(name.into_owned());
                    max = 2;
                }
            });
            if sample.len() < max * TableSchema::SAMPLE {
                sample.push(text.to_owned());
            }
        }
        let mut grown = known.cloned();
        for sample in sample.chunks(TableSchema::SAMPLE) {
            let records = RawRecord::parse_all(sample)?;
            let mut found = TableSchema::infer(self.resource, &records, Columns::Typed);
            if let Some(mut grown) = grown {
                found
                    .fields
                    .retain(|one| grown.iter().all(|known| known.name != one.name));
                grown.fields.append(&mut found.fields);
                found = grown;
            }
            grown = Some(found);
        }
        let grown = grown.unwrap_or_else(|| TableSchema::infer(self.resource, &[], Columns::Typed));
        // Where a table cannot have so many, their values are in the last column.
        let grown = TableSchema::from_json(&grown.to_json());
        Ok(grown.or_else(|error| known.cloned().ok_or(error))?)
    }
}

/// How many records a list has that the last sync saw or that are missing since, and the digests of the former and of the
/// latter.
pub(crate) fn state(connection: &Connection, list: &str) -> Result<(u64, Hash, Hash), Fault> {
    let sql = "SELECT count(*), digest(position, key, text) FILTER (WHERE last IS NULL), \
         digest(position, key, text, last, missing, last_seen) FILTER (WHERE missing IS NOT NULL) \
         FROM record INDEXED BY record_order WHERE list = ?1 AND (last IS NULL OR missing IS NOT NULL)";
    Ok(connection.query_row(sql, [list], |row| {
        let count: i64 = row.get(0)?;
        Ok((count.unsigned_abs(), row.get(1)?, row.get(2)?))
    })?)
}

/// Removes what was over before a time: the last sync that had ended by then is the first that can still be read.
fn prune(connection: &Connection, list: &str, before: &str) -> Result<(), Fault> {
    let syncs = SyncRow::all(connection, list)?.into_iter();
    let by_then = |row: &SyncRow| row.receipt.ended.as_str() <= before;
    let Some(first) = syncs.rev().find(by_then) else {
        return Ok(());
    };
    for delete in [
        "change WHERE list = ?1 AND sync <= ?2",
        "sync WHERE list = ?1 AND number < ?2",
        "record WHERE list = ?1 AND last < ?2 AND missing IS NULL \
         AND id NOT IN (SELECT record FROM change WHERE list = ?1)",
    ] {
        connection.execute(
            &format!("DELETE FROM {delete}"),
            params![list, first.number()],
        )?;
    }
    SyncRow {
        changes: None,
        ..first
    }
    .write(connection, list)
}
