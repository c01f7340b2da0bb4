//! Real processes that share a token, and the request budget of one host or several: fairly, without refusals, and
//! undisturbed by processes that end or stop, or by damaged files in the runtime directory.

use crate::server::Server;
use crate::support::{Ended, Signal, Trial, code, names, run, send, wait_until};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;
use talentdata_core::ErrorKind;
use talentdata_sandbox::limit::Policy;
use talentdata_sandbox::{Options, Tokens};

const TOKEN: &str = "/v1/oauth/token";
pub(crate) const PERMISSIONS: &str = "/v1/oauth/token/permissions";
/// Each process reads a different list, so that the sandbox can distinguish the processes.
const LISTS: [&str; 4] = ["contacts", "vacancies", "pools", "ja_roles"];

fn path(list: &str) -> String {
    format!("/v1/{}", list.replace('_', "/"))
}

/// A service with lists of this size.
fn company(size: u64, policy: Policy, tokens: Tokens) -> Trial {
    let options = Options {
        policy,
        tokens,
        ..Options::default()
    };
    Trial::limited(&LISTS.map(|list| (list, size)), options)
}

impl Trial {
    /// Returns a client that shares only with the clients of this trial.
    pub(crate) fn member(&self, words: &str) -> Command {
        let mut command = self.command(words);
        command
            .env("XDG_RUNTIME_DIR", self.directory.path())
            .env("TALENTDATA_TOKEN_CACHE", "host");
        command
    }

    /// Starts to export a list to `/dev/null`, with a receipt.
    fn export(&self, list: &str) -> Child {
        let mut command = self.member(&format!("export {list} --out - --receipt {list}.json"));
        command.stdout(Stdio::null()).spawn().unwrap()
    }

    /// Returns the receipt of an export, which must have succeeded without a refusal.
    fn ended(&self, list: &str, child: Child) -> Value {
        Ended::wait(child).quiet();
        let receipt = self.receipt(&format!("{list}.json"));
        let of = (&receipt["completeness"], &receipt["rate_limited"]);
        assert_eq!(of, (&"proven".into(), &0.into()), "{receipt}");
        receipt
    }

    /// Starts a call that needs a token.
    fn call(&self) -> Child {
        self.member("permissions").spawn().unwrap()
    }

    fn two_calls(&self) {
        let calls = [self.call(), self.call()];
        calls.into_iter().for_each(ends_well);
    }

    fn count(&self, path: &str) -> u64 {
        let counts = self.sandbox.stats().requests_by_path;
        counts.get(path).copied().unwrap_or_default()
    }

    fn wait_for(&self, path: &str, count: u64) {
        while self.count(path) < count {
            sleep(Duration::from_millis(5));
        }
    }

    /// Returns the file of the shared token.
    pub(crate) fn token_file(&self) -> PathBuf {
        let names = names(&self.path("talentdata"));
        let name = names.iter().find(|name| name.starts_with("token-"));
        self.path("talentdata").join(name.unwrap())
    }
}

fn end(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

fn ends_well(child: Child) {
    Ended::wait(child).quiet();
}

#[test]
fn exports_share_evenly_and_a_killed_or_stopped_one_delays_nobody() {
    let company = company(8_000, Policy::SlidingLog, Tokens::All);
    let [victim, stopped, third, fourth] = LISTS.map(|list| company.export(list));
    let counts = || LISTS.map(|list| company.count(&path(list)));
    for list in LISTS {
        company.wait_for(&path(list), 5);
    }
    let before = counts();
    while counts().iter().sum::<u64>() < before.iter().sum::<u64>() + 240 {
        sleep(Duration::from_millis(5));
    }
    let after = counts();
    end(victim);
    send(&stopped, Signal::STOP);
    for (before, after) in before.into_iter().zip(after) {
        assert!((51..=69).contains(&(after - before)), "{before} to {after}");
    }
    let receipts =
        [(LISTS[2], third), (LISTS[3], fourth)].map(|(list, child)| company.ended(list, child));
    send(&stopped, Signal::CONT);
    for receipt in receipts
        .into_iter()
        .chain([company.ended(LISTS[1], stopped)])
    {
        let budget = &receipt["budget"];
        let of = (&budget["store"], &budget["max_members"]);
        assert_eq!(of, (&"host".into(), &4.into()), "{receipt}");
        assert_eq!(budget["seconds_unreachable"], 0.0, "{receipt}");
    }
}

#[test]
fn client_ids_of_one_company_share_one_budget() {
    let server = Server::valkey();
    let stores = [
        "host".to_owned(),
        format!("redis://127.0.0.1:{}", server.port),
    ];
    for store in stores {
        let trial = company(1_000_000, Policy::SlidingLog, Tokens::All);
        let ids = ["", "-second", "-third"].map(|rest| trial.sandbox.client_id().to_owned() + rest);
        let client = |id: &str, words: &str| {
            let mut command = trial.member(words);
            command
                .env("TALENTDATA_CLIENT_ID", id)
                .env("TALENTDATA_COMPANY", "acme")
                .env("TALENTDATA_BUDGET", &store);
            command
        };
        let exports = ids.iter().flat_map(|id| [id, id]).map(|id| {
            let mut command = client(id, "export contacts --out -");
            command.stdout(Stdio::null()).spawn().unwrap()
        });
        let mut exports: Vec<Child> = exports.collect();
        let state = || run(&mut client(&ids[1], "budget --json")).json();
        wait_until(&mut exports[0], || {
            let members = state()["members"].as_array().unwrap().clone();
            members.len() == 6
                && members
                    .iter()
                    .all(|one| one["sent_last_minute"].as_u64() > Some(5))
        });
        assert_eq!(state()["company"], "acme");
        assert_eq!(trial.sandbox.stats().limited, 0);
        exports.into_iter().for_each(end);
        // The token of a client ID is of no use to another one.
        let tokens = names(&trial.path("talentdata"));
        let tokens = tokens.iter().filter(|name| name.starts_with("token-"));
        assert_eq!(tokens.count(), 3);
    }
}

#[test]
fn the_budget_is_shown_while_it_is_used_and_afterwards() {
    let company = company(1_000_000, Policy::SlidingLog, Tokens::All);
    let run_member = |words: &str| run(&mut company.member(words));
    let state = || run_member("budget --json").json();
    let nobody = run_member("budget");
    assert!(nobody.quiet().starts_with("Nobody has used"), "{nobody:?}");
    let unused = state();
    let of = (&unused["members"], &unused["requests_per_second"]);
    assert_eq!(of, (&json!([]), &Value::Null));
    let scan = company.export("contacts");
    company.wait_for("/v1/contacts", 5);
    let state = state();
    let members = state["members"].as_array().unwrap();
    assert_eq!((&state["store"], members.len()), (&"host".into(), 1));
    let of = (&members[0]["process"], &members[0]["name"]);
    assert_eq!(of, (&scan.id().into(), &"talentdata".into()));
    assert!(members[0]["sent_last_minute"].as_u64() >= Some(5));
    assert!(state["requests_per_second"].as_f64() > Some(30.0));
    let shown = run_member("budget").stdout;
    assert!(
        shown.starts_with(&format!(
            "1 client uses up to 39.0 requests/s of {}\n",
            company.sandbox.client_id()
        )),
        "{shown}"
    );
    let line = shown.lines().nth(2).unwrap();
    assert!(
        line.starts_with("talentdata ") && line.contains(&scan.id().to_string()),
        "{shown}"
    );
    run_member("plan pools").says(0, "2 clients share the budget");
    end(scan);
    let mut elsewhere = company.member("budget");
    elsewhere.env("TALENTDATA_BUDGET", "redis://:CANARY@127.0.0.1:1");
    let shown = run(&mut elsewhere);
    let said = shown.error(code(ErrorKind::Connect), "redis://127.0.0.1:1: ");
    assert!(!said.contains("CANARY"), "{said}");
}

#[test]
fn a_process_that_ends_normally_is_no_longer_counted() {
    let company = company(1_000_000, Policy::SlidingLog, Tokens::All);
    let server = Server::valkey();
    let command = |words: &str| {
        let mut command = company.member(words);
        let budget = format!("redis://127.0.0.1:{}", server.port);
        command.env("TALENTDATA_BUDGET", budget);
        command
    };
    let members = || {
        let state = run(&mut command("budget --json")).json();
        let members = state["members"].as_array().unwrap().iter();
        members
            .map(|member| member["process"].as_u64())
            .collect::<Vec<_>>()
    };
    run(&mut command("page pools --limit 1")).json();
    assert_eq!(members(), [], "a command that has succeeded");
    let wrong = run(command("page pools").env("TALENTDATA_CLIENT_SECRET", "wrong"));
    wrong.error(code(ErrorKind::Auth), "");
    assert_eq!(members(), [], "a command that has failed");
    // One export is stopped, and one is killed without time to leave the budget.
    for (signal, code) in [(Signal::INT, Some(130)), (Signal::KILL, None)] {
        let mut command = command("export contacts --out -");
        let mut child = command.stdout(Stdio::null()).spawn().unwrap();
        let process = [Some(u64::from(child.id()))];
        wait_until(&mut child, || members() == process);
        send(&child, signal);
        assert_eq!(child.wait().unwrap().code(), code);
        let left = usize::from(signal == Signal::KILL);
        assert_eq!(members(), process[..left], "{signal:?}");
    }
}

#[test]
fn processes_that_share_a_token_need_one_and_renew_it_once() {
    let company = company(1_000_000_000, Policy::Unlimited, Tokens::Newest);
    let scans = LISTS.map(|list| company.export(list));
    company.two_calls();
    let paths = LISTS.map(path);
    paths.iter().for_each(|path| company.wait_for(path, 5));
    // A process that begins later uses it, too.
    ends_well(company.call());
    assert_eq!((company.count(TOKEN), company.count(PERMISSIONS)), (1, 3));
    let mode = fs::metadata(company.token_file()).unwrap().permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
    // A client with its own token comes and goes.
    let mut other = company.member("permissions");
    run(other.env("TALENTDATA_TOKEN_CACHE", "process")).json();
    let before = paths.each_ref().map(|path| company.count(path));
    for (path, before) in paths.iter().zip(before) {
        // A few requests of each scan may be under way with the old token.
        company.wait_for(path, before + 40);
    }
    assert_eq!(company.count(TOKEN), 3);
    scans.into_iter().for_each(end);
}

#[test]
fn a_process_that_is_killed_or_stopped_while_it_renews_does_no_harm() {
    for (signal, delay) in [(Signal::KILL, 600_000), (Signal::STOP, 4_000)] {
        let company = company(0, Policy::Unlimited, Tokens::Newest);
        let first = json!({"path": TOKEN, "nth": 1});
        company.fault(first, json!({"delay_ms": delay}));
        let mut first = company.call();
        company.wait_for(TOKEN, 1);
        send(&first, signal);
        company.two_calls();
        assert_eq!(company.count(TOKEN), 2);
        if signal == Signal::KILL {
            first.wait().unwrap();
            continue;
        }
        // The token in the file replaced the client's own token.
        send(&first, Signal::CONT);
        ends_well(first);
        ends_well(company.call());
        assert_eq!(company.count(TOKEN), 2);
        assert_eq!(company.count(PERMISSIONS), 4, "none was refused");
    }
}
