//! What members get of the budget while nothing fails.

use crate::members::{
    BUSY, Kind, access, act_as_member, client, member, milliseconds, report, service,
};
use crate::server::Server;
use talentdata_sandbox::limit::Policy;

/// Scans that share the budget.
const SCANS: usize = 10;
/// When counting begins and ends, in milliseconds after the processes were started.
const COUNTED: (u64, u64) = (4000, 16_000);

#[tokio::test(flavor = "multi_thread")]
async fn ten_processes_get_equal_parts_of_almost_all_and_single_calls_go_first() {
    act_as_member().await;
    let _busy = BUSY.lock().await;
    let test = "share::ten_processes_get_equal_parts_of_almost_all_and_single_calls_go_first";
    let server = Server::valkey(&[]).await;
    let budget = format!("redis://127.0.0.1:{}", server.port);
    let sandbox = service(Policy::TokenBucket);
    let began = milliseconds();
    let (from, to) = (began + COUNTED.0, began + COUNTED.1);
    let scans: Vec<_> = (0..SCANS)
        .map(|_| member(test, &sandbox, &budget, Kind::Scan, to))
        .collect();
    let single = member(test, &sandbox, &budget, Kind::Single, to);
    let pages: Vec<usize> = scans
        .into_iter()
        .map(|child| {
            let pages = report(child).pages;
            pages.iter().filter(|at| (from..to).contains(*at)).count()
        })
        .collect();
    let mut calls = report(single).calls;
    calls.sort_unstable();
    let total: usize = pages.iter().sum();
    let fair = total as f64 / SCANS as f64;
    let rate = (total as f64 + calls.len() as f64 * 0.75) * 1000.0 / (to - from) as f64;
    let stats = sandbox.stats();
    println!("{rate:.1} requests a second; pages {pages:?}; single calls {calls:?} ms; {stats:?}");
    assert_eq!(stats.limited, 0);
    // How much of the budget is used, how exactly it is divided, and how long single calls wait, is asked for on
    // virtual time. Here the machine may be busy with other things.
    for count in pages {
        assert!(
            (count as f64 - fair).abs() <= 0.35 * fair + 1.0,
            "{count} of {fair}"
        );
    }
    assert!(!calls.is_empty());
}

/// The only member sends as it would with a budget of its own, and finds others that come.
#[tokio::test(flavor = "multi_thread")]
async fn members_come_and_go() {
    act_as_member().await;
    let server = Server::valkey(&[]).await;
    let budget = format!("redis://127.0.0.1:{}", server.port);
    let sandbox = service(Policy::SlidingLog);
    let access = access(&sandbox);
    let first = client(&access, &budget);
    let mut scan = first.contacts().list();
    let mut read = async |records: usize| {
        for _ in 0..records {
            scan.next().await.unwrap().unwrap();
        }
    };
    read(8000).await;
    assert_eq!(first.budget().members, 1);
    let second = client(&access, &budget);
    second.version().await.unwrap();
    assert_eq!(second.budget().members, 2);
    read(8000).await;
    assert_eq!(first.budget().most_members, 2);
    drop(second);
    read(12_000).await;
    assert_eq!(first.budget().members, 1, "the other one has left");
    assert_eq!(sandbox.stats().limited, 0);
}
