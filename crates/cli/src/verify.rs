//! `verify`: whether a file still is what an export has written, and whether a mirror is intact.

use crate::ending::Ending;
use crate::output;
use std::path::PathBuf;
use talentdata_columns::verify::{read_receipt, verify};
use talentdata_mirror::Mirror;

/// Shown below the help of the command.
pub(crate) const EXAMPLES: &str = "\
Prints what the file is and how it differs from what was written, as JSON, and ends with 0 if it does not differ,
with 36 if it does. A receipt of several lists is searched for the name of the file.

Size and BLAKE3 are compared in any case. Of JSON Lines that differ, it is told whether records are missing,
repeated, altered or only in another order.

Without a receipt FILE is a mirror: the structure of the file is checked, and the digests of all that is kept in it.

Examples:
  talentdata export contacts --sandbox --out contacts.parquet --receipt receipt.json
  talentdata verify contacts.parquet receipt.json
  talentdata verify mirror.db";

/// What to verify, and against what.
#[derive(Debug, clap::Args)]
pub(crate) struct Verb {
    /// The file that an export has written, or a mirror
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The receipt of that export, from export --receipt; none for a mirror
    #[arg(value_name = "RECEIPT")]
    receipt: Option<PathBuf>,
}

pub(crate) fn run(verb: &Verb) -> Result<(), Ending> {
    let Some(receipt) = &verb.receipt else {
        let verification = Mirror::open(&verb.file)?.verify()?;
        output::json(&verification)?;
        return Ok(verification.to_result(&verb.file)?);
    };
    let receipt = read_receipt(receipt, &verb.file)?;
    let verification = verify(&verb.file, &receipt)?;
    output::json(&verification)?;
    Ok(verification.to_result(&verb.file)?)
}
