//! Failures of the server (it forgets, stalls, dies, or is replaced) and of members (they are killed or stopped). The
//! remaining members continue without refusals, and report for how long they were on their own. How much of the budget
//! they use during that time is tested on virtual time (`budget/redis/simulation.rs`).

use crate::members::Company;
use crate::proxy::Proxy;
use crate::server::{PROGRAMS, Server};
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::c_long;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};
use talentdata_sandbox::limit::Policy;

const SCANS: usize = 4;
/// Limits the part of the requests that may be refused while members do not know of each other. On virtual time the
/// limit is half of it.
const RARELY: f64 = 0.04;

#[tokio::test(flavor = "multi_thread")]
async fn members_continue_after_any_failure_of_the_server() {
    let (mut server, replica) = (Server::valkey(), Server::valkey());
    let proxy = Proxy::to(server.port, Duration::ZERO).await;
    let budget = format!("redis://127.0.0.1:{}", proxy.port);
    let mut company = Company::new();
    company.join(SCANS, &budget, 8);
    company.phase(1).await;
    let () = server.run(&["FLUSHALL"]);
    company.phase(2).await;
    proxy.stall(true);
    company.phase(4).await;
    proxy.stall(false);
    company.phase(5).await;
    server.restart();
    let () = replica.run(&["REPLICAOF", "127.0.0.1", &server.port.to_string()]);
    company.phase(6).await;
    // The replica takes over the state. Without it, the test would prove nothing.
    replica.wait_until(r#"redis.call("DBSIZE") > 0"#);
    server.stop();
    let () = replica.run(&["REPLICAOF", "NO", "ONE"]);
    proxy.lead_to(replica.port);
    for report in company.reports(8) {
        // A part of the three seconds passes before the members notice it.
        assert!(report.seconds_unreachable() > 1.0, "{}", report.budget);
        assert!(report.budget["unreachable_reason"].is_string());
        assert_eq!(report.budget["members"], SCANS);
    }
    replica.wait_until(r#"redis.call("DBSIZE") > 0"#);
}

/// Three of ten members are disconnected, and continue with their share, while the others are not disturbed.
#[tokio::test(flavor = "multi_thread")]
async fn members_that_are_disconnected_continue_with_their_share() {
    let server = Server::valkey();
    let proxy = Proxy::to(server.port, Duration::ZERO).await;
    let [direct, through] =
        [server.port, proxy.port].map(|port| format!("redis://127.0.0.1:{port}"));
    let mut company = Company::of(Policy::ClockWindow);
    company.join(7, &direct, 12);
    company.join(3, &through, 12);
    company.phase(3).await;
    proxy.stall(true);
    company.phase(9).await;
    proxy.stall(false);
    for report in &company.reports_of(12, RARELY)[7..] {
        let lost = report.seconds_unreachable();
        assert!(lost > 5.0, "{lost} s, of which it takes some to notice it");
    }
}

/// Compiles the library that gives a server another clock.
fn compile(library: &Path) {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/budget_redis/clock.c");
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-o"]);
    let compiled = compiler.arg(library).arg(source).status().unwrap();
    assert!(compiled.success());
}

/// The clock is set forwards and back. No request is refused, and all members continue.
#[tokio::test(flavor = "multi_thread")]
async fn members_continue_when_the_clock_of_the_server_is_set() {
    let directory = tempfile::tempdir().unwrap();
    let [library, path] = ["clock.so", "ahead"].map(|name| directory.path().join(name));
    compile(&library);
    std::fs::write(&path, c_long::to_ne_bytes(0)).unwrap();
    let ahead = std::fs::File::options().write(true).open(&path).unwrap();
    let server = Server::start(PROGRAMS[0], |command| {
        command
            .env("LD_PRELOAD", &library)
            .env("CLOCK_AHEAD", &path);
    });
    let budget = format!("redis://127.0.0.1:{}", server.port);
    let mut company = Company::new();
    company.join(SCANS, &budget, 4);
    for (phase, seconds) in [(1, 10), (2, -10)] {
        company.phase(phase).await;
        ahead.write_at(&c_long::to_ne_bytes(seconds), 0).unwrap();
        // A server reads its clock only now and then.
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs_f64();
        let set = now + seconds as f64;
        server.wait_until(&format!(r#"math.abs(redis.call("TIME")[1] - {set}) < 5"#));
    }
    for report in company.reports(4) {
        assert_eq!(report.budget["members"], SCANS);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn members_continue_after_any_failure_of_one_of_them() {
    let server = Server::valkey();
    let budget = format!("redis://127.0.0.1:{}", server.port);
    let mut company = Company::new();
    company.join(SCANS + 2, &budget, 5);
    for phase in [1, 2] {
        company.phase(phase).await;
        let mut victim = company.members.pop().unwrap();
        victim.kill().unwrap();
        victim.wait().unwrap();
        company.join(1, &budget, 5);
    }
    company.phase(3).await;
    let stopped = Pid::from_child(&company.members[SCANS]);
    kill_process(stopped, Signal::STOP).unwrap();
    company.phase(4).await;
    kill_process(stopped, Signal::CONT).unwrap();
    let reports = company.reports(5);
    for report in &reports {
        let continues = report.served.iter().any(|at| *at >= company.time_of(4));
        assert!(continues, "{}", report.budget);
    }
    for report in &reports[..SCANS] {
        // The machine may be busy with other work for a while.
        assert!(report.seconds_unreachable() < 2.5, "{}", report.budget);
    }
}
