//! Processes that share a budget: they scan a list, or make single calls, and print when they were served.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};
use talentdata_core::budget::BudgetState;
use talentdata_core::{Builder, Client, ScanOptions};
use talentdata_sandbox::limit::Policy;
use talentdata_sandbox::{Options, Sandbox};
use tokio::sync::Semaphore;

/// Tells a process that it is a member, and what it needs.
const MEMBER: &str = "TALENTDATA_TEST_BUDGET_MEMBER";
/// Records of a page, so few that pages cost little time, and how many of them are new: pages overlap.
const PAGE: u64 = 10;
const NEW: usize = 9;
/// Between two single calls.
const PAUSE: Duration = Duration::from_millis(300);
/// So long a member waits for contact at the end.
const PATIENCE: Duration = Duration::from_secs(10);

/// Held by tests with many processes: more than three at a time would hold each other up.
pub(crate) static BUSY: Semaphore = Semaphore::const_new(3);

/// What a member does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Kind {
    Scan,
    /// At least one.
    Single,
}

#[derive(Debug, Serialize, Deserialize)]
struct Task {
    service: [String; 3],
    budget: String,
    kind: Kind,
    /// Until when, in milliseconds since the Unix epoch.
    until: u64,
}

/// What a member prints: when each page came, and how long each single call took, all in milliseconds; what a receipt
/// says of its budget; and whether it reaches the budget at the end, where it has time for that.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) pages: Vec<u64>,
    pub(crate) calls: Vec<u64>,
    pub(crate) budget: Value,
    pub(crate) has_contact: bool,
}

impl Report {
    /// For how long the budget could not be reached.
    pub(crate) fn seconds_unreachable(&self) -> f64 {
        self.budget["seconds_unreachable"].as_f64().unwrap()
    }
}

pub(crate) fn milliseconds() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    u64::try_from(since.unwrap().as_millis()).unwrap()
}

/// A service with the documented limit, and a list that takes longer than any test.
pub(crate) fn service(policy: Policy) -> Sandbox {
    Sandbox::start(Options {
        records: [("contacts".to_owned(), 400_000)].into(),
        policy,
        latency: Duration::from_millis(20),
        ..Options::default()
    })
    .unwrap()
}

pub(crate) fn settings(service: &[String; 3], budget: &str) -> Builder {
    let [base_url, id, secret] = service;
    let mut settings = Client::builder();
    settings
        .base_url(base_url)
        .client_id(id)
        .client_secret(secret.as_str())
        .budget(budget)
        .timeout(Duration::from_secs(20));
    settings
}

pub(crate) fn client(service: &[String; 3], budget: &str) -> Client {
    settings(service, budget).build().unwrap()
}

/// What people are shown of the budget.
pub(crate) fn shown(service: &[String; 3], budget: &str) -> BudgetState {
    let config = settings(service, budget).config().unwrap();
    config.budget_state().unwrap()
}

pub(crate) fn access(sandbox: &Sandbox) -> [String; 3] {
    [
        sandbox.base_url(),
        sandbox.client_id(),
        sandbox.client_secret(),
    ]
    .map(str::to_owned)
}

/// Processes of this test program that are members until then.
pub(crate) fn members(
    count: usize,
    test: &str,
    sandbox: &Sandbox,
    budget: &str,
    kind: Kind,
    until: u64,
) -> Vec<Child> {
    let mut command = command(test, sandbox, budget, kind, until);
    (0..count).map(|_| command.spawn().unwrap()).collect()
}

/// The command that starts it.
pub(crate) fn command(
    test: &str,
    sandbox: &Sandbox,
    budget: &str,
    kind: Kind,
    until: u64,
) -> Command {
    let task = Task {
        service: access(sandbox),
        budget: budget.to_owned(),
        kind,
        until,
    };
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([test, "--exact", "--nocapture"])
        .env(MEMBER, serde_json::to_string(&task).unwrap())
        .stdout(Stdio::piped());
    command
}

/// What a member has printed; it must have ended well.
pub(crate) fn report(child: Child) -> Report {
    let output = child.wait_with_output().unwrap();
    assert!(
        output.status.success(),
        "a member ended with {}",
        output.status
    );
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("report: "));
    serde_json::from_str(line.unwrap()).unwrap()
}

/// Whether the budget is in reach of the client, or comes into its reach while it makes calls.
async fn has_contact(client: &Client) -> bool {
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        let lost = client.budget().seconds_unreachable;
        client.version().await.unwrap();
        // It grows as long as there is no contact.
        if client.budget().seconds_unreachable == lost {
            return true;
        }
    }
    false
}

/// Does what a member does, if this process is one.
pub(crate) async fn act_as_member() {
    let Ok(task) = std::env::var(MEMBER) else {
        return;
    };
    let task: Task = serde_json::from_str(&task).unwrap();
    let client = client(&task.service, &task.budget);
    let (mut pages, mut calls) = (Vec::new(), Vec::new());
    let mut call = async || {
        let began = Instant::now();
        client.version().await.unwrap();
        calls.push(u64::try_from(began.elapsed().as_millis()).unwrap());
    };
    match task.kind {
        Kind::Scan => {
            let mut scan = client.contacts().scan(ScanOptions {
                page_size: Some(PAGE),
                ..ScanOptions::default()
            });
            let mut records = 0;
            while milliseconds() < task.until {
                scan.next().await.unwrap().unwrap();
                records += 1;
                if records % NEW == 0 {
                    pages.push(milliseconds());
                }
            }
        }
        Kind::Single => loop {
            call().await;
            if milliseconds() >= task.until {
                break;
            }
            tokio::time::sleep(PAUSE).await;
        },
    }
    let has_contact = task.until > 0 && has_contact(&client).await;
    let budget = serde_json::to_value(client.budget()).unwrap();
    let report = Report {
        pages,
        calls,
        budget,
        has_contact,
    };
    println!("\nreport: {}", serde_json::to_string(&report).unwrap());
    std::process::exit(0);
}
