//! Services that sort badly, lag, repeat or lie: a scan that says `proven` has delivered every record exactly once.
//!
//! The sandbox's own log decides, which knows nothing of how pages are joined.

use crate::{start, stub};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;
use talentdata_core::scan::{Completeness, Resume, ScanOptions};
use talentdata_core::types::Resource;
use talentdata_core::{Client, Error, ErrorKind};
use talentdata_sandbox::{Change, Drift, Ids, Options, Order, Replicas, Sandbox, Total};

/// A kind of service, and what a scan of it may say beside the law that holds for all of them.
struct Row {
    list: Resource,
    records: u64,
    /// The list is shorter where it would have more pages than that.
    most_pages: u64,
    /// Pages of at least so many records are tried.
    smallest_page: u64,
    /// How many of them are tried, one where nothing is random; `TALENTDATA_ROUNDS` asks for more.
    seeds: u64,
    service: Options,
    /// Made after most of the pages, and then the scan is resumed.
    meanwhile: Option<Change>,
    may_be: MayBe,
}

/// Which of the things a scan can say are right for a service.
#[derive(Clone, Copy, PartialEq)]
enum MayBe {
    /// Anything, as long as the law holds.
    Any,
    /// Pages that can overlap prove it.
    Proven,
    /// Anything: it is assumed that all responses read one copy, and a few may happen to come from the same one.
    AnyOfCopies,
    /// Nothing proves it.
    NotProven,
}

fn row() -> Row {
    Row {
        list: Resource::Contacts,
        records: 300,
        most_pages: 30,
        smallest_page: 1,
        seeds: 4,
        service: Options::default(),
        meanwhile: None,
        may_be: MayBe::Any,
    }
}

/// A list of more than 20,000 records.
fn long() -> Row {
    Row {
        records: 25_000,
        most_pages: 250,
        smallest_page: 100,
        seeds: 1,
        ..row()
    }
}

fn order(order: Order) -> Options {
    Options {
        order,
        ..Options::default()
    }
}

fn ids(ids: Ids) -> Options {
    Options {
        ids,
        ..Options::default()
    }
}

/// Each row is a test of its own.
macro_rules! table {
    ($($name:ident: $row:expr;)+) => {
        $(
            #[tokio::test]
            async fn $name() {
                check($row).await;
            }
        )+
    };
}

table! {
    // Those of which much can be proven, lest nothing ever is.
    still: Row { seeds: 1, may_be: MayBe::Proven, ..row() };
    still_without_ids: Row {
        seeds: 1,
        service: ids(Ids::None),
        may_be: MayBe::Proven,
        ..row()
    };
    records_come_and_go: Row {
        service: drifting(Order::Stable, Drift { every_requests: 2, inserts: 1, deletes: 1, ..Drift::default() }),
        ..row()
    };
    pages_become_smaller: Row {
        records: 600,
        seeds: 1,
        service: Options { later_max_limit: Some(50), ..Options::default() },
        may_be: MayBe::Proven,
        ..row()
    };
    total_is_always_0: Row {
        seeds: 1,
        service: Options { total: Total::Zero, ..Options::default() },
        ..row()
    };

    // Those that were called proven while records were lost or repeated.
    another_order_at_every_request: Row { records: 1000, service: order(Order::Random), ..row() };
    ties_all_over_a_longer_list: Row { records: 1500, service: order(Order::Ties), ..row() };
    ordered_by_time_of_change_the_latest_first: Row {
        service: drifting(Order::UpdatedDesc, Drift { every_requests: 2, updates: 1, ..Drift::default() }),
        ..row()
    };
    offset_echoed_and_ignored: Row {
        records: 250,
        seeds: 1,
        service: Options { ignore_offset: true, ..Options::default() },
        may_be: MayBe::NotProven,
        ..row()
    };
    two_records_with_one_id: Row {
        seeds: 1,
        service: ids(Ids::Repeated),
        may_be: MayBe::NotProven,
        ..row()
    };
    two_replicas_in_turn: Row {
        records: 1000,
        service: Options {
            replicas: Some(Replicas { lag_percent: 50, ..Replicas::default() }),
            ..Options::default()
        },
        may_be: MayBe::AnyOfCopies,
        ..row()
    };
    equal_records: Row {
        records: 600,
        seeds: 1,
        service: ids(Ids::Equal),
        may_be: MayBe::NotProven,
        ..row()
    };
    warnings_beside_no_records: Row {
        list: Resource::JaSkills,
        records: 0,
        seeds: 1,
        service: Options { warnings: true, ..Options::default() },
        ..row()
    };
    resumed_after_a_shuffle: Row {
        records: 7000,
        most_pages: 70,
        meanwhile: Some(Change::Shuffle),
        ..row()
    };
    two_ids_with_one_hash: Row { records: 150, seeds: 1, service: ids(Ids::Colliding), ..row() };

    // Those of more than 20,000 records, of which a bounded memory of identities has called losses and repeats proven.
    a_long_list_whose_records_move_while_its_total_stands_still: Row {
        seeds: 2,
        service: drifting(Order::Anywhere, Drift { every_requests: 60, times: 4, updates: 1, ..Drift::default() }),
        ..long()
    };
    a_long_list_resumed_after_5_000_were_inserted: Row { meanwhile: Some(Change::Insert(5_000)), ..long() };
    a_long_list_resumed_after_the_latest_changes_went_first: Row {
        service: order(Order::UpdatedDesc),
        meanwhile: Some(Change::Update(300)),
        ..long()
    };

    // Those that were read without end.
    a_signed_url_is_another_one_at_every_read: Row {
        records: 100,
        seeds: 1,
        service: ids(Ids::Volatile),
        may_be: MayBe::NotProven,
        ..row()
    };
    more_always_follow: Row {
        records: 29_500,
        most_pages: 295,
        seeds: 1,
        service: Options { total: Total::Unknown, ..Options::default() },
        may_be: MayBe::NotProven,
        ..row()
    };
}

fn drifting(order: Order, drift: Drift) -> Options {
    Options {
        order,
        drift: Some(drift),
        ..Options::default()
    }
}

/// Reads a list of the row with several seeds, in pages of several sizes, and tells of all that is wrong.
async fn check(row: Row) {
    let mut wrong = Vec::new();
    let rounds = std::env::var("TALENTDATA_ROUNDS").map(|rounds| rounds.parse().unwrap());
    let seeds = match row.seeds {
        1 => 1,
        seeds => rounds.unwrap_or(seeds),
    };
    for page_size in [1, 2, 10, 100]
        .into_iter()
        .filter(|size| *size >= row.smallest_page)
    {
        for seed in 0..seeds {
            let records = row.records.min(row.most_pages * page_size);
            let (sandbox, mut settings) = start(Options {
                records: [(row.list.name().to_owned(), records)].into(),
                faults: true,
                seed,
                drift: row.service.drift.map(|drift| Drift { seed, ..drift }),
                ..row.service.clone()
            });
            let client = settings.paced(false).build().unwrap();
            let granted = page_size.min(row.service.max_limit.unwrap_or(100));
            // Far more than reading the list several times takes.
            let most = 300 + 10 * records / granted;
            let stop = row
                .meanwhile
                .map(|_| (row.most_pages * page_size * 4 / 5) as usize);
            let change = || {
                sandbox
                    .change(row.list.name(), row.meanwhile.unwrap())
                    .unwrap()
            };
            let read = read(&client, row.list, page_size, stop, change);
            let judged = tokio::select! {
                told = read => judge(&row, &sandbox, records, granted, told),
                requests = more_requests(&sandbox, most) => Err(format!("no end after {requests} requests")),
            };
            if let Err(fault) = judged {
                wrong.push(format!("pages of {page_size}, seed {seed}: {fault}"));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Completes when more than `most` requests were sent.
async fn more_requests(sandbox: &Sandbox, most: u64) -> u64 {
    while sandbox.stats().requests <= most {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    sandbox.stats().requests
}

/// What a scan has delivered, by identity, and how it ended.
struct Told {
    delivered: BTreeMap<String, u64>,
    ended: Result<Completeness, Error>,
}

/// Reads a list in one scan; or in two, the first of which is stopped behind so many records, with a change in between.
async fn read(
    client: &Client,
    list: Resource,
    page_size: u64,
    mut stop: Option<usize>,
    change: impl Fn(),
) -> Told {
    let mut delivered = BTreeMap::new();
    let (mut resume, mut entries) = (None, Vec::new());
    loop {
        let mut scan = client.resource(list).scan(ScanOptions {
            page_size: Some(page_size),
            resume: resume.take(),
            ..ScanOptions::default()
        });
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
            return Told { delivered, ended };
        }
        let is_stopped = matches!(ended, Ok(Completeness::Unfinished));
        assert!(is_stopped, "the scan ended before it was to be stopped");
        change();
        resume = Some(Resume::new(state.unwrap(), entries.clone()).unwrap());
    }
}

/// The law, and what the row says beside it.
fn judge(
    row: &Row,
    sandbox: &Sandbox,
    records: u64,
    granted: u64,
    told: Told,
) -> Result<(), String> {
    let completeness = match told.ended {
        Err(error) if matches!(error.kind(), ErrorKind::Paging | ErrorKind::Incomplete) => {
            return match row.may_be {
                MayBe::Proven => Err(format!("ended with an error: {error}")),
                _ => Ok(()),
            };
        }
        Err(error) => return Err(format!("ended with {:?}: {error}", error.kind())),
        Ok(completeness) => completeness,
    };
    if completeness != Completeness::Proven {
        return match row.may_be == MayBe::Proven && granted > 1 {
            true => Err(format!("ended {completeness:?}")),
            false => Ok(()),
        };
    }
    if row.may_be == MayBe::AnyOfCopies {
        return Ok(());
    }
    let path = format!("/__drift?list={}", row.list.name());
    let log = serde_json::from_str(&stub::get(sandbox.base_url(), &path)).unwrap();
    let faults = faults(&log, &told.delivered);
    if !faults.is_empty() {
        return Err(format!("proven, but {}", faults.join(", ")));
    }
    match row.may_be == MayBe::NotProven && records > granted {
        true => Err("proven, which it cannot be".to_owned()),
        false => Ok(()),
    }
}

/// What is missing of the records that were in the list all the time by the sandbox's account, and what was delivered more
/// often than it was ever there.
fn faults(log: &Value, delivered: &BTreeMap<String, u64>) -> Vec<String> {
    let count = |what: &str| {
        let mut counts = BTreeMap::<String, u64>::new();
        for identity in log[what].as_array().unwrap() {
            *counts.entry(identity.to_string()).or_default() += 1;
        }
        counts
    };
    let of = |counts: &BTreeMap<String, u64>, identity| counts.get(identity).copied().unwrap_or(0);
    let (stayed, came, went) = (count("stayed"), count("came"), count("went"));
    let missing = |(identity, count): (_, &u64)| count.saturating_sub(of(delivered, identity));
    let excess = |(identity, count): (_, &u64)| {
        let ever = of(&stayed, identity) + of(&came, identity).max(of(&went, identity));
        count.saturating_sub(ever)
    };
    let lost: u64 = stayed.iter().map(missing).sum();
    let repeated: u64 = delivered.iter().map(excess).sum();
    let faults = [(lost, "lost"), (repeated, "delivered too often")];
    let total: u64 = stayed.values().sum();
    let faults = faults.into_iter().filter(|(count, _)| *count > 0);
    faults
        .map(|(count, fault)| format!("{count} of {total} {fault}"))
        .collect()
}

/// The `id` of a record, or its members except the one that is another one at every read: as in the log.
fn identity(record: &str) -> String {
    let mut record: Value = serde_json::from_str(record).unwrap();
    let members = record.as_object_mut().unwrap();
    if let Some(id) = members.get("id").filter(|id| !id.is_null()) {
        return id.to_string();
    }
    members.retain(|name, _| name != "photoUrl");
    record.to_string()
}
