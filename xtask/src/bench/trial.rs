//! One client reading the contacts of one sandbox: what it got, what the service saw of it, what it used.

use super::child::{self, Usage};
use super::tools::Tools;
use crate::sandbox::Sandbox;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// Longer than the slowest client needs for what is asked here.
const LONGEST: Duration = Duration::from_secs(300);
/// How long the neighbour has been at it when the client begins.
const LEAD: Duration = Duration::from_secs(2);

/// Runs the program that writes contacts as JSON Lines to this path.
pub(super) type Program = fn(&Tools, &Path) -> Result<Command, String>;

/// What to read from.
#[derive(Clone)]
pub(super) struct Scenario {
    pub(super) policy: &'static str,
    /// Round trip in milliseconds.
    pub(super) latency: u64,
    /// Records of the list at the beginning.
    pub(super) records: u64,
    /// How the list changes, as the command line takes it.
    pub(super) drift: Option<&'static str>,
    /// Whether someone else spends a steady 10 requests a second.
    pub(super) neighbour: bool,
}

/// What came of it.
pub(super) struct Trial {
    pub(super) usage: Usage,
    /// Lines written.
    pub(super) records: u64,
    /// Records that were in the list all the time and were not written.
    pub(super) lost: u64,
    /// Lines with a record that was written before.
    pub(super) repeated: u64,
    /// The client's requests that were served, the one for a token too.
    pub(super) served: u64,
    /// Its requests that were answered 429.
    pub(super) refused: u64,
    /// From its first request to the response to its last, in seconds.
    pub(super) seconds: f64,
    /// The part of the neighbour's requests that was served.
    pub(super) neighbour_served: f64,
}

impl Scenario {
    /// Runs a client that writes to `out`, which is removed.
    ///
    /// # Errors
    /// Those of its program and of the sandbox.
    pub(super) fn run(&self, tools: &Tools, out: &Path, program: Program) -> Result<Trial, String> {
        let sandbox = Sandbox::start(&tools.talentdata, &self.arguments())?;
        let neighbour = self.neighbour.then(|| Neighbour::start(tools, &sandbox));
        let neighbour = neighbour.transpose()?;
        let usage = child::run(sandbox.invite(&mut program(tools, out)?), LONGEST)?;
        let others = neighbour.map_or(Ok(Others::default()), Neighbour::stop)?;
        let ids = ids(out)?;
        let distinct: BTreeSet<&str> = ids.iter().map(String::as_str).collect();
        let lost = match self.drift {
            // Ids are not foreseeable, but nothing can take their place.
            None => self.records.saturating_sub(distinct.len() as u64),
            Some(_) => {
                let drift = sandbox.get("/__drift?list=contacts")?;
                let stayed = drift["stayed"].as_array().ok_or("no list of what stayed")?;
                let ids = stayed.iter().filter_map(Value::as_str);
                ids.filter(|id| !distinct.contains(id)).count() as u64
            }
        };
        let limited = sandbox.get("/__stats")?["limited"].as_u64();
        let refused = limited.ok_or("no count of 429s")? - others.refused;
        let times = arrivals(&sandbox)?;
        let span = times.last().zip(times.first()).ok_or("no requests")?;
        Ok(Trial {
            usage,
            records: ids.len() as u64,
            lost,
            repeated: (ids.len() - distinct.len()) as u64,
            served: times.len() as u64 - refused,
            refused,
            seconds: (span.0 - span.1 + self.latency) as f64 / 1000.0,
            neighbour_served: 1.0 - others.refused as f64 / others.requests.max(1) as f64,
        })
    }

    fn arguments(&self) -> Vec<String> {
        let mut arguments = vec![
            "--faults".to_owned(),
            format!("--records=contacts={}", self.records),
            format!("--policy={}", self.policy),
            "--rounding=up".to_owned(),
            format!("--latency-ms={}", self.latency),
        ];
        arguments.extend(self.drift.map(|drift| format!("--drift={drift}")));
        arguments
    }
}

/// The ids of the records in a file of JSON Lines.
fn ids(path: &Path) -> Result<Vec<String>, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut ids = Vec::new();
    for line in BufReader::new(File::open(path).map_err(failed)?).lines() {
        let record: Value = serde_json::from_str(&line.map_err(failed)?)
            .map_err(|error| format!("{}: {error}", path.display()))?;
        ids.push(record["id"].as_str().ok_or("a record has no id")?.into());
    }
    std::fs::remove_file(path).map_err(failed)?;
    Ok(ids)
}

/// When each request of the client came, in milliseconds.
pub(super) fn arrivals(sandbox: &Sandbox) -> Result<Vec<u64>, String> {
    let log = sandbox.get("/__requests")?;
    if log["dropped"] != 0 {
        return Err("the log of requests is not complete".into());
    }
    let requests = log["requests"].as_array().ok_or("no log of requests")?;
    let own = |request: &&Value| request["headers"]["user-agent"] != "neighbour";
    let times = requests.iter().filter(own);
    Ok(times
        .filter_map(|request| request["at_ms"].as_u64())
        .collect())
}

/// The process that spends 10 requests a second; it ends with its standard input.
struct Neighbour(Child);

#[derive(Default)]
struct Others {
    requests: u64,
    refused: u64,
}

impl Neighbour {
    fn start(tools: &Tools, sandbox: &Sandbox) -> Result<Self, String> {
        let child = sandbox
            .invite(&mut tools.peer("neighbour.py"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot start the neighbour: {error}"))?;
        sleep(LEAD);
        Ok(Neighbour(child))
    }

    fn stop(mut self) -> Result<Others, String> {
        self.0.stdin = None;
        let said = self.0.stdout.take().map(std::io::read_to_string);
        let said = said.transpose().map_err(|error| error.to_string())?;
        let said: Value = serde_json::from_str(&said.unwrap_or_default())
            .map_err(|error| format!("the neighbour: {error}"))?;
        let count = |name: &str| said[name].as_u64().ok_or(format!("neighbour: no {name}"));
        Ok(Others {
            requests: count("requests")?,
            refused: count("refused")?,
        })
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        // It fails when the child has ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
