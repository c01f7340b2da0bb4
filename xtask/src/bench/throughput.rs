//! Without a rate limit: what reading costs in each form, beside merely reading the same bytes.

use super::Size;
use super::child::Usage;
use super::figures::{median, thousands};
use super::rounds::{Says, Way, export, program, rounds};
use super::table::Table;
use super::tools::Tools;
use std::path::Path;

/// The list that memory is compared with.
const FEW: u64 = 10_000;

/// The ways of reading; the first is the floor.
const WAYS: [Way; 10] = [
    Way {
        name: "floor: read and discard the same bytes",
        program: |tools, records, _| program(&tools.floor, &[&records.to_string()]),
        says: Says::Anything,
    },
    Way {
        name: "the same, and write them to a file",
        program: |tools, records, out| {
            let mut floor = program(&tools.floor, &[&records.to_string()]);
            floor.arg(out);
            floor
        },
        says: Says::Anything,
    },
    Way {
        name: "scan from Rust, raw records",
        program: |tools, _, _| program(&tools.scan, &["records"]),
        says: Says::Records,
    },
    Way {
        name: "scan from C, raw records",
        program: |tools, _, _| {
            let mut scan = program(&tools.c_scan, &[]);
            scan.env("TALENTDATA_PACED", "false");
            scan
        },
        says: Says::Records,
    },
    Way {
        name: "scan from Rust, Arrow batches",
        program: |tools, _, _| program(&tools.scan, &["batches"]),
        says: Says::Records,
    },
    Way {
        name: "command line, JSON Lines to /dev/null",
        program: |tools, _, _| export(tools, "jsonl", Path::new("/dev/null")),
        says: Says::Anything,
    },
    Way {
        name: "command line, JSON Lines",
        program: |tools, _, out| export(tools, "jsonl", out),
        says: Says::Anything,
    },
    Way {
        name: "command line, CSV",
        program: |tools, _, out| export(tools, "csv", out),
        says: Says::Anything,
    },
    Way {
        name: "command line, Arrow IPC",
        program: |tools, _, out| export(tools, "arrow", out),
        says: Says::Anything,
    },
    Way {
        name: "command line, Parquet",
        program: |tools, _, out| export(tools, "parquet", out),
        says: Says::Anything,
    },
];

/// Measures, and tells it as Markdown.
pub(super) fn measure(tools: &Tools, size: &Size) -> Result<String, String> {
    let of = |records, options: &[&str]| rounds(tools, records, size.rounds, &WAYS, options);
    let few = of(FEW, &[])?;
    let many = of(size.records, &[])?;
    let compressed = of(size.records, &["--gzip"])?;
    let records = size.records as f64;
    let mut plain = Table::new(titles(&[
        format!("Peak memory at {}", thousands(FEW as f64)),
        format!("at {}", thousands(records)),
        "Growth".to_owned(),
    ]));
    let mut gzip = Table::new(titles(&[]));
    for (index, way) in WAYS.iter().enumerate() {
        let [least, most] = [&few, &many].map(|rounds| peak(rounds, index));
        let memory = [
            format!("{least:.1} MiB"),
            format!("{most:.1} MiB"),
            format!("{:.2}", most / least),
        ];
        plain.row(row(way, &many, index, records).into_iter().chain(memory));
        gzip.row(row(way, &compressed, index, records));
    }
    Ok(format!(
        "{} contacts from a service that counts nothing, as fast as they come; medians of {} rounds, in each of which \
         every way had its turn. The floor fetches the same pages with the same HTTP library and as many requests at \
         once. Memory is of the client alone; processor time, too.\n\n{}\n\
         ### The same from a service that compresses its answers\n\n\
         With gzip, which this client and the floor ask for; reading the bytes means to decompress them, too.\n\n{}",
        thousands(records),
        size.rounds,
        plain.text(),
        gzip.text()
    ))
}

fn titles(more: &[String]) -> Vec<String> {
    let common = [
        "Way",
        "Records per second",
        "CPU µs per record",
        "Floor's CPU / its CPU (least to most)",
    ];
    let common = common.map(str::to_owned);
    [&common, more].concat()
}

/// The way at `index` beside the floor.
fn row(way: &Way, rounds: &[Vec<Usage>], index: usize, records: f64) -> Vec<String> {
    let of = |figure: fn(&Usage) -> f64| median(rounds.iter().map(|round| figure(&round[index])));
    let ratios = || rounds.iter().map(|round| round[0].cpu / round[index].cpu);
    vec![
        way.name.to_owned(),
        thousands(records / of(|used| used.wall)),
        format!("{:.2}", of(|used| used.cpu) * 1e6 / records),
        format!(
            "{:.2} ({:.2} to {:.2})",
            median(ratios()),
            ratios().fold(f64::INFINITY, f64::min),
            ratios().fold(0.0, f64::max)
        ),
    ]
}

fn peak(rounds: &[Vec<Usage>], index: usize) -> f64 {
    median(rounds.iter().map(|round| round[index].peak))
}
