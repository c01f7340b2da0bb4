//! What members get of the budget while nothing fails.

use crate::members::{
    BUSY, Kind, access, act_as_member, client, member, milliseconds, report, service, settings,
    shown,
};
use crate::proxy::Proxy;
use crate::server::Server;
use std::process::Child;
use std::time::Duration;
use talentdata_core::blocking;
use talentdata_core::budget::BudgetState;
use talentdata_sandbox::limit::Policy;

/// Of forty requests a second.
const ALMOST_ALL: f64 = 36.0;
/// Scans that share the budget.
const SCANS: usize = 10;
/// When counting begins and ends, in milliseconds after the processes were started.
const COUNTED: (u64, u64) = (3000, 7000);

/// Ten scans and single calls beside them, of a server that is so far away.
async fn share(test: &str, one_way: Duration) {
    act_as_member().await;
    let _busy = BUSY.acquire().await;
    let server = Server::valkey(&[]).await;
    let proxy = Proxy::far(server.port, one_way).await;
    let budget = format!("redis://127.0.0.1:{}", proxy.port);
    let sandbox = service(Policy::TokenBucket);
    let began = milliseconds();
    let (from, to) = (began + COUNTED.0, began + COUNTED.1);
    let scans: Vec<_> = (0..SCANS)
        .map(|_| member(test, &sandbox, &budget, Kind::Scan, to))
        .collect();
    let single = member(test, &sandbox, &budget, Kind::Single, to);
    let pages = scans.into_iter().map(|child| {
        let pages = report(child).pages;
        pages.iter().filter(|at| (from..to).contains(*at)).count()
    });
    let pages: Vec<usize> = pages.collect();
    let mut calls = report(single).calls;
    calls.sort_unstable();
    let total: usize = pages.iter().sum();
    let fair = total as f64 / SCANS as f64;
    let rate = (total as f64 + calls.len() as f64 * 0.6) * 1000.0 / (to - from) as f64;
    let stats = sandbox.stats();
    println!("{one_way:?}: {rate:.1} a second; pages {pages:?}; calls {calls:?} ms; {stats:?}");
    assert_eq!(stats.limited, 0);
    // How much of the budget is used, how exactly it is divided, and how long single calls wait, is asked for on
    // virtual time. Here the machine may be busy with other things; where it had time for almost all, it had time for each.
    for count in pages {
        assert!(count > 0, "a process got nothing");
        let unequal = (count as f64 - fair).abs();
        assert!(
            rate < ALMOST_ALL || unequal <= 0.35 * fair + 1.0,
            "{count} of {fair}"
        );
    }
    assert!(!calls.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_processes_share_a_server_2500_microseconds_away() {
    let test = "share::ten_processes_share_a_server_2500_microseconds_away";
    share(test, Duration::from_micros(2500)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_processes_share_a_server_10_milliseconds_away() {
    let test = "share::ten_processes_share_a_server_10_milliseconds_away";
    share(test, Duration::from_millis(10)).await;
}

/// People see who shares the budget, on which host, and what each has had of it; seeing changes nothing.
#[tokio::test(flavor = "multi_thread")]
async fn the_members_are_shown() {
    act_as_member().await;
    let _busy = BUSY.acquire().await;
    let test = "share::the_members_are_shown";
    for server in Server::both().await {
        let budget = format!("redis://127.0.0.1:{}/3", server.port);
        let sandbox = service(Policy::TokenBucket);
        let access = access(&sandbox);
        let nobody = shown(&access, &budget);
        assert_eq!((nobody.members.len(), nobody.mode), (0, None));
        let first = client(&access, &budget);
        first.version().await.unwrap();
        let alone = shown(&access, &budget);
        assert_eq!(alone.mode.as_deref(), Some("slots"), "{alone:?}");
        assert!(alone.requests_per_second.unwrap() > 30.0, "{alone:?}");
        let until = milliseconds() + 60_000;
        let mut scans: Vec<_> = (0..3)
            .map(|_| member(test, &sandbox, &budget, Kind::Scan, until))
            .collect();
        let all_there = |state: &BudgetState| {
            let scan = |child: &Child| {
                let found = state.members.iter().find(|one| one.process == child.id());
                found.is_some_and(|one| one.sent_last_minute >= 10)
            };
            scans.iter().all(scan)
        };
        let mut state = shown(&access, &budget);
        while !all_there(&state) {
            assert!(milliseconds() < until, "{state:?}");
            // Else it would leave.
            first.version().await.unwrap();
            state = shown(&access, &budget);
        }
        assert_eq!(state.mode.as_deref(), Some("slots"), "{state:?}");
        assert_eq!(state.members.len(), 4, "looking makes no member: {state:?}");
        let host = alone.members[0].host.clone().unwrap();
        assert!(!host.is_empty());
        for one in &state.members {
            assert_eq!(one.host.as_ref(), Some(&host));
            assert!(one.name.starts_with("budget_redis"), "{one:?}");
            let scans = one.process != std::process::id();
            assert!(!scans || one.waiting.as_deref() == Some("scan"), "{one:?}");
        }
        let kept = server.kept().await;
        for secret in &access {
            assert!(!kept.contains(secret.as_str()), "{kept}");
        }
        for scan in &mut scans {
            scan.kill().unwrap();
            scan.wait().unwrap();
        }
        drop(first);
    }
}

/// Its runtime ends with it, after the server has been told.
#[tokio::test(flavor = "multi_thread")]
async fn a_blocking_client_that_is_dropped_has_left() {
    let server = Server::valkey(&[]).await;
    let budget = format!("redis://127.0.0.1:{}", server.port);
    let sandbox = service(Policy::TokenBucket);
    let access = access(&sandbox);
    let settings = settings(&access, &budget);
    let calls = std::thread::spawn(move || {
        let client = blocking::Client::new(&settings).unwrap();
        client.version().unwrap();
    });
    calls.join().unwrap();
    assert!(server.kept().await.contains("state"), "it was there");
    assert_eq!(shown(&access, &budget).members, []);
}

/// Members are counted while they are there.
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
    assert_eq!(first.budget().max_members, 2);
    drop(second);
    read(12_000).await;
    assert_eq!(first.budget().members, 1, "the other one has left");
    assert_eq!(sandbox.stats().limited, 0);
}
