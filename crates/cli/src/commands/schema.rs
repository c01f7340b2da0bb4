//! `schema`: prints the columns of a list.

use crate::common::Common;
use crate::connect::{of_lists, with_client};
use crate::lists::{arguments, resource};
use crate::options;
use crate::output::{self, Ending};
use talentdata_columns::arrow::TableSchema;
use talentdata_core::types::ListName;
use talentdata_mirror::internal::JobKind;

/// The text below the help of the command.
const EXAMPLES: &str = "\
The columns are inferred from the first 1,000 records, as in an export. An export with this schema always has these
columns, regardless of its own first records.

Example:
  talentdata schema contacts > contacts.schema.json
  talentdata export contacts --schema contacts.schema.json --out contacts.parquet";

/// The list.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SchemaArgs {
    /// The list
    #[arg(value_name = "RESOURCE", value_parser = resource())]
    resource: ListName,
}

pub(crate) async fn run(args: &SchemaArgs, common: &Common) -> Result<(), Ending> {
    let arguments = arguments(args.resource, common)?;
    let options = options::read(&common.matches, JobKind::Schema)?;
    let schema = with_client(common, of_lists([args.resource]), async |client| {
        let list = client.resource(args.resource).with(arguments);
        Ok(TableSchema::of_scan(&list, options.scan, options.table.columns).await?)
    });
    output::data(&schema.await?.to_json())
}
