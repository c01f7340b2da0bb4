//! What becomes of members when the server forgets, stalls, dies, or is replaced, and when members are killed or stopped:
//! those that are left go on, without being refused, and say for how long they were on their own.

use crate::members::{BUSY, Kind, Report, act_as_member, member, milliseconds, report, service};
use crate::proxy::Proxy;
use crate::server::Server;
use rustix::process::{Pid, Signal, kill_process};
use std::process::Child;
use std::time::Duration;
use talentdata_sandbox::Sandbox;
use talentdata_sandbox::limit::Policy;

const SCANS: usize = 4;

/// Phases of equal length; what happens at the beginning of each of them is its name.
struct Phases {
    began: u64,
    /// In milliseconds.
    length: u64,
    names: &'static [&'static str],
}

impl Phases {
    fn new(length: u64, names: &'static [&'static str]) -> Self {
        let began = milliseconds();
        Phases {
            began,
            length,
            names,
        }
    }

    fn end(&self) -> u64 {
        self.began + self.length * self.names.len() as u64
    }

    async fn begin(&self, phase: usize) {
        let at = self.began + self.length * phase as u64;
        tokio::time::sleep(Duration::from_millis(at.saturating_sub(milliseconds()))).await;
    }

    /// Prints what share of the budget was used in each phase. Each of these members must have been served in each phase
    /// but the first, in which it may begin; how much they must get is asked for on virtual time.
    fn judge(&self, reports: &[Report], others: &[Report], sandbox: &Sandbox) {
        for (phase, name) in (0..).zip(self.names) {
            let span = self.began + self.length * phase..self.began + self.length * (phase + 1);
            let served =
                |report: &Report| report.pages.iter().filter(|at| span.contains(at)).count();
            let pages: usize = reports.iter().chain(others).map(served).sum();
            let share = pages as f64 * 100.0 / (40.0 * self.length as f64 / 1000.0);
            println!("{name}: {share:.1} % of the limit");
            for report in reports {
                assert!(phase == 0 || served(report) > 0, "{name}: somebody hangs");
            }
        }
        let stats = sandbox.stats();
        println!("{stats:?}");
        assert_eq!(stats.limited, 0, "{stats:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn members_go_on_whatever_happens_to_the_server() {
    act_as_member().await;
    let _busy = BUSY.lock().await;
    let test = "failures::members_go_on_whatever_happens_to_the_server";
    let mut server = Server::valkey(&[]).await;
    let replica = Server::valkey(&[]).await;
    let proxy = Proxy::to(server.port).await;
    let budget = format!("redis://127.0.0.1:{}", proxy.port);
    let sandbox = service(Policy::TokenBucket);
    let names = &[
        "start",
        "FLUSHALL",
        "stall",
        "end of stall",
        "restart",
        "failover to a replica",
        "after that",
    ];
    let phases = Phases::new(3000, names);
    let scans: Vec<_> = (0..SCANS)
        .map(|_| member(test, &sandbox, &budget, Kind::Scan, phases.end()))
        .collect();
    for (phase, name) in names.iter().enumerate() {
        phases.begin(phase).await;
        match *name {
            "FLUSHALL" => server.command(&["FLUSHALL"]).await,
            "stall" => proxy.stall(true),
            "end of stall" => proxy.stall(false),
            "restart" => {
                server.restart().await;
                let port = server.port.to_string();
                replica.command(&["REPLICAOF", "127.0.0.1", &port]).await;
            }
            "failover to a replica" => {
                // What it takes over is the state; without it there would be nothing to test.
                replica.has_keys().await;
                server.stop();
                replica.command(&["REPLICAOF", "NO", "ONE"]).await;
                proxy.lead_to(replica.port);
            }
            _ => {}
        }
    }
    let reports: Vec<_> = scans.into_iter().map(report).collect();
    phases.judge(&reports, &[], &sandbox);
    for report in &reports {
        println!("{}", report.budget);
        // The stall, less what it takes to notice it.
        let lost = report.budget["seconds_lost"].as_f64().unwrap();
        assert!((1.0..20.0).contains(&lost), "{}", report.budget);
        assert!(report.budget["lost"].is_string());
        assert_eq!(report.budget["members"], SCANS, "all are back");
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
    let _busy = BUSY.lock().await;
    let test = "failures::members_go_on_whatever_happens_to_one_of_them";
    let server = Server::valkey(&[]).await;
    let budget = format!("redis://127.0.0.1:{}", server.port);
    let sandbox = service(Policy::TokenBucket);
    let names = &[
        "start",
        "kill -9 of one",
        "kill -9 of the next one",
        "SIGSTOP of one that holds slots",
        "SIGCONT",
    ];
    let phases = Phases::new(5000, names);
    let scan = || member(test, &sandbox, &budget, Kind::Scan, phases.end());
    let survivors: Vec<_> = (0..SCANS).map(|_| scan()).collect();
    let stopped = scan();
    let mut victim = scan();
    for (phase, name) in names.iter().enumerate() {
        phases.begin(phase).await;
        match phase {
            1 | 2 => {
                victim.kill().unwrap();
                victim.wait().unwrap();
                victim = scan();
            }
            3 => send(&stopped, Signal::STOP),
            4 => send(&stopped, Signal::CONT),
            _ => println!("{name}"),
        }
    }
    let reports: Vec<_> = survivors.into_iter().map(report).collect();
    let others = [stopped, victim].map(report);
    phases.judge(&reports, &others, &sandbox);
    let [stopped, newcomer] = &others;
    let goes_on = phases.began + 4 * phases.length;
    for other in [stopped, newcomer] {
        assert!(other.pages.iter().any(|at| *at >= goes_on), "it goes on");
    }
    for report in &reports {
        assert_eq!(report.budget["lost"], serde_json::Value::Null);
        assert_eq!(report.budget["seconds_lost"], 0.0);
    }
}
