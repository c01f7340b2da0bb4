//! Where the parts of an export go: through the encoder to a stream or an unfinished file.

use super::encoder::{Encoder, Part};
use super::key::ExportKey;
use super::paths::{Destination, failed, look};
use super::unfinished::Unfinished;
use super::{Export, Target};
use crate::arrow::Page;
use crate::digest::FileDigest;
use crate::format::Format;
use std::fs::OpenOptions;
use std::io::Write;
use talentdata_core::Config;
use talentdata_core::run::Sink;
use talentdata_core::scan::{Batch, Receipt, Resume, Written};
use talentdata_core::types::ListShape;
use talentdata_core::{Error, Result};

/// The output of a running export.
pub(super) struct Output {
    shape: &'static ListShape,
    format: Format,
    to: To,
    encoder: Encoder,
    /// Whether writing has failed, so that nothing more may be kept.
    failed: bool,
}

enum To {
    File(Box<Unfinished>),
    Stream(Stream),
}

struct Stream {
    /// None once the encoder has it.
    writer: Option<Box<dyn Write + Send>>,
    digest: FileDigest,
    name: String,
}

impl Output {
    /// Keeps other exports away from the path. What an earlier export has left there stays until
    /// there is something to write. Only what comes from a client, by its `config`, can be resumed.
    pub(super) fn open(export: &Export, config: Option<&Config>) -> Result<Self> {
        let mut encoder = Encoder::new(export)?;
        let stream = |writer: Box<dyn Write + Send>, name: String| {
            To::Stream(Stream {
                writer: Some(writer),
                digest: FileDigest::new(),
                name,
            })
        };
        let to = match &export.target {
            Target::Stdout => stream(Box::new(std::io::stdout()), "standard output".into()),
            Target::File(path) => match look(path)? {
                Destination::Stream => {
                    let opened = OpenOptions::new().write(true).open(path);
                    let opened = opened.map_err(|error| failed("open", path, &error))?;
                    stream(Box::new(opened), path.display().to_string())
                }
                Destination::File(path) => {
                    let key = ExportKey::new(export, config);
                    let how = (config.is_some(), export.resume);
                    let opened = Unfinished::open(&path, export.format, key, how, &mut encoder);
                    To::File(Box::new(opened?))
                }
            },
        };
        Ok(Output {
            shape: export.resource.shape(),
            format: export.format,
            to,
            encoder,
            failed: false,
        })
    }

    /// Takes a part, and writes what can be written.
    pub(super) fn take(&mut self, part: Part) -> Result<()> {
        self.encoder.add(part);
        let written = self.write_waiting(false);
        self.failed |= written.is_err();
        written
    }

    /// Writes the end, gives a file its final name, and says what was written.
    pub(super) fn end(&mut self) -> Result<Written> {
        let finished = self.write_waiting(true).and_then(|()| match &mut self.to {
            To::File(unfinished) => unfinished.finish(&mut self.encoder),
            To::Stream(..) => {
                self.open_encoder()?;
                let finished = self.encoder.sink()?.finish();
                finished.map_err(|error| self.named(error))
            }
        });
        self.failed |= finished.is_err();
        finished?;
        let records = self.encoder.records;
        let (file, digest) = match &self.to {
            To::File(unfinished) => (unfinished.path.file_name(), unfinished.digest()),
            To::Stream(stream) => (None, Some(&stream.digest)),
        };
        Ok(Written {
            file: file.map(|name| name.to_string_lossy().into_owned()),
            format: self.format.to_string(),
            bytes: digest.map_or(0, FileDigest::bytes),
            blake3: digest.map_or_else(String::new, FileDigest::to_hex),
            records: records.count,
            records_digest: records.to_hex(),
        })
    }

    fn write_waiting(&mut self, at_end: bool) -> Result<()> {
        while let Some(part) = self.encoder.next(at_end) {
            match part {
                Part::Scanned(batch) => self.encode(*batch)?,
                Part::AtHand(_) => self.encode_some(part.records(), false).map(drop)?,
            }
        }
        Ok(())
    }

    fn encode(&mut self, mut batch: Batch) -> Result<()> {
        loop {
            let by_group = matches!(&self.to, To::File(unfinished) if unfinished.keeps);
            let taken = self.encode_some(&batch.records, by_group)?;
            let rest = batch.split_off(taken, self.shape);
            if let To::File(unfinished) = &mut self.to {
                unfinished.note(&batch, &mut self.encoder)?;
            }
            match rest {
                Some(rest) => batch = rest,
                None => return Ok(()),
            }
        }
    }

    fn encode_some(
        &mut self,
        records: &[talentdata_core::RawRecord],
        by_group: bool,
    ) -> Result<usize> {
        self.open_encoder()?;
        let taken = self.encoder.write(records, by_group);
        let taken = taken.map_err(|error| self.named(error))?;
        self.encoder.note(&records[..taken])?;
        if let To::Stream(_) = self.to {
            // Its reader need not wait.
            let flushed = self.encoder.sink()?.flush();
            flushed.map_err(|error| self.named(error))?;
        }
        Ok(taken)
    }

    fn open_encoder(&mut self) -> Result<()> {
        match &mut self.to {
            To::File(unfinished) => unfinished.open_encoder(&mut self.encoder),
            To::Stream(stream) => match stream.writer.take() {
                Some(writer) => self.encoder.open(stream.digest.through(writer), None),
                None => Ok(()),
            },
        }
    }

    fn named(&self, error: Error) -> Error {
        match &self.to {
            To::File(unfinished) => unfinished.named(error),
            To::Stream(stream) => {
                let message = format!("{}: {}", stream.name, error.message());
                error.with_message(message)
            }
        }
    }

    fn with_earlier(&self, receipt: Receipt) -> Receipt {
        let mut receipt = match &self.to {
            To::File(unfinished) => unfinished.with_earlier(receipt),
            To::Stream(..) => receipt,
        };
        receipt.schema = self.encoder.differences();
        receipt
    }
}

impl Sink for Output {
    const NAME: &'static str = "export";
    type Done = Receipt;

    fn resume(&mut self) -> Option<(Resume, u64)> {
        match &mut self.to {
            To::File(unfinished) => unfinished.resume(),
            To::Stream(..) => None,
        }
    }

    /// Unknown fields and values in the receipt are those of the earlier runs only.
    fn write(&mut self, batch: Batch) -> Result<Receipt> {
        let receipt = batch.receipt.clone();
        self.take(Part::Scanned(Box::new(batch)))?;
        Ok(self.with_earlier(receipt))
    }

    fn finish(&mut self, receipt: Receipt) -> Result<Receipt> {
        let written = self.end()?;
        Ok(Receipt {
            written: Some(written),
            ..self.with_earlier(receipt)
        })
    }

    fn abandon(mut self, error: Error) -> Error {
        let kept = match &mut self.to {
            To::Stream(stream) => format!("output to {} is incomplete", stream.name),
            To::File(unfinished) => {
                unfinished.abandon(&mut self.encoder, self.failed, error.message())
            }
        };
        let message = format!("{}; {kept}", error.message());
        error.with_message(message)
    }
}
