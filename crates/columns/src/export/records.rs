//! Writes records that are at hand, and not read from a service: all at once under the final name, or not at all.

use super::encoder::Encoder;
use super::paths::{Destination, directory_of, failed, look, sync_directory};
use super::unfinished::set_final_mode;
use super::{Export, Format, Target};
use crate::arrow::TableOptions;
use std::fs::{self, File, OpenOptions};
use talentdata_core::RawRecord;
use talentdata_core::ScanOptions;
use talentdata_core::types::Resource;
use talentdata_core::{Error, Result};

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
        scan: ScanOptions::default(),
        table,
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
    let path = match look(path)? {
        Destination::Stream => {
            let opened = OpenOptions::new().write(true).open(path);
            let stream = opened.map_err(|error| failed("open", path, &error))?;
            let written = encode(&mut encoder, stream, records);
            return written.map_err(|error| named(error, &path.display().to_string()));
        }
        Destination::File(path) => path,
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".talentdata-");
    let directory = builder.tempdir_in(directory_of(&path));
    let directory = directory.map_err(|error| failed("create", &path, &error))?;
    // In a directory that nobody else may enter, its mode can be what the umask gives.
    let unfinished = directory.path().join("data");
    let created = File::create_new(&unfinished);
    let file = created.and_then(|file| Ok((file.try_clone()?, file)));
    let (handle, file) = file.map_err(|error| failed("create", &path, &error))?;
    let written = encode(&mut encoder, handle, records);
    let count = written.map_err(|error| named(error, &path.display().to_string()))?;
    let ready = set_final_mode(&file, &path).and_then(|()| file.sync_all());
    ready.map_err(|error| failed("write", &path, &error))?;
    let persisted = fs::rename(unfinished, &path);
    persisted.map_err(|error| failed("create", &path, &error))?;
    sync_directory(directory_of(&path))?;
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
