//! From Python: what reading costs beside the command line and beside an ordinary loop, and how soon Ctrl-C is heard.

use super::Size;
use super::child::{self, Usage};
use super::figures::{median, thousands};
use super::rounds::{Says, Way, export, rounds};
use super::table::Table;
use super::tools::Tools;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// How often each state is interrupted, for each round of the other tables.
const SIGNALS: usize = 10;
/// Longer than all signals take.
const LONGEST: Duration = Duration::from_secs(600);
/// The place of the command line's export in [`WAYS`], and of the peer.
const EXPORT: usize = 0;
const PEER: usize = 6;

/// The ways of reading: ours beside the command line's, and a peer.
const WAYS: [Way; 7] = [
    Way {
        name: "command line, Arrow IPC",
        program: |tools, _, out| export(tools, "arrow", out),
        says: Says::Anything,
    },
    Way {
        name: "`to_arrow()`",
        program: |tools, _, out| read(tools, "arrow", out),
        says: Says::Records,
    },
    Way {
        name: "the scan as a stream of record batches",
        program: |tools, _, out| read(tools, "batches", out),
        says: Says::Records,
    },
    Way {
        name: "`export(path)`",
        program: |tools, _, out| read(tools, "parquet", out),
        says: Says::Records,
    },
    Way {
        name: "records as Python objects",
        program: |tools, _, out| read(tools, "records", out),
        says: Says::Records,
    },
    Way {
        name: "`pages()`, one request after another",
        program: |tools, _, out| read(tools, "pages", out),
        says: Says::Records,
    },
    Way {
        name: "httpx and pydantic, one request after another",
        program: |tools, _, _| tools.peer("modelled.py"),
        says: Says::Records,
    },
];

/// Measures, and tells it as Markdown.
pub(super) fn measure(tools: &Tools, size: &Size) -> Result<String, String> {
    let interrupts = interrupts(tools, SIGNALS * size.rounds)?;
    let used = rounds(tools, size.records, size.rounds, &WAYS, &[])?;
    Ok(format!(
        "{} contacts from a service that counts nothing, by the wheel as `cargo build --release` makes it; medians of {} \
         rounds, in each of which every way had its turn. Processor time and memory are those of the whole process, the \
         start of the interpreter and its imports included.\n\n{}\n### From Ctrl-C to KeyboardInterrupt\n\n\
         SIGINT comes 200 to 400 ms after the call, at random, {} times in each state.\n\n{}",
        thousands(size.records as f64),
        size.rounds,
        costs(&used, size.records as f64),
        SIGNALS * size.rounds,
        interrupts,
    ))
}

fn costs(rounds: &[Vec<Usage>], records: f64) -> String {
    let mut table = Table::new([
        "Way",
        "Records per second",
        "CPU µs per record",
        "Its CPU / the command line's (least to most)",
        "The peer's CPU / its CPU (least to most)",
        "Peak memory",
    ]);
    for (index, way) in WAYS.iter().enumerate() {
        let of =
            |figure: fn(&Usage) -> f64| median(rounds.iter().map(|round| figure(&round[index])));
        table.row([
            way.name.to_owned(),
            thousands(records / of(|used| used.wall)),
            format!("{:.2}", of(|used| used.cpu) * 1e6 / records),
            spread(rounds, |round| round[index].cpu / round[EXPORT].cpu),
            spread(rounds, |round| round[PEER].cpu / round[index].cpu),
            format!("{:.0} MiB", of(|used| used.peak)),
        ]);
    }
    table.text()
}

/// The median of a figure of each round, with the least and the most.
fn spread(rounds: &[Vec<Usage>], figure: impl Fn(&[Usage]) -> f64) -> String {
    let figures: Vec<f64> = rounds.iter().map(|round| figure(round)).collect();
    format!(
        "{:.2} ({:.2} to {:.2})",
        median(figures.iter().copied()),
        figures.iter().copied().fold(f64::INFINITY, f64::min),
        figures.iter().copied().fold(0.0, f64::max)
    )
}

/// How long the exception takes, by the state that the signal meets.
fn interrupts(tools: &Tools, times: usize) -> Result<String, String> {
    let said = tools.scratch.join("said");
    let failed = |error: std::io::Error| format!("an output of the bench: {error}");
    let mut command = tools.python("python/interrupt.py");
    command
        .arg(times.to_string())
        .stdin(Stdio::null())
        .stdout(File::create(&said).map_err(failed)?);
    child::run(&mut command, LONGEST)?;
    let said = std::fs::read_to_string(&said).map_err(failed)?;
    let measured: Vec<(String, Vec<f64>)> = serde_json::from_str(&said)
        .map_err(|error| format!("{command:?} said {said:?}: {error}"))?;
    let mut table = Table::new(["While", "Median", "Longest"]);
    for (state, seconds) in measured {
        let longest = seconds.iter().copied().fold(0.0, f64::max);
        let milliseconds = |seconds: f64| format!("{:.0} ms", 1000.0 * seconds);
        let cells = [median(seconds), longest].map(milliseconds);
        table.row(std::iter::once(state).chain(cells));
    }
    Ok(table.text())
}

fn read(tools: &Tools, way: &str, out: &Path) -> Command {
    let mut command = tools.python("python/read.py");
    command.arg(way).arg(out);
    command
}
