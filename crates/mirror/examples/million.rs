//! What a sync of a long list costs, compared with an export of the same list to Parquet.
//!
//!     cargo run --release -p talentdata-mirror --example million [RECORDS]
//!
//! The service runs in this process, without a limit on its rate, and each step in a process of its own, whose processor
//! time and peak memory are reported.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;
use std::process::Command;
use std::time::Instant;
use talentdata_columns::arrow::TableOptions;
use talentdata_columns::export::{Export, Format, Target};
use talentdata_core::types::Resource;
use talentdata_core::{Client, ScanOptions};
use talentdata_mirror::{At, Mirror, Sync};
use talentdata_sandbox::{Change, Options, Sandbox, limit::Policy};

const LIST: Resource = Resource::Contacts;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.get(1).map(String::as_str) {
        Some("step") => step(&arguments[2], Path::new(&arguments[3])),
        records => all(records.map_or(1_000_000, |records| records.parse().unwrap())),
    }
}

/// Serves the list, and runs each step in a process of its own.
fn all(records: u64) {
    let sandbox = Sandbox::start(Options {
        records: [("contacts".to_owned(), records)].into(),
        policy: Policy::Unlimited,
        faults: true,
        ..Options::default()
    });
    let sandbox = sandbox.unwrap();
    let directory = tempfile::tempdir().unwrap();
    let run = |name: &str| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["step", name]).arg(directory.path());
        command.env("TALENTDATA_BASE_URL", sandbox.base_url());
        command.env("TALENTDATA_CLIENT_ID", sandbox.client_id());
        command.env("TALENTDATA_CLIENT_SECRET", sandbox.client_secret());
        assert!(command.status().unwrap().success(), "{name}");
    };
    for name in ["export", "sync", "sync"] {
        run(name);
    }
    let share = records / 300;
    sandbox.change("contacts", Change::Update(share)).unwrap();
    sandbox.change("contacts", Change::Insert(share)).unwrap();
    sandbox
        .change("contacts", Change::DeleteFirst(share))
        .unwrap();
    for name in ["sync", "export", "read", "verify"] {
        run(name);
    }
}

fn step(name: &str, directory: &Path) {
    let began = Instant::now();
    let path = directory.join("mirror.db");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let client = || Client::builder().paced(false).build().unwrap();
    let told = match name {
        "export" => {
            let export = Export {
                resource: LIST,
                format: Format::Parquet,
                target: Target::File(directory.join("contacts.parquet")),
                scan: ScanOptions::default(),
                table: TableOptions::default(),
                resume: false,
            };
            let done = runtime
                .block_on(async { export.run(&client(), std::future::pending(), |_| {}).await });
            format!("{} records", done.unwrap().records)
        }
        "sync" => {
            let sync = Sync::new(LIST, &path);
            let done = runtime
                .block_on(async { sync.run(&client(), std::future::pending(), |_| {}).await });
            format!("{:?}", done.unwrap().changes)
        }
        "read" => {
            let mirror = Mirror::open(&path).unwrap();
            let last = mirror.syncs(LIST).unwrap().len() as u64;
            let ready = Instant::now();
            let first = mirror.changes(LIST, &At::Sync(last - 1)).unwrap().next();
            let (changes, ready) = (ready.elapsed(), Instant::now());
            let as_of = mirror.records(LIST, Some(&At::Sync(1))).unwrap();
            let sizes = as_of.map(|record| record.unwrap().as_str().len());
            let mut sizes = sizes.peekable();
            sizes.peek().unwrap();
            let start = ready.elapsed();
            let bytes: usize = sizes.sum();
            let file = std::fs::metadata(&path).unwrap().len();
            assert!(first.unwrap().is_ok());
            format!(
                "changes begin after {changes:?}, as-of after {start:?}; {file} bytes of file for {bytes} of records, {:.2} times",
                file as f64 / bytes as f64
            )
        }
        _ => format!("{:?}", Mirror::open(&path).unwrap().verify().unwrap()),
    };
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status
        .lines()
        .find(|line| line.starts_with("VmHWM"))
        .unwrap();
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.split(' ').collect();
    let ticks: u64 = fields[13].parse::<u64>().unwrap() + fields[14].parse::<u64>().unwrap();
    println!(
        "{name}: {:.1} s of processor, {:.1} s, {} ({told})",
        ticks as f64 / 100.0,
        began.elapsed().as_secs_f64(),
        peak.split_whitespace()
            .skip(1)
            .collect::<Vec<_>>()
            .join(" ")
    );
}
