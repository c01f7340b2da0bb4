//! What a complete scan means for the mirror: the one transaction of a sync.

use crate::canonical::Hash;
use crate::file::{Fault, io_error};
use crate::order::positions;
use crate::seal::{SyncRow, of_missing};
use crate::staging::Staging;
use crate::sync::{ChangeCounts, MaxDeletes, SyncReceipt, Withheld};
use crate::views;
use rusqlite::{Connection, Transaction, TransactionBehavior, params};
use std::time::{Duration, SystemTime};
use talentdata_core::scan::{Basis, Completeness, Doubt, Receipt, utc};

/// What the caller wants of the commit.
pub(crate) struct Plan {
    pub(crate) max_deletes: MaxDeletes,
    pub(crate) keep: Option<Duration>,
    pub(crate) ended: SystemTime,
}

/// What the statements below need to know of this sync: `last_seen` is when the scan before began, and `deletes` whether
/// this one may delete.
const NOW: &str = "CREATE TEMP TABLE now AS SELECT ?1 AS list, ?2 AS number, ?3 AS ended, ?4 AS last_seen, \
     ?5 AS proven, ?6 AS counted, 0 AS deletes";

/// Ends the versions that are no longer current, writes the new ones in the order of the list, and notes as missing
/// what was not delivered.
const VERSIONS: &str = "
    CREATE TEMP TABLE absent (id INTEGER PRIMARY KEY);
    INSERT INTO absent SELECT id FROM record INDEXED BY record_key WHERE list = (SELECT list FROM now) AND last IS NULL
        AND id NOT IN (SELECT record FROM staged WHERE record IS NOT NULL);
    UPDATE record SET last = (SELECT number FROM now) - 1 WHERE id IN
        (SELECT id FROM absent UNION ALL SELECT record FROM staged WHERE renewed AND record IS NOT NULL);
    INSERT INTO record (list, key, first, position, hash, text)
        SELECT now.list, staged.key, now.number, staged.position, ifnull(staged.hash, old.hash), ifnull(staged.text, old.text)
        FROM now CROSS JOIN staged LEFT JOIN record AS old ON old.id = staged.record WHERE renewed ORDER BY place;
    INSERT INTO missing SELECT now.list, key, now.number, id, now.last_seen, 0
        FROM absent CROSS JOIN now JOIN record USING (id);
";

/// The missing records that this scan proves to be gone, if it may delete: one that counted the list proves it by
/// itself, another one if the scan before was proven and lacked them too.
const GONE: &str = "SELECT count(*) FROM now CROSS JOIN missing USING (list)
    WHERE now.proven AND (counted OR missing.proven) AND key NOT IN (SELECT key FROM staged)";

/// Reports what has changed, in the order of the list, and then what was not delivered.
const CHANGES: &str = "
    INSERT INTO change
        SELECT list, number, row_number() OVER (ORDER BY part, place), op, key, seen_before, ended, id FROM (
            SELECT now.*, 0 AS part, place, staged.key, new.id,
                CASE WHEN staged.record IS NOT NULL THEN 'update' WHEN missing.key IS NULL THEN 'insert' ELSE 'reappeared' END AS op,
                CASE WHEN staged.record IS NOT NULL THEN now.last_seen ELSE missing.last_seen END AS seen_before
            FROM now CROSS JOIN staged LEFT JOIN record AS old ON old.id = staged.record
            JOIN record AS new ON new.list = now.list AND new.key = staged.key AND new.last IS NULL
            LEFT JOIN missing ON missing.list = now.list AND missing.key = staged.key
            WHERE renewed AND (staged.record IS NULL OR staged.hash <> old.hash)
        UNION ALL
            SELECT now.*, 1, record, key, record,
                CASE WHEN deletes AND (counted OR missing.proven) THEN 'delete' ELSE 'missing' END AS op, missing.last_seen
            FROM now CROSS JOIN missing USING (list)
            WHERE key NOT IN (SELECT key FROM staged) AND (op = 'delete' OR since = number)
        );
    DELETE FROM missing WHERE (list, key) IN
        (SELECT change.list, change.key FROM now JOIN change ON (change.list, sync) = (now.list, number) WHERE op IN ('delete', 'reappeared'));
    UPDATE missing SET proven = (SELECT proven FROM now) WHERE list = (SELECT list FROM now);
";

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
        let begin = Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate);
        let transaction = begin?;
        let receipt = self.apply(scan, plan)?;
        transaction.commit()?;
        // So that the file alone is the whole mirror; where a reader still needs the log, it stays.
        let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
        let _ = self.connection.query_row(checkpoint, [], |_| Ok(()));
        Ok(receipt)
    }

    fn apply(&self, scan: Receipt, plan: &Plan) -> Result<SyncReceipt, Fault> {
        let (connection, list) = (&self.connection, self.list);
        let last = SyncRow::all(connection, list)?.pop();
        let moment =
            |row: &Option<SyncRow>| row.clone().map(|row| (row.number(), row.receipt.started));
        if moment(&last) != moment(&self.before) {
            let message = format!("another sync of {list} has ended meanwhile; sync again");
            return Err(io_error(message).into());
        }
        let damaged = || {
            let what = format!("the records of {list} are not those that the last sync saw");
            Err(Fault::Damaged(what))
        };
        let known = last
            .as_ref()
            .map(|last| (last.records, last.digest, last.missing));
        let (records, digest, missing) = known.unwrap_or_default();
        if of_missing(connection, list)? != missing {
            return damaged();
        }
        let count = || -> Result<u64, Fault> {
            let sql = "SELECT count(*) FROM missing WHERE list = ?1";
            let count: i64 = connection.query_row(sql, [list], |row| row.get(0))?;
            Ok(count.unsigned_abs())
        };
        let had = records.unsigned_abs() + count()?;
        let number = last.as_ref().map_or(0, SyncRow::number) + 1;
        let (started, ended) = (self.started.clone(), utc(plan.ended));
        let proven = scan.completeness == Completeness::Proven;
        let counted = proven && scan.basis == Some(Basis::Counted);
        let last_seen = last.as_ref().map(|last| last.receipt.started.as_str());
        connection.execute(
            NOW,
            params![list, number, ended, last_seen, proven, counted],
        )?;

        self.place()?;
        connection.execute_batch(VERSIONS)?;
        let deletes: i64 = connection.query_row(GONE, [], |row| row.get(0))?;
        let deletes = deletes.unsigned_abs();
        let allowed = plan.max_deletes.allows(deletes, had);
        connection.execute("UPDATE now SET deletes = proven AND ?1", [allowed])?;
        connection.execute_batch(CHANGES)?;

        // What the last sync saw, what of that has ended, and what is new.
        let sums = ["first < ?2", "last IS NOT NULL", "first = ?2"].map(|which| {
            format!("count(*) FILTER (WHERE {which}), digest(position, key, text) FILTER (WHERE {which})")
        });
        let sql = format!(
            "SELECT {} FROM record INDEXED BY record_order WHERE list = ?1 AND (last IS NULL OR last = ?2 - 1)",
            sums.join(", ")
        );
        let [then, closed, new] = connection.query_row(&sql, params![list, number], |row| {
            let sum = |at: usize| -> rusqlite::Result<(i64, Hash)> {
                Ok((row.get(at)?, row.get(at + 1)?))
            };
            Ok([sum(0)?, sum(2)?, sum(4)?])
        })?;
        if then != (records, digest) {
            return damaged();
        }
        let [was, less, more] = [then.1, closed.1, new.1].map(u128::from_le_bytes);
        let digest = was.wrapping_sub(less).wrapping_add(more).to_le_bytes();
        let columns = self.grown_columns()?;
        views::make(connection, list, &columns)?;
        let mut receipt = SyncReceipt {
            generation: number.unsigned_abs(),
            started,
            ended,
            changes: self.counts(number)?,
            missing: count()?,
            withheld: (!allowed).then_some(Withheld {
                deletes,
                records: had,
            }),
            confirms: None,
            shortfall: None,
            scan,
        };
        receipt.shortfall = receipt.why();
        let sql = "SELECT digest(seq, op, key, last_seen, seen, record) FROM change WHERE list = ?1 AND sync = ?2";
        let changes = connection.query_row(sql, params![list, number], |row| row.get(0))?;
        let row = SyncRow {
            receipt,
            records: records - closed.0 + new.0,
            digest,
            changes: Some(changes),
            missing: of_missing(connection, list)?,
            parameters: self.parameters.clone(),
            columns,
        };
        row.write(connection, list)?;
        if let Some(keep) = plan.keep {
            let before = plan
                .ended
                .checked_sub(keep)
                .unwrap_or(SystemTime::UNIX_EPOCH);
            prune(connection, list, &utc(before))?;
        }
        Ok(row.receipt)
    }

    /// Gives the staged records their positions. What came late, and was there before, stays where it was.
    fn place(&self) -> Result<(), Fault> {
        let sql =
            "SELECT place, position FROM staged WHERE NOT late OR position IS NULL ORDER BY place";
        let mut statement = self.connection.prepare(sql)?;
        let mut rows = statement.query([])?;
        let (mut places, mut old) = (Vec::<i64>::new(), Vec::<Option<i64>>::new());
        while let Some(row) = rows.next()? {
            places.push(row.get(0)?);
            old.push(row.get(1)?);
        }
        drop(rows);
        let sql = "UPDATE staged SET position = ?2, renewed = 1 WHERE place = ?1";
        let mut update = self.connection.prepare(sql)?;
        let new = positions(&old).into_iter();
        for ((place, new), old) in places.into_iter().zip(new).zip(old) {
            if old != Some(new) {
                update.execute([place, new])?;
            }
        }
        Ok(())
    }

    fn counts(&self, number: i64) -> Result<ChangeCounts, Fault> {
        let mut counts = ChangeCounts::default();
        let sql = "SELECT op, count(*) FROM change WHERE list = ?1 AND sync = ?2 GROUP BY op";
        let mut statement = self.connection.prepare(sql)?;
        let mut rows = statement.query(params![self.list, number])?;
        while let Some(row) = rows.next()? {
            let count = match row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)? {
                "insert" => &mut counts.insert,
                "update" => &mut counts.update,
                "delete" => &mut counts.delete,
                "missing" => &mut counts.missing,
                _ => &mut counts.reappeared,
            };
            *count = row.get::<_, i64>(1)?.unsigned_abs();
        }
        Ok(counts)
    }
}

/// Removes what was over before a time: the last sync that had ended by then is the first that can still be read.
fn prune(connection: &Connection, list: &str, before: &str) -> Result<(), Fault> {
    let syncs = SyncRow::all(connection, list)?.into_iter();
    let Some(first) = syncs
        .filter(|row| row.receipt.ended.as_str() <= before)
        .last()
    else {
        return Ok(());
    };
    for delete in [
        "change WHERE list = ?1 AND sync <= ?2",
        "sync WHERE list = ?1 AND number < ?2",
        "record WHERE list = ?1 AND last < ?2 AND id NOT IN \
         (SELECT record FROM change WHERE list = ?1 UNION ALL SELECT record FROM missing WHERE list = ?1)",
    ] {
        let sql = format!("DELETE FROM {delete}");
        connection.execute(&sql, params![list, first.number()])?;
    }
    SyncRow {
        changes: None,
        ..first
    }
    .write(connection, list)
}
