//! Real processes that share the request budget of a host or of several, and a token: fair, without a refusal, and
//! undisturbed by those that end, stop, or find the files of the runtime directory in ruins.

use crate::support::{Ended, Signal, Trial, code, names, requests, run, send, wait_until};
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
const PERMISSIONS: &str = "/v1/oauth/token/permissions";
/// Each process reads a list of its own, so that the sandbox can tell them apart.
const LISTS: [&str; 4] = ["contacts", "vacancies", "pools", "ja_roles"];

fn path(list: &str) -> String {
    format!("/v1/{}", list.replace('_', "/"))
}

/// A service with lists of so many records, and a runtime directory for its clients.
struct Company {
    trial: Trial,
}

/// A service that counts.
fn budget(policy: Policy, size: u64) -> Company {
    let options = Options {
        policy,
        ..Options::default()
    };
    let trial = Trial::limited(&LISTS.map(|list| (list, size)), options);
    Company { trial }
}

/// A service that accepts only the newest token.
fn token(size: u64) -> Company {
    let options = Options {
        tokens: Tokens::Newest,
        ..Options::default()
    };
    let trial = Trial::new(&LISTS.map(|list| (list, size)), options);
    Company { trial }
}

impl Company {
    fn command(&self, words: &str) -> Command {
        let mut command = self.trial.command(words);
        command
            .env("XDG_RUNTIME_DIR", self.trial.directory.path())
            .env("TALENTDATA_TOKEN_CACHE", "host");
        command
    }

    fn run(&self, words: &str) -> Ended {
        run(&mut self.command(words))
    }

    /// Begins to export a list to nowhere, with a receipt.
    fn export(&self, list: &str) -> Child {
        let mut command = self.command(&format!("export {list} --out - --receipt {list}.json"));
        command.stdout(Stdio::null()).spawn().unwrap()
    }

    /// The receipt of an export that has ended well, without a refusal.
    fn receipt(&self, list: &str, child: Child) -> Value {
        Ended::wait(child).quiet();
        let receipt = self.trial.json(&format!("{list}.json"));
        let of = (&receipt["completeness"], &receipt["rate_limited"]);
        assert_eq!(of, (&"proven".into(), &0.into()), "{receipt}");
        receipt
    }

    /// Begins a call that needs a token.
    fn call(&self) -> Child {
        self.command("permissions").spawn().unwrap()
    }

    fn count(&self, path: &str) -> u64 {
        let counts = self.trial.sandbox.stats().requests_by_path;
        counts.get(path).copied().unwrap_or_default()
    }

    fn wait_for(&self, path: &str, count: u64) {
        while self.count(path) < count {
            sleep(Duration::from_millis(5));
        }
    }

    /// The file of the shared token.
    fn token_file(&self) -> PathBuf {
        let names = names(&self.trial.path("talentdata"));
        let name = names.iter().find(|name| name.starts_with("token-"));
        self.trial.path("talentdata").join(name.unwrap())
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
fn four_exports_share_the_budget_fairly() {
    let company = budget(Policy::SlidingLog, 6_000);
    let children = LISTS.map(|list| (list, company.export(list)));
    for (list, child) in children {
        let receipt = company.receipt(list, child);
        assert_eq!(receipt["budget"]["store"], "host");
        assert_eq!(receipt["budget"]["max_members"], 4, "{receipt}");
        assert_eq!(receipt["budget"]["seconds_unreachable"], 0.0, "{receipt}");
    }
    // Fair while all four were at it: from the first page of the last to the last page of the first.
    let requests = requests(&company.trial.sandbox);
    let paths = requests.iter().map(|request| request["path"].as_str());
    let asked: Vec<&str> = paths.filter_map(|path| path?.split('?').next()).collect();
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
fn a_process_that_is_killed_or_stopped_holds_up_nobody() {
    let company = budget(Policy::ClockWindow, 4_000);
    let (victim, stopped) = (company.export("contacts"), company.export("vacancies"));
    let survivor = company.export("pools");
    company.wait_for("/v1/contacts", 5);
    company.wait_for("/v1/vacancies", 5);
    end(victim);
    send(&stopped, Signal::STOP);
    let receipt = company.receipt("pools", survivor);
    assert_eq!(receipt["budget"]["max_members"], 3, "{receipt}");
    send(&stopped, Signal::CONT);
    company.receipt("vacancies", stopped);
}

#[test]
fn the_budget_is_shown_while_it_is_used_and_afterwards() {
    let company = budget(Policy::SlidingLog, 1_000_000);
    let state = || company.run("budget --json").json();
    let nobody = company.run("budget");
    assert!(nobody.quiet().starts_with("Nobody has used"), "{nobody:?}");
    assert_eq!(state()["members"].as_array().unwrap().len(), 0);
    assert_eq!(state()["requests_per_second"], Value::Null);
    let scan = company.export("contacts");
    company.wait_for("/v1/contacts", 5);
    let state = state();
    assert_eq!(state["store"], "host");
    let members = state["members"].as_array().unwrap();
    let ([member], Some(rate)) = (&members[..], state["requests_per_second"].as_f64()) else {
        panic!("{state}");
    };
    let of = (&member["process"], &member["name"]);
    assert_eq!(of, (&scan.id().into(), &"talentdata".into()));
    assert!(
        member["sent_last_minute"].as_u64().unwrap() >= 5 && rate > 30.0,
        "{state}"
    );
    let shown = company.run("budget").stdout;
    assert!(shown.starts_with("Clients: 1; all together "), "{shown}");
    let line = shown.lines().nth(2).unwrap();
    assert!(
        line.starts_with("talentdata ") && line.contains(&scan.id().to_string()),
        "{shown}"
    );
    company
        .run("plan pools")
        .says(0, "2 clients share the budget");
    end(scan);
    let mut elsewhere = company.command("budget");
    elsewhere.env("TALENTDATA_BUDGET", "redis://:CANARY@127.0.0.1:1");
    let shown = run(&mut elsewhere);
    let said = shown.error(code(ErrorKind::Connect), "redis://127.0.0.1:1: ");
    assert!(!said.contains("CANARY"), "{said}");
}

/// A Valkey server, which ends with the value.
struct Server(Child, String);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a server of whose port nobody else has heard.
fn server(company: &Company) -> Server {
    let variable = "TALENTDATA_VALKEY_SERVER";
    let program = std::env::var_os(variable)
        .unwrap_or_else(|| panic!("{variable} names no server; `cargo xtask test rust` sets it"));
    let free = std::net::TcpListener::bind(("127.0.0.1", 0)).and_then(|free| free.local_addr());
    let port = free.unwrap().port().to_string();
    let mut command = Command::new(&program);
    command.args(["--bind", "127.0.0.1", "--save", "", "--port", &port]);
    let command = command.current_dir(company.trial.directory.path());
    let child = command.stdout(Stdio::null()).spawn().unwrap();
    let mut server = Server(child, format!("redis://127.0.0.1:{port}"));
    let budget = server.1.clone();
    wait_until(&mut server.0, || {
        let looked = run(company.command("budget").env("TALENTDATA_BUDGET", &budget));
        looked.code == Some(0)
    });
    server
}

#[test]
fn a_process_that_ends_in_order_is_not_counted_any_more() {
    let company = budget(Policy::SlidingLog, 1_000_000);
    let server = server(&company);
    let command = |words: &str| {
        let mut command = company.command(words);
        command.env("TALENTDATA_BUDGET", &server.1);
        command
    };
    let members = || {
        let state = run(&mut command("budget --json")).json();
        let members = state["members"].as_array().unwrap().clone();
        let process = |member: Value| member["process"].as_u64().unwrap() as u32;
        members.into_iter().map(process).collect::<Vec<_>>()
    };
    let export = || {
        let mut command = command("export contacts --out -");
        let mut child = command.stdout(Stdio::null()).spawn().unwrap();
        let process = child.id();
        wait_until(&mut child, || members() == [process]);
        child
    };
    run(&mut command("page pools --limit 1")).json();
    assert_eq!(members(), [0; 0], "a command that has succeeded");
    let wrong = run(command("page pools").env("TALENTDATA_CLIENT_SECRET", "wrong"));
    wrong.error(code(ErrorKind::Auth), "");
    assert_eq!(members(), [0; 0], "a command that has failed");
    let stopped = export();
    send(&stopped, Signal::INT);
    assert_eq!(Ended::wait(stopped).code, Some(130));
    assert_eq!(members(), [0; 0], "an export that was stopped");
    let killed = export();
    let process = killed.id();
    end(killed);
    assert_eq!(members(), [process], "nobody has said so");
}

#[test]
fn processes_that_share_a_token_need_one_and_renew_it_once_for_all() {
    let company = token(1_000_000_000);
    let scans = LISTS.map(|list| company.export(list));
    [company.call(), company.call()]
        .into_iter()
        .for_each(ends_well);
    let paths = LISTS.map(path);
    paths.iter().for_each(|path| company.wait_for(path, 5));
    // So does one that begins later.
    ends_well(company.call());
    assert_eq!((company.count(TOKEN), company.count(PERMISSIONS)), (1, 3));
    let mode = fs::metadata(company.token_file()).unwrap().permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
    // A client of another kind comes and goes.
    let mut other = company.command("permissions");
    run(other.env("TALENTDATA_TOKEN_CACHE", "process")).json();
    let before = paths.each_ref().map(|path| company.count(path));
    for (path, before) in paths.iter().zip(before) {
        // Of each scan, a few requests with the old token may be under way.
        company.wait_for(path, before + 40);
    }
    assert_eq!(company.count(TOKEN), 3);
    scans.into_iter().for_each(end);
}

#[test]
fn a_process_that_is_killed_or_stopped_while_it_renews_spoils_nothing() {
    let delayed = |time: Duration| {
        let company = token(0);
        let reply = json!({"delay_ms": time.as_millis() as u64});
        company.trial.fault(json!({"path": TOKEN, "nth": 1}), reply);
        let first = company.call();
        company.wait_for(TOKEN, 1);
        (company, first)
    };
    let others = |company: &Company| {
        [company.call(), company.call()]
            .into_iter()
            .for_each(ends_well);
        assert_eq!(company.count(TOKEN), 2);
    };
    let (company, victim) = delayed(Duration::from_secs(600));
    end(victim);
    others(&company);
    let (company, stopped) = delayed(Duration::from_secs(4));
    send(&stopped, Signal::STOP);
    others(&company);
    // Its own token has been ended by the one that it finds now.
    send(&stopped, Signal::CONT);
    ends_well(stopped);
    ends_well(company.call());
    assert_eq!(company.count(TOKEN), 2);
    assert_eq!(company.count(PERMISSIONS), 4, "none was refused");
}

#[test]
fn the_token_is_in_its_file_and_in_no_other_file_log_line_or_error() {
    let company = token(300);
    let export = company.run("export contacts -vv --receipt r.json --out contacts.jsonl");
    let mut said = export.says(0, "received an access token").to_owned();
    // The service tells the token, which is 48 hexadecimal digits, in a refusal.
    let file = company.token_file();
    let bytes = fs::read(&file).unwrap();
    let mut runs = bytes.split(|byte| !byte.is_ascii_hexdigit());
    let digits = runs.find(|digits| digits.len() >= 48).unwrap();
    let token = String::from_utf8(digits[digits.len() - 48..].to_vec()).unwrap();
    let echo = json!({"status": 400, "body": {"you sent": token}});
    company.trial.fault(json!({"path": PERMISSIONS}), echo);
    let ended = company.run("permissions -vv");
    said += ended.says(code(ErrorKind::BadRequest), "");
    said += &ended.stdout;
    said += &Value::from(requests(&company.trial.sandbox)).to_string();
    assert!(!said.contains(&token) && !said.contains(company.trial.sandbox.client_secret()));
    let kept = fs::read_dir(file.parent().unwrap()).unwrap();
    let mut files: Vec<PathBuf> = kept.map(|entry| entry.unwrap().path()).collect();
    files.extend(["r.json", "contacts.jsonl"].map(|name| company.trial.path(name)));
    assert!(files.len() >= 4, "{files:?}");
    for other in files.into_iter().filter(|path| *path != file) {
        let bytes = fs::read(&other).unwrap();
        let mut windows = bytes.windows(token.len());
        assert!(!windows.any(|found| found == token.as_bytes()), "{other:?}");
    }
}
