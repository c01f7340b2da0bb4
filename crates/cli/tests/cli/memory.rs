//! The memory that tables of wide, deep and long records take, which hardly grows with the number of records, and a
//! system with too little memory.

use super::support::{Ended, program, run, stub};
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

/// Serves a list of `total` pools with these fields, in pages of at most `size`, and returns its address.
fn list(total: u64, size: u64, fields: String) -> String {
    stub::serve(stub::api(move |request| {
        let record = |id| format!("{{\"id\":\"{id}\",\"number\":{id},{fields}}}");
        (200, "", stub::page(request, "pools", total, size, record))
    }))
}

/// Returns the peak memory of an export of the list, in MiB.
fn peak(base_url: &str, format: &str) -> usize {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pools");
    let mut command = program(&format!(
        "export pools --paced false --format {format} --out"
    ));
    let mut child = command
        .arg(&path)
        .env("TALENTDATA_BASE_URL", base_url)
        .env("TALENTDATA_CLIENT_ID", "me")
        .env("TALENTDATA_CLIENT_SECRET", stub::SECRET)
        .spawn()
        .unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    // The value never falls, and the last sample is milliseconds before the end.
    while child.try_wait().unwrap().is_none() {
        let status = std::fs::read_to_string(&status).unwrap_or_default();
        let line = status.lines().find(|line| line.starts_with("VmHWM:"));
        let kibibytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
        peak = peak.max(kibibytes.unwrap_or(0) / 1024);
        sleep(Duration::from_millis(2));
    }
    let ended = Ended::wait(child);
    ended.quiet();
    peak
}

/// Strings of 1 MiB are 260 MiB of text. The number of waiting pages depends on how fast their records are taken. So
/// the limit is the sum of everything that can wait at the same time: 64 MiB of pages, and 16 MiB each of records, of
/// columns and of the file's batch, each doubled while it grows. For other shapes, many records may take only a margin
/// more than few.
#[test]
fn exports_stay_in_bounds() {
    // 500 columns, and 6 KiB of text a record.
    let wide = (0..498).map(|n| format!("\"field{n}\":{}", n * 7919 % 1000));
    let wide = wide.collect::<Vec<_>>().join(",");
    // Values nested 30 levels deep.
    let mut deep = r#"{"a":1,"b":["x"]}"#.to_owned();
    for level in 0..28 {
        deep = match level % 2 {
            0 => format!("[{deep},{{}}]"),
            _ => format!("{{\"level{level}\":{deep}}}"),
        };
    }
    let deep = format!("\"deep\":{deep}");
    for (fields, size, format, [few, many], margin) in [
        // 12 MiB more text, and cells that take about the same.
        (&wide, 10, "arrow", [2_000, 4_000], 12),
        // 42 MiB more text. The encoded columns of a row group, 8,192 records, are kept in memory.
        (&wide, 10, "parquet", [1_500, 8_500], 40),
        (&deep, 100, "arrow", [1_000, 6_000], 6),
        (&deep, 100, "parquet", [1_000, 6_000], 6),
    ] {
        let [few, many] = [few, many].map(|total| peak(&list(total, size, fields.clone()), format));
        println!("{format}: {few} and {many} MiB");
        assert!(few > 0 && many <= few + margin, "{few} and {many} MiB");
    }
    let text = "twelve bytes".repeat(1024 * 1024 / 12);
    let long = list(260, 4, format!("\"text\":\"{text}\""));
    let most = peak(&long, "arrow");
    assert!(most > 0 && most <= 64 + 6 * 16 + 30, "{most} MiB");
}

/// The limits go from too little to start the program up to enough, in MiB. Thread stacks take most of the memory.
#[test]
fn with_too_little_memory_for_threads_it_ends_with_a_message_and_no_panic() {
    let (mut named, mut done) = (0, 0);
    for limit in (16..96).step_by(2) {
        let limited = format!("ulimit -v {}; exec \"$0\" \"$@\"", limit * 1024);
        let mut command = Command::new("sh");
        command.args(["-c", &limited, env!("CARGO_BIN_EXE_talentdata")]);
        command.args(["export", "contacts", "--sandbox"]);
        command.args(["--limit", "5", "--paced", "false", "--out", "-"]);
        command.env_clear().env("HOME", "/nonexistent");
        let ended = run(&mut command);
        assert!(!ended.stderr.contains("panicked"), "{limit}: {ended:?}");
        named += usize::from(ended.stderr.contains("no threads for the client"));
        done += usize::from(ended.code == Some(0));
    }
    assert!(named > 0 && done > 0, "{named} {done}");
}
