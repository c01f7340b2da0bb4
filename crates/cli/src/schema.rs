//! `schema`: the columns of a list, to pin them for later exports.

use crate::args::Common;
use crate::connect::connect;
use crate::ending::Ending;
use crate::filters::Filters;
use crate::{names, output};
use talentdata_columns::arrow::{Columns, TableSchema};
use talentdata_core::types::Resource;

/// Shown below the help of the command.
pub(crate) const EXAMPLE: &str = "\
The columns are decided from the first 1,000 records, as an export decides them. An export that is given
the file has the same columns whatever its own first records are.

Example:
  talentdata schema contacts > contacts.schema.json
  talentdata export contacts --schema contacts.schema.json --out contacts.parquet";

/// Which list, and which types.
#[derive(Debug, clap::Args)]
pub(crate) struct Verb {
    /// The list
    #[arg(value_name = "RESOURCE", value_parser = names::resource())]
    resource: Resource,
    /// Types of nested values and of timestamps: lists, structs and timestamps, or JSON text and strings
    #[arg(long, value_name = "TYPES", default_value = "typed", value_parser = names::one_of(Columns::ALL))]
    columns: Columns,
    #[command(flatten)]
    filters: Filters,
}

pub(crate) async fn run(verb: &Verb, common: &Common) -> Result<(), Ending> {
    let arguments = verb.filters.of(verb.resource)?;
    let connection = connect(common)?;
    let list = connection.client.resource(verb.resource).with(arguments);
    let schema = TableSchema::of_list(&list, verb.columns).await?;
    output::data(&schema.to_json())
}
