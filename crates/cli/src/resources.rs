//! `resources`: the lists that there are.

use crate::ending::Ending;
use crate::{names, output};
use talentdata_core::types::Resource;

pub(crate) fn run() -> Result<(), Ending> {
    let mut rows = vec![["NAME", "PATH", "GROUP"].map(str::to_owned).to_vec()];
    for resource in Resource::ALL {
        let operation = resource.shape().operation;
        rows.push(vec![
            names::dashed(resource),
            operation.path.to_owned(),
            operation.group.to_owned(),
        ]);
    }
    output::data(&output::table(&rows, 3))
}
