//! Writes a list into a file or to standard output; the final name appears only when it is whole.

use crate::client::Client;
use crate::error::{Error, ErrorKind, Result};
use crate::record::RawRecord;
use crate::scan::{Receipt, ScanOptions};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use talentdata_types::Resource;

/// The form in which records are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// JSON Lines: a record a line, as the service sent it.
    Jsonl,
}

/// Where the records go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A file of this name.
    File(PathBuf),
    /// Standard output.
    Stdout,
}

/// An export to be run.
#[derive(Clone, Debug)]
pub struct Export {
    /// The list.
    pub resource: Resource,
    /// The form.
    pub format: Format,
    /// Where to.
    pub target: Target,
    /// How the list is read.
    pub scan: ScanOptions,
}

impl Export {
    /// Reads the list and writes it, until the end or until `stop` completes.
    ///
    /// `progress` is told after each page. Under the final name there is a whole export or nothing.
    ///
    /// # Errors
    /// Those of the scan; `Io`, naming the file; `Cancelled` when stopped.
    pub async fn run(
        &self,
        client: &Client,
        stop: impl Future<Output = ()>,
        mut progress: impl FnMut(&Receipt),
    ) -> Result<Receipt> {
        let mut output = Output::create(&self.target)?;
        let mut scan = client.resource(self.resource).scan(self.scan.clone());
        let mut stop = std::pin::pin!(stop);
        loop {
            let batch = tokio::select! {
                biased;
                () = &mut stop => return Err(Error::new(ErrorKind::Cancelled, "stopped; nothing was left behind")),
                batch = scan.next_batch() => batch,
            };
            let Some(batch) = batch else { break };
            output.write(&batch?.records)?;
            progress(&scan.receipt());
        }
        output.finish()?;
        Ok(scan.receipt())
    }
}

/// An output in the making; dropped unfinished, it leaves nothing behind.
struct Output {
    writer: BufWriter<Box<dyn Write + Send>>,
    name: String,
    place: Option<(tempfile::TempPath, PathBuf)>,
}

impl Output {
    fn create(target: &Target) -> Result<Self> {
        let Target::File(path) = target else {
            let writer = BufWriter::new(Box::new(std::io::stdout()) as Box<dyn Write + Send>);
            return Ok(Output {
                writer,
                name: "standard output".into(),
                place: None,
            });
        };
        let name = path.display().to_string();
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        let failed = |error| io_error(&name, "create", &error);
        let (file, temporary) = tempfile::Builder::new()
            .prefix(".talentdata-")
            .tempfile_in(folder)
            .map_err(failed)?
            .into_parts();
        Ok(Output {
            writer: BufWriter::new(Box::new(file)),
            name,
            place: Some((temporary, path.clone())),
        })
    }

    fn write(&mut self, records: &[RawRecord]) -> Result<()> {
        for record in records {
            let line = one_line(record.as_bytes());
            let written = self
                .writer
                .write_all(&line)
                .and_then(|()| self.writer.write_all(b"\n"));
            written.map_err(|error| io_error(&self.name, "write", &error))?;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<()> {
        self.writer
            .flush()
            .map_err(|error| io_error(&self.name, "write", &error))?;
        let Some((temporary, path)) = self.place else {
            return Ok(());
        };
        let synced = File::open(&temporary).and_then(|file| file.sync_all());
        synced.map_err(|error| io_error(&self.name, "write", &error))?;
        temporary
            .persist(&path)
            .map_err(|error| io_error(&self.name, "create", &error.error))
    }
}

/// The record without line breaks, which JSON has between tokens only.
fn one_line(json: &[u8]) -> std::borrow::Cow<'_, [u8]> {
    if !json.iter().any(|byte| matches!(byte, b'\n' | b'\r')) {
        return json.into();
    }
    json.iter()
        .map(|byte| {
            if matches!(byte, b'\n' | b'\r') {
                b' '
            } else {
                *byte
            }
        })
        .collect::<Vec<u8>>()
        .into()
}

fn io_error(name: &str, verb: &str, error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("cannot {verb} {name}: {error}"))
}
