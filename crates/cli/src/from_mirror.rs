//! `export --from`: lists as a mirror has them.

use crate::ending::Ending;
use crate::output::reader_gone;
use std::path::Path;
use talentdata_core::ErrorKind;
use talentdata_core::export::{Export, Target};
use talentdata_core::mirror::{AsOf, Mirror};

/// Writes lists as a mirror has them.
pub(crate) fn write(exports: &[Export], from: &Path, at: AsOf) -> Result<(), Ending> {
    let mirror = Mirror::open(from)?;
    for export in exports {
        let table = export.scan.table.clone();
        let written = mirror
            .as_of(export.resource, at)
            .and_then(|records| records.write(export.format, &export.target, table));
        match written {
            Err(error)
                if error.kind() == ErrorKind::Io
                    && export.target == Target::Stdout
                    && reader_gone() =>
            {
                return Err(Ending::ReaderGone);
            }
            written => written?,
        };
    }
    Ok(())
}
