//! What becomes of members when the server forgets, stalls, dies, or is replaced, and when members are killed or stopped:
//! those that are left go on, without being refused, and say for how long they were on their own.

use crate::members::{BUSY, Kind, act_as_member, member, report, service};
use crate::phases::{NEVER, Phases};
use crate::proxy::Proxy;
use crate::server::Server;
use rustix::process::{Pid, Signal, kill_process};
use std::process::Child;
use talentdata_sandbox::limit::Policy;

const SCANS: usize = 4;
/// The part of the requests that may be refused where members do not know of each other for a while: on virtual time it
/// must be a quarter of that.
const RARELY: f64 = 0.04;

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
    phases.judge(&reports, &[], &sandbox, NEVER);
    for report in &reports {
        println!("{}", report.budget);
        assert!(report.seconds_unreachable() > 0.0, "the stall is noticed");
        assert!(report.budget["unreachable_reason"].is_string());
        assert!(report.has_contact, "with the replica");
        assert_eq!(report.budget["members"], SCANS);
    }
    assert!(!replica.kept().await.is_empty());
}

/// Three of ten members are cut off for ten seconds, and go on with their parts, while the others have all of the budget.
#[tokio::test(flavor = "multi_thread")]
async fn members_that_are_cut_off_take_little_more_than_their_part() {
    act_as_member().await;
    let _busy = BUSY.acquire().await;
    let test = "failures::members_that_are_cut_off_take_little_more_than_their_part";
    let server = Server::valkey(&[]).await;
    let proxy = Proxy::to(server.port).await;
    let ways = [server.port, proxy.port].map(|port| format!("redis://127.0.0.1:{port}"));
    let sandbox = service(Policy::ClockWindow);
    let names = &["start", "cut off", "5 s later", "there again"];
    let phases = Phases::new(5000, names);
    let scans = |count, way| {
        let scan = |_| member(test, &sandbox, way, Kind::Scan, phases.end());
        (0..count).map(scan).collect::<Vec<_>>()
    };
    let [others, cut_off] = [scans(7, &ways[0]), scans(3, &ways[1])];
    phases.begin(1).await;
    proxy.stall(true);
    phases.begin(3).await;
    proxy.stall(false);
    let [others, cut_off] =
        [others, cut_off].map(|scans| scans.into_iter().map(report).collect::<Vec<_>>());
    phases.judge(&cut_off, &others, &sandbox, RARELY);
    for report in &others {
        assert!(phases.had_contact(report), "{}", report.budget);
    }
    for report in &cut_off {
        let lost = report.seconds_unreachable();
        assert!(lost > 7.0, "{lost} s, of which it takes some to notice it");
        assert!(report.has_contact);
        assert_eq!(report.budget["members"], 10);
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
    let names = &[
        "start",
        "kill -9 of one",
        "kill -9 of the next one",
        "SIGSTOP of one that holds slots",
        "SIGCONT",
    ];
    let phases = Phases::new(2000, names);
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
    phases.judge(&reports, &others, &sandbox, NEVER);
    let goes_on = phases.began + 4 * phases.length;
    for other in &others {
        assert!(other.has_contact);
        assert!(other.pages.iter().any(|at| *at >= goes_on), "it goes on");
    }
    for report in &reports {
        assert!(phases.had_contact(report), "{}", report.budget);
    }
}
