//! The budget of several hosts, on a real server: whoever ends in order is not counted any more.

use super::{Company, end, send};
use crate::support::{Ended, run};
use rustix::process::Signal;
use serde_json::Value;
use std::ffi::OsString;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;
use talentdata_sandbox::limit::Policy;
use tempfile::TempDir;

/// Ports that are tried, since others may take one before the server has it.
const PORTS: u32 = 5;
/// Attempts to read a budget from a server that has just been started, at 50 ms each.
const ATTEMPTS: u32 = 200;

/// A Valkey server, which ends with the value, and a company whose budget is there.
struct Hosts {
    company: Company,
    server: Child,
    _directory: TempDir,
    budget: String,
}

impl Hosts {
    fn new() -> Self {
        let variable = "TALENTDATA_VALKEY_SERVER";
        let program = std::env::var_os(variable).unwrap_or_else(|| {
            panic!("{variable} names no server; `cargo xtask test rust` sets it")
        });
        for _ in 0..PORTS {
            let free = TcpListener::bind(("127.0.0.1", 0)).and_then(|free| free.local_addr());
            let port = free.unwrap().port();
            let directory = tempfile::tempdir().unwrap();
            let mut hosts = Hosts {
                company: Company::new(Policy::SlidingLog, 1_000_000),
                server: spawn(&program, &directory, port),
                _directory: directory,
                budget: format!("redis://127.0.0.1:{port}"),
            };
            if hosts.are_ready() {
                return hosts;
            }
        }
        panic!("the server does not take connections");
    }

    /// Waits until the budget can be read; not if the server has ended, for somebody else has the port.
    fn are_ready(&mut self) -> bool {
        for _ in 0..ATTEMPTS {
            let looked = run(&mut self.command(&["budget"]));
            if !matches!(self.server.try_wait(), Ok(None)) {
                return false;
            }
            if looked.code == Some(0) {
                return true;
            }
            sleep(Duration::from_millis(50));
        }
        false
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.company.command(arguments);
        command.env("TALENTDATA_BUDGET", &self.budget);
        command
    }

    /// Begins to export contacts, and waits until it is counted.
    fn export(&self) -> Child {
        let mut command = self.command(&["export", "contacts", "--out", "-"]);
        let piped = command.stdout(Stdio::null()).stderr(Stdio::piped());
        let child = piped.spawn().unwrap();
        while self.members() != [child.id()] {
            sleep(Duration::from_millis(20));
        }
        child
    }

    /// The processes that are counted.
    fn members(&self) -> Vec<u32> {
        let state = run(&mut self.command(&["budget", "--json"])).json();
        let members = state["members"].as_array().unwrap().iter();
        let process = |member: &Value| member["process"].as_u64().unwrap().try_into().unwrap();
        members.map(process).collect()
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn spawn(program: &OsString, directory: &TempDir, port: u16) -> Child {
    Command::new(program)
        .current_dir(directory)
        .args(["--bind", "127.0.0.1", "--save", ""])
        .args(["--port", &port.to_string()])
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn who_ends_in_order_leaves_at_once() {
    let hosts = Hosts::new();
    let page = run(&mut hosts.command(&["page", "pools", "--limit", "1"]));
    assert_eq!(page.code, Some(0), "{page:?}");
    assert_eq!(hosts.members(), [0; 0], "a command that has succeeded");
    let wrong = run(hosts
        .command(&["page", "pools", "--limit", "1"])
        .env("TALENTDATA_CLIENT_SECRET", "wrong"));
    assert_ne!(wrong.code, Some(0), "{wrong:?}");
    assert_eq!(hosts.members(), [0; 0], "a command that has failed");
    let export = hosts.export();
    send(&export, Signal::INT);
    let ended = Ended::of(export.wait_with_output().unwrap());
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert_eq!(hosts.members(), [0; 0], "an export that was stopped");
    let killed = hosts.export();
    let process = killed.id();
    end([killed]);
    assert_eq!(hosts.members(), [process], "nobody has said so");
}
