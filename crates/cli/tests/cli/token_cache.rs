//! Real processes at a service that accepts only the newest token: each with its own they end each other's, and with
//! `token_cache = host` they share one.

mod renewal;
mod ruins;
mod secrecy;

use crate::support::{Ended, against, fault, records, run};
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;
use talentdata_core::ErrorKind;
use talentdata_sandbox::limit::Policy;
use talentdata_sandbox::{Options, Sandbox, Tokens};
use tempfile::TempDir;

const TOKEN: &str = "/v1/oauth/token";
const PERMISSIONS: &str = "/v1/oauth/token/permissions";
const LISTS: [&str; 3] = ["contacts", "vacancies", "pools"];

/// A service that accepts only the newest token, and a runtime directory for its clients.
struct Company {
    sandbox: Sandbox,
    directory: TempDir,
}

impl Company {
    fn new(options: Options) -> Self {
        let options = Options {
            policy: Policy::Unlimited,
            tokens: Tokens::Newest,
            faults: true,
            ..options
        };
        Company {
            sandbox: Sandbox::start(options).unwrap(),
            directory: tempfile::tempdir().unwrap(),
        }
    }

    fn command(&self, token_cache: &str, arguments: &[&str]) -> Command {
        let mut command = against(&self.sandbox, arguments);
        command
            .env("XDG_RUNTIME_DIR", self.directory.path())
            .env("TALENTDATA_TOKEN_CACHE", token_cache);
        command
    }

    /// Begins to export a list to nowhere.
    fn export(&self, token_cache: &str, list: &str) -> Child {
        let mut command = self.command(token_cache, &["export", list, "--out", "-"]);
        command.stdout(Stdio::null()).spawn().unwrap()
    }

    /// Begins a call that needs a token.
    fn call(&self) -> Child {
        self.command("host", &["permissions"]).spawn().unwrap()
    }

    /// A whole call that needs a token, and goes well.
    fn call_well(&self) {
        run(&mut self.command("host", &["permissions"])).json();
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

    /// The file of the shared token, where there is one.
    fn file(&self) -> Option<PathBuf> {
        let entries = fs::read_dir(self.directory.path().join("talentdata")).ok()?;
        let paths = entries.map(|entry| entry.unwrap().path());
        let mut tokens = paths.filter(|path| {
            let name = path.file_name().unwrap().to_string_lossy();
            name.starts_with("token-")
        });
        let file = tokens.next();
        assert_eq!(tokens.next(), None);
        file
    }
}

fn ends_well(child: Child) {
    let ended = Ended::of(child.wait_with_output().unwrap());
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
}

fn end(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

fn sizes(size: u64) -> Options {
    records(&LISTS.map(|list| (list, size)))
}

#[test]
fn processes_with_a_token_each_end_the_tokens_of_the_others() {
    let company = Company::new(sizes(1_000_000));
    let mut scan = company.export("process", "contacts");
    company.wait_for("/v1/contacts", 5);
    // Each call and the scan renew what the other has ended, which one of them may lose.
    while company.count(TOKEN) < 9 && !has_ended(&mut scan) {
        let call = run(&mut company.command("process", &["permissions"]));
        assert!(call.code == Some(0) || explains(&call), "{call:?}");
        let seen = company.count("/v1/contacts");
        while company.count("/v1/contacts") < seen + 3 && !has_ended(&mut scan) {
            sleep(Duration::from_millis(5));
        }
    }
    match has_ended(&mut scan) {
        true => {
            let ended = Ended::of(scan.wait_with_output().unwrap());
            assert!(explains(&ended), "{ended:?}");
        }
        false => end(scan),
    }
}

fn has_ended(child: &mut Child) -> bool {
    child.try_wait().unwrap().is_some()
}

/// It failed because a fresh token was refused, and says what to do.
fn explains(ended: &Ended) -> bool {
    let auth = i32::from(ErrorKind::Auth.exit_code());
    ended.code == Some(auth) && ended.stderr.contains("set token_cache to host")
}

#[test]
fn processes_that_share_a_token_need_one() {
    let company = Company::new(sizes(1_500));
    let scans = LISTS.map(|list| company.export("host", list));
    let calls = [company.call(), company.call(), company.call()];
    scans.into_iter().chain(calls).for_each(ends_well);
    // So does one that begins when the others have ended.
    company.call_well();
    assert_eq!(company.count(TOKEN), 1);
    assert_eq!(company.count(PERMISSIONS), 4, "none was refused");
    let mode = fs::metadata(company.file().unwrap()).unwrap().permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
}

/// A client of another kind comes and goes.
#[test]
fn a_token_that_somebody_else_ended_is_renewed_once_for_all() {
    let company = Company::new(sizes(1_000_000));
    let scans = LISTS.map(|list| company.export("host", list));
    let paths = LISTS.map(|list| format!("/v1/{list}"));
    paths.iter().for_each(|path| company.wait_for(path, 5));
    assert_eq!(company.count(TOKEN), 1);
    run(&mut company.command("process", &["permissions"])).json();
    let before = paths.each_ref().map(|path| company.count(path));
    for (path, before) in paths.iter().zip(before) {
        // Of each scan, a few requests with the old token may be under way.
        company.wait_for(path, before + 100);
    }
    assert_eq!(company.count(TOKEN), 3);
    scans.into_iter().for_each(end);
}

#[test]
fn tokens_that_expire_are_renewed_for_all() {
    let company = Company::new(Options {
        token_lifetime: Duration::from_secs(1),
        ..sizes(3_000)
    });
    let scans = LISTS.map(|list| company.export("host", list));
    scans.into_iter().for_each(ends_well);
    assert!(company.count(TOKEN) >= 2);
}

#[test]
fn who_has_a_wrong_secret_gets_no_token_and_harms_nobody() {
    let company = Company::new(Options::default());
    company.call_well();
    let mut wrong = company.command("host", &["permissions"]);
    wrong.env("TALENTDATA_CLIENT_SECRET", "another-secret");
    let auth = i32::from(ErrorKind::Auth.exit_code());
    let refused = run(&mut wrong);
    assert!(refused.error(auth).contains("client_secret"), "{refused:?}");
    company.call_well();
    assert_eq!(company.count(TOKEN), 2);
    assert_eq!(company.count(PERMISSIONS), 2);
}

#[test]
fn a_fresh_token_that_is_refused_is_explained_and_not_kept() {
    let company = Company::new(Options::default());
    fault(&company.sandbox, PERMISSIONS, json!({"status": 401}));
    let auth = i32::from(ErrorKind::Auth.exit_code());
    for (token_cache, says) in [
        ("process", "set token_cache to host"),
        ("host", "another host"),
    ] {
        let refused = run(&mut company.command(token_cache, &["permissions"]));
        let line = refused.error(auth);
        assert!(line.contains("another process") || token_cache == "host");
        assert!(line.contains(says), "{line}");
        let kept = company.file().map_or(0, |file| fs::metadata(file).unwrap().len());
        assert_eq!(kept, 0, "{token_cache}");
    }
    assert_eq!(company.count(TOKEN), 4);
}

/// Somebody else has ended it long ago, and ends the next one as well.
#[test]
fn a_stored_token_that_is_refused_is_not_one_of_two_fresh_ones() {
    let company = Company::new(Options::default());
    let refused =
        |nth| json!({"match": {"path": PERMISSIONS, "nth": nth}, "reply": {"status": 401}});
    let script = json!({"rules": [refused(2), refused(3)]});
    company.sandbox.set_faults(&script.to_string()).unwrap();
    company.call_well();
    company.call_well();
    assert_eq!((company.count(TOKEN), company.count(PERMISSIONS)), (3, 4));
}
