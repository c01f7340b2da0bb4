//! Scans and exports against the sandbox, over real sockets: exports are stopped, killed, refused, and resumed to the
//! same bytes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod continued;
#[cfg(target_os = "linux")]
mod disk;
mod fails;
#[cfg(target_os = "linux")]
mod faults;
mod kept;
mod left_out;
#[cfg(target_os = "linux")]
mod modes;
#[cfg(unix)]
mod refused;
mod scans;
mod schemas;
mod service;
#[allow(dead_code, reason = "shared with the tests of the client")]
#[path = "../../../core/tests/client/stub.rs"]
mod stub;
mod unproven;
mod verified;

use fails::fails;
use service::Service;
use std::fs;
use std::path::{Path, PathBuf};
use stub::{make_pipe, names};
use talentdata_columns::export::{Export, Format, KeptWork, Target};
use talentdata_core::scan::{Receipt, ScanOptions};
use talentdata_core::types::ListName;
use talentdata_core::{Client, Result};
use tempfile::TempDir;
use tokio::sync::watch;

/// The two ways to keep unfinished data: the records are the output, or the output is encoded next to them.
const PLAIN_AND_ENCODED: [Format; 2] = [Format::Jsonl, Format::Parquet];

const EVERY_CHOICE: [KeptWork; 3] = [KeptWork::Refuse, KeptWork::Resume, KeptWork::Restart];

/// Returns a temporary directory, and a path in it.
fn place() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out");
    (directory, path)
}

/// Returns an export of contacts. JSON Lines are read in small pages, other formats in the largest, so that columns are
/// decided soon.
fn export(format: Format, path: &Path) -> Export {
    let page_size = if format == Format::Jsonl { 10 } else { 100 };
    Export::new(ListName::Contacts, format, Target::File(path.to_owned()))
        .with_scan(ScanOptions::default().with_page_size(page_size))
        .with_kept(KeptWork::Resume)
}

/// Runs an export to its end.
async fn run(export: &Export, client: &Client) -> Result<Receipt> {
    watch(export, client, |_| {}).await
}

/// Runs an export to its end, and calls `note` after each page.
async fn watch(export: &Export, client: &Client, note: impl FnMut(&Receipt)) -> Result<Receipt> {
    export.run(client, std::future::pending(), note).await
}

/// Runs an export and stops it after this number of pages.
async fn run_pages(export: &Export, client: &Client, pages: usize) -> Result<Receipt> {
    let (count, mut counted) = watch::channel(0);
    let enough = async { drop(counted.wait_for(|seen| *seen == pages).await) };
    let note = |_: &Receipt| count.send_modify(|seen| *seen += 1);
    export.run(client, enough, note).await
}

/// Returns the receipt and the file of an undisturbed export of this client's contacts.
async fn undisturbed(client: &Client, format: Format) -> (Receipt, Vec<u8>) {
    let (_directory, path) = place();
    let receipt = run(&export(format, &path), client).await.unwrap();
    (receipt, fs::read(&path).unwrap())
}

/// Returns the path of the work directory of an export, or of a file in it.
fn work(path: &Path, name: &str) -> PathBuf {
    PathBuf::from(format!("{}.part", path.display())).join(name)
}
