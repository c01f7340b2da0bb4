//! Where the batches of a scan go: through the encoder to a stream or an unfinished file.

use super::encoder::Encoder;
use super::key::ExportKey;
use super::paths::{Destination, failed, look};
use super::unfinished::Unfinished;
use super::{Export, Format, Target};
use crate::digest::FileDigest;
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
    /// What came before the columns were decided.
    waiting: Vec<Batch>,
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

impl To {
    fn stream(writer: impl Write + Send + 'static, name: String) -> Self {
        To::Stream(Stream {
            writer: Some(Box::new(writer)),
            digest: FileDigest::new(),
            name,
        })
    }
}

impl Output {
    /// Keeps other exports away from the path. What an earlier export has left there stays until
    /// there is something to write.
    pub(super) fn open(export: &Export, config: &Config) -> Result<Self> {
        let shape = export.resource.shape();
        let mut encoder = Encoder::new(export)?;
        let to = match &export.target {
            Target::Stdout => To::stream(std::io::stdout(), "standard output".into()),
            Target::File(path) => match look(path)? {
                Destination::Stream => {
                    let opened = OpenOptions::new().write(true).open(path);
                    let stream = opened.map_err(|error| failed("open", path, &error))?;
                    To::stream(stream, path.display().to_string())
                }
                Destination::File(path) => {
                    let key = ExportKey::new(export, config);
                    let (layout, resume) = (export.format.layout(), export.resume);
                    let opened = Unfinished::open(&path, layout, key, resume, &mut encoder);
                    To::File(Box::new(opened?))
                }
            },
        };
        Ok(Output {
            shape,
            format: export.format,
            to,
            encoder,
            waiting: Vec::new(),
            failed: false,
        })
    }

    /// What is in the finished output.
    fn written(&self) -> Written {
        let records = self.encoder.records;
        let (file, digest) = match &self.to {
            To::File(unfinished) => (unfinished.name(), unfinished.digest()),
            To::Stream(stream) => (None, Some(&stream.digest)),
        };
        Written {
            file,
            format: self.format.to_string(),
            bytes: digest.map_or(0, FileDigest::bytes),
            blake3: digest.map_or_else(String::new, FileDigest::to_hex),
            records: records.count,
            records_digest: records.to_hex(),
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

    fn write_waiting(&mut self) -> Result<()> {
        if self.encoder.is_undecided() {
            let records = self.waiting.iter().flat_map(|batch| &batch.records);
            self.encoder.decide(&records.cloned().collect::<Vec<_>>())?;
        }
        for batch in std::mem::take(&mut self.waiting) {
            self.encode(batch)?;
        }
        Ok(())
    }

    fn encode(&mut self, mut batch: Batch) -> Result<()> {
        loop {
            self.open_encoder()?;
            let taken = self.encoder.sink()?.write(&batch.records);
            let rest = batch.split_off(taken.map_err(|error| self.named(error))?, self.shape);
            self.encoder.check(&batch.records)?;
            self.encoder.digest(&batch.records);
            match &mut self.to {
                To::File(unfinished) => unfinished.note(batch, &mut self.encoder)?,
                // Whoever reads it need not wait.
                To::Stream(..) => {
                    let flushed = self.encoder.sink()?.flush();
                    flushed.map_err(|error| self.named(error))?;
                }
            }
            match rest {
                Some(rest) => batch = rest,
                None => return Ok(()),
            }
        }
    }

    fn open_encoder(&mut self) -> Result<()> {
        match &mut self.to {
            To::File(unfinished) => unfinished.open_encoder(&mut self.encoder),
            To::Stream(stream) => match stream.writer.take() {
                Some(writer) => self.encoder.open(stream.digest.through(writer), 0),
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
        let needs_more = self.encoder.needs_more_than(&batch.records);
        self.waiting.push(batch);
        if !needs_more {
            let written = self.write_waiting();
            self.failed |= written.is_err();
            written?;
        }
        Ok(self.with_earlier(receipt))
    }

    /// Gives the file its final name.
    fn finish(&mut self, receipt: Receipt) -> Result<Receipt> {
        let finished = self.write_waiting().and_then(|()| match &mut self.to {
            To::File(unfinished) => unfinished.finish(&mut self.encoder),
            To::Stream(..) => {
                self.open_encoder()?;
                self.encoder.finish().map_err(|error| self.named(error))
            }
        });
        self.failed |= finished.is_err();
        finished?;
        Ok(Receipt {
            written: Some(self.written()),
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
