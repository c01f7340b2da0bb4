//! Deletes that are told of a list that changes while it is read, held against what has really happened.

use super::Size;
use super::child;
use super::figures::{median, thousands};
use super::table::Table;
use super::tools::Tools;
use crate::sandbox::Sandbox;
use serde_json::Value;
use std::collections::HashSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Longer than any of these syncs takes.
const LONGEST: Duration = Duration::from_secs(120);
/// The exit code of a sync whose scan is not proven complete.
const NOT_PROVEN: i32 = 31;
/// Records of the list at the beginning, a small part of its length without a limit on the rate.
const PART: u64 = 200;
/// Syncs for each round of the other sections.
const SYNCS: usize = 4;
/// How the list changes while it is read.
const DRIFTS: [(&str, &str); 3] = [
    (
        "two come and one goes after every fifth page",
        "every=5,inserts=2,deletes=1",
    ),
    ("one goes after every fifth page", "every=5,deletes=1"),
    (
        "five of a piece go after every twentieth page, and three come",
        "every=20,inserts=3,bulk-deletes=5",
    ),
];

/// Ids that were deleted, and the processor time that it took to tell them.
type Deletes = (Vec<String>, f64);

/// A way of telling what was deleted.
struct Way {
    name: &'static str,
    /// Brings what it keeps in a directory up to date after so many times, and makes the list of deletes since then.
    tell: fn(&Tools, &Sandbox, &Path, u64) -> Result<Deletes, String>,
}

const WAYS: [Way; 2] = [
    Way {
        name: "talentdata, `sync`",
        tell: ours,
    },
    Way {
        name: "offset paging and a set difference, httpx",
        tell: plain,
    },
];

/// What a way has told over all of its syncs.
#[derive(Default)]
struct Told {
    happened: usize,
    deletes: usize,
    wrong: usize,
    /// Deletes of records that were there from the beginning, before the last sync began, that no sync has told.
    untold: usize,
    seconds: Vec<f64>,
}

/// Measures, and tells it as Markdown.
pub(super) fn measure(tools: &Tools, size: &Size) -> Result<String, String> {
    let (records, syncs) = (size.records / PART, SYNCS * size.rounds);
    let mut out = format!(
        "{} contacts that change while they are read, from a service that counts nothing; {syncs} syncs one after the other, \
         of which the first has nothing to compare with. What is told is held against the log of the sandbox: a \
         delete is false if its record was not deleted by the end of the sync that tells it, and untold if it is of a \
         record that was there from the beginning, happened before the last sync began, and none has told it.\n",
        thousands(records as f64)
    );
    for (title, drift) in DRIFTS {
        let mut table = Table::new([
            "Way",
            "Deletes that happened",
            "Told",
            "Told falsely",
            "Untold",
            "CPU seconds per sync, median",
        ]);
        for way in &WAYS {
            let told = follow(tools, way, records, syncs, drift)?;
            eprintln!(
                "{drift}, {}: {} happened, {} told, {} of them falsely, {} untold",
                way.name, told.happened, told.deletes, told.wrong, told.untold
            );
            table.row([
                way.name.to_owned(),
                told.happened.to_string(),
                told.deletes.to_string(),
                told.wrong.to_string(),
                told.untold.to_string(),
                format!("{:.2}", median(told.seconds)),
            ]);
        }
        out += &format!("\n### While {title}\n\n{}", table.text());
    }
    Ok(out)
}

/// Syncs so many times by one way.
fn follow(
    tools: &Tools,
    way: &Way,
    records: u64,
    syncs: usize,
    drift: &str,
) -> Result<Told, String> {
    let arguments = [
        "--faults".to_owned(),
        "--policy=unlimited".to_owned(),
        format!("--records=contacts={records}"),
        format!("--drift={drift}"),
    ];
    let sandbox = Sandbox::start(&tools.talentdata, &arguments)?;
    let kept = tools.scratch.join("kept");
    let _ = std::fs::remove_dir_all(&kept);
    std::fs::create_dir_all(&kept).map_err(|error| format!("{}: {error}", kept.display()))?;
    let (mut told, mut gone, mut known) = (Told::default(), HashSet::new(), HashSet::new());
    let mut before = HashSet::new();
    for number in 0..syncs as u64 {
        before.clone_from(&gone);
        let (deletes, seconds) = (way.tell)(tools, &sandbox, &kept, number)?;
        told.seconds.push(seconds);
        gone = logged(&sandbox, "delete")?;
        told.deletes += deletes.len();
        told.wrong += deletes.iter().filter(|key| !gone.contains(*key)).count();
        known.extend(deletes.into_iter().filter(|key| gone.contains(key)));
        if number == 0 {
            // What was gone before it was ever seen cannot be told.
            known.extend(gone.iter().cloned());
        }
    }
    told.happened = gone.len();
    known.extend(logged(&sandbox, "insert")?);
    told.untold = before.difference(&known).count();
    Ok(told)
}

/// The ids of all records to which that has happened until now.
fn logged(sandbox: &Sandbox, operation: &str) -> Result<HashSet<String>, String> {
    let log = sandbox.get("/__changes?list=contacts")?;
    let changes = log["changes"].as_array().ok_or("no log of changes")?;
    let found = changes.iter().filter(|change| change["op"] == operation);
    let keys = found.filter_map(|change| change["key"].as_str());
    Ok(keys.map(str::to_owned).collect())
}

fn ours(tools: &Tools, sandbox: &Sandbox, kept: &Path, number: u64) -> Result<Deletes, String> {
    let mirror = kept.join("mirror.db");
    let command = |verb: &str, flag: &str| {
        let mut command = Command::new(&tools.talentdata);
        command.args([verb, "contacts", flag]).arg(&mirror);
        command
    };
    let mut sync = command("sync", "--to");
    sync.args(["--paced", "false"]);
    // A scan that is not proven complete is committed, too, and deletes nothing.
    let used = child::run_to(sandbox.invite(&mut sync), LONGEST, &[0, NOT_PROVEN])?;
    let mut changes = command("changes", "--from");
    changes.args(["--since", &number.to_string(), "--format", "jsonl"]);
    let changes = said(sandbox, &mut changes, &kept.join("said"))?.0;
    let deletes = changes.iter().filter(|change| change["op"] == "delete");
    let keys = deletes.filter_map(|change| change["key"].as_str());
    Ok((keys.map(str::to_owned).collect(), used.cpu))
}

fn plain(tools: &Tools, sandbox: &Sandbox, kept: &Path, _: u64) -> Result<Deletes, String> {
    let mut command = tools.peer("difference.py");
    command.arg(kept.join("ids"));
    let (keys, seconds) = said(sandbox, &mut command, &kept.join("said"))?;
    let keys = keys.iter().filter_map(Value::as_str);
    Ok((keys.map(str::to_owned).collect(), seconds))
}

/// The JSON lines that a program writes, and the processor time that it uses.
fn said(
    sandbox: &Sandbox,
    command: &mut Command,
    out: &PathBuf,
) -> Result<(Vec<Value>, f64), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", out.display());
    command.stdout(File::create(out).map_err(failed)?);
    let used = child::run(sandbox.invite(command), LONGEST)?;
    let text = std::fs::read_to_string(out).map_err(failed)?;
    let lines = text.lines().map(serde_json::from_str);
    let lines: Result<Vec<Value>, _> = lines.collect();
    Ok((
        lines.map_err(|error| format!("{command:?}: {error}"))?,
        used.cpu,
    ))
}
