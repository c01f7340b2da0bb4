//! What tables of wide, deep and long records take of the memory: hardly more for many records than for few.

use super::support::{Ended, program};
use std::process::Command;
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
    let mut command: Command = program(&["export", "pools", "--quiet", "--format", format, "--out"]);
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
    let ended = Ended::of(child.wait_with_output().unwrap());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    peak
}
