//! What it costs to begin: a command that reads one page, with each home of the budget in turn.

use super::child;
use super::figures::median;
use super::table::Table;
use super::tools::Tools;
use crate::sandbox::Sandbox;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// How often each home has its turn.
const ROUNDS: usize = 40;
/// Longer than any command needs.
const LONGEST: Duration = Duration::from_secs(60);
/// Between two commands, so that none waits for what the one before has sent.
const PAUSE: Duration = Duration::from_millis(60);

/// Measures with this server, and tells it as a table.
pub(super) fn measure(tools: &Tools, server: &str) -> Result<String, String> {
    let homes = [("process", "process"), ("host", "host"), ("Valkey", server)];
    let sandbox = Sandbox::start(
        &tools.talentdata,
        &["--policy=unlimited", "--records=pools=1"].map(str::to_owned),
    )?;
    let mut times = vec![Vec::new(); homes.len()];
    for _ in 0..ROUNDS {
        for ((_, budget), times) in homes.iter().zip(&mut times) {
            sleep(PAUSE);
            let mut command = Command::new(&tools.talentdata);
            command
                .args(["page", "pools", "--limit", "1"])
                .env("TALENTDATA_BUDGET", budget)
                .env("XDG_RUNTIME_DIR", &tools.scratch)
                .stdout(Stdio::null());
            let usage = child::run(sandbox.invite(&mut command), LONGEST)?;
            times.push(1000.0 * usage.wall);
        }
    }
    let mut table = Table::new(["Budget", "Milliseconds, median", "More than with process"]);
    let medians: Vec<f64> = times.into_iter().map(median).collect();
    for ((name, _), time) in homes.iter().zip(&medians) {
        let more = time - medians[0];
        table.row([
            (*name).to_owned(),
            format!("{time:.1}"),
            format!("{more:.1}"),
        ]);
    }
    Ok(table.text())
}
