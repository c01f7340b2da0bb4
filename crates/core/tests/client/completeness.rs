//! Services that sort badly, lag, repeat or lie: a scan that says `proven` delivered every record exactly once.
//!
//! The sandbox's own log decides, and it does not depend on the joining of pages.

use crate::start;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::time::Duration;
use talentdata_core::scan::{Completeness, Resume, ScanOptions};
use talentdata_core::types::ListName;
use talentdata_core::{Client, Error, ErrorKind};
use talentdata_sandbox::{Change, ChangeKind, Drift, Logged, Options, Sandbox};
use tokio::task::JoinSet;

/// A kind of service, and the results that a scan of it may have besides the law that holds for all services. The first
/// row of `completeness.json` has the values of the others unless they say otherwise. The rows are: lists of which much
/// can be proven, so that the tests would notice if nothing ever were; lists that were called proven although records
/// were lost or repeated; lists of more than 20,000 records, for which a bounded memory of identities had that effect;
/// lists that were read without end.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    row: String,
    list: String,
    records: u64,
    /// The list is shorter if it would have more pages than this.
    pages: u64,
    /// The smallest page size that is tried.
    smallest_page: u64,
    /// The number of seeds that are tried; 1 if nothing is random. `TALENTDATA_ROUNDS` raises it.
    seeds: u64,
    /// Options of the sandbox, as on its command line.
    service: BTreeMap<String, String>,
    /// A change after most of the pages, after which the scan is resumed.
    before_resuming: Option<Change>,
    may_be: MayBe,
}

/// The results of a scan that are right for a service.
#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
enum MayBe {
    /// Anything within the law.
    Any,
    /// Proven if pages can overlap.
    Proven,
    /// Anything. A proof assumes that all responses come from one copy, and a few may happen to do so.
    ProvenOfOneCopy,
    /// Never proven.
    NotProven,
}

impl Row {
    fn service(&self, records: u64, seed: u64) -> Options {
        let mut options = Options {
            records: [(self.list.clone(), records)].into(),
            seed,
            ..Options::default()
        };
        for (name, value) in &self.service {
            match name.as_str() {
                "drift" => {
                    let drift = value.parse().unwrap();
                    options.drift = Some(Drift { seed, ..drift });
                }
                "ids" => options.ids = value.parse().unwrap(),
                "ignore-offset" => options.ignore_offset = true,
                "large-limits" => options.large_limits = value.parse().unwrap(),
                "later-max-limit" => options.later_max_limit = Some(value.parse().unwrap()),
                "pages" => options.pages = value.parse().unwrap(),
                "max-limit" => options.max_limit = Some(value.parse().unwrap()),
                "order" => options.order = value.parse().unwrap(),
                "replicas" => options.replicas = Some(value.parse().unwrap()),
                "total" => options.total = value.parse().unwrap(),
                "warnings" => options.warnings = true,
                _ => panic!("{name} is no option"),
            }
        }
        options
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_proof_is_wrong() {
    let table = serde_json::from_str(include_str!("completeness.json"));
    let table: Vec<Map<String, Value>> = table.unwrap();
    let (usual, rows) = table.split_first().unwrap();
    let rows = rows.iter().map(|row| {
        let whole: Value = usual.clone().into_iter().chain(row.clone()).collect();
        serde_json::from_value(whole).unwrap()
    });
    let checks: JoinSet<_> = rows.map(check).collect();
    let wrong = checks.join_all().await.concat();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Reads a list of the row with several seeds, in pages of several sizes, and returns all faults.
async fn check(row: Row) -> Vec<String> {
    let mut wrong = Vec::new();
    let rounds = std::env::var("TALENTDATA_ROUNDS").map(|rounds| rounds.parse().unwrap());
    let seeds = match row.seeds {
        1 => 1,
        seeds => rounds.unwrap_or(seeds),
    };
    let sizes = [1, 2, 10, 100].into_iter();
    for page_size in sizes.filter(|size| *size >= row.smallest_page) {
        for seed in 0..seeds {
            let records = row.records.min(row.pages * page_size);
            let (sandbox, mut settings) = start(row.service(records, seed));
            let client = settings.paced(false).build().unwrap();
            // Far more than it takes to read the list several times.
            let most = 300 + 10 * records / page_size;
            let stop = row.before_resuming.is_some();
            let stop = stop.then_some((row.pages * page_size * 4 / 5) as usize);
            let change = || {
                let change = row.before_resuming.unwrap();
                sandbox.change(&row.list, change).unwrap();
            };
            let resource = row.list.parse().unwrap();
            let judged = tokio::select! {
                told = read(&client, resource, page_size, stop, change) => judge(&row, &sandbox, records, seed, page_size, told).await,
                requests = more_requests(&sandbox, most) => Err(format!("no end after {requests} requests")),
            };
            if let Err(fault) = judged {
                wrong.push(format!(
                    "{}, pages of {page_size}, seed {seed}: {fault}",
                    row.row
                ));
            }
        }
    }
    wrong
}

/// Completes when more than `most` requests were sent.
async fn more_requests(sandbox: &Sandbox, most: u64) -> u64 {
    while sandbox.stats().requests <= most {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    sandbox.stats().requests
}

/// The number of occurrences of each record, by identity.
type Counts = BTreeMap<String, u64>;

/// The records that a scan delivered, and its end.
struct Delivered {
    delivered: Counts,
    ended: Result<Completeness, Error>,
}

/// Reads a list in one scan, or in two with a change in between. The first scan stops after `stop` records.
async fn read(
    client: &Client,
    list: ListName,
    page_size: u64,
    mut stop: Option<usize>,
    change: impl Fn(),
) -> Delivered {
    let mut delivered = Counts::new();
    let (mut resume, mut entries) = (None, Vec::new());
    loop {
        let mut options = ScanOptions::default().with_page_size(page_size);
        options.resume = resume.take();
        let mut scan = client.resource(list).scan(options);
        let (mut state, mut records) = (None, 0);
        let ended = loop {
            match scan.next_batch().await {
                Some(Ok(batch)) => {
                    records += batch.records.len();
                    for record in &batch.records {
                        *delivered.entry(identity(record.as_str())).or_default() += 1;
                    }
                    entries.extend_from_slice(&batch.entries);
                    state = Some(batch.state.clone());
                }
                Some(Err(error)) => break Err(error),
                None => break Ok(scan.receipt().completeness),
            }
            if stop.is_some_and(|stop| records >= stop) {
                break Ok(Completeness::Unfinished);
            }
        };
        if stop.take().is_none() || ended.is_err() {
            return Delivered { delivered, ended };
        }
        let is_stopped = matches!(ended, Ok(Completeness::Unfinished));
        assert!(is_stopped, "the scan ended before it was to be stopped");
        change();
        resume = Some(Resume::new(state.unwrap(), entries.clone()).unwrap());
    }
}

/// Checks the law, and the expectation of the row.
async fn judge(
    row: &Row,
    sandbox: &Sandbox,
    records: u64,
    seed: u64,
    page_size: u64,
    told: Delivered,
) -> Result<(), String> {
    let is_proven = match &told.ended {
        Ok(completeness) => *completeness == Completeness::Proven,
        Err(error) => match error.kind() {
            ErrorKind::Paging | ErrorKind::Incomplete if row.may_be != MayBe::Proven => false,
            _ => return Err(format!("ended with {error:?}")),
        },
    };
    match row.may_be {
        // Pages of one record cannot overlap.
        MayBe::Proven if !is_proven && page_size > 1 => Err("not proven".to_owned()),
        MayBe::NotProven if is_proven && records > page_size => Err("proven".to_owned()),
        MayBe::ProvenOfOneCopy => Ok(()),
        _ if is_proven => {
            let original = original(row, records, seed).await;
            let changes = sandbox.changes(&row.list, 0).unwrap();
            compare(&original, &changes, &told.delivered)
        }
        _ => Ok(()),
    }
}

/// Returns the original list, from the pages of a service that does not change it.
async fn original(row: &Row, records: u64, seed: u64) -> Counts {
    let Options { records, ids, .. } = row.service(records, seed);
    let (_sandbox, mut settings) = start(Options {
        records,
        ids,
        seed,
        ..Options::default()
    });
    let list = settings.paced(false).build().unwrap();
    let list = list.resource(row.list.parse().unwrap());
    let mut original = Counts::new();
    loop {
        let offset = original.values().sum();
        let page = list.page(Some(100), offset).await.unwrap();
        for record in &page.records {
            *original.entry(identity(record.as_str())).or_default() += 1;
        }
        if page.pagination.has_more != Some(true) {
            return original;
        }
    }
}

/// Checks that all records that were always in the list according to the sandbox were delivered, and that none was
/// delivered more often than it ever existed.
fn compare(original: &Counts, changes: &[Logged], delivered: &Counts) -> Result<(), String> {
    let count = |operation| {
        let mut counts = Counts::new();
        for change in changes.iter().filter(|one| one.operation == operation) {
            *counts.entry(change.key.to_string()).or_default() += 1;
        }
        counts
    };
    let of = |counts: &Counts, identity| counts.get(identity).copied().unwrap_or(0);
    let (inserted, deleted) = (count(ChangeKind::Insert), count(ChangeKind::Delete));
    let stayed = |identity| of(original, identity).saturating_sub(of(&deleted, identity));
    let missing = |identity| stayed(identity).saturating_sub(of(delivered, identity));
    let excess = |(identity, count): (_, &u64)| {
        let ever = stayed(identity) + of(&inserted, identity).max(of(&deleted, identity));
        count.saturating_sub(ever)
    };
    let lost: u64 = original.keys().map(missing).sum();
    let repeated: u64 = delivered.iter().map(excess).sum();
    match lost + repeated {
        0 => Ok(()),
        _ => Err(format!("proven, but {lost} lost and {repeated} repeated")),
    }
}

/// Returns the `id` of a record, or its members except the one that changes at every read, as in the log.
fn identity(record: &str) -> String {
    let mut record: Value = serde_json::from_str(record).unwrap();
    let members = record.as_object_mut().unwrap();
    if let Some(id) = members.get("id").filter(|id| !id.is_null()) {
        return id.to_string();
    }
    members.retain(|name, _| name != "photoUrl");
    record.to_string()
}
