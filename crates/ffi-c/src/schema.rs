//! Schemas: the columns that a list has, as JSON text to keep.

use crate::boundary::{get, lent};
use crate::client::{Client, list};
use crate::error::Error;
use crate::json_text::JsonText;
use crate::parameters::Parameters;
use std::mem::MaybeUninit;
use talentdata_columns::arrow::Columns;
use talentdata_columns::blocking;
use talentdata_core::{Arguments, Result};

/// Determines the columns that an Arrow stream of a list would have, from the first 1,000 records. Given to
/// talentdata_scan_options_set_schema_n, today or in a later run, they stay the same whatever the first records
/// are then.
///
/// @param client the client
/// @param resource the list, a talentdata_resource
/// @param columns which types they have, a talentdata_columns
/// @param schema_out the schema: the JSON text that `talentdata schema` prints
/// Ownership: the caller frees `*schema_out` with talentdata_json_text_free.
/// Threads: any; waits for the service.
/// Errors: INVALID_ARGUMENT for NULL, an unknown list, or an unknown choice of columns; those of a call;
/// PAGING when the pages contradict each other.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_client_schema(
    client: Option<&Client>,
    resource: u32,
    columns: u32,
    schema_out: Option<&mut MaybeUninit<Box<JsonText>>>,
) -> Option<Box<Error>> {
    get((client, "client"), (schema_out, "schema_out"), |client| {
        schema(client, resource, Arguments::default(), columns)
    })
}

/// Like talentdata_client_schema, with values of the list's parameters, such as filters.
///
/// @param client the client
/// @param resource the list, a talentdata_resource
/// @param columns which types they have, a talentdata_columns
/// @param parameters the parameters
/// @param schema_out the schema: the JSON text that `talentdata schema` prints
/// Ownership: the caller frees `*schema_out` with talentdata_json_text_free.
/// Threads: any; no other may change `parameters` meanwhile; waits for the service.
/// Errors: as talentdata_client_schema; INVALID_ARGUMENT also for parameters that the list does not take.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_client_schema_with(
    client: Option<&Client>,
    resource: u32,
    columns: u32,
    parameters: Option<&Parameters>,
    schema_out: Option<&mut MaybeUninit<Box<JsonText>>>,
) -> Option<Box<Error>> {
    get((client, "client"), (schema_out, "schema_out"), |client| {
        let arguments = lent(parameters, "parameters")?.arguments();
        schema(client, resource, arguments, columns)
    })
}

fn schema(
    client: &Client,
    resource: u32,
    arguments: Arguments,
    columns: u32,
) -> Result<Box<JsonText>> {
    let (resource, columns) = (list(resource)?, Columns::of_number(columns)?);
    let inner = client.inner.clone();
    let schema = blocking::schema(&inner, resource, arguments, columns)?;
    Ok(Box::new(JsonText::new(schema.to_json())))
}
