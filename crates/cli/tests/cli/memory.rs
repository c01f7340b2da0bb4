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
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pools");
    let mut command = program(&["export", "pools", "--format", format, "--out"]);
    let mut child = command
        .arg(&path)
        .args(["--paced", "false"])
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
    let ended = Ended::of(child.wait_with_output().unwrap());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    peak
}

/// Exports of both formats with few and with many records of this shape; the second may not take more than
/// `margin` MiB beyond the first.
fn grows_little(fields: &str, size: u64, few: u64, many: u64, margins: [(&str, usize); 2]) {
    for (format, margin) in margins {
        let peak = |records| peak(&list(records, size, fields.to_owned()), format);
        let (least, most) = (peak(few), peak(many));
        println!("{format}: {least} MiB for {few} records, {most} MiB for {many}");
        assert!(least > 0 && most <= least + margin, "{format}: {least} and {most} MiB");
    }
}

/// 500 fields, 6 KiB a record: 48 MiB of text more, and as much again for where its values are. The encoded columns
/// of a row group are held.
#[test]
fn tables_of_500_columns_stay_in_bounds() {
    let fields: Vec<String> = (0..498).map(|n| format!("\"field{n}\":{}", n * 7919 % 1000)).collect();
    let fields = fields.join(",") + "}";
    grows_little(&fields, 10, 1_500, 9_500, [("arrow", 16), ("parquet", 40)]);
}

/// Values nested 30 levels deep, 16 MiB of text more.
#[test]
fn deep_values_stay_in_bounds() {
    let mut value = r#"{"a":1,"b":["x"]}"#.to_owned();
    for level in 0..27 {
        value = match level % 2 {
            0 => format!("[{value},{{}}]"),
            _ => format!("{{\"level{level}\":{value}}}"),
        };
    }
    let fields = format!("\"deep\":{value}}}");
    grows_little(&fields, 100, 3_000, 30_000, [("arrow", 8), ("parquet", 16)]);
}
