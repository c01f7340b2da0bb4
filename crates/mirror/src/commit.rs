//! What a complete scan means for the mirror: the one transaction of a sync.

use crate::file::{Fault, io_error};
use crate::order::{Entry, place};
use crate::receipt::{
    CHANGES_OF, ChangeCounts, MaxDeletes, SyncReceipt, SyncRow, Withheld, of_missing,
};
use crate::staging::Staging;
use crate::views;
use rusqlite::{Connection, Row, params};
use std::time::{Duration, SystemTime};
use talentdata_core::scan::{Basis, Completeness, Doubt, Receipt, utc};

/// What the caller wants of the commit.
pub(crate) struct Plan {
    pub(crate) max_deletes: MaxDeletes,
    pub(crate) keep: Option<Duration>,
    pub(crate) ended: SystemTime,
}

/// What the statements below need to know of this sync: `last_seen` is when the scan before began, and `deletes` whether
/// this one may delete. `absent` are the rows of versions that the scan has not shown.
const NOW: &str = "CREATE TEMP TABLE now AS SELECT ?1 AS list, ?2 AS number, ?3 AS ended, ?4 AS last_seen, \
     ?5 AS proven, ?6 AS counted, 0 AS deletes";
const ABSENT: &str = "CREATE TEMP TABLE absent (id INTEGER PRIMARY KEY)";

/// How many rows there are, and their digest: those that end with this sync, and those that begin with it.
const ENDING: &str = "SELECT count(*), digest(position, key, text) FROM record \
     WHERE id IN (SELECT id FROM absent UNION ALL SELECT record FROM staged)";
const BEGINNING: &str =
    "SELECT count(*), digest(position, key, text) FROM record WHERE id > ?1 AND list = ?2";

/// Gives a record another position.
const MOVE: &str = "INSERT INTO staged SELECT NULL, key, id, ?2, 0, NULL FROM record WHERE id = ?1 \
     ON CONFLICT (key) DO UPDATE SET position = excluded.position";

/// Ends the versions that are no longer current, writes the new ones in the order of the list, and notes as missing
/// what was not delivered.
const VERSIONS: &str = "
    UPDATE record SET last = (SELECT number FROM now) - 1
        WHERE id IN (SELECT id FROM absent UNION ALL SELECT record FROM staged);
    INSERT INTO record (list, key, first, position, text)
        SELECT now.list, staged.key, now.number, staged.position, ifnull(staged.text, old.text)
        FROM now CROSS JOIN staged LEFT JOIN record AS old ON old.id = staged.record ORDER BY place;
    INSERT INTO missing SELECT now.list, key, now.number, id, now.last_seen, 0
        FROM absent CROSS JOIN now JOIN record USING (id);
";

/// The missing records that this scan proves to be gone, if it may delete: one that counted the list proves it by
/// itself, another one if the scan before was proven and lacked them too.
const GONE: &str = "SELECT count(*) FROM now CROSS JOIN missing USING (list)
    WHERE list = ?1 AND now.proven AND (counted OR missing.proven) AND key NOT IN (SELECT key FROM staged)";

/// Reports what has changed, in the order of the list, and then what was not delivered.
const CHANGES: &str = "
    INSERT INTO change
        SELECT list, number, row_number() OVER (ORDER BY part, place), op, key, seen_before, ended, id FROM (
            SELECT now.*, 0 AS part, place, staged.key, new.id,
                CASE WHEN differs THEN 'update' WHEN missing.key IS NULL THEN 'insert' ELSE 'reappeared' END AS op,
                CASE WHEN differs THEN now.last_seen ELSE missing.last_seen END AS seen_before
            FROM now CROSS JOIN staged
            JOIN record AS new ON new.list = now.list AND new.key = staged.key AND new.last IS NULL
            LEFT JOIN missing ON missing.list = now.list AND missing.key = staged.key
            WHERE staged.record IS NULL OR differs
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
    pub(crate) fn commit(mut self, mut scan: Receipt, plan: &Plan) -> Result<SyncReceipt, Fault> {
        if self.shown.repeated {
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

    fn apply(&mut self, scan: Receipt, plan: &Plan) -> Result<SyncReceipt, Fault> {
        let (connection, list) = (&self.connection, self.list);
        let last = SyncRow::all(connection, list)?.pop();
        let moment = |row: Option<&SyncRow>| Some((row?.number(), row?.receipt.started.clone()));
        if moment(last.as_ref()) != moment(self.before.as_ref()) {
            let message = format!("another sync of {list} has ended meanwhile; sync again");
            return Err(io_error(message).into());
        }
        let count = |sql| -> Result<i64, Fault> {
            Ok(connection.query_row(sql, [list], |row| row.get(0))?)
        };
        let missing = "SELECT count(*) FROM missing WHERE list = ?1";
        let (records, was) = last.as_ref().map_or((0, 0), |last| {
            (last.records, u128::from_le_bytes(last.digest))
        });
        let had = (records + count(missing)?).unsigned_abs();
        let number = last.as_ref().map_or(0, SyncRow::number) + 1;
        let (started, ended) = (self.started.clone(), utc(plan.ended));
        let proven = scan.completeness == Completeness::Proven;
        let counted = proven && scan.basis == Some(Basis::Counted);
        let last_seen = last.as_ref().map(|last| last.receipt.started.as_str());
        connection.execute(
            NOW,
            params![list, number, ended, last_seen, proven, counted],
        )?;
        self.note_absent(was)?;
        for index in place(&mut self.shown.order) {
            let Entry { record, position } = self.shown.order[index];
            let change = match record {
                1.. => MOVE,
                _ => "UPDATE staged SET position = ?2 WHERE place = -?1",
            };
            connection
                .prepare_cached(change)?
                .execute([record, position])?;
        }
        let sum = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?, u128::from_le_bytes(row.get(1)?)));
        let (ending, less) = connection.query_row(ENDING, [], sum)?;
        let newest = "SELECT ifnull(max(id), 0) FROM record";
        let newest: i64 = connection.query_row(newest, [], |row| row.get(0))?;
        connection.execute_batch(VERSIONS)?;
        let (beginning, more) = connection.query_row(BEGINNING, params![newest, list], sum)?;
        let deletes = count(GONE)?.unsigned_abs();
        let allowed = plan.max_deletes.allows(deletes, had);
        connection.execute("UPDATE now SET deletes = proven AND ?1", [allowed])?;
        connection.execute_batch(CHANGES)?;
        let columns = self.columns.columns()?;
        views::make(connection, list, &columns)?;
        let mut receipt = SyncReceipt {
            generation: number.unsigned_abs(),
            started,
            ended,
            changes: self.counts(number)?,
            missing: count(missing)?.unsigned_abs(),
            withheld: (!allowed).then_some(Withheld {
                deletes,
                records: had,
            }),
            confirms: None,
            shortfall: None,
            scan,
        };
        receipt.shortfall = receipt.why();
        let changes = format!("SELECT digest{CHANGES_OF} AND sync = ?2");
        let changes = connection.query_row(&changes, params![list, number], |row| row.get(0))?;
        let row = SyncRow {
            receipt,
            records: records - ending + beginning,
            digest: was.wrapping_sub(less).wrapping_add(more).to_le_bytes(),
            changes: Some(changes),
            missing: of_missing(connection, list)?,
            parameters: self.parameters.clone(),
            columns,
        };
        row.write(connection, list)?;
        if let Some(keep) = plan.keep {
            let before = plan.ended.checked_sub(keep);
            prune(
                connection,
                list,
                &utc(before.unwrap_or(SystemTime::UNIX_EPOCH)),
            )?;
        }
        Ok(row.receipt)
    }

    /// Notes what the scan has not shown of the versions of the last sync, and refuses to go on where they are not those
    /// that it saw.
    fn note_absent(&self, digest: u128) -> Result<(), Fault> {
        let connection = &self.connection;
        connection.execute_batch(ABSENT)?;
        let current =
            "SELECT id FROM record INDEXED BY record_key WHERE list = ?1 AND last IS NULL";
        let mut current = connection.prepare(current)?;
        let mut rows = current.query([self.list])?;
        let mut absent = connection.prepare("INSERT INTO absent VALUES (?1)")?;
        while let Some(row) = rows.next()? {
            let id = row.get(0)?;
            if !self.shown.has(id) {
                absent.execute([id])?;
            }
        }
        let sql =
            "SELECT digest(position, key, text) FROM record WHERE id IN (SELECT id FROM absent)";
        let sum = connection.query_row(sql, [], |row| row.get(0))?;
        let found = self.shown.sum.wrapping_add(u128::from_le_bytes(sum));
        match found == digest {
            true => Ok(()),
            false => Err(Fault::Damaged(format!(
                "the records of {} are not those that the last sync saw",
                self.list
            ))),
        }
    }

    fn counts(&self, number: i64) -> Result<ChangeCounts, Fault> {
        let ops = ["insert", "update", "delete", "missing", "reappeared"];
        let counts = ops.map(|op| format!("count(*) FILTER (WHERE op = '{op}')"));
        let counts = counts.join(", ");
        let sql = format!("SELECT {counts} FROM change WHERE list = ?1 AND sync = ?2");
        Ok(
            (self.connection).query_row(&sql, params![self.list, number], |row| {
                let count = |index| row.get::<_, i64>(index).map(i64::unsigned_abs);
                Ok(ChangeCounts {
                    insert: count(0)?,
                    update: count(1)?,
                    delete: count(2)?,
                    missing: count(3)?,
                    reappeared: count(4)?,
                })
            })?,
        )
    }
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
