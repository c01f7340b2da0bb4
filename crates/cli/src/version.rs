//! `version`: the version report of the service.

use crate::args::Common;
use crate::connect::connect;
use crate::ending::Ending;
use crate::output;

pub(crate) async fn run(common: &Common) -> Result<(), Ending> {
    let connection = connect(common)?;
    output::json(&connection.client.version().await?)
}
