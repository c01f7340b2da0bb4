//! Rounds in which every way of reading a list has its turn, one after the other, from a service that counts nothing.

use super::child::{self, Usage};
use super::tools::Tools;
use crate::sandbox::Sandbox;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Longer than any way needs for the largest list.
const LONGEST: Duration = Duration::from_secs(300);

/// A way of reading.
pub(super) struct Way {
    /// What its row is called.
    pub(super) name: &'static str,
    /// Makes the program that reads that many records; it may write to this path.
    pub(super) program: fn(&Tools, u64, &Path) -> Command,
    pub(super) says: Says,
}

/// What a program says when it has done its work.
#[derive(PartialEq)]
pub(super) enum Says {
    /// How many records it had; it is held to that.
    Records,
    /// Something else; it fails by itself when it had not all.
    Anything,
}

/// What each way uses, in each round; the service is started with `options` besides.
pub(super) fn rounds(
    tools: &Tools,
    records: u64,
    count: usize,
    ways: &[Way],
    options: &[&str],
) -> Result<Vec<Vec<Usage>>, String> {
    let mut arguments = vec![
        "--policy=unlimited".to_owned(),
        format!("--records=contacts={records}"),
    ];
    arguments.extend(options.iter().map(|option| (*option).to_owned()));
    let sandbox = Sandbox::start(&tools.talentdata, &arguments)?;
    let mut rounds = Vec::new();
    for round in 1..=count {
        let mut used = Vec::new();
        for way in ways {
            let usage = read(tools, &sandbox, records, way)?;
            eprintln!(
                "{records} records, round {round}, {}: {:.2} s, {:.2} s CPU, {:.1} MiB",
                way.name, usage.wall, usage.cpu, usage.peak
            );
            used.push(usage);
        }
        rounds.push(used);
    }
    Ok(rounds)
}

fn read(tools: &Tools, sandbox: &Sandbox, records: u64, way: &Way) -> Result<Usage, String> {
    let (out, said) = (tools.scratch.join("records"), tools.scratch.join("said"));
    let failed = |error: std::io::Error| format!("an output of the bench: {error}");
    let mut command = (way.program)(tools, records, &out);
    command
        .stdin(Stdio::null())
        .stdout(File::create(&said).map_err(failed)?);
    let usage = child::run(sandbox.invite(&mut command), LONGEST)?;
    let said = std::fs::read_to_string(&said).map_err(failed)?;
    if way.says == Says::Records && said.trim() != records.to_string() {
        return Err(format!("{command:?} had {} records", said.trim()));
    }
    if out.exists() {
        std::fs::remove_file(&out).map_err(failed)?;
    }
    Ok(usage)
}

/// A program with its arguments.
pub(super) fn program(program: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments);
    command
}

/// The command line, writing all contacts in a format.
pub(super) fn export(tools: &Tools, format: &str, out: &Path) -> Command {
    let mut command = program(
        &tools.talentdata,
        &["export", "contacts", "--paced", "false", "--format", format],
    );
    command.arg("--out").arg(out);
    command
}
