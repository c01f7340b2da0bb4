//! Folds old generations together: the records of the oldest one that is kept become the base.

use super::claim::Claim;
use super::files::Finished;
use super::manifest::{Base, FileEntry, Generation, ListEntry};
use super::order::{Files, Order};
use super::page;
use super::table::TextFile;
use super::texts::Texts;
use crate::error::{Error, ErrorKind, Result};
use std::collections::HashSet;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Folds what ended longer ago than `keep`. The newest of these generations is kept as the base, without its
/// changes, so that the list can be read as of any time that is not longer ago.
///
/// # Errors
/// `Io`: then the mirror is as it was.
pub(super) fn fold(claim: &mut Claim, name: &str, keep: Duration, now: SystemTime) -> Result<()> {
    let Some(list) = claim.manifest.lists.get(name).cloned() else {
        return Ok(());
    };
    let oldest = now.checked_sub(keep).unwrap_or(UNIX_EPOCH);
    let oldest = oldest.duration_since(UNIX_EPOCH).unwrap_or_default();
    let is_old = |one: &Generation| {
        let ended = crate::arrow::instant(&one.ended);
        ended.is_some_and(|ended| i128::from(ended) < oldest.as_micros() as i128)
    };
    let old = list
        .generations
        .iter()
        .take_while(|one| is_old(one))
        .count();
    // The last one stays as it is, and folding a single one would save nothing.
    let base = old.min(list.generations.len() - 1).saturating_sub(1);
    match base {
        0 => Ok(()),
        _ => fold_before(claim, name, &list, base),
    }
}

/// Folds all generations before the one at `base` into it.
fn fold_before(claim: &mut Claim, name: &str, list: &ListEntry, base: usize) -> Result<()> {
    let (folded, kept) = list.generations.split_at(base);
    let Some((first, later)) = kept.split_first() else {
        return Ok(());
    };
    let order = Order::read(&claim.root, &first.order_file)?;
    let (file, path) = write_base(claim, name, list, first.generation, &order)?;
    let moved = Moved::new(order, path);
    let stays: HashSet<&str> = later
        .iter()
        .flat_map(Generation::files)
        .map(path_of)
        .collect();
    let mut files = vec![file];
    let mut generations = Vec::new();
    for one in kept {
        let order = Order::read(&claim.root, &one.order_file)?;
        let (number, base) = (one.generation, first.generation);
        let target = format!("{name}/order/{number:06}-{base:06}.parquet");
        let file = order.write_moved(claim.file(target)?, |path, row| {
            match stays.contains(path) {
                true => Ok((path.to_owned(), row, u64::MAX)),
                false => moved.find(path, row),
            }
        })?;
        generations.push(Generation {
            order_file: file.entry.clone(),
            ..one.clone()
        });
        files.push(file);
    }
    if let Some(first) = generations.first_mut() {
        (first.changes_file, first.rewritten_file) = (None, None);
    }
    let mut next = ListEntry {
        base: Some(Base {
            generation: first.generation,
            file: files[0].entry.clone(),
        }),
        generations,
        ..list.clone()
    };
    let in_use: HashSet<&str> = next.files().map(path_of).collect();
    let before = list.base.iter().map(|base| &base.file);
    let before = before.chain(folded.iter().chain(kept).flat_map(Generation::files));
    let obsolete = before.filter(|entry| !in_use.contains(entry.path.as_str()));
    next.obsolete = obsolete.cloned().collect();
    claim.commit(name, next, files, None)
}

fn path_of(entry: &FileEntry) -> &str {
    &entry.path
}

/// Writes the texts of a generation, in its order.
fn write_base(
    claim: &mut Claim,
    name: &str,
    list: &ListEntry,
    generation: u64,
    order: &Order,
) -> Result<(Finished, String)> {
    let target = format!("{name}/base/{generation:06}.parquet");
    let mut file = TextFile::new(claim.file(target.clone())?)?;
    let mut texts = Texts::new(&claim.root, list.files());
    let (hash_key, mut form) = (claim.manifest.hash_key, Vec::new());
    let mut waiting: Vec<String> = Vec::new();
    let mut write = |waiting: &mut Vec<String>| -> Result<()> {
        for record in page::records(waiting.iter().map(String::as_str))? {
            let identity = hash_key.identity(&record, &mut form);
            file.push(&hash_key.key(&record, identity), record.as_str())?;
        }
        waiting.clear();
        Ok(())
    };
    let mut bytes = 0;
    for run in order.runs() {
        for row in run.first..run.first + run.rows {
            let text = texts.get(order.path(run), row)?;
            bytes += text.len();
            waiting.push(text.to_owned());
            if waiting.len() == page::RECORDS || bytes >= page::BYTES {
                write(&mut waiting)?;
                bytes = 0;
            }
        }
    }
    write(&mut waiting)?;
    Ok((file.finish()?, target))
}

/// Where the rows of folded files are now.
struct Moved {
    path: String,
    files: Files,
    /// Number of the file, first row, number of rows, and where the first one is now; sorted.
    runs: Vec<[u32; 4]>,
}

impl Moved {
    fn new(order: Order, path: String) -> Self {
        let mut start = 0;
        let mut runs: Vec<_> = (order.runs())
            .map(|run| {
                start += run.rows as u32;
                // An order has fewer than 2^32 records.
                let (first, rows) = (run.first as u32, run.rows as u32);
                [run.file, first, rows, start - rows]
            })
            .collect();
        runs.sort_unstable();
        Moved {
            path,
            files: order.files,
            runs,
        }
    }

    /// Where a row is now, and how many behind it follow it there.
    fn find(&self, path: &str, row: u64) -> Result<(String, u64, u64)> {
        let file = self.files.find(path);
        let found = file.zip(u32::try_from(row).ok()).and_then(|(file, row)| {
            let after = self
                .runs
                .partition_point(|run| (run[0], run[1]) <= (file, row));
            let [of, first, rows, start] = *self.runs.get(after.checked_sub(1)?)?;
            let into = row.checked_sub(first)?;
            (of == file && into < rows).then(|| (start + into, rows - into))
        });
        let (start, rows) = found.ok_or_else(|| {
            let message = "internal error; please report it (a record of a mirror has no place)";
            Error::new(ErrorKind::Internal, message)
        })?;
        Ok((self.path.clone(), start.into(), rows.into()))
    }
}
