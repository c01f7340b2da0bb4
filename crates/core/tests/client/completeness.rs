//! Services that sort badly, lag, repeat or lie: a scan that says `proven` has delivered every record exactly once.
//!
//! The sandbox's own log decides, which knows nothing of how pages are joined. The simulations in `src/scan` read many more
//! services, and read them in several runs; here, all of the client takes part.

use crate::{start, stub};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;
use talentdata_core::scan::{Completeness, ScanOptions};
use talentdata_core::types::Resource;
use talentdata_core::{Client, Error, ErrorKind};
use talentdata_sandbox::{Drift, Ids, Options, Order, Sandbox, Total};

/// A kind of service, and what a scan of it may say beside the law that holds for all of them.
struct Row {
    list: Resource,
    records: u64,
    /// How many seeds are tried, one where nothing is random; `TALENTDATA_ROUNDS` asks for more.
    seeds: u64,
    service: Options,
    may_be: MayBe,
}

/// The list is shorter where it would have more pages than that.
const MOST_PAGES: u64 = 30;

/// Which of the things a scan can say are right for a service.
#[derive(Clone, Copy, PartialEq)]
enum MayBe {
    /// Anything, as long as the law holds.
    Any,
    /// Pages that can overlap prove it.
    Proven,
    /// Nothing proves it.
    NotProven,
}

fn row(may_be: MayBe, service: Options) -> Row {
    Row {
        list: Resource::Contacts,
        records: 600,
        seeds: 1,
        service,
        may_be,
    }
}

/// A service of which the seed decides what happens.
fn random(order: Order, drift: Drift) -> Row {
    let service = Options {
        order,
        drift: Some(drift).filter(|drift| drift.every_requests > 0),
        ..Options::default()
    };
    Row {
        records: 1500,
        seeds: 4,
        ..row(MayBe::Any, service)
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
    still: row(MayBe::Proven, Options::default());
    still_without_ids: row(MayBe::Proven, ids(Ids::None));
    pages_become_smaller: row(MayBe::Proven, Options { later_max_limit: Some(50), ..Options::default() });
    records_come_and_go: random(Order::Stable, Drift { every_requests: 2, inserts: 1, deletes: 1, ..Drift::default() });
    total_is_always_0: row(MayBe::Any, Options { total: Total::Zero, ..Options::default() });

    // Those that were called proven while records were lost or repeated.
    another_order_at_every_request: random(Order::Random, Drift::default());
    ties_all_over_a_longer_list: random(Order::Ties, Drift::default());
    ordered_by_time_of_change_the_latest_first: random(
        Order::UpdatedDesc,
        Drift { every_requests: 2, updates: 1, ..Drift::default() },
    );
    offset_echoed_and_ignored: row(MayBe::NotProven, Options { ignore_offset: true, ..Options::default() });
    two_records_with_one_id: row(MayBe::NotProven, ids(Ids::Repeated));
    equal_records: row(MayBe::NotProven, ids(Ids::Equal));
    two_ids_with_one_hash: row(MayBe::Any, ids(Ids::Colliding));
    warnings_beside_no_records: Row {
        list: Resource::JaSkills,
        records: 0,
        ..row(MayBe::Any, Options { warnings: true, ..Options::default() })
    };

    // Those that were read without end.
    a_signed_url_is_another_one_at_every_read: row(MayBe::NotProven, ids(Ids::Volatile));
    more_always_follow: row(MayBe::NotProven, Options { total: Total::Unknown, ..Options::default() });
}

/// Reads a list of the row with several seeds, in pages of several sizes, and tells of all that is wrong.
async fn check(row: Row) {
    let mut wrong = Vec::new();
    let rounds = std::env::var("TALENTDATA_ROUNDS").map(|rounds| rounds.parse().unwrap());
    let seeds = match row.seeds {
        1 => 1,
        seeds => rounds.unwrap_or(seeds),
    };
    for (page_size, seed) in [1, 2, 10, 100]
        .into_iter()
        .flat_map(|size| (0..seeds).map(move |seed| (size, seed)))
    {
        let records = row.records.min(MOST_PAGES * page_size);
        let (sandbox, mut settings) = start(Options {
            records: [(row.list.name().to_owned(), records)].into(),
            faults: true,
            seed,
            drift: row.service.drift.map(|drift| Drift { seed, ..drift }),
            ..row.service.clone()
        });
        let client = settings.paced(false).build().unwrap();
        // Far more than reading the list several times takes.
        let most = 300 + 10 * records / page_size;
        let judged = tokio::select! {
            (delivered, ended) = read(&client, row.list, page_size) => {
                judge(&row, &sandbox, page_size, &delivered, ended)
            }
            requests = more_requests(&sandbox, most) => Err(format!("no end after {requests} requests")),
        };
        if let Err(fault) = judged {
            wrong.push(format!("pages of {page_size}, seed {seed}: {fault}"));
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

/// What a scan has delivered, by identity and how often, and how it ended.
async fn read(
    client: &Client,
    list: Resource,
    page_size: u64,
) -> (BTreeMap<String, u64>, Result<Completeness, Error>) {
    let mut delivered = BTreeMap::new();
    let mut scan = client.resource(list).scan(ScanOptions {
        page_size: Some(page_size),
        ..ScanOptions::default()
    });
    while let Some(record) = scan.next().await {
        match record {
            Ok(record) => *delivered.entry(identity(record.as_str())).or_default() += 1,
            Err(error) => return (delivered, Err(error)),
        }
    }
    (delivered, Ok(scan.receipt().completeness))
}

/// The law, and what the row says beside it.
fn judge(
    row: &Row,
    sandbox: &Sandbox,
    page_size: u64,
    delivered: &BTreeMap<String, u64>,
    ended: Result<Completeness, Error>,
) -> Result<(), String> {
    match ended {
        Ok(Completeness::Proven) => {
            let path = format!("/__drift?list={}", row.list.name());
            let log = serde_json::from_str(&stub::get(sandbox.base_url(), &path)).unwrap();
            let (lost, repeated) = faults(&log, delivered);
            match row.may_be {
                _ if lost + repeated > 0 => Err(format!(
                    "proven, but {lost} lost and {repeated} delivered too often"
                )),
                MayBe::NotProven => Err("proven, which it cannot be".to_owned()),
                _ => Ok(()),
            }
        }
        Err(error) if !matches!(error.kind(), ErrorKind::Paging | ErrorKind::Incomplete) => {
            Err(format!("ended with {:?}: {error}", error.kind()))
        }
        ended if row.may_be == MayBe::Proven && page_size > 1 => Err(format!("ended {ended:?}")),
        _ => Ok(()),
    }
}

/// How many of the records are missing that were in the list all the time by the sandbox's account, and how many were
/// delivered more often than they were ever there.
fn faults(log: &Value, delivered: &BTreeMap<String, u64>) -> (u64, u64) {
    let count = |what: &str| {
        let mut counts = BTreeMap::<String, u64>::new();
        for identity in log[what].as_array().unwrap() {
            *counts.entry(identity.to_string()).or_default() += 1;
        }
        counts
    };
    let of = |counts: &BTreeMap<String, u64>, identity| counts.get(identity).copied().unwrap_or(0);
    let (stayed, came, went) = (count("stayed"), count("came"), count("went"));
    let lost = stayed
        .iter()
        .map(|(identity, count)| count.saturating_sub(of(delivered, identity)));
    let repeated = delivered.iter().map(|(identity, count)| {
        let ever = of(&stayed, identity) + of(&came, identity).max(of(&went, identity));
        count.saturating_sub(ever)
    });
    (lost.sum(), repeated.sum())
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
