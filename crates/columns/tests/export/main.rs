//! Exports against the sandbox, over real sockets: stopped, killed, refused, and resumed to the same bytes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[cfg(unix)]
mod child;
mod disk;
mod drift;
mod failing_calls;
mod foreign_files;
mod formats;
mod interruptions;
mod kills;
mod modes;
mod ordinary_user;
mod places;
#[cfg(unix)]
mod planted;
mod refusals;
mod schemas;
mod service;
mod successors;
mod two_at_once;
mod verified;

use service::Service;
use std::fs;
use std::path::{Path, PathBuf};
use talentdata_columns::arrow::TableOptions;
use talentdata_columns::export::{Export, Format, Target};
use talentdata_core::scan::{Receipt, ScanOptions};
use talentdata_core::types::Resource;
use talentdata_core::{Client, Result};
use tokio::sync::Notify;

/// An export of contacts, in small pages.
fn export(path: &Path) -> Export {
    Export {
        resource: Resource::Contacts,
        format: Format::Jsonl,
        target: Target::File(path.to_owned()),
        scan: ScanOptions {
            page_size: Some(10),
            ..ScanOptions::default()
        },
        table: TableOptions::default(),
        resume: true,
    }
}

/// Runs it to its end.
async fn run(export: &Export, client: &Client) -> Result<Receipt> {
    export.run(client, std::future::pending(), |_| {}).await
}

/// Runs it and stops it after so many pages.
async fn run_pages(export: &Export, client: &Client, pages: usize) -> Result<Receipt> {
    let enough = Notify::new();
    let mut seen = 0;
    let count = |_: &Receipt| {
        seen += 1;
        if seen == pages {
            enough.notify_one();
        }
    };
    export.run(client, enough.notified(), count).await
}

/// The names in a directory.
fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// The work directory of an export, or a file in it.
fn work(path: &Path, name: &str) -> PathBuf {
    PathBuf::from(format!("{}.part", path.display())).join(name)
}
