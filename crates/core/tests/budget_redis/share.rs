//! The shares that members get of the budget while nothing fails, and the state that users see.

use crate::members::{Company, act_as_member, milliseconds};
use crate::proxy::Proxy;
use crate::server::{PROGRAMS, Server};
use std::process::Child;
use std::time::Duration;
use talentdata_core::types::BudgetState;
use talentdata_core::{ErrorKind, blocking};

const PASSWORD: &str = "CANARY-of-the-server";
/// Almost all of forty requests a second.
const ALMOST_ALL: f64 = 33.0;
/// The number of scans that share a budget.
const SCANS: usize = 5;
/// The times at which counting begins and ends, in milliseconds after the processes were started.
const COUNTED: (u64, u64) = (2000, 6000);
/// The end of the test, in phases.
const PHASES: u64 = 4;

/// Scans with a server that is 2.5 ms away, and with one that is 10 ms away.
#[tokio::test(flavor = "multi_thread")]
async fn processes_share_a_server_that_is_far_away() {
    act_as_member().await;
    let server = Server::valkey();
    let mut runs = Vec::new();
    for one_way in [2500, 10_000].map(Duration::from_micros) {
        let proxy = Proxy::to(server.port, one_way).await;
        let budget = format!("redis://127.0.0.1:{}", proxy.port);
        let mut company = Company::new();
        company.join(SCANS, &budget, PHASES);
        runs.push((one_way, company));
    }
    for (one_way, mut company) in runs {
        let counted = company.began + COUNTED.0..company.began + COUNTED.1;
        let reports = company.reports(PHASES);
        let counts = reports.iter().map(|report| {
            let served = report.served.iter().filter(|at| counted.contains(at));
            served.count() as f64
        });
        let counts: Vec<f64> = counts.collect();
        let total: f64 = counts.iter().sum();
        let rate = total * 1000.0 / (COUNTED.1 - COUNTED.0) as f64;
        println!("{one_way:?}: {rate:.1} a second; pages {counts:?}");
        // The use of the budget, its division, and the wait of single calls are tested on virtual time. Here the
        // machine may be busy with other work. If it had time for almost all requests, it had time for each member.
        let fair = total / SCANS as f64;
        for count in counts {
            let is_fair = rate < ALMOST_ALL || (count - fair).abs() <= 0.35 * fair + 1.0;
            assert!(count > 0.0 && is_fair, "{count} of {fair}");
        }
    }
}

/// Restricts the server to the user that docs/budget.md recommends.
fn restrict(server: &Server) {
    let manual = include_str!("../../../../docs/budget.md");
    let (_, command) = manual.split_once("redis-cli ACL").unwrap();
    let (rule, _) = command.split_once("\n\n").unwrap();
    let rule = rule.replace("PASSWORD", PASSWORD).replace(['\'', '\\'], "");
    let words: Vec<&str> = ["ACL"].into_iter().chain(rule.split_whitespace()).collect();
    let () = server.run(&words);
    let () = server.run(&["ACL", "SETUSER", "default", "off"]);
}

/// Users see who shares the budget, on which host, and how much each used. Reading the state changes nothing. Members
/// count until they leave.
#[tokio::test(flavor = "multi_thread")]
async fn the_members_are_shown() {
    for program in PROGRAMS {
        let server = Server::start(program, |_| ());
        let mut looks = server.connection();
        restrict(&server);
        let budget = format!("redis://talentdata:{PASSWORD}@127.0.0.1:{}/3", server.port);
        let mut company = Company::new();
        let nobody = company.shown(&budget);
        assert_eq!((nobody.members.len(), nobody.mode), (0, None));
        let first = company.settings(&budget).build().unwrap();
        first.version().await.unwrap();
        assert_eq!(first.budget().unreachable_reason, None);
        assert_eq!(first.budget().members, 1);
        let alone = company.shown(&budget);
        assert_eq!(alone.mode.as_deref(), Some("slots"), "{alone:?}");
        assert!(alone.requests_per_second.unwrap() > 30.0, "{alone:?}");
        // The runtime of a blocking client ends with it, after the server was notified.
        let (settings, other) = (company.settings(&budget), first.clone());
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
        assert_eq!(company.shown(&budget).members.len(), 1);
        first.version().await.unwrap();
        let stats = first.budget();
        assert_eq!((stats.members, stats.max_members), (1, 2), "one has left");
        company.join(3, &budget, 40);
        let all_there = |state: &BudgetState| {
            let scan = |child: &Child| {
                let found = state.members.iter().find(|one| one.process == child.id());
                found.is_some_and(|one| one.sent_last_minute >= 10)
            };
            company.members.iter().all(scan)
        };
        let mut state = company.shown(&budget);
        while !all_there(&state) {
            assert!(milliseconds() < company.time_of(40), "{state:?}");
            // Otherwise it would leave.
            first.version().await.unwrap();
            state = company.shown(&budget);
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
        // All keys of the first databases, and their values.
        let script = r#"local kept = ""
            for database = 0, 3 do
                redis.call("SELECT", database)
                for _, key in ipairs(redis.call("KEYS", "*")) do
                    kept = kept .. key .. ": " .. redis.call("GET", key) .. "\n"
                end
            end
            return kept"#;
        let kept: String = redis::Script::new(script).invoke(&mut looks).unwrap();
        assert!(kept.contains("talentdata:budget-"), "{kept}");
        let sandbox = &company.sandbox;
        for secret in [
            sandbox.base_url(),
            sandbox.client_id(),
            sandbox.client_secret(),
            PASSWORD,
        ] {
            assert!(!kept.contains(secret), "{kept}");
        }
        assert!(!state.store.contains(PASSWORD), "{state:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_password_is_reported_and_not_shown() {
    let server = Server::start(PROGRAMS[0], |command| {
        command.args(["--requirepass", "another password"]);
    });
    let company = Company::new();
    let budget = format!("redis://:{PASSWORD}@127.0.0.1:{}", server.port);
    let mut settings = company.settings(&budget);
    let shares = settings.build().unwrap();
    shares.version().await.unwrap();
    let reason = shares.budget().unreachable_reason.unwrap();
    let says = "it does not accept the user and the password in the setting budget";
    assert!(reason.contains(says), "{reason}");
    // No wait helps, so the call ends before the longest one.
    let waits = settings
        .on_unreachable("wait")
        .max_wait(Duration::from_secs(3600));
    let waits = waits.build().unwrap();
    let error = waits.version().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(error.message().contains(says), "{error}");
    let shown = format!("{reason} {error} {error:?} {waits:?} {shares:?}");
    assert!(!shown.contains("CANARY"), "{shown}");
}
