//! Streams all contacts through the blocking API, for comparison with other languages; settings from the environment.

use std::io::Write;
use talentdata_columns::arrow::TableOptions;
use talentdata_columns::blocking::Scan;
use talentdata_core::ScanOptions;
use talentdata_core::blocking::Client;
use talentdata_core::types::Resource;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let client = Client::new(&Client::builder())?;
    let (mut records, mut bytes) = (0_u64, 0_usize);
    let (options, table) = (ScanOptions::default(), TableOptions::default());
    for record in Scan::new(&client, Resource::Contacts, options, table)? {
        let record = record?;
        if let Some(name) = record.value().at("firstName")? {
            bytes += name.text()?.len();
        }
        records += 1;
    }
    writeln!(
        std::io::stdout(),
        "{records} records, {bytes} bytes of first names"
    )?;
    Ok(())
}
