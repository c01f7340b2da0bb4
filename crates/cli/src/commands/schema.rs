//! `schema`: the columns of a list.

use crate::common::Common;
use crate::connect::with_client;
use crate::lists::{arguments, one_of, resource};
use crate::output::{self, Ending};
use talentdata_columns::arrow::{Columns, TableSchema};
use talentdata_core::types::ListName;

/// The text below the help of the command.
const EXAMPLES: &str = "\
The columns are decided from the first 1,000 records, as an export decides them. An export that is given
the file has the same columns whatever its own first records are.

Example:
  talentdata schema contacts > contacts.schema.json
  talentdata export contacts --schema contacts.schema.json --out contacts.parquet";

/// The list, and the types of its columns.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SchemaArgs {
    /// The list
    #[arg(value_name = "RESOURCE", value_parser = resource())]
    resource: ListName,
    /// Types of nested values and of timestamps: lists, structs and timestamps, or JSON text and strings
    #[arg(long, value_name = "TYPES", default_value = "typed", value_parser = one_of(Columns::ALL))]
    columns: Columns,
}

pub(crate) async fn run(args: &SchemaArgs, common: &Common) -> Result<(), Ending> {
    let arguments = arguments(args.resource, common)?;
    let schema = with_client(common, async |client| {
        let list = client.resource(args.resource).with(arguments);
        Ok(TableSchema::of_list(&list, args.columns).await?)
    });
    output::data(&schema.await?.to_json())
}
