//! Writes the records of one export to a stream or an unfinished file.

use super::unfinished::ResumableFile;
use super::work::OUTPUT;
use super::{Export, Target};
use crate::arrow::Checker;
use crate::digest::RecordsDigest;
use crate::format::{Encoder, Format, line};
use crate::paths::IoContext;
use std::fs::OpenOptions;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use talentdata_core::internal::sink::Sink;
use talentdata_core::internal::streams::stdout;
use talentdata_core::scan::{Batch, Receipt, Resume, SchemaDifferences, Written};
use talentdata_core::{Config, Error, ErrorKind, Result};

/// The output of a running export.
pub(super) struct Output {
    export: Export,
    /// `None` for a stream.
    file: Option<ResumableFile>,
    /// `None` if the records are written unchanged, and until there is data to write.
    encoder: Option<Encoder>,
    /// Compares the records with the schema that was given.
    checker: Option<Checker>,
    /// The differences from the inferred columns, after the encoder wrote all records.
    found: Option<SchemaDifferences>,
    /// The digest of the records that all runs wrote.
    records: RecordsDigest,
    /// True if each batch was written as a whole. Otherwise nothing more may be kept.
    is_whole: bool,
    stopped: Arc<AtomicBool>,
}

impl Output {
    /// Opens the output and excludes other exports to the path. The work of an earlier export stays until there is
    /// something to write. The export can be resumed only with the `config` of a client. Once `stopped` is true, long
    /// work is abandoned.
    pub(super) fn open(
        export: &Export,
        config: Option<&Config>,
        stopped: Arc<AtomicBool>,
    ) -> Result<Self> {
        export.table.check(export.resource)?;
        let mut output = Output {
            export: export.clone(),
            file: None,
            encoder: None,
            checker: Checker::given(&export.table),
            found: None,
            records: RecordsDigest::default(),
            is_whole: true,
            stopped,
        };
        match (&export.target, export.target.place()?) {
            (Target::File(_), Some(path)) => {
                let file = ResumableFile::open(path, export, config)?;
                if let Some(earlier) = &file.checkpoint.progress {
                    output.records = earlier.records;
                    if let (Some(checker), Some(counts)) = (&mut output.checker, &earlier.counts) {
                        checker.counts = counts.clone();
                    }
                }
                output.file = Some(file);
            }
            (Target::File(path), None) => {
                let opened = OpenOptions::new().write(true).open(path).at("open", path)?;
                output.encoder = Some(output.encoder(path.display().to_string(), opened));
            }
            (Target::Stdout, _) => {
                let encoder = output.encoder("standard output".into(), stdout());
                output.encoder = Some(encoder);
            }
        }
        Ok(output)
    }

    fn encoder(&self, name: String, writer: impl Write + Send + 'static) -> Encoder {
        let export = &self.export;
        let mut table = export.table.clone();
        table.altered = export.scan.altered(export.resource.shape());
        Encoder::new(export.format, export.resource, &table, name, writer)
    }

    /// Begins to write to a file. The kept records of earlier runs are encoded again.
    fn begin(&mut self) -> Result<()> {
        let encodes = self.encoder.is_none() && self.export.format != Format::Jsonl;
        let Some(file) = self.file.as_mut().filter(|_| encodes) else {
            return Ok(());
        };
        let (output, kept) = file.encode()?;
        let name = file.work.file(OUTPUT).display().to_string();
        let mut encoder = self.encoder(name, output);
        for record in kept {
            if self.stopped.load(Ordering::Relaxed) {
                return Err(Error::new(ErrorKind::Cancelled, "the export was stopped"));
            }
            encoder.write(&[record?])?;
        }
        self.encoder = Some(encoder);
        Ok(())
    }

    /// Takes records, and writes those that can be written already.
    pub(super) fn take(&mut self, batch: &Batch) -> Result<()> {
        self.is_whole = false;
        self.begin()?;
        let mut buffer = Vec::new();
        for record in &batch.records {
            if let Some(checker) = &mut self.checker {
                checker.check(record)?;
            }
            let line = line(record, &mut buffer);
            self.records.add(line);
            if let Some(file) = &mut self.file {
                file.add(record, line)?;
            }
        }
        if let Some(encoder) = &mut self.encoder {
            encoder.write(&batch.records)?;
        }
        match self.file.as_mut().map(|file| file.note(batch)) {
            Some(true) => self.save()?,
            Some(false) => {}
            // The reader of a stream gets each batch at once.
            None => self.encoder.iter_mut().try_for_each(Encoder::flush)?,
        }
        self.is_whole = true;
        Ok(())
    }

    /// Writes the end, gives a file its final name, and describes what was written.
    pub(super) fn end(&mut self) -> Result<Written> {
        self.begin()?;
        let encoded = self.encoder.take().map(|mut encoder| {
            encoder.write_waiting()?;
            self.found = encoder.differences();
            encoder.finish()
        });
        let encoded = encoded.transpose()?;
        let digest = match &mut self.file {
            Some(file) => file.finish(encoded)?,
            None => encoded.unwrap_or_default(),
        };
        let name = self.file.as_ref().and_then(|file| file.path.file_name());
        Ok(Written {
            file: name.map(|name| name.to_string_lossy().into_owned()),
            format: self.export.format.to_string(),
            bytes: digest.count(),
            blake3: digest.finalize().to_string(),
            records: self.records.count,
            records_digest: self.records.to_hex(),
        })
    }

    /// Returns the differences between the records of all runs and their columns, if there are columns.
    pub(super) fn differences(&self) -> Option<SchemaDifferences> {
        let given = self.checker.as_ref().map(Checker::differences);
        let decided = || self.encoder.as_ref().and_then(Encoder::differences);
        given.or_else(|| self.found.clone()).or_else(decided)
    }

    fn save(&mut self) -> Result<()> {
        let counts = self.checker.as_ref().map(|checker| checker.counts.clone());
        match &mut self.file {
            Some(file) => file.save(self.records, counts),
            None => Ok(()),
        }
    }

    fn with_earlier(&self, receipt: Receipt) -> Receipt {
        let earlier = self.file.as_ref().and_then(|file| file.earlier.as_ref());
        let mut receipt = match earlier {
            Some(earlier) => receipt.after(earlier),
            None => receipt,
        };
        receipt.schema = self.differences();
        let file = self.file.as_ref();
        receipt.restarted = file.and_then(|file| file.checkpoint.restarted.clone());
        receipt
    }
}

impl Sink for Output {
    const NAME: &'static str = "export";
    type Done = Receipt;

    fn resume(&mut self) -> Option<Resume> {
        let resume = self.file.as_mut()?.resume.take()?;
        // An error here occurs again as soon as there is something to write.
        let _ = self.begin();
        Some(resume)
    }

    /// The returned receipt has the unknown fields and values of earlier runs only.
    fn write(&mut self, batch: Batch) -> Result<Receipt> {
        self.take(&batch)?;
        Ok(self.with_earlier(batch.receipt))
    }

    fn finish(&mut self, receipt: Receipt) -> Result<Receipt> {
        let written = self.end()?;
        let mut receipt = self.with_earlier(receipt);
        receipt.written = Some(written);
        if let Some(differences) = &receipt.schema {
            differences.log(self.export.resource.name());
        }
        Ok(receipt)
    }

    fn abandon(mut self, error: Error) -> Error {
        let is_behind = self.file.as_ref().is_some_and(ResumableFile::is_behind);
        if is_behind && self.is_whole {
            // If that fails, fewer records are kept.
            let _ = self.save();
        }
        self.encoder = None;
        let kept = match &mut self.file {
            Some(file) => file.abandon(),
            None => "the output is incomplete".to_owned(),
        };
        let message = format!("{}; {kept}", error.message());
        error.with_message(message)
    }
}
