//! Processes that share a budget: they scan a list, and print the times at which they were served.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};
use talentdata_core::types::BudgetState;
use talentdata_core::{Builder, Client, ScanOptions};
use talentdata_sandbox::limit::Policy;
use talentdata_sandbox::{Options, Sandbox};

/// The variable that makes a process a member. Its value is the end of the membership, in milliseconds since the Unix
/// epoch. A member reads at least one page.
const MEMBER: &str = "TALENTDATA_TEST_BUDGET_MEMBER";
/// The test that starts a member.
const TEST: &str = "share::processes_share_a_server_that_is_far_away";
/// The number of records in a page, so few that pages take little time.
const PAGE: u64 = 10;
/// The number of new records in a page, because pages overlap.
const NEW: usize = 9;
/// The time for which a member waits for contact at the end.
const PATIENCE: Duration = Duration::from_secs(10);
/// The time between two events, in milliseconds.
pub(crate) const PHASE: u64 = 1500;
/// No member may wait this long for a page, in milliseconds, regardless of the load of the machine.
const HANG: u64 = 8000;

/// The report that a member prints: the times at which it was served, in milliseconds since the Unix epoch, and its
/// state of the budget.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) served: Vec<u64>,
    pub(crate) budget: Value,
}

impl Report {
    /// Returns the number of seconds for which the budget could not be reached.
    pub(crate) fn seconds_unreachable(&self) -> f64 {
        self.budget["seconds_unreachable"].as_f64().unwrap()
    }
}

pub(crate) fn milliseconds() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    u64::try_from(since.unwrap().as_millis()).unwrap()
}

/// A service with the documented limit, a list that takes longer than any test, and members.
pub(crate) struct Company {
    pub(crate) sandbox: Sandbox,
    pub(crate) members: Vec<Child>,
    pub(crate) began: u64,
}

impl Company {
    pub(crate) fn new() -> Self {
        Company::of(Policy::TokenBucket)
    }

    pub(crate) fn of(policy: Policy) -> Self {
        let options = Options {
            records: [("contacts".to_owned(), 400_000)].into(),
            policy,
            latency: Duration::from_millis(20),
            ..Options::default()
        };
        Company {
            sandbox: Sandbox::start(options).unwrap(),
            members: Vec::new(),
            began: milliseconds(),
        }
    }

    pub(crate) fn settings(&self, budget: &str) -> Builder {
        let mut settings = Client::builder();
        for (name, value) in self.values(budget) {
            settings.set(name, value);
        }
        settings
    }

    fn values<'a>(&'a self, budget: &'a str) -> [(&'static str, &'a str); 5] {
        let sandbox = &self.sandbox;
        [
            ("base_url", sandbox.base_url()),
            ("client_id", sandbox.client_id()),
            ("client_secret", sandbox.client_secret()),
            ("budget", budget),
            ("timeout", "20"),
        ]
    }

    /// Returns the state of the budget that users see.
    pub(crate) fn shown(&self, budget: &str) -> BudgetState {
        let config = self.settings(budget).config().unwrap();
        config.budget_state().unwrap()
    }

    /// Returns the time at which this phase begins.
    pub(crate) fn time_of(&self, phase: u64) -> u64 {
        self.began + PHASE * phase
    }

    /// Waits until this phase begins.
    pub(crate) async fn phase(&self, phase: u64) {
        let left = self.time_of(phase).saturating_sub(milliseconds());
        tokio::time::sleep(Duration::from_millis(left)).await;
    }

    /// Returns the command that starts a member which ends after this many phases.
    pub(crate) fn command(&self, budget: &str, phases: u64) -> Command {
        let until = if phases > 0 { self.time_of(phases) } else { 0 };
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([TEST, "--exact", "--nocapture"]);
        command
            .env(MEMBER, until.to_string())
            .stdout(Stdio::piped());
        for (name, value) in self.values(budget) {
            command.env(format!("TALENTDATA_{}", name.to_uppercase()), value);
        }
        command
    }

    /// Starts this many processes, which join this budget.
    pub(crate) fn join(&mut self, count: usize, budget: &str, phases: u64) {
        let mut command = self.command(budget, phases);
        let members = (0..count).map(|_| command.spawn().unwrap());
        self.members.extend(members);
    }

    /// Returns the members' reports. No request may have been refused.
    pub(crate) fn reports(&mut self, phases: u64) -> Vec<Report> {
        self.reports_of(phases, 0.0)
    }

    /// Returns the members' reports. Each member must have started, and none may have hung before the end of this
    /// phase. At most this part of all requests may have been refused.
    pub(crate) fn reports_of(&mut self, phases: u64, max_refused: f64) -> Vec<Report> {
        let reports: Vec<Report> = self.members.drain(..).map(report).collect();
        for report in &reports {
            let mut served = report.served.clone();
            served.push(self.time_of(phases));
            for pair in served.windows(2) {
                let hangs = pair[1].saturating_sub(pair[0]);
                assert!(hangs < HANG, "a member hangs for {hangs} ms");
            }
        }
        let stats = self.sandbox.stats();
        let refused = stats.limited as f64 / stats.requests as f64;
        assert!(refused <= max_refused, "{stats:?}");
        reports
    }
}

impl Drop for Company {
    fn drop(&mut self) {
        for member in &mut self.members {
            let _ = member.kill();
            let _ = member.wait();
        }
    }
}

/// Returns a member's report. The member must have ended successfully.
pub(crate) fn report(member: Child) -> Report {
    let output = member.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", output.status);
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("report: "));
    serde_json::from_str(line.unwrap()).unwrap()
}

/// Returns whether the client can reach the budget, now or while it makes calls.
async fn has_contact(client: &Client) -> bool {
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        let lost = client.budget().seconds_unreachable;
        client.version().await.unwrap();
        // It grows while there is no contact.
        if client.budget().seconds_unreachable == lost {
            return true;
        }
    }
    false
}

/// Acts as a member, if this process is one.
pub(crate) async fn act_as_member() {
    let Ok(until) = std::env::var(MEMBER) else {
        return;
    };
    let until = until.parse().unwrap();
    let client = Client::builder().build().unwrap();
    let options = ScanOptions::default().with_page_size(PAGE);
    let mut scan = client.contacts().scan(options);
    let mut served = Vec::new();
    while served.is_empty() || milliseconds() < until {
        for _ in 0..NEW {
            scan.next().await.unwrap().unwrap();
        }
        served.push(milliseconds());
    }
    // If it has time for that, it reaches the budget at the end.
    assert!(until == 0 || has_contact(&client).await);
    let budget = serde_json::to_value(client.budget()).unwrap();
    let report = Report { served, budget };
    println!("\nreport: {}", serde_json::to_string(&report).unwrap());
    std::process::exit(0);
}
