//! What becomes of members when the server forgets, stalls, dies, or is replaced, and when members are killed or stopped:
//! those that are left go on, without being refused, and say for how long they were on their own. How much of the budget they
//! use meanwhile is tested on virtual time (`budget/redis/simulation.rs`).

use crate::members::{BUSY, Kind, Report, act_as_member, members, milliseconds, report, service};
use crate::proxy::Proxy;
use crate::server::Server;
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::c_long;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;
use talentdata_sandbox::Sandbox;
use talentdata_sandbox::limit::Policy;

const SCANS: usize = 4;
/// Between two things that happen, in milliseconds.
const PHASE: u64 = 1500;
/// The part of the requests that may be refused where members do not know of each other for a while: on virtual time it
/// must be a quarter of that.
const RARELY: f64 = 0.04;
/// Nobody may wait so long for a page, in milliseconds, however busy the machine is.
const HANG: u64 = 8000;

/// Waits until it is time for this phase.
async fn begin(began: u64, phase: usize) {
    let at = began + PHASE * phase as u64;
    tokio::time::sleep(Duration::from_millis(at.saturating_sub(milliseconds()))).await;
}

/// Each of these members must have begun, and none may have hung before the end.
fn go_on(reports: &[Report], end: u64) {
    for report in reports {
        let mut since = *report.pages.first().unwrap();
        for at in report.pages.iter().copied().chain([end]) {
            let hangs = at.saturating_sub(since);
            assert!(hangs < HANG, "a member hangs for {hangs} ms");
            since = since.max(at);
        }
        assert!(report.has_contact, "{}", report.budget);
    }
}

/// The same, and no request may have been refused.
fn judge(reports: &[Report], end: u64, sandbox: &Sandbox) {
    go_on(reports, end);
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

/// Three of ten members are cut off, and go on with their parts, while the others are not disturbed.
#[tokio::test(flavor = "multi_thread")]
async fn members_that_are_cut_off_go_on_with_their_part() {
    act_as_member().await;
    let _busy = BUSY.acquire().await;
    let test = "failures::members_that_are_cut_off_go_on_with_their_part";
    let server = Server::valkey(&[]).await;
    let proxy = Proxy::to(server.port).await;
    let [direct, through] =
        [server.port, proxy.port].map(|port| format!("redis://127.0.0.1:{port}"));
    let sandbox = service(Policy::ClockWindow);
    let began = milliseconds();
    let end = began + 12 * PHASE;
    let others = members(7, test, &sandbox, &direct, Kind::Scan, end);
    let cut_off = members(3, test, &sandbox, &through, Kind::Scan, end);
    begin(began, 3).await;
    proxy.stall(true);
    begin(began, 9).await;
    proxy.stall(false);
    let [others, cut_off] =
        [others, cut_off].map(|scans| scans.into_iter().map(report).collect::<Vec<_>>());
    go_on(&others, end);
    go_on(&cut_off, end);
    for report in &cut_off {
        let lost = report.seconds_unreachable();
        assert!(lost > 5.0, "{lost} s, of which it takes some to notice it");
    }
    let stats = sandbox.stats();
    let refused = stats.limited as f64 / stats.requests as f64;
    println!("{refused:.3}");
    assert!(refused <= RARELY, "{stats:?}");
}

/// Compiles the library that a server with another clock is started with.
fn compile(library: &Path) {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/budget_redis/clock.c");
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-o"]);
    let compiled = compiler.arg(library).arg(source).status().unwrap();
    assert!(compiled.success());
}

/// It is set forwards and back: no request is refused, and everybody goes on.
#[tokio::test(flavor = "multi_thread")]
async fn members_go_on_when_the_clock_of_the_server_is_set() {
    act_as_member().await;
    let _busy = BUSY.acquire().await;
    let test = "failures::members_go_on_when_the_clock_of_the_server_is_set";
    let directory = tempfile::tempdir().unwrap();
    let library = directory.path().join("clock.so");
    compile(&library);
    let path = directory.path().join("ahead");
    std::fs::write(&path, c_long::to_ne_bytes(0)).unwrap();
    let ahead = std::fs::File::options().write(true).open(&path).unwrap();
    let server = Server::valkey_with(&[("LD_PRELOAD", &library), ("CLOCK_AHEAD", &path)]).await;
    let budget = format!("redis://127.0.0.1:{}", server.port);
    let sandbox = service(Policy::TokenBucket);
    let began = milliseconds();
    let end = began + 4 * PHASE;
    let scans = members(SCANS, test, &sandbox, &budget, Kind::Scan, end);
    for (phase, seconds) in [10, -10].into_iter().enumerate() {
        begin(began, phase + 1).await;
        ahead.write_at(&c_long::to_ne_bytes(seconds), 0).unwrap();
        server.shows(seconds as f64).await;
    }
    let reports: Vec<_> = scans.into_iter().map(report).collect();
    judge(&reports, end, &sandbox);
    for report in &reports {
        assert_eq!(report.budget["members"], SCANS);
    }
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
