//! Writes records that are at hand, and not read from a service: all at once under the final name, or not at all.

use super::encoder::Encoder;
use super::paths::{Destination, directory_of, failed, look, sync_directory};
use super::unfinished::set_final_mode;
use super::{Export, Format, Target};
use crate::arrow::TableOptions;
use crate::digest::FileDigest;
use std::fs::{self, File, OpenOptions};
use talentdata_core::RawRecord;
use talentdata_core::ScanOptions;
use talentdata_core::scan::Written;
use talentdata_core::types::Resource;
use talentdata_core::{Error, Result};

/// Records encoded at once.
const RECORDS: usize = 256;

/// Writes records as an export of their list writes them; returns what was written.
///
/// # Errors
/// The first one among the records; `Io`, naming the file.
pub fn write_records(
    resource: Resource,
    format: Format,
    target: &Target,
    table: TableOptions,
    records: impl Iterator<Item = Result<RawRecord>>,
) -> Result<Written> {
    let export = Export {
        resource,
        format,
        target: target.clone(),
        scan: ScanOptions::default(),
        table,
        resume: false,
    };
    let mut encoder = Encoder::new(&export)?;
    let digest = FileDigest::new();
    let path = match target {
        Target::Stdout => {
            let written = encode(&mut encoder, digest.through(std::io::stdout()), records);
            written.map_err(|error| named(error, "standard output"))?;
            return Ok(what(&encoder, &digest, format, None));
        }
        Target::File(path) => path,
    };
    let path = match look(path)? {
        Destination::Stream => {
            let opened = OpenOptions::new().write(true).open(path);
            let stream = opened.map_err(|error| failed("open", path, &error))?;
            let written = encode(&mut encoder, digest.through(stream), records);
            written.map_err(|error| named(error, &path.display().to_string()))?;
            return Ok(what(&encoder, &digest, format, None));
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
    let written = encode(&mut encoder, digest.through(handle), records);
    written.map_err(|error| named(error, &path.display().to_string()))?;
    let ready = set_final_mode(&file, &path).and_then(|()| file.sync_all());
    ready.map_err(|error| failed("write", &path, &error))?;
    let persisted = fs::rename(unfinished, &path);
    persisted.map_err(|error| failed("create", &path, &error))?;
    sync_directory(directory_of(&path))?;
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    Ok(what(&encoder, &digest, format, name))
}

fn what(encoder: &Encoder, digest: &FileDigest, format: Format, file: Option<String>) -> Written {
    Written {
        file,
        format: format.to_string(),
        bytes: digest.bytes(),
        blake3: digest.to_hex(),
        records: encoder.records.count,
        records_digest: encoder.records.to_hex(),
    }
}

fn encode(
    encoder: &mut Encoder,
    writer: impl std::io::Write + Send + 'static,
    records: impl Iterator<Item = Result<RawRecord>>,
) -> Result<()> {
    let mut waiting = Vec::new();
    let mut writer = Some(writer);
    let mut write = |encoder: &mut Encoder, waiting: &mut Vec<RawRecord>| {
        if let Some(writer) = writer.take() {
            if encoder.is_undecided() {
                encoder.decide(waiting)?;
            }
            encoder.open(writer, 0)?;
        }
        encoder.sink()?.write_all(waiting)?;
        encoder.digest(waiting);
        waiting.clear();
        Ok::<_, Error>(())
    };
    for record in records {
        let record = record?;
        let needs_more = encoder.needs_more_than(std::slice::from_ref(&record));
        waiting.push(record);
        if !needs_more && waiting.len() >= RECORDS {
            write(encoder, &mut waiting)?;
        }
    }
    write(encoder, &mut waiting)?;
    encoder.finish()
}

fn named(error: Error, name: &str) -> Error {
    let message = format!("{name}: {}", error.message());
    error.with_message(message)
}
