//! `check`: whether the service supports a version of a client.

use crate::args::Common;
use crate::connect::connect;
use crate::ending::Ending;
use crate::output;
use talentdata_core::types::CategoryName;

/// What to ask about.
#[derive(Debug, clap::Args)]
pub(crate) struct Verb {
    /// The API version that the client uses
    #[arg(long, value_name = "VERSION")]
    client_version: String,
    #[arg(value_name = "CATEGORY", help = categories())]
    categories: Vec<String>,
}

fn categories() -> String {
    let known = CategoryName::KNOWN.join(", ");
    format!("The categories that it uses, such as {known}; without any, all of these")
}

pub(crate) async fn run(verb: &Verb, common: &Common) -> Result<(), Ending> {
    let connection = connect(common)?;
    let categories: Vec<CategoryName> = match verb.categories.as_slice() {
        [] => CategoryName::KNOWN
            .iter()
            .map(|name| (*name).into())
            .collect(),
        some => some.iter().map(|name| name.as_str().into()).collect(),
    };
    let answer = connection
        .client
        .check_version(&verb.client_version, categories)
        .await?;
    output::json(&answer)
}
