//! The clock of the server is set, forwards and back: no request is refused, and everybody goes on.

use crate::members::{BUSY, Kind, act_as_member, member, report, service};
use crate::phases::{NEVER, Phases};
use crate::server::Server;
use std::ffi::c_long;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;
use talentdata_sandbox::limit::Policy;

const SCANS: usize = 4;

/// Compiles the library that a server with another clock is started with.
fn compile(library: &Path) {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/budget_redis/clock.c");
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-o"]);
    let compiled = compiler.arg(library).arg(source).status().unwrap();
    assert!(compiled.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn members_go_on_when_the_clock_of_the_server_is_set() {
    act_as_member().await;
    let _busy = BUSY.acquire().await;
    let test = "clock::members_go_on_when_the_clock_of_the_server_is_set";
    let directory = tempfile::tempdir().unwrap();
    let library = directory.path().join("clock.so");
    compile(&library);
    let path = directory.path().join("ahead");
    std::fs::write(&path, c_long::to_ne_bytes(0)).unwrap();
    let ahead = std::fs::File::options().write(true).open(&path).unwrap();
    let server = Server::valkey_with(&[("LD_PRELOAD", &library), ("CLOCK_AHEAD", &path)]).await;
    let budget = format!("redis://127.0.0.1:{}", server.port);
    let sandbox = service(Policy::TokenBucket);
    let phases = Phases::new(2000, &["start", "10 s forwards", "20 s back", "after that"]);
    let scans: Vec<_> = (0..SCANS)
        .map(|_| member(test, &sandbox, &budget, Kind::Scan, phases.end()))
        .collect();
    for (phase, seconds) in [0, 10, -10, -10].into_iter().enumerate() {
        phases.begin(phase).await;
        ahead.write_at(&c_long::to_ne_bytes(seconds), 0).unwrap();
        server.shows(seconds as f64).await;
    }
    let reports: Vec<_> = scans.into_iter().map(report).collect();
    phases.judge(&reports, &[], &sandbox, NEVER);
    for report in &reports {
        assert!(report.has_contact);
        assert_eq!(report.budget["members"], SCANS);
        assert!(phases.had_contact(report), "{}", report.budget);
    }
}
