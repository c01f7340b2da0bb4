//! Reads a list and commits what has changed as the next generation of its mirror.

use super::change::ChangeCounts;
use super::claim::Claim;
use super::manifest::{Generation, ListEntry, SchemaChange, SecondLook};
use super::schema::Evolution;
use super::write::{Delivered, Writing, Written};
use crate::arrow::Seen;
use crate::client::Client;
use crate::error::{Error, ErrorKind, Result};
use crate::record::{Identity, IdentityKey, RawRecord};
use crate::scan::{Batch, Receipt, Scan, ScanOptions, utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::path::PathBuf;
use std::pin::Pin;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use talentdata_types::Resource;

/// A sync to be run.
#[derive(Clone, Debug)]
pub struct Sync {
    /// The list.
    pub resource: Resource,
    /// The directory of the mirror. It is begun where the directory is empty or does not exist.
    pub path: PathBuf,
    /// How the list is read: completely, or as a snapshot. Leave `resume`, `limit` and `table` as they are.
    pub scan: ScanOptions,
    /// Generations that are older are folded together; all are kept where this is none.
    pub keep: Option<Duration>,
}

/// What a sync has done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SyncReceipt {
    /// The generation that it has committed.
    pub generation: u64,
    /// When its scan began: a time in UTC as in RFC 3339, by the clock of this machine.
    pub started: String,
    /// When its scan, and the second look at its deletes, had ended.
    pub ended: String,
    /// Changes since the generation before.
    pub changes: ChangeCounts,
    /// Records that the mirror has although they were not delivered, because nothing proves that they are gone.
    pub missing: u64,
    /// What a second look at its deletes has shown; null where none was needed.
    pub second_look: Option<SecondLook>,
    /// Fields that are new, and types that have changed.
    pub schema_changes: Vec<SchemaChange>,
    /// How the scan went.
    pub scan: Receipt,
}

impl Sync {
    /// Of a list into a directory, with everything else as usual.
    pub fn new(resource: Resource, path: impl Into<PathBuf>) -> Self {
        Sync {
            resource,
            path: path.into(),
            scan: ScanOptions::default(),
            keep: None,
        }
    }

    /// Whether these settings go together, before anything is sent or written.
    ///
    /// # Errors
    /// `InvalidArgument`, naming the setting.
    pub fn check(&self) -> Result<()> {
        let refuse = |message: &str| Err(Error::new(ErrorKind::InvalidArgument, message));
        let scan = &self.scan;
        if scan.limit.is_some() || scan.resume.is_some() {
            return refuse("limit, resume: a sync reads the whole list; leave them out");
        }
        let operation = self.resource.shape().operation;
        self.scan.arguments.check(operation)
    }

    /// Reads the list to its end and commits what has changed, or stops when `stop` completes.
    ///
    /// `progress` is called after each page. Until the commit, and after any error, the mirror is as it was;
    /// dropping the future is like killing the process, after which the next sync cleans up. A sync whose scan is
    /// not proven complete is committed too: its receipt says so, and it deletes nothing. Writing blocks the
    /// calling task, while pages are fetched on another.
    ///
    /// # Errors
    /// Those of the scan; `Io` with the path, also when another sync is writing to the mirror, or the directory
    /// holds something else; `InvalidArgument` when the mirror is of another service or client, or the list
    /// was read with other parameters; `Cancelled` when stopped.
    pub async fn run(
        &self,
        client: &Client,
        stop: impl Future<Output = ()>,
        mut progress: impl FnMut(&Receipt),
    ) -> Result<SyncReceipt> {
        self.check()?;
        let config = client.config();
        let base_url = config.base_url().to_string();
        let mut claim = Claim::acquire(&self.path, &base_url, config.client_id())?;
        let stop = std::pin::pin!(stop);
        let ran = self.read(client, &mut claim, stop, &mut progress).await;
        if ran.is_err()
            && let Err(error) = claim.abandon()
        {
            tracing::warn!(%error, "unfinished files of a mirror could not be removed; the next sync does it");
        }
        let receipt = ran?;
        if let Some(keep) = self.keep {
            let name = self.resource.name();
            let folded = super::retention::fold(&mut claim, name, keep, SystemTime::now());
            folded.map_err(|error| {
                // What is left of it, the next sync removes.
                let _ = claim.abandon();
                let message = format!(
                    "generation {} is committed, but old ones could not be folded: {}",
                    receipt.generation,
                    error.message()
                );
                error.with_message(message)
            })?;
        }
        Ok(receipt)
    }

    async fn read(
        &self,
        client: &Client,
        claim: &mut Claim,
        mut stop: Pin<&mut impl Future<Output = ()>>,
        progress: &mut impl FnMut(&Receipt),
    ) -> Result<SyncReceipt> {
        let name = self.resource.name();
        let parameters = self
            .scan
            .arguments
            .recorded(self.resource.shape().operation);
        let before = claim.manifest.lists.get(name).cloned();
        if let Some(list) = &before
            && list.parameters != parameters
        {
            let shown = |of| serde_json::to_string(of).unwrap_or_default();
            let message = format!(
                "parameters: the mirror has {name} with {}, this sync has {}; use another mirror",
                shown(&list.parameters),
                shown(&parameters)
            );
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        let last = before.as_ref().and_then(ListEntry::last);
        let generation = last.map_or(0, |last| last.generation) + 1;
        let started = SystemTime::now();
        let mut scan = client.resource(self.resource).scan(self.scan.clone());
        let mut late = Late::default();
        let sample = sample(&mut scan, &mut late, stop.as_mut(), progress).await?;
        let first: Vec<RawRecord> = (sample.iter())
            .flat_map(|page| &page.records)
            .cloned()
            .collect();
        let evolution = Evolution::new(self.resource, before.as_ref(), &first, generation);
        drop(first);
        let mut writing = Writing::new(claim, name, generation, before.as_ref(), evolution)?;
        for page in sample {
            writing.take_page(claim, &page, micros(SystemTime::now()))?;
        }
        while let Some(page) = next(&mut scan, &mut late, stop.as_mut(), progress).await? {
            writing.take_page(claim, &page, micros(SystemTime::now()))?;
        }
        let receipt = scan.receipt();
        let gaps = writing.difference.gaps()?;
        let (gaps, second_look) = tokio::select! {
            biased;
            () = stop => return Err(stopped()),
            looked = self.look_again(client, claim, &mut writing, &receipt, gaps) => looked?,
        };
        let ended = SystemTime::now();
        writing.take_absent(&gaps, micros(ended))?;
        let (counts, records, missing) = (writing.counts, writing.records, writing.missing);
        let (written, evolution) = writing.finish()?;
        let known = before.as_ref().map(|list| &list.schema_changes[..]);
        let (schema, schema_changes) = evolution.finish(known.unwrap_or_default());
        let Written {
            current,
            changes,
            rewritten,
            order,
            state,
        } = written;
        let generation = Generation {
            generation,
            started: utc(started),
            ended: utc(ended),
            records,
            missing,
            changes: counts,
            receipt: receipt.clone(),
            second_look,
            changes_file: Some(changes.entry.clone()),
            rewritten_file: rewritten.as_ref().map(|file| file.entry.clone()),
            order_file: order.entry.clone(),
        };
        let done = SyncReceipt {
            generation: generation.generation,
            started: generation.started.clone(),
            ended: generation.ended.clone(),
            changes: counts,
            missing,
            second_look,
            schema_changes: schema_changes.clone(),
            scan: receipt,
        };
        let list = ListEntry {
            parameters,
            schema,
            schema_changes,
            base: None,
            generations: vec![generation],
            current: current.entry.clone(),
            state: state.entry.clone(),
            obsolete: Vec::new(),
        };
        let list = match before {
            Some(before) => before.followed_by(list),
            None => list,
        };
        let mut files = vec![changes, order, state];
        files.extend(rewritten);
        claim.commit(name, list, files, Some(current))?;
        Ok(done)
    }
}

/// The first records, on which columns are decided.
async fn sample(
    scan: &mut Scan,
    late: &mut Late,
    mut stop: Pin<&mut impl Future<Output = ()>>,
    progress: &mut impl FnMut(&Receipt),
) -> Result<Vec<Delivered>> {
    let (mut sample, mut seen) = (Vec::new(), Seen::default());
    while !seen.is_enough()
        && let Some(page) = next(scan, late, stop.as_mut(), progress).await?
    {
        page.records.iter().for_each(|record| seen.add(record));
        sample.push(page);
    }
    Ok(sample)
}

/// The next page that brings new records; none at the end of the list.
async fn next(
    scan: &mut Scan,
    late: &mut Late,
    stop: Pin<&mut impl Future<Output = ()>>,
    progress: &mut impl FnMut(&Receipt),
) -> Result<Option<Delivered>> {
    let batch = tokio::select! {
        biased;
        () = stop => return Err(stopped()),
        batch = scan.next_batch() => batch,
    };
    let Some(batch) = batch.transpose()? else {
        return Ok(None);
    };
    progress(&batch.receipt);
    Ok(Some(late.add_to(batch)))
}

/// The records that came during the scan before what was delivered already. They are seen, too, but only once, however
/// often pages show them and wherever they move.
#[derive(Default)]
struct Late {
    key: Option<IdentityKey>,
    seen: HashSet<Identity>,
}

impl Late {
    fn add_to(&mut self, batch: Batch) -> Delivered {
        let key = *self.key.get_or_insert_with(IdentityKey::random);
        let late = batch.late.into_iter();
        let mut records: Vec<_> = late
            .filter(|record| self.seen.insert(record.identity(&key)))
            .collect();
        let behind = records.len();
        let others = batch.records.into_iter();
        records.extend(others.filter(|record| !self.seen.contains(&record.identity(&key))));
        Delivered { records, behind }
    }
}

fn stopped() -> Error {
    let message = "the sync was stopped; the mirror is as it was";
    Error::new(ErrorKind::Cancelled, message)
}

/// Microseconds since 1970; a clock before that is not set at all.
fn micros(moment: SystemTime) -> i64 {
    let since = moment.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}
