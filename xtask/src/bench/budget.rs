//! Within the rate limit: how much of it each client uses, what it costs, and what is lost on the way.

use super::Size;
use super::figures::{median, percent, thousands};
use super::table::Table;
use super::tools::Tools;
use super::trial::{Program, Scenario, Trial};
use std::fmt::Write as _;
use std::fs::File;
use std::path::Path;
use std::process::Command;

/// The documented limit, in requests per second (section 8).
pub(super) const LIMIT: f64 = 40.0;
/// What the neighbour takes of it.
const NEIGHBOUR: f64 = 10.0;
/// The policies to meet, each with resets in whole seconds, rounded up.
pub(super) const POLICIES: [&str; 5] = [
    "clock-window",
    "first-request-window",
    "sliding-log",
    "sliding-counter",
    "token-bucket",
];
/// Round trips in milliseconds.
const LATENCIES: [u64; 2] = [20, 100];
/// How the list changes where it does: after every fifth page two records come and one goes. As many that come as go, at
/// once and each time, look like records that move, which is not proven complete.
const DRIFT: &str = "every=5,inserts=2,deletes=1";

/// A client, by the name of its row.
struct Client {
    name: &'static str,
    program: Program,
}

/// Side by side, so that those that compute a lot do not take the processor from those that keep time.
const GROUPS: [&[Client]; 2] = [
    &[
        Client {
            name: "talentdata, command line",
            program: command_line,
        },
        Client {
            name: "talentdata, Rust",
            program: rust,
        },
    ],
    &[
        Client {
            name: "serial by the documented rule, httpx",
            program: |tools, out| into(tools.peer("serial.py"), out),
        },
        Client {
            name: "asyncio with a limiter of 40/s, aiohttp",
            program: |tools, out| into(tools.peer("limited.py"), out),
        },
        Client {
            name: "openapi-python-client, serial",
            program: |tools, out| into(tools.peer("generated.py"), out),
        },
    ],
];

/// One scenario, met by every client.
struct Round {
    scenario: Scenario,
    trials: Vec<(&'static str, Trial)>,
}

/// Measures, and tells it as Markdown.
pub(super) fn measure(tools: &Tools, size: &Size) -> Result<String, String> {
    let plain = |policy, latency| Scenario {
        policy,
        latency,
        records: 100 * size.pages,
        drift: None,
        neighbour: false,
    };
    let mut rounds = Vec::new();
    for latency in LATENCIES {
        for policy in POLICIES {
            rounds.push(meet(tools, plain(policy, latency))?);
        }
    }
    let neighbour = Scenario {
        // Long enough to find out how much is left.
        records: 300 * size.pages,
        neighbour: true,
        ..plain(POLICIES[0], LATENCIES[0])
    };
    let changing = Scenario {
        drift: Some(DRIFT),
        ..plain(POLICIES[0], LATENCIES[0])
    };
    let (neighbour, changing) = (meet(tools, neighbour)?, meet(tools, changing)?);
    let setting = format!("{}, {} ms", POLICIES[0], LATENCIES[0]);
    let mut out = format!(
        "{} contacts, read from a cold start and written as JSON Lines; resets are rounded up. The share is that of \
         the requests the service answered with 200, the one for a token included, per second from the first \
         request to the last response, in the limit of 40 per second.\n",
        thousands((100 * size.pages) as f64)
    );
    for latency in LATENCIES {
        let title = format!("Share of the limit, round trip {latency} ms");
        let rounds = rounds.iter().filter(|one| one.scenario.latency == latency);
        let _ = write!(out, "\n### {title}\n\n{}", shares(rounds));
    }
    let _ = write!(
        out,
        "\n### Costs, over all of these runs\n\n{}",
        costs(&rounds)
    );
    let _ = write!(
        out,
        "\n### Beside a neighbour that spends a steady {NEIGHBOUR} per second ({setting}, three times as many contacts)\n\n{}",
        beside(&neighbour)
    );
    let _ = write!(
        out,
        "\n### While the list changes: after every fifth page two records come and one goes ({setting})\n\n{}",
        complete(&changing)
    );
    Ok(out)
}

/// Lets every client meet the scenario, each on a sandbox of its own.
fn meet(tools: &Tools, scenario: Scenario) -> Result<Round, String> {
    let mut trials = Vec::new();
    for group in GROUPS {
        let done: Vec<Result<Trial, String>> = std::thread::scope(|scope| {
            let start = |(place, client): (usize, &'static Client)| {
                let scenario = &scenario;
                let out = tools.scratch.join(format!("{place}.jsonl"));
                scope.spawn(move || scenario.run(tools, &out, client.program))
            };
            let running: Vec<_> = group.iter().enumerate().map(start).collect();
            let ended = |_| Err("a thread of the bench ended by a defect".to_owned());
            let outcomes = running
                .into_iter()
                .map(|one| one.join().unwrap_or_else(ended));
            outcomes.collect()
        });
        for (client, trial) in group.iter().zip(done) {
            let trial = trial?;
            eprintln!(
                "{}, {} ms, {}: {} of the limit, {} times 429, {} records, {} lost, {} repeated, {:.2} s CPU, {:.0} MiB",
                scenario.policy,
                scenario.latency,
                client.name,
                percent(share(&trial)),
                trial.refused,
                trial.records,
                trial.lost,
                trial.repeated,
                trial.usage.cpu,
                trial.usage.peak,
            );
            trials.push((client.name, trial));
        }
    }
    Ok(Round { scenario, trials })
}

fn share(trial: &Trial) -> f64 {
    trial.served as f64 / trial.seconds / LIMIT
}

fn shares<'a>(rounds: impl Iterator<Item = &'a Round>) -> String {
    let rounds: Vec<&Round> = rounds.collect();
    let policies = rounds.iter().map(|round| round.scenario.policy);
    let mut table = Table::new(std::iter::once("Client").chain(policies));
    for (row, client) in GROUPS.iter().copied().flatten().enumerate() {
        let cells = rounds.iter().map(|round| {
            let trial = &round.trials[row].1;
            match trial.refused {
                0 => percent(share(trial)),
                refused => format!("{}, {refused} × 429", percent(share(trial))),
            }
        });
        table.row(std::iter::once(client.name.to_owned()).chain(cells));
    }
    table.text()
}

fn costs(rounds: &[Round]) -> String {
    let mut table = Table::new([
        "Client",
        "429s",
        "Lost",
        "Repeated",
        "CPU seconds per 100,000 records, median",
        "Peak memory, median",
    ]);
    for (row, client) in GROUPS.iter().copied().flatten().enumerate() {
        let trials = || rounds.iter().map(|round| &round.trials[row].1);
        let sum = |figure: fn(&Trial) -> u64| trials().map(figure).sum::<u64>().to_string();
        let cpu = trials().map(|trial| trial.usage.cpu * 100_000.0 / trial.records.max(1) as f64);
        table.row([
            client.name.to_owned(),
            sum(|trial| trial.refused),
            sum(|trial| trial.lost),
            sum(|trial| trial.repeated),
            format!("{:.2}", median(cpu)),
            format!("{:.0} MiB", median(trials().map(|trial| trial.usage.peak))),
        ]);
    }
    table.text()
}

fn beside(round: &Round) -> String {
    let mut table = Table::new([
        "Client",
        "Share of what is left",
        "Its 429s",
        "Neighbour served",
    ]);
    for (name, trial) in &round.trials {
        let sent = (trial.served + trial.refused) as f64;
        table.row([
            (*name).to_owned(),
            percent(trial.served as f64 / trial.seconds / (LIMIT - NEIGHBOUR)),
            format!(
                "{} ({})",
                trial.refused,
                percent(trial.refused as f64 / sent)
            ),
            percent(trial.neighbour_served),
        ]);
    }
    table.text()
}

fn complete(round: &Round) -> String {
    let mut table = Table::new(["Client", "Lost", "Repeated", "Share of the limit"]);
    for (name, trial) in &round.trials {
        table.row([
            (*name).to_owned(),
            trial.lost.to_string(),
            trial.repeated.to_string(),
            percent(share(trial)),
        ]);
    }
    table.text()
}

/// The program with its standard output in this file.
fn into(mut command: Command, out: &Path) -> Result<Command, String> {
    let file = File::create(out).map_err(|error| format!("{}: {error}", out.display()))?;
    command.stdout(file);
    Ok(command)
}

fn command_line(tools: &Tools, out: &Path) -> Result<Command, String> {
    let mut command = Command::new(&tools.talentdata);
    command.args(["export", "contacts", "--out"]).arg(out);
    Ok(command)
}

fn rust(tools: &Tools, out: &Path) -> Result<Command, String> {
    let mut command = Command::new(&tools.scan);
    command.arg("lines");
    into(command, out)
}
