//! What becomes of members when the server forgets, stalls, dies, or is replaced, and when members are killed or stopped:
//! those that are left go on, without being refused, and say for how long they were on their own. How much of the budget they
//! use meanwhile, also when only some are cut off, or the clock of the server is set, is tested on virtual time
//! (`budget/redis/simulation.rs`).

use crate::members::Company;
use crate::proxy::Proxy;
use crate::server::Server;
use rustix::process::{Pid, Signal, kill_process};
use std::process::Child;
use std::time::Duration;

const SCANS: usize = 4;

#[tokio::test(flavor = "multi_thread")]
async fn members_go_on_whatever_happens_to_the_server() {
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
    // What the replica takes over is the state; without it there would be nothing to test.
    replica.wait_until(r#"redis.call("DBSIZE") > 0"#);
    server.stop();
    let () = replica.run(&["REPLICAOF", "NO", "ONE"]);
    proxy.lead_to(replica.port);
    for report in company.reports(8) {
        // A part of the three seconds goes by before it is noticed.
        assert!(report.seconds_unreachable() > 1.0, "{}", report.budget);
        assert!(report.budget["unreachable_reason"].is_string());
        assert_eq!(report.budget["members"], SCANS);
    }
    replica.wait_until(r#"redis.call("DBSIZE") > 0"#);
}

/// Sends a signal to a member.
fn send(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(child.id().try_into().unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn members_go_on_whatever_happens_to_one_of_them() {
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
    send(&company.members[SCANS], Signal::STOP);
    company.phase(4).await;
    send(&company.members[SCANS], Signal::CONT);
    let reports = company.reports(5);
    for report in &reports {
        let goes_on = report.served.iter().any(|at| *at >= company.time_of(4));
        assert!(goes_on, "{}", report.budget);
    }
    for report in &reports[..SCANS] {
        // The machine may be busy with something else for a while.
        assert!(report.seconds_unreachable() < 2.5, "{}", report.budget);
    }
}
