//! Encodes the records of one export, as soon as their columns are decided, to a stream or an unfinished file.

use super::paths::{Destination, failed, look};
use super::unfinished::Unfinished;
use super::{Export, Target};
use crate::arrow::{Checker, Sample};
use crate::digest::{FileDigest, RecordsDigest};
use crate::format::{Format, Sink as Encoder, line};
use std::fs::OpenOptions;
use std::io::Write;
use std::sync::Arc;
use talentdata_core::run::Sink;
use talentdata_core::scan::{Batch, Receipt, Resume, Written};
use talentdata_core::types::ListShape;
use talentdata_core::{Config, Error, Result};

/// The output of a running export.
pub(super) struct Output {
    shape: &'static ListShape,
    format: Format,
    to: To,
    /// Batches wait here until the columns are decided.
    sample: Sample,
    /// Compares the records with the schema that was given.
    checker: Option<Checker>,
    /// None until there is something to write.
    encoder: Option<Box<dyn Encoder>>,
    /// Of the records that all runs have written.
    records: RecordsDigest,
    line: Vec<u8>,
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
        export.table.check(export.resource)?;
        let mut sample = Sample::new(export.resource, &export.table);
        let mut checker = Checker::new(&export.table);
        let mut records = RecordsDigest::default();
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
                    let unfinished = Unfinished::open(path, export, config)?;
                    if let Some(earlier) = unfinished.progress() {
                        records = earlier.records;
                        if let Some(schema) = &earlier.schema {
                            sample.schema = Some(Arc::new(schema.clone()));
                        }
                        if let (Some(checker), Some(counts)) = (&mut checker, &earlier.counts) {
                            checker.counts = counts.clone();
                        }
                    }
                    To::File(Box::new(unfinished))
                }
            },
        };
        Ok(Output {
            shape: export.resource.shape(),
            format: export.format,
            to,
            sample,
            checker,
            encoder: None,
            records,
            line: Vec::new(),
            failed: false,
        })
    }

    /// Takes records, and writes what can be written.
    pub(super) fn take(&mut self, batch: Batch) -> Result<()> {
        self.sample.add(batch);
        let written = self.write_waiting(false);
        self.failed |= written.is_err();
        written
    }

    /// Writes the end, gives a file its final name, and says what was written.
    pub(super) fn end(&mut self) -> Result<Written> {
        let finished = self.close();
        self.failed |= finished.is_err();
        let digest = finished?;
        let file = match &self.to {
            To::File(unfinished) => unfinished.path.file_name(),
            To::Stream(_) => None,
        };
        Ok(Written {
            file: file.map(|name| name.to_string_lossy().into_owned()),
            format: self.format.to_string(),
            bytes: digest.bytes(),
            blake3: digest.to_hex(),
            records: self.records.count,
            records_digest: self.records.to_hex(),
        })
    }

    fn close(&mut self) -> Result<FileDigest> {
        self.write_waiting(true)?;
        let finished = self.encoder()?.finish();
        finished.map_err(|error| self.named(&error))?;
        self.encoder = None;
        match &mut self.to {
            To::File(unfinished) => unfinished.finish(),
            To::Stream(stream) => Ok(stream.digest.clone()),
        }
    }

    /// Writes what waits, once the columns are decided, where there are any; at the end they are.
    fn write_waiting(&mut self, at_end: bool) -> Result<()> {
        if self.format != Format::Jsonl {
            if at_end {
                self.sample.decide();
            } else if self.sample.schema().is_none() {
                return Ok(());
            }
        }
        while let Some(batch) = self.sample.next() {
            self.write_batch(batch)?;
        }
        Ok(())
    }

    fn write_batch(&mut self, mut batch: Batch) -> Result<()> {
        loop {
            let taken = self.encoder()?.write(&batch.records);
            let taken = taken.map_err(|error| self.named(&error))?;
            let rest = batch.split_off(taken, self.shape);
            for record in &batch.records {
                if let Some(checker) = &mut self.checker {
                    checker.check(record)?;
                }
                self.records.add(line(record, &mut self.line));
            }
            match &mut self.to {
                To::File(unfinished) => {
                    if unfinished.note(&batch) {
                        self.save()?;
                    }
                }
                To::Stream(_) => {
                    // Its reader need not wait.
                    let flushed = self.encoder()?.flush();
                    flushed.map_err(|error| self.named(&error))?;
                }
            }
            match rest {
                Some(rest) => batch = rest,
                None => return Ok(()),
            }
        }
    }

    /// What encodes the records.
    fn encoder(&mut self) -> Result<&mut Box<dyn Encoder>> {
        let encoder = match (self.encoder.take(), &mut self.to) {
            (Some(encoder), _) => encoder,
            (None, To::File(unfinished)) => {
                let (writer, continued) = unfinished.writer()?;
                let schema = || self.sample.decide();
                let opened = self.format.sink(writer, schema, continued);
                opened.map_err(|error| self.named(&error))?
            }
            (None, To::Stream(stream)) => {
                let writer = stream.writer.take();
                let writer = stream
                    .digest
                    .through(writer.unwrap_or(Box::new(std::io::sink())));
                self.format.sink(writer, || self.sample.decide(), None)?
            }
        };
        Ok(self.encoder.insert(encoder))
    }

    /// Keeps all that was written; nothing within a row group.
    fn save(&mut self) -> Result<()> {
        let (Some(encoder), To::File(unfinished)) = (&mut self.encoder, &mut self.to) else {
            return Ok(());
        };
        if encoder.held() > 0 {
            return Ok(());
        }
        let flushed = encoder.flush();
        flushed.map_err(|error| unfinished.named(&error))?;
        let schema = match self.format {
            Format::Jsonl => None,
            _ => self.sample.schema.as_deref().cloned(),
        };
        let counts = self.checker.as_ref().map(|checker| checker.counts.clone());
        unfinished.save(self.records, schema, counts)
    }

    fn named(&self, error: &Error) -> Error {
        match &self.to {
            To::File(unfinished) => unfinished.named(error),
            To::Stream(stream) => {
                let message = format!("{}: {}", stream.name, error.message());
                error.clone().with_message(message)
            }
        }
    }

    fn with_earlier(&self, receipt: Receipt) -> Receipt {
        let mut receipt = match &self.to {
            To::File(unfinished) => unfinished.with_earlier(receipt),
            To::Stream(_) => receipt,
        };
        receipt.schema = self.checker.as_ref().map(Checker::differences);
        receipt
    }
}

impl Sink for Output {
    const NAME: &'static str = "export";
    type Done = Receipt;

    fn resume(&mut self) -> Option<(Resume, u64)> {
        match &mut self.to {
            To::File(unfinished) => unfinished.resume(),
            To::Stream(_) => None,
        }
    }

    /// Unknown fields and values in the receipt are those of the earlier runs only.
    fn write(&mut self, batch: Batch) -> Result<Receipt> {
        let receipt = batch.receipt.clone();
        self.take(batch)?;
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
        let is_behind = matches!(&self.to, To::File(unfinished) if unfinished.is_behind());
        let saved = match is_behind && !self.failed {
            true => self.save(),
            false => Ok(()),
        };
        // What is buffered may reach the file only before it is cut back.
        self.encoder = None;
        let kept = match &mut self.to {
            To::File(unfinished) => unfinished.abandon(saved, error.message()),
            To::Stream(stream) => format!("output to {} is incomplete", stream.name),
        };
        let message = format!("{}; {kept}", error.message());
        error.with_message(message)
    }
}
