//! The budget shared by ten processes that begin together: how much of it they use, and how evenly.

use super::Size;
use super::budget::{LIMIT, POLICIES};
use super::child::{self, Usage};
use super::figures::{median, percent};
use super::hosts::Hosts;
use super::starts;
use super::table::Table;
use super::tools::Tools;
use super::trial::arrivals;
use crate::sandbox::Sandbox;
use crate::servers::Valkey;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Processes, and their part of the limit where they do not share it.
const PROCESSES: usize = 10;
const PART: &str = "4";
/// Command line, C and Python.
const LANGUAGES: usize = 3;
/// The round trip in milliseconds.
const LATENCY: u64 = 20;
/// Longer than the slowest process needs.
const LONGEST: Duration = Duration::from_secs(600);

/// One way for ten processes to read.
struct Way {
    name: &'static str,
    /// The program of the process with this number; a Valkey server of this URL is there.
    program: fn(&Tools, usize, &str) -> Command,
    /// Whether the processes are on several hosts.
    apart: bool,
}

const WAYS: [Way; 6] = [
    Way {
        name: "talentdata, budget = host",
        program: |tools, number, _| ours(tools, number, "host"),
        apart: false,
    },
    Way {
        name: "talentdata, budget on Valkey",
        program: ours,
        apart: false,
    },
    Way {
        name: "the same, from three network namespaces",
        program: ours,
        apart: true,
    },
    Way {
        name: "talentdata, budget = process",
        program: |tools, number, _| ours(tools, number, "process"),
        apart: false,
    },
    Way {
        name: "serial by the documented rule, httpx",
        program: |tools, _, _| tools.peer("serial.py"),
        apart: false,
    },
    Way {
        name: "asyncio, each with a limiter of 4/s, aiohttp",
        program: |tools, _, _| {
            let mut command = tools.peer("limited.py");
            command.env("REQUESTS_PER_SECOND", PART);
            command
        },
        apart: false,
    },
];

/// What came of ten processes.
struct Trial {
    share: f64,
    refused: u64,
    /// The pace of the slowest and of the fastest, in parts of their mean.
    paces: (f64, f64),
    cpu: f64,
}

/// Measures, and tells it as Markdown.
pub(super) fn measure(tools: &Tools, size: &Size) -> Result<String, String> {
    let pages = size.pages / 8;
    let server = Valkey::start(&tools.valkey)?;
    let hosts = Hosts::new();
    if let Err(error) = &hosts {
        eprintln!("No row for network namespaces: {error}");
    }
    let mut shares = table("Way");
    let mut paces = table("Way");
    let mut cpu = Table::new(["Way", "CPU seconds per process, median"]);
    for way in WAYS.iter().filter(|way| !way.apart || hosts.is_ok()) {
        let mut trials = Vec::new();
        for policy in POLICIES {
            let hosts = hosts.as_ref().ok().filter(|_| way.apart);
            let trial = trial(tools, way, hosts, &server.url(), policy, pages)?;
            let (least, most) = trial.paces;
            eprintln!(
                "{policy}, {}: {} of the limit, {} times 429, paces from {least:.2} to {most:.2}, {:.2} s CPU",
                way.name,
                percent(trial.share),
                trial.refused,
                trial.cpu
            );
            trials.push(trial);
        }
        let share = |trial: &Trial| match trial.refused {
            0 => percent(trial.share),
            refused => format!("{}, {refused} × 429", percent(trial.share)),
        };
        let pace = |trial: &Trial| format!("{:.2} to {:.2}", trial.paces.0, trial.paces.1);
        let name = || std::iter::once(way.name.to_owned());
        shares.row(name().chain(trials.iter().map(share)));
        paces.row(name().chain(trials.iter().map(pace)));
        let used = median(trials.iter().map(|trial| trial.cpu));
        cpu.row([way.name.to_owned(), format!("{used:.2}")]);
    }
    Ok(format!(
        "{PROCESSES} processes that begin together, each of which reads {pages} full pages of contacts (ours: command line, C and Python in turn); round trip \
         {LATENCY} ms, resets are rounded up.\n\
         \n### Share of the limit, all together\n\n{}\
         \n### The pace of the slowest and of the fastest, in parts of the mean\n\n{}\
         \n### Costs\n\n{}\n{}",
        shares.text(),
        paces.text(),
        cpu.text(),
        starts::measure(tools, &server.url())?
    ))
}

fn table(first: &str) -> Table {
    Table::new(std::iter::once(first).chain(POLICIES))
}

fn trial(
    tools: &Tools,
    way: &Way,
    hosts: Option<&Hosts>,
    server: &str,
    policy: &str,
    pages: u64,
) -> Result<Trial, String> {
    let arguments = [
        "--faults".to_owned(),
        format!("--records=contacts={}", 100 * pages),
        format!("--policy={policy}"),
        "--rounding=up".to_owned(),
        format!("--latency-ms={LATENCY}"),
    ];
    let sandbox = Sandbox::start(&tools.talentdata, &arguments)?;
    let done: Vec<Result<Usage, String>> = std::thread::scope(|scope| {
        let start = |number| {
            let command = (way.program)(tools, number, server);
            // Each kind of program on each host.
            let host = number / LANGUAGES;
            let mut command = hosts
                .map(|hosts| hosts.on(host, &command))
                .unwrap_or(command);
            sandbox.invite(&mut command).stdout(Stdio::null());
            scope.spawn(move || child::run(&mut command, LONGEST))
        };
        let running: Vec<_> = (0..PROCESSES).map(start).collect();
        let ended = |_| Err("a thread of the bench ended by a defect".to_owned());
        let outcomes = running.into_iter();
        outcomes
            .map(|one| one.join().unwrap_or_else(ended))
            .collect()
    });
    let done = done.into_iter().collect::<Result<Vec<Usage>, String>>()?;
    let limited = sandbox.get("/__stats")?["limited"].as_u64();
    let refused = limited.ok_or("no count of 429s")?;
    let times = arrivals(&sandbox)?;
    let (last, first) = times.last().zip(times.first()).ok_or("no requests")?;
    let served = times.len() as u64 - refused;
    let paces: Vec<f64> = done.iter().map(|usage| 1.0 / usage.wall).collect();
    let mean = paces.iter().sum::<f64>() / paces.len() as f64;
    let least = paces.iter().copied().fold(f64::INFINITY, f64::min);
    let most = paces.iter().copied().fold(0.0, f64::max);
    Ok(Trial {
        share: served as f64 / ((last - first + LATENCY) as f64 / 1000.0) / LIMIT,
        refused,
        paces: (least / mean, most / mean),
        cpu: median(done.iter().map(|usage| usage.cpu)),
    })
}

/// The command line, C and Python in turn.
fn ours(tools: &Tools, number: usize, budget: &str) -> Command {
    let mut command = match number % LANGUAGES {
        0 => {
            let mut command = Command::new(&tools.talentdata);
            command.args(["export", "contacts", "--out", "-"]);
            command
        }
        1 => Command::new(&tools.c_scan),
        _ => tools.python("python/shared.py"),
    };
    command.env("TALENTDATA_BUDGET", budget);
    command.env("XDG_RUNTIME_DIR", &tools.scratch);
    command
}
