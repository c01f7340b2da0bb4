//! Without a rate limit: what reading costs in each form, beside merely reading the same bytes.

use super::Size;
use super::child::{self, Usage};
use super::figures::{median, thousands};
use super::table::Table;
use super::tools::Tools;
use crate::sandbox::Sandbox;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Longer than any way needs for the largest list.
const LONGEST: Duration = Duration::from_secs(300);
/// The list that memory is compared with.
const FEW: u64 = 10_000;

/// Makes the program that reads that many records; it may write to this path.
type Program = fn(&Tools, u64, &Path) -> Command;

/// The ways of reading, by the names of their rows; the first is the floor.
const WAYS: [(&str, Program); 8] = [
    (
        "floor: read and discard the same bytes",
        |tools, records, _| with(&tools.floor, &[&records.to_string()]),
    ),
    ("scan from Rust, raw records", |tools, _, _| {
        with(&tools.scan, &["records"])
    }),
    ("scan from Rust, Arrow batches", |tools, _, _| {
        with(&tools.scan, &["batches"])
    }),
    ("command line, JSON Lines to /dev/null", |tools, _, _| {
        export(tools, "jsonl", Path::new("/dev/null"))
    }),
    ("command line, JSON Lines", |tools, _, out| {
        export(tools, "jsonl", out)
    }),
    ("command line, CSV", |tools, _, out| {
        export(tools, "csv", out)
    }),
    ("command line, Arrow IPC", |tools, _, out| {
        export(tools, "arrow", out)
    }),
    ("command line, Parquet", |tools, _, out| {
        export(tools, "parquet", out)
    }),
];

/// Measures, and tells it as Markdown.
pub(super) fn measure(tools: &Tools, size: &Size) -> Result<String, String> {
    let few = rounds(tools, FEW, size.rounds)?;
    let many = rounds(tools, size.records, size.rounds)?;
    let mut table = Table::new([
        "Way".to_owned(),
        "Records per second".to_owned(),
        "CPU µs per record".to_owned(),
        "Floor's CPU / its CPU (least to most)".to_owned(),
        format!("Peak memory at {}", thousands(FEW as f64)),
        format!("at {}", thousands(size.records as f64)),
        "Growth".to_owned(),
    ]);
    for (way, (name, _)) in WAYS.iter().enumerate() {
        let of = |rounds: &[Vec<Usage>], figure: fn(&Usage) -> f64| {
            median(rounds.iter().map(|round| figure(&round[way])))
        };
        let ratios = || many.iter().map(|round| round[0].cpu / round[way].cpu);
        let records = size.records as f64;
        let peaks = [&few, &many].map(|rounds| of(rounds, |used| used.peak));
        table.row([
            (*name).to_owned(),
            thousands(records / of(&many, |used| used.wall)),
            format!("{:.2}", of(&many, |used| used.cpu) * 1e6 / records),
            format!(
                "{:.2} ({:.2} to {:.2})",
                median(ratios()),
                ratios().fold(f64::INFINITY, f64::min),
                ratios().fold(0.0, f64::max)
            ),
            format!("{:.1} MiB", peaks[0]),
            format!("{:.1} MiB", peaks[1]),
            format!("{:.2}", peaks[1] / peaks[0]),
        ]);
    }
    Ok(format!(
        "## Without a rate limit\n\n\
         {} contacts from a service that counts nothing, as fast as they come; medians of {} rounds, in each of which \
         every way had its turn. The floor fetches the same pages with the same HTTP library and as many requests at \
         once. Memory is of the client alone; processor time, too.\n\n{}",
        thousands(size.records as f64),
        size.rounds,
        table.text()
    ))
}

/// What each way uses, in each round.
fn rounds(tools: &Tools, records: u64, count: usize) -> Result<Vec<Vec<Usage>>, String> {
    let sandbox = Sandbox::start(
        &tools.talentdata,
        &[
            "--policy=unlimited".to_owned(),
            format!("--records=contacts={records}"),
        ],
    )?;
    let mut rounds = Vec::new();
    for round in 1..=count {
        let mut used = Vec::new();
        for (name, program) in WAYS {
            let usage = read(tools, &sandbox, records, program)?;
            eprintln!(
                "{records} records, round {round}, {name}: {:.2} s, {:.2} s CPU, {:.1} MiB",
                usage.wall, usage.cpu, usage.peak
            );
            used.push(usage);
        }
        rounds.push(used);
    }
    Ok(rounds)
}

fn read(tools: &Tools, sandbox: &Sandbox, records: u64, program: Program) -> Result<Usage, String> {
    let (out, said) = (tools.scratch.join("records"), tools.scratch.join("said"));
    let failed = |error: std::io::Error| format!("an output of the bench: {error}");
    let mut command = program(tools, records, &out);
    command
        .stdin(Stdio::null())
        .stdout(File::create(&said).map_err(failed)?);
    let usage = child::run(sandbox.invite(&mut command), LONGEST)?;
    // The programs in Rust say how many records they had; the command line fails when it had not all.
    let count = std::fs::read_to_string(&said).map_err(failed)?;
    if command.get_program() == tools.scan && count.trim() != records.to_string() {
        return Err(format!("{command:?} had {} records", count.trim()));
    }
    if out.exists() {
        std::fs::remove_file(&out).map_err(failed)?;
    }
    Ok(usage)
}

fn with(program: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments);
    command
}

fn export(tools: &Tools, format: &str, out: &Path) -> Command {
    let mut command = with(
        &tools.talentdata,
        &["export", "contacts", "--unpaced", "--format", format],
    );
    command.arg("--out").arg(out);
    command
}
