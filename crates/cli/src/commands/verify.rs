//! `verify`: checks that a file matches its receipt, or that a mirror is intact.

use crate::output::{self, Ending};
use std::path::PathBuf;
use talentdata_columns::verify::{read_receipt, verify};
use talentdata_mirror::Mirror;

/// The text below the help of the command.
const EXAMPLES: &str = "\
Compares the BLAKE3 of the file with its receipt. Prints both as JSON, and ends with 0 if they match and with 36 if they
do not. If RECEIPT contains several receipts, the one with the name of the file is used.

Without a receipt, FILE is a mirror: its structure and the digests of all its contents are checked.

Examples:
  talentdata export contacts --sandbox --out contacts.parquet --receipt receipt.json
  talentdata verify contacts.parquet receipt.json
  talentdata verify mirror.db";

/// The file, and the receipt to compare it with.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct VerifyArgs {
    /// The exported file, or a mirror
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The receipt of the export, from export --receipt; omit it for a mirror
    #[arg(value_name = "RECEIPT")]
    receipt: Option<PathBuf>,
}

pub(crate) fn run(args: &VerifyArgs) -> Result<(), Ending> {
    if let Some(receipt) = &args.receipt {
        let receipt = read_receipt(receipt, &args.file)?;
        let verification = verify(&args.file, &receipt)?;
        output::json(&verification)?;
        return Ok(verification.to_result(&args.file)?);
    }
    let verification = Mirror::open(&args.file)?.verify()?;
    output::json(&verification)?;
    Ok(verification.to_result(&args.file)?)
}
