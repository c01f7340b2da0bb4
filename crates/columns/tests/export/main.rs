//! Exports against the sandbox, over real sockets: stopped, killed, refused, and resumed to the same bytes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[cfg(target_os = "linux")]
mod child;
mod continued;
mod disk;
mod faults;
mod modes;
mod refused;
mod schemas;
mod service;
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

/// In pages so large that columns are soon decided, where there are any.
fn in_format(format: Format, path: &Path) -> Export {
    match format {
        Format::Jsonl => export(path),
        _ => large(format, path),
    }
}

/// In the largest pages.
fn large(format: Format, path: &Path) -> Export {
    let mut export = export(path);
    export.format = format;
    export.scan.page_size = Some(100);
    export
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
