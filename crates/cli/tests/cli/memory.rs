//! What tables of wide, deep and long records take of the memory: hardly more for many records than for few.

use super::support::{Ended, program};
use std::thread::sleep;
use std::time::Duration;

#[allow(dead_code, reason = "shared with the tests of the client")]
#[path = "../../../core/tests/client/stub.rs"]
mod stub;

/// A list of `total` pools of this shape, in pages of `size` at most; its address.
fn list(total: u64, size: u64, fields: String) -> String {
    stub::serve(move |request, socket| {
        if request.asks_for_a_token() {
            return stub::reply(socket, 200, "", stub::token("any-token", 3600.0));
        }
        let offset = request.number("offset").unwrap_or(0);
        let end = total.min(offset + request.number("limit").unwrap_or(size).min(size));
        let mut records = String::new();
        for id in offset..end {
            let separator = if id > offset { "," } else { "" };
            records += &format!("{separator}{{\"id\":\"{id}\",\"number\":{id},");
            records += &fields;
        }
        let body = format!(
            "{{\"pools\":[{records}],\"pagination\":{{\"total\":{total},\"limit\":{},\"offset\":{offset},\"hasMore\":{}}}}}",
            end.saturating_sub(offset),
            end < total
        );
        stub::reply(socket, 200, "", body);
    })
}

/// The most memory that an export of the list has had, in MiB.
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
    // It grows and never falls; the last look is milliseconds before the end.
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

/// An export of `many` records of this shape takes no more than `margin` MiB beyond one of `few`.
fn grows_little(fields: &str, size: u64, format: &str, [few, many]: [u64; 2], margin: usize) {
    let peak = |records| peak(&list(records, size, fields.to_owned()), format);
    let (least, most) = (peak(few), peak(many));
    println!("{format}: {least} MiB for {few} records, {most} MiB for {many}");
    assert!(
        least > 0 && most <= least + margin,
        "{least} and {most} MiB"
    );
}

/// 500 columns, and 6 KiB of text a record.
fn wide() -> String {
    let fields = (0..498).map(|n| format!("\"field{n}\":{}", n * 7919 % 1000));
    fields.collect::<Vec<_>>().join(",") + "}"
}

/// 12 MiB of text more, and cells that take about the same.
#[test]
fn a_wide_arrow_file_stays_in_bounds() {
    grows_little(&wide(), 10, "arrow", [2_000, 4_000], 12);
}

/// 42 MiB of text more. The encoded columns of a row group, 8,192 records, are held.
#[test]
fn a_wide_parquet_file_stays_in_bounds() {
    grows_little(&wide(), 10, "parquet", [1_500, 8_500], 40);
}

/// Values nested 30 levels deep.
#[test]
fn deep_values_stay_in_bounds() {
    let mut value = r#"{"a":1,"b":["x"]}"#.to_owned();
    for level in 0..28 {
        value = match level % 2 {
            0 => format!("[{value},{{}}]"),
            _ => format!("{{\"level{level}\":{value}}}"),
        };
    }
    let fields = format!("\"deep\":{value}}}");
    grows_little(&fields, 100, "arrow", [1_000, 6_000], 6);
    grows_little(&fields, 100, "parquet", [1_000, 6_000], 6);
}

/// Strings of 1 MiB, 260 MiB of text. How many pages wait depends on how fast their records are taken, so the bound
/// is that of all that can wait at once: 64 MiB of pages, and 16 MiB each of records, of columns and of the file's batch,
/// each of them up to twice while it grows.
#[test]
fn long_values_stay_in_bounds() {
    let text = "twelve bytes".repeat(1024 * 1024 / 12);
    let fields = format!("\"text\":\"{text}\"}}");
    let most = peak(&list(260, 4, fields), "arrow");
    assert!(most > 0 && most <= 64 + 6 * 16 + 30, "{most} MiB");
}
