//! Erases single records of a list in an open transaction: their versions, their changes, and their values in the
//! receipts of kept syncs.
//! The digests of a sync combine the digests of rows by exclusive or. Combining them with the digests of the erased
//! rows once more removes these rows.

use crate::digest::Hash;
use crate::file::MirrorResult;
use crate::receipt::SyncRow;
use crate::sql::{run, sql};
use rusqlite::{Connection, named_params};
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};
use talentdata_core::scan::{Receipt, SchemaDifferences};

/// The numbers of versions and changes that were erased.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Taken {
    pub(crate) versions: u64,
    pub(crate) changes: u64,
}

/// Erases the records of a list whose keys are in the table `erased`, after `find_erased` found their versions and
/// changes. `syncs` are all kept syncs of the list. Their rows are rewritten.
pub(crate) fn take_out(
    connection: &Connection,
    list: &str,
    syncs: &mut [SyncRow],
) -> MirrorResult<Taken> {
    let kept = SyncRow::before_changes(syncs);
    let steps = by_sync(connection, sql!("erased_digests"), kept)?;
    let changes = by_sync(connection, sql!("erased_changes"), kept)?;
    let missing: (u64, Hash) = connection.query_row(sql!("erased_missing"), [], |row| {
        Ok((row.get::<_, i64>(0)?.unsigned_abs(), row.get(1)?))
    })?;
    scrub(connection, syncs)?;
    let (mut seen, mut digest, last) = (0, 0, syncs.len().saturating_sub(1));
    for (index, row) in syncs.iter_mut().enumerate() {
        let number = row.number();
        let (step, change) = steps.get(&number).copied().unwrap_or_default();
        (seen, digest) = (seen + step, digest ^ change);
        row.receipt.erased_since += u64::try_from(seen).unwrap_or_default();
        row.digest ^= digest;
        // The digests of changes that are no longer kept cannot be compared, and must not reveal the erased records.
        row.changes = match changes.get(&number) {
            _ if number <= kept => 0,
            Some((_, erased)) => row.changes ^ erased,
            None => row.changes,
        };
        row.missing = if index == last {
            row.missing ^ missing.1
        } else {
            0
        };
        if index == last {
            row.receipt.missing -= missing.0.min(row.receipt.missing);
        }
        rewrite(connection, list, row)?;
    }
    let values = named_params! {":list": list};
    let erased = run(connection, sql!("erase"), values)?;
    let [changes, versions] = erased[..] else {
        return Ok(Taken::default());
    };
    Ok(Taken { versions, changes })
}

/// Rewrites the row of a sync with its new seal.
pub(crate) fn rewrite(connection: &Connection, list: &str, row: &SyncRow) -> MirrorResult<()> {
    let values = named_params! {
        ":list": list,
        ":sync": row.number(),
        ":about": serde_json::to_string(row)?,
    };
    run(connection, sql!("reseal_sync"), values)?;
    Ok(())
}

/// Returns a count and a digest of each sync.
fn by_sync(
    connection: &Connection,
    sql: &str,
    kept: i64,
) -> MirrorResult<BTreeMap<i64, (i64, Hash)>> {
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map(named_params! {":kept": kept}, |row| {
        Ok((row.get(0)?, (row.get(1)?, row.get(2)?)))
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Removes each value that occurs in an erased version from the receipts of syncs.
fn scrub(connection: &Connection, syncs: &mut [SyncRow]) -> MirrorResult<()> {
    let mut named = HashSet::new();
    for row in syncs.iter_mut() {
        each_named(&mut row.receipt.scan, |text| {
            named.insert(text.to_owned());
            true
        });
    }
    if named.is_empty() {
        return Ok(());
    }
    let mut erased = HashSet::new();
    let mut statement = connection.prepare("SELECT key, text FROM erased_version")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        erased.insert(row.get::<_, String>(0)?);
        match serde_json::from_str(row.get_ref(1)?.as_str()?) {
            Ok(value) => collect(&value, &named, &mut erased),
            // Text that is not valid Unicode cannot be compared.
            Err(_) => erased.extend(named.iter().cloned()),
        }
    }
    for row in syncs {
        each_named(&mut row.receipt.scan, |text| !erased.contains(text));
    }
    Ok(())
}

/// Collects the strings and numbers of a value that are among the `wanted` ones.
fn collect(value: &Value, wanted: &HashSet<String>, found: &mut HashSet<String>) {
    let mut check = |text: &str| {
        if wanted.contains(text) {
            found.insert(text.to_owned());
        }
    };
    match value {
        Value::String(text) => check(text),
        Value::Number(number) => check(number.as_str()),
        Value::Array(items) => items.iter().for_each(|item| collect(item, wanted, found)),
        Value::Object(members) => {
            let values = members.values();
            values.for_each(|member| collect(member, wanted, found));
        }
        Value::Null | Value::Bool(_) => {}
    }
}

/// Calls `is_kept` with each value of a record in a receipt, and removes the value if that returns false.
fn each_named(receipt: &mut Receipt, mut is_kept: impl FnMut(&str) -> bool) {
    for values in receipt.unknown_values.values_mut() {
        values.retain(|value, _| is_kept(value));
    }
    receipt
        .unknown_values
        .retain(|_, values| !values.is_empty());
    let Some(SchemaDifferences {
        new_fields,
        missing_fields,
        other_types,
    }) = &mut receipt.schema
    else {
        return;
    };
    for kind in [new_fields, missing_fields, other_types] {
        for difference in kind.values_mut() {
            difference.example.id.take_if(|id| !is_kept(id));
        }
    }
}
