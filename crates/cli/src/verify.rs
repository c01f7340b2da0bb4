//! `verify`: whether a file still is what an export has written.

use crate::ending::Ending;
use crate::output;
use std::path::PathBuf;
use talentdata_columns::verify::{read_receipt, verify};

/// Shown below the help of the command.
pub(crate) const EXAMPLES: &str = "\
Prints what the file is and how it differs from what was written, as JSON, and ends with 0 if it does not differ,
with 36 if it does. A receipt of several lists is searched for the name of the file.

Size and BLAKE3 are compared in any case. Of JSON Lines that differ, it is told whether records are missing,
repeated, altered or only in another order.

Examples:
  talentdata export contacts --sandbox --out contacts.parquet --receipt receipt.json
  talentdata verify contacts.parquet receipt.json";

/// What to verify, and against what.
#[derive(Debug, clap::Args)]
pub(crate) struct Verb {
    /// The file that an export has written
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The receipt of that export, from export --receipt
    #[arg(value_name = "RECEIPT")]
    receipt: PathBuf,
}

pub(crate) fn run(verb: &Verb) -> Result<(), Ending> {
    let receipt = read_receipt(&verb.receipt, &verb.file)?;
    let verification = verify(&verb.file, &receipt)?;
    output::json(&verification)?;
    Ok(verification.to_result(&verb.file)?)
}
