//! What members get of the budget while nothing fails.

use crate::members::{
    BUSY, Kind, access, act_as_member, client, members, milliseconds, report, service, settings,
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
const ALMOST_ALL: f64 = 33.0;
/// Scans that share a budget.
const SCANS: usize = 5;
/// When counting begins and ends, in milliseconds after the processes were started.
const COUNTED: (u64, u64) = (2000, 6000);

/// Scans and single calls beside them, of a server that is 2.5 ms away, and of one that is 10 ms away.
#[tokio::test(flavor = "multi_thread")]
async fn processes_share_a_server_that_is_far_away() {
    act_as_member().await;
    let _busy = BUSY.acquire().await;
    let test = "share::processes_share_a_server_that_is_far_away";
    let server = Server::valkey(&[]).await;
    let began = milliseconds();
    let (from, to) = (began + COUNTED.0, began + COUNTED.1);
    let mut runs = Vec::new();
    for one_way in [2500, 10_000].map(Duration::from_micros) {
        let proxy = Proxy::far(server.port, one_way).await;
        let budget = format!("redis://127.0.0.1:{}", proxy.port);
        let sandbox = service(Policy::TokenBucket);
        let scans = members(SCANS, test, &sandbox, &budget, Kind::Scan, to);
        let single = members(1, test, &sandbox, &budget, Kind::Single, to);
        runs.push((one_way, sandbox, scans, single));
    }
    for (one_way, sandbox, scans, single) in runs {
        let counted = |at: &u64| (from..to).contains(at);
        let pages = |child| report(child).pages.into_iter().filter(counted).count();
        let pages: Vec<usize> = scans.into_iter().map(pages).collect();
        let calls: Vec<u64> = single
            .into_iter()
            .flat_map(|child| report(child).calls)
            .collect();
        let total: usize = pages.iter().sum();
        let rate = total as f64 * 1000.0 / (to - from) as f64;
        let stats = sandbox.stats();
        println!("{one_way:?}: {rate:.1} a second; pages {pages:?}; calls {calls:?} ms; {stats:?}");
        assert_eq!(stats.limited, 0);
        // How much of the budget is used, how exactly it is divided, and how long single calls wait, is tested on virtual
        // time. Here the machine may be busy with other things; where it had time for almost all, it had time for each.
        let fair = total as f64 / SCANS as f64;
        for count in pages {
            let unequal = (count as f64 - fair).abs();
            let is_fair = rate < ALMOST_ALL || unequal <= 0.35 * fair + 1.0;
            assert!(count > 0 && is_fair, "{count} of {fair}");
        }
        assert!(!calls.is_empty());
    }
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
        let mut scans = members(3, test, &sandbox, &budget, Kind::Scan, until);
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

/// Members are counted while they are there. The runtime of a blocking client ends with it, after the server has been told.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_is_dropped_has_left() {
    let server = Server::valkey(&[]).await;
    let budget = format!("redis://127.0.0.1:{}", server.port);
    let sandbox = service(Policy::TokenBucket);
    let access = access(&sandbox);
    let first = client(&access, &budget);
    first.version().await.unwrap();
    assert_eq!(first.budget().members, 1);
    let (settings, other) = (settings(&access, &budget), first.clone());
    let calls = std::thread::spawn(move || {
        let second = blocking::Client::new(&settings).unwrap();
        second.version().unwrap();
        let count = second.run(async move |_| {
            other.version().await?;
            Ok(other.budget().members)
        });
        assert_eq!(count.unwrap(), 2);
    });
    calls.join().unwrap();
    assert_eq!(shown(&access, &budget).members.len(), 1);
    first.version().await.unwrap();
    let stats = first.budget();
    assert_eq!(
        (stats.members, stats.max_members),
        (1, 2),
        "the other one has left"
    );
    drop(first);
}
