//! What becomes of members when the server forgets, stalls, dies, or is replaced, and when members are killed or stopped:
//! those that are left go on, without being refused, and say for how long they were on their own. How much of the budget they
//! use meanwhile is tested on virtual time (`budget/redis/simulation.rs`).

use crate::members::{BUSY, Kind, Report, act_as_member, members, milliseconds, report, service};
use crate::proxy::Proxy;
use crate::server::Server;
use rustix::process::{Pid, Signal, kill_process};
use std::process::Child;
use std::time::Duration;
use talentdata_sandbox::Sandbox;
use talentdata_sandbox::limit::Policy;

const SCANS: usize = 4;
/// Between two things that happen, in milliseconds.
const PHASE: u64 = 1500;
/// Nobody may wait so long for a page, in milliseconds, however busy the machine is.
const HANG: u64 = 8000;

/// Waits until it is time for this phase.
async fn begin(began: u64, phase: usize) {
    let at = began + PHASE * phase as u64;
    tokio::time::sleep(Duration::from_millis(at.saturating_sub(milliseconds()))).await;
}

/// Each of these members must have begun, and none may have hung before the end; no request may have been refused.
fn judge(reports: &[Report], end: u64, sandbox: &Sandbox) {
    for report in reports {
        let mut since = *report.pages.first().unwrap();
        for at in report.pages.iter().copied().chain([end]) {
            let hangs = at.saturating_sub(since);
            assert!(hangs < HANG, "a member hangs for {hangs} ms");
            since = since.max(at);
        }
        assert!(report.has_contact, "{}", report.budget);
    }
    let stats = sandbox.stats();
    assert_eq!(stats.limited, 0, "{stats:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn members_go_on_whatever_happens_to_the_server() {
    act_as_member().await;
    let _busy = BUSY.acquire().await;
    let test = "failures::members_go_on_whatever_happens_to_the_server";
    let mut server = Server::valkey(&[]).await;
    let replica = Server::valkey(&[]).await;
    let proxy = Proxy::to(server.port).await;
    let budget = format!("redis://127.0.0.1:{}", proxy.port);
    let sandbox = service(Policy::TokenBucket);
    let began = milliseconds();
    let end = began + 8 * PHASE;
    let scans = members(SCANS, test, &sandbox, &budget, Kind::Scan, end);
    begin(began, 1).await;
    server.command(&["FLUSHALL"]).await;
    begin(began, 2).await;
    proxy.stall(true);
    begin(began, 4).await;
    proxy.stall(false);
    begin(began, 5).await;
    server.restart().await;
    let port = server.port.to_string();
    replica.command(&["REPLICAOF", "127.0.0.1", &port]).await;
    begin(began, 6).await;
    // What the replica takes over is the state; without it there would be nothing to test.
    replica.has_keys().await;
    server.stop();
    replica.command(&["REPLICAOF", "NO", "ONE"]).await;
    proxy.lead_to(replica.port);
    let reports: Vec<_> = scans.into_iter().map(report).collect();
    judge(&reports, end, &sandbox);
    for report in &reports {
        assert!(report.seconds_unreachable() > 0.0, "the stall is noticed");
        assert!(report.budget["unreachable_reason"].is_string());
        assert_eq!(report.budget["members"], SCANS);
    }
    assert!(!replica.kept().await.is_empty());
}

/// Sends a signal to a member.
fn send(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(child.id().try_into().unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn members_go_on_whatever_happens_to_one_of_them() {
    act_as_member().await;
    let _busy = BUSY.acquire().await;
    let test = "failures::members_go_on_whatever_happens_to_one_of_them";
    let server = Server::valkey(&[]).await;
    let budget = format!("redis://127.0.0.1:{}", server.port);
    let sandbox = service(Policy::TokenBucket);
    let began = milliseconds();
    let end = began + 5 * PHASE;
    let mut scans = members(SCANS + 2, test, &sandbox, &budget, Kind::Scan, end);
    for phase in [1, 2] {
        begin(began, phase).await;
        let mut victim = scans.pop().unwrap();
        victim.kill().unwrap();
        victim.wait().unwrap();
        scans.extend(members(1, test, &sandbox, &budget, Kind::Scan, end));
    }
    let stopped = &scans[SCANS];
    begin(began, 3).await;
    send(stopped, Signal::STOP);
    begin(began, 4).await;
    send(stopped, Signal::CONT);
    let reports: Vec<_> = scans.into_iter().map(report).collect();
    judge(&reports, end, &sandbox);
    for report in &reports {
        let goes_on = report.pages.iter().any(|at| *at >= began + 4 * PHASE);
        assert!(goes_on, "{}", report.budget);
    }
    for report in &reports[..SCANS] {
        // The machine may be busy with something else for a while.
        assert!(report.seconds_unreachable() < 2.5, "{}", report.budget);
    }
}
