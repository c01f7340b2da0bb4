//! Reads contacts for `cargo xtask bench`: as lines within the budget, or as records or batches without one.
//!
//! `bench_scan lines|records|batches`; address and credentials come from the environment.

use std::error::Error;
use std::io::{BufWriter, Write};
use talentdata_columns::arrow::{BatchScan, TableOptions};
use talentdata_core::Client;

/// Rows of a record batch.
const ROWS: usize = 8192;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Box<dyn Error>> {
    match std::env::args().nth(1).as_deref() {
        Some("lines") => lines().await,
        Some("records") => records().await,
        Some("batches") => batches().await,
        _ => Err("give one of lines, records and batches".into()),
    }
}

/// Writes each record on a line of its own, at the pace of the budget.
async fn lines() -> Result<(), Box<dyn Error>> {
    let mut scan = Client::builder().build()?.contacts().raw().list();
    let mut out = BufWriter::new(std::io::stdout().lock());
    while let Some(record) = scan.next().await {
        out.write_all(record?.as_bytes())?;
        out.write_all(b"\n")?;
    }
    out.flush()?;
    Ok(())
}

/// Counts records, as fast as they come.
async fn records() -> Result<(), Box<dyn Error>> {
    let client = Client::builder().paced(false).build()?;
    let mut scan = client.contacts().raw().list();
    let mut count = 0;
    while let Some(record) = scan.next().await {
        record?;
        count += 1;
    }
    println!("{count}");
    Ok(())
}

/// Counts the rows of Arrow record batches, as fast as they come.
async fn batches() -> Result<(), Box<dyn Error>> {
    let client = Client::builder().paced(false).build()?;
    let scan = client.contacts().list();
    let mut scan = BatchScan::new(scan, TableOptions::default(), ROWS);
    let mut count = 0;
    while let Some(batch) = scan.next().await {
        count += batch?.num_rows();
    }
    println!("{count}");
    Ok(())
}
