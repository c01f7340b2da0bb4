//! Writes records that are at hand, and not read from a service: all at once under the final name, or not at all.

use super::encoder::Encoder;
use super::files::NewFile;
use super::mode::set_final_mode;
use super::paths::{Destination, OutputPaths, failed};
use super::{Export, Format, Target};
use crate::arrow::TableOptions;
use crate::error::{Error, Result};
use crate::record::RawRecord;
use crate::scan::ScanOptions;
use std::fs::OpenOptions;
use talentdata_types::Resource;
use tempfile::NamedTempFile;

/// Records encoded at once.
const RECORDS: usize = 256;

/// Writes records as an export of their list writes them; returns how many there were.
///
/// # Errors
/// The first one among the records; `Io`, naming the file.
pub fn write_records(
    resource: Resource,
    format: Format,
    target: &Target,
    table: TableOptions,
    records: impl Iterator<Item = Result<RawRecord>>,
) -> Result<u64> {
    let export = Export {
        resource,
        format,
        target: target.clone(),
        scan: ScanOptions {
            table,
            ..ScanOptions::default()
        },
        resume: false,
    };
    let mut encoder = Encoder::new(&export)?;
    let path = match target {
        Target::Stdout => {
            let written = encode(&mut encoder, std::io::stdout(), records);
            return written.map_err(|error| named(error, "standard output"));
        }
        Target::File(path) => path,
    };
    let paths = match OutputPaths::look(path)? {
        Destination::Stream => {
            let opened = OpenOptions::new().write(true).open(path);
            let stream = opened.map_err(|error| failed("open", path, &error))?;
            let written = encode(&mut encoder, stream, records);
            return written.map_err(|error| named(error, &path.display().to_string()));
        }
        Destination::File(paths) => paths,
    };
    let new = NewFile::probe(&paths)?;
    let path = &paths.path;
    let created = NamedTempFile::with_prefix_in(".talentdata-", paths.directory());
    let file = created.map_err(|error| failed("create", path, &error))?;
    let handle = file.as_file().try_clone();
    let handle = handle.map_err(|error| failed("write", path, &error))?;
    let written = encode(&mut encoder, handle, records);
    let count = written.map_err(|error| named(error, &path.display().to_string()))?;
    let ready = set_final_mode(file.as_file(), path, &new);
    let ready = ready.and_then(|()| file.as_file().sync_all());
    ready.map_err(|error| failed("write", path, &error))?;
    let persisted = file.persist(path);
    persisted.map_err(|error| failed("create", path, &error.error))?;
    paths.sync_directory()?;
    Ok(count)
}

fn encode(
    encoder: &mut Encoder,
    writer: impl std::io::Write + Send + 'static,
    records: impl Iterator<Item = Result<RawRecord>>,
) -> Result<u64> {
    let (mut waiting, mut count) = (Vec::new(), 0);
    let mut writer = Some(writer);
    let mut write = |encoder: &mut Encoder, waiting: &mut Vec<RawRecord>| {
        if let Some(writer) = writer.take() {
            if encoder.is_undecided() {
                encoder.decide(waiting)?;
            }
            encoder.open(writer, 0)?;
        }
        encoder.sink()?.write_all(waiting)?;
        waiting.clear();
        Ok::<_, Error>(())
    };
    for record in records {
        let record = record?;
        count += 1;
        let needs_more = encoder.needs_more_than(std::slice::from_ref(&record));
        waiting.push(record);
        if !needs_more && waiting.len() >= RECORDS {
            write(encoder, &mut waiting)?;
        }
    }
    write(encoder, &mut waiting)?;
    encoder.finish()?;
    Ok(count)
}

fn named(error: Error, name: &str) -> Error {
    let message = format!("{name}: {}", error.message());
    error.with_message(message)
}
