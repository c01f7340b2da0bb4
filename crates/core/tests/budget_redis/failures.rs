//! What becomes of members when the server forgets, stalls, dies, or is replaced: they go on.

use crate::members::{BUSY, Kind, act_as_member, member, milliseconds, report, service};
use crate::proxy::Proxy;
use crate::server::Server;
use std::time::Duration;
use talentdata_sandbox::limit::Policy;

const SCANS: usize = 4;
/// The length of each phase, in milliseconds.
const PHASE: u64 = 3000;
/// What happens at the beginning of each phase but the first.
const PHASES: [&str; 7] = [
    "start",
    "FLUSHALL",
    "stall",
    "end of stall",
    "restart",
    "failover",
    "after that",
];

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
    let began = milliseconds();
    let until = began + PHASE * PHASES.len() as u64;
    let scans: Vec<_> = (0..SCANS)
        .map(|_| member(test, &sandbox, &budget, Kind::Scan, until))
        .collect();
    for (phase, what) in (0..).zip(PHASES) {
        let at = began + PHASE * phase;
        tokio::time::sleep(Duration::from_millis(at.saturating_sub(milliseconds()))).await;
        match what {
            "FLUSHALL" => server.command(&["FLUSHALL"]).await,
            "stall" => proxy.stall(true),
            "end of stall" => proxy.stall(false),
            "restart" => {
                server.restart().await;
                let port = server.port.to_string();
                replica.command(&["REPLICAOF", "127.0.0.1", &port]).await;
            }
            "failover" => {
                server.stop();
                replica.command(&["REPLICAOF", "NO", "ONE"]).await;
                proxy.lead_to(replica.port);
            }
            _ => {}
        }
    }
    // What is left of the budget in each case is asked for on virtual time; here, that members go on.
    let reports: Vec<_> = scans.into_iter().map(report).collect();
    let stats = sandbox.stats();
    for (phase, what) in (0..).zip(PHASES) {
        let span = began + PHASE * phase..began + PHASE * (phase + 1);
        let pages = reports.iter().flat_map(|report| &report.pages);
        let pages = pages.filter(|at| span.contains(at)).count();
        let rate = pages as f64 * 1000.0 / PHASE as f64;
        println!("{what}: {rate:.1} pages a second");
        assert!(
            phase == 0 || rate >= 0.2 * 40.0,
            "{what}: {rate} pages a second"
        );
    }
    println!("{stats:?}");
    assert!(stats.limited * 50 <= stats.requests, "{stats:?}");
}
