//! Real processes that share the request budget of a host: fair, without a refusal, and undisturbed by those that end,
//! stop, or find the file of the budget in ruins.

mod ruins;
mod server;

use crate::support::{Ended, against, program, records, requests, run, sandbox};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;
use talentdata_core::ErrorKind;
use talentdata_sandbox::limit::Policy;
use talentdata_sandbox::{Options, Sandbox};
use tempfile::TempDir;

/// Each process reads a list of its own, so that the sandbox can tell them apart.
const LISTS: [&str; 4] = ["contacts", "vacancies", "pools", "ja-skills"];

/// A service that counts, with lists of so many records, and a runtime directory for its clients.
struct Company {
    sandbox: Sandbox,
    directory: TempDir,
}

impl Company {
    fn new(policy: Policy, size: u64) -> Self {
        let options = Options {
            policy,
            faults: true,
            ..records(
                &LISTS
                    .map(|list| (list, size))
                    .map(|(list, size)| (stem(list), size)),
            )
        };
        Company {
            sandbox: Sandbox::start(options).unwrap(),
            directory: tempfile::tempdir().unwrap(),
        }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = against(&self.sandbox, arguments);
        command.env("XDG_RUNTIME_DIR", self.directory.path());
        command
    }

    /// Begins to export a list to nowhere, with a receipt.
    fn export(&self, list: &str) -> Child {
        let receipt = self.receipt_path(list);
        let verb = ["export", list, "--out", "-", "--receipt", &receipt];
        let mut command = self.command(&verb);
        command.stdout(Stdio::null()).spawn().unwrap()
    }

    fn receipt_path(&self, list: &str) -> String {
        let path = self.directory.path().join(format!("{list}.json"));
        path.to_str().unwrap().to_owned()
    }

    /// The receipt of an export that has ended well.
    fn receipt(&self, list: &str, child: Child) -> Value {
        let ended = Ended::of(child.wait_with_output().unwrap());
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{list}");
        let text = std::fs::read(self.receipt_path(list)).unwrap();
        let receipt: Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(receipt["completeness"], "proven", "{receipt}");
        receipt
    }

    /// The paths that were requested so far, in order, without queries.
    fn asked(&self) -> Vec<String> {
        let path = |request: &Value| {
            let path = request["path"].as_str().unwrap();
            path.split('?').next().unwrap_or_default().to_owned()
        };
        requests(&self.sandbox).iter().map(path).collect()
    }

    /// Waits until so many requests for this path have come.
    fn wait_for(&self, path: &str, count: usize) {
        while self.asked().iter().filter(|asked| *asked == path).count() < count {
            sleep(Duration::from_millis(20));
        }
    }

    fn state(&self) -> Value {
        run(&mut self.command(&["budget", "--json"])).json()
    }
}

/// What a list is called in the options of the sandbox.
fn stem(list: &str) -> &str {
    match list {
        "ja-skills" => "ja_skills",
        list => list,
    }
}

fn path(list: &str) -> String {
    format!("/v1/{}", list.replace("ja-", "ja/"))
}

fn send(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(child.id().try_into().unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

fn end(children: impl IntoIterator<Item = Child>) {
    for mut child in children {
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

#[test]
fn four_exports_share_the_budget_fairly() {
    let company = Company::new(Policy::SlidingLog, 6_000);
    let children = LISTS.map(|list| (list, company.export(list)));
    for (list, child) in children {
        let receipt = company.receipt(list, child);
        assert_eq!(receipt["rate_limited"], 0, "{receipt}");
        assert_eq!(receipt["budget"]["store"], "host");
        assert_eq!(receipt["budget"]["max_members"], 4, "{receipt}");
        assert_eq!(receipt["budget"]["seconds_unreachable"], 0.0, "{receipt}");
    }
    // Fair while all four were at it: from the first page of the last to the last page of the first.
    let asked = company.asked();
    let begun = LISTS.map(|list| asked.iter().position(|asked| *asked == path(list)));
    let ended = LISTS.map(|list| asked.iter().rposition(|asked| *asked == path(list)));
    let (from, to) = (begun.into_iter().max(), ended.into_iter().min());
    let span = &asked[from.flatten().unwrap()..=to.flatten().unwrap()];
    let counts = LISTS.map(|list| span.iter().filter(|asked| **asked == path(list)).count());
    let fair = counts.iter().sum::<usize>() as f64 / 4.0;
    assert!(fair > 20.0, "{counts:?}");
    for count in counts {
        let part = count as f64 / fair;
        assert!((0.85..=1.15).contains(&part), "{counts:?}");
    }
}

#[test]
fn a_newcomer_goes_before_scans() {
    let company = Company::new(Policy::SlidingLog, 1_000_000);
    let scans = LISTS.map(|list| company.export(list));
    LISTS
        .iter()
        .for_each(|list| company.wait_for(&path(list), 5));
    let page = ["page", "taxonomy-skills", "--limit", "1"];
    run(&mut company.command(&page)).json();
    end(scans);
    let asked = company.asked();
    let page = asked
        .iter()
        .position(|asked| asked == "/v1/taxonomy/skills");
    let before = &asked[..page.unwrap()];
    let token = before.iter().rposition(|asked| asked == "/v1/oauth/token");
    let others = before.len() - token.unwrap() - 1;
    // Of forty a second: half a second, which a busy machine may need between the two.
    assert!(
        others <= 20,
        "{others} pages of others between the token and the page"
    );
}

#[test]
fn a_killed_process_costs_the_others_nothing_but_its_place() {
    let company = Company::new(Policy::ClockWindow, 4_000);
    let victims = [company.export("contacts"), company.export("vacancies")];
    let (list, survivor) = ("pools", company.export("pools"));
    company.wait_for("/v1/contacts", 5);
    company.wait_for("/v1/vacancies", 5);
    end(victims);
    let receipt = company.receipt(list, survivor);
    assert_eq!(receipt["rate_limited"], 0, "{receipt}");
    assert_eq!(receipt["budget"]["max_members"], 3, "{receipt}");
}

#[test]
fn a_stopped_process_holds_up_nobody() {
    let company = Company::new(Policy::SlidingLog, 3_000);
    let stopped = company.export("contacts");
    company.wait_for("/v1/contacts", 5);
    send(&stopped, Signal::STOP);
    let receipt = company.receipt("pools", company.export("pools"));
    assert_eq!(receipt["rate_limited"], 0, "{receipt}");
    send(&stopped, Signal::CONT);
    company.receipt("contacts", stopped);
}

#[test]
fn the_budget_is_shown_while_it_is_used_and_afterwards() {
    let company = Company::new(Policy::SlidingLog, 1_000_000);
    let nobody = run(&mut company.command(&["budget"]));
    assert_eq!(nobody.code, Some(0), "{nobody:?}");
    assert!(nobody.stdout.starts_with("Nobody has used"), "{nobody:?}");
    let state = company.state();
    assert_eq!(state["members"].as_array().unwrap().len(), 0, "{state}");
    assert_eq!(state["requests_per_second"], Value::Null);
    let scan = company.export("contacts");
    company.wait_for("/v1/contacts", 5);
    let state = company.state();
    assert_eq!(state["store"], "host");
    let [member] = state["members"].as_array().unwrap().as_slice() else {
        panic!("{state}");
    };
    assert_eq!(member["process"], scan.id());
    assert_eq!(member["name"], "talentdata");
    assert!(member["sent_last_minute"].as_u64().unwrap() >= 5, "{state}");
    assert!(
        state["requests_per_second"].as_f64().unwrap() > 30.0,
        "{state}"
    );
    let shown = run(&mut company.command(&["budget"])).stdout;
    assert!(shown.starts_with("Clients: 1; all together "), "{shown}");
    let line = shown.lines().nth(2).unwrap();
    assert!(line.starts_with("talentdata "), "{shown}");
    assert!(line.contains(&scan.id().to_string()), "{shown}");
    let planned = run(&mut company.command(&["plan", "pools"]));
    assert!(
        planned.stderr.contains("2 clients share the budget"),
        "{planned:?}"
    );
    end([scan]);
}

#[test]
fn a_budget_that_nobody_shares_is_not_shown() {
    let company = Company::new(Policy::SlidingLog, 10);
    let config = i32::from(ErrorKind::Config.exit_code());
    let shown = run(&mut company.command(&["budget", "--budget", "process"]));
    assert!(shown.error(config).contains("budget = host"), "{shown:?}");
    let nobody_there = "redis://:CANARY@127.0.0.1:1";
    let shown = run(company
        .command(&["budget"])
        .env("TALENTDATA_BUDGET", nobody_there));
    let connect = i32::from(ErrorKind::Connect.exit_code());
    let error = shown.error(connect);
    assert!(error.contains("redis://127.0.0.1:1: "), "{shown:?}");
    assert!(!error.contains("CANARY"), "{shown:?}");
    let shown = run(&mut program(&["budget", "--sandbox"]));
    let invalid = i32::from(ErrorKind::InvalidArgument.exit_code());
    assert!(shown.error(invalid).contains("--sandbox"), "{shown:?}");
    let alone = sandbox(records(&[("pools", 10)]));
    let receipt = Path::new(company.directory.path()).join("alone.json");
    let path = receipt.to_str().unwrap();
    let verb = [
        "export",
        "pools",
        "--out",
        "-",
        "--receipt",
        path,
        "--budget",
        "process",
    ];
    let ended = run(&mut against(&alone, &verb));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let receipt: Value = serde_json::from_slice(&std::fs::read(&receipt).unwrap()).unwrap();
    assert_eq!(receipt["budget"]["store"], "process");
    assert_eq!(receipt["budget"]["max_members"], 1);
}
