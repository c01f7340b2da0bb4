//! `verify`: checks that a file is what an export has written, or that a mirror is intact.

use crate::output::{self, Ending};
use std::path::PathBuf;
use talentdata_columns::verify::{read_receipt, verify};
use talentdata_mirror::Mirror;

/// The text below the help of the command.
const EXAMPLES: &str = "\
Compares the bytes of the file with the BLAKE3 in the receipt. Prints both as JSON, and ends with 0 if they match, with
36 if they do not. A receipt of several lists is searched for the name of the file.

Without a receipt FILE is a mirror: the structure of the file is checked, and the digests of all that is kept in it.

Examples:
  talentdata export contacts --sandbox --out contacts.parquet --receipt receipt.json
  talentdata verify contacts.parquet receipt.json
  talentdata verify mirror.db";

/// The file, and the receipt to compare it with.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct VerifyArgs {
    /// The file that an export has written, or a mirror
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The receipt of that export, from export --receipt; none for a mirror
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
