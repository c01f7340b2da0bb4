//! Services that sort badly, lag, repeat or lie: a scan that says `proven` has delivered every record exactly once.
//!
//! The sandbox's own log decides, which knows nothing of how pages are joined.

mod trial;

use crate::stub;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use talentdata_core::Client;
use talentdata_core::scan::{Batch, Completeness, Resume, ScanOptions};
use talentdata_core::types::Resource;
use talentdata_sandbox::{Change, Drift, Ids, Options, Order, Replicas, Total};
use trial::Trial;

/// A kind of service, and what a scan of it may say beside the law that holds for all of them.
struct Row {
    list: Resource,
    records: u64,
    /// The list is shorter where it would have more pages than that.
    most_pages: u64,
    /// Pages of at least so many records are tried.
    smallest_page: u64,
    /// Pages of at most so many.
    largest_page: u64,
    /// How many of them are tried, one where nothing is random; `TALENTDATA_ROUNDS` asks for more.
    seeds: u64,
    service: Options,
    /// Made after most of the pages, and then the export is resumed.
    meanwhile: Option<Change>,
    may_be: MayBe,
}

/// Which of the things a scan can say are right for a service.
#[derive(Clone, Copy, PartialEq)]
enum MayBe {
    /// Anything, as long as the law holds.
    Any,
    /// Anything; and records that have moved while others came or went need not be there, since
    /// nothing gives them away.
    AnyWithoutTheMoved,
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
        largest_page: 100,
        seeds: 4,
        service: Options::default(),
        meanwhile: None,
        may_be: MayBe::Any,
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
    still_with_integers_as_ids: Row {
        seeds: 1,
        service: ids(Ids::Numeric),
        may_be: MayBe::Proven,
        ..row()
    };
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
    many_go_at_once: Row {
        service: drifting(Order::Stable, Drift { every_requests: 5, times: 3, bulk_deletes: 20, ..Drift::default() }),
        ..row()
    };
    total_is_always_0: Row {
        seeds: 1,
        service: Options { total: Total::Zero, ..Options::default() },
        ..row()
    };

    // Those that were called proven while records were lost or repeated.
    another_order_at_every_request: Row { records: 1000, service: order(Order::Random), ..row() };
    ties_at_the_edges_of_pages: Row { service: order(Order::Ties), ..row() };
    ties_all_over_a_longer_list: Row { records: 1500, service: order(Order::Ties), ..row() };
    ordered_by_time_of_change: Row {
        records: 150,
        service: drifting(Order::Updated, Drift { every_requests: 2, times: 6, updates: 2, ..Drift::default() }),
        ..row()
    };
    ordered_by_time_of_change_the_latest_first: Row {
        service: drifting(Order::UpdatedDesc, Drift { every_requests: 2, updates: 1, ..Drift::default() }),
        ..row()
    };
    renamed_and_sorted_elsewhere_while_others_go: Row {
        service: drifting(
            Order::Anywhere,
            Drift { every_requests: 3, updates: 1, deletes: 3, ..Drift::default() },
        ),
        may_be: MayBe::AnyWithoutTheMoved,
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
        service: replicas(Replicas { lag_percent: 50, ..Replicas::default() }),
        may_be: MayBe::AnyOfCopies,
        ..row()
    };
    three_replicas_at_random: Row {
        // Where a few large pages happen to come from the same replica, nothing gives it away.
        largest_page: 10,
        service: replicas(Replicas { count: 3, random: true, ..Replicas::default() }),
        may_be: MayBe::AnyOfCopies,
        ..row()
    };
    equal_records_of_which_one_goes: Row {
        service: Options {
            ids: Ids::Equal,
            ..drifting(Order::Stable, Drift { every_requests: 2, times: 1, deletes: 1, ..Drift::default() })
        },
        may_be: MayBe::NotProven,
        ..row()
    };
    equal_records: Row {
        records: 600,
        seeds: 1,
        service: ids(Ids::Equal),
        may_be: MayBe::NotProven,
        ..row()
    };
    equal_records_in_pages_that_become_smaller: Row {
        records: 600,
        seeds: 1,
        service: Options { later_max_limit: Some(50), ..ids(Ids::Equal) },
        may_be: MayBe::NotProven,
        ..row()
    };
    pages_of_one_record_and_the_first_goes: Row {
        records: 2,
        service: Options {
            max_limit: Some(1),
            ..drifting(Order::Stable, Drift { times: 1, deletes: 1, ..Drift::default() })
        },
        ..row()
    };
    warnings_beside_no_records: Row {
        list: Resource::JaSkills,
        records: 0,
        seeds: 1,
        service: Options { warnings: true, ..Options::default() },
        ..row()
    };
    resumed_after_the_order_was_reversed: Row {
        records: 7000,
        most_pages: 70,
        meanwhile: Some(Change::Reverse),
        ..row()
    };
    resumed_after_a_shuffle: Row {
        records: 7000,
        most_pages: 70,
        meanwhile: Some(Change::Shuffle),
        ..row()
    };
    resumed_after_some_were_moved: Row {
        records: 7000,
        most_pages: 70,
        meanwhile: Some(Change::Move(200)),
        ..row()
    };
    two_ids_with_one_hash: Row { records: 150, seeds: 1, service: ids(Ids::Colliding), ..row() };

    // Those of more than 20,000 records, of which a bounded memory of identities has called losses and repeats proven.
    a_long_list_whose_records_move_while_its_total_stands_still: Row {
        records: 25_000,
        most_pages: 250,
        smallest_page: 100,
        seeds: 2,
        service: drifting(Order::Anywhere, Drift { every_requests: 60, times: 4, updates: 1, ..Drift::default() }),
        ..row()
    };
    a_long_list_resumed_after_5_000_were_inserted: Row {
        records: 25_000,
        most_pages: 250,
        smallest_page: 100,
        seeds: 1,
        meanwhile: Some(Change::Insert(5_000)),
        ..row()
    };
    a_long_list_resumed_after_the_latest_changes_went_first: Row {
        records: 25_000,
        most_pages: 250,
        smallest_page: 100,
        seeds: 1,
        service: order(Order::UpdatedDesc),
        meanwhile: Some(Change::Update(300)),
        ..row()
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

fn replicas(replicas: Replicas) -> Options {
    Options {
        replicas: Some(replicas),
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
    let page_sizes = [1, 2, 10, 100];
    for page_size in page_sizes
        .into_iter()
        .filter(|size| (row.smallest_page..=row.largest_page).contains(size))
    {
        for seed in 0..seeds {
            let trial = Trial::of(&row, page_size, seed);
            let told = tokio::select! {
                told = trial.read(row.meanwhile) => Ok(told),
                requests = trial.too_many_requests() => Err(requests),
            };
            if let Err(fault) = trial.judge(row.may_be, told) {
                wrong.push(format!("pages of {page_size}, seed {seed}: {fault}"));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Takes the ids of batches until there are so many, or to the end; the last batch, the entries of all, and how it ended.
async fn take(
    client: &Client,
    resume: Option<Resume>,
    most: usize,
    ids: &mut Vec<u64>,
) -> (Option<Batch>, Vec<u8>, Completeness) {
    let mut scan = client.resource(Resource::Contacts).scan(ScanOptions {
        resume,
        ..ScanOptions::default()
    });
    let (mut last, mut entries) = (None, Vec::new());
    while ids.len() < most
        && let Some(batch) = scan.next_batch().await
    {
        let batch = batch.unwrap();
        let id = |id: &str| id.trim_matches('"').parse::<u64>().unwrap();
        ids.extend(batch.records.iter().map(|record| id(record.id().unwrap())));
        batch.append_entries(&mut entries);
        last = Some(batch);
    }
    (last, entries, scan.receipt().completeness)
}

/// A memory of 5,000 identities across a resume delivered 10, 50 and 90 of them twice, and said `proven`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn inserts_in_front_between_two_runs_repeat_nothing() {
    const TOTAL: u64 = 20_000;
    for inserts in [4_960, 5_000, 5_040] {
        let inserted = Arc::new(AtomicU64::new(0));
        let base_url = stub::serve({
            let inserted = Arc::clone(&inserted);
            move |request, socket| {
                let inserted = inserted.load(Ordering::Relaxed);
                let body = match request.asks_for_a_token() {
                    true => stub::token("any-token", 3600.0),
                    false => stub::contacts_of(request, TOTAL + inserted, |index| {
                        index.checked_sub(inserted).unwrap_or(TOTAL + index)
                    }),
                };
                stub::reply(socket, 200, "", body);
            }
        });
        let client = stub::settings(&base_url).paced(false).build().unwrap();
        let mut ids = Vec::new();
        let (last, entries, _) = take(&client, None, 11_000, &mut ids).await;
        inserted.store(inserts, Ordering::Relaxed);
        let resume = Resume::new(last.unwrap().state().clone(), entries).unwrap();
        let (.., ended) = take(&client, Some(resume), usize::MAX, &mut ids).await;
        assert_eq!(ended, Completeness::Proven, "{inserts}");
        let distinct: HashSet<u64> = ids.iter().copied().collect();
        assert_eq!(distinct.len(), ids.len(), "{inserts}");
        assert!((0..TOTAL).all(|id| distinct.contains(&id)), "{inserts}");
    }
}
