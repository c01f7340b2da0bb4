//! Reads contacts for `cargo xtask bench`: as lines within the budget, or as records or batches without one.
//!
//! Its usage is `bench_scan lines|records|batches`. Address and credentials come from the environment.

use std::error::Error;
use std::io::{BufWriter, Write};
use talentdata_columns::arrow::{BatchScan, TableOptions};
use talentdata_core::Client;

/// The number of rows of a record batch.
const ROWS: usize = 8192;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Box<dyn Error>> {
    let mode = std::env::args().nth(1).unwrap_or_default();
    let client = Client::builder().paced(mode == "lines").build()?;
    let mut scan = client.contacts().raw().list();
    let mut count = 0;
    match &*mode {
        "lines" => {
            let mut out = BufWriter::new(std::io::stdout().lock());
            while let Some(record) = scan.next().await {
                out.write_all(record?.as_bytes())?;
                out.write_all(b"\n")?;
            }
            return Ok(out.flush()?);
        }
        "records" => {
            while let Some(record) = scan.next().await {
                record?;
                count += 1;
            }
        }
        "batches" => {
            let mut scan = BatchScan::new(scan, TableOptions::default().with_batch_rows(ROWS));
            while let Some(batch) = scan.next().await {
                count += batch?.num_rows();
            }
        }
        _ => return Err("usage: bench_scan lines|records|batches".into()),
    }
    println!("{count}");
    Ok(())
}
