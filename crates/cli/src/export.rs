//! `export`: whole lists into files or standard output, side by side through one client.

use crate::args::Common;
use crate::connect::connect;
use crate::continuation::Continuation;
use crate::ending::Ending;
use crate::filters::Filters;
use crate::output::remark;
use crate::run::{Job, Run};
use crate::{mirror, names, receipts};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use talentdata_columns::arrow::{Columns, OnNew, TableOptions, TableSchema};
use talentdata_columns::export::{Export, Format, Target};
use talentdata_core::scan::{Completeness, Doubt, Receipt};
use talentdata_core::types::Resource;
use talentdata_core::{Client, Error, ErrorKind, ScanOptions};
use talentdata_mirror::At;

/// So many fields are named in a warning.
const SHOWN: usize = 5;

/// Shown below the help of the command.
pub(crate) const EXAMPLES: &str = "\
One list is written to PATH; for several lists PATH is a directory with a file for each, such as
contacts.jsonl. The lists are read in parallel and share one request budget.

Examples:
  talentdata export contacts --sandbox --out contacts.jsonl
  talentdata export contacts --sandbox --out contacts.parquet
  talentdata export contacts vacancies ja-skills --out lists/ --receipt receipts.json
  talentdata export contacts --out - | head
  talentdata export contacts --from mirror.db --as-of 2026-11-20T06:00:00Z --out contacts.parquet";

/// What to export, where to and how.
#[derive(Debug, clap::Args)]
pub(crate) struct Verb {
    /// The lists
    #[arg(required = true, value_name = "RESOURCE", value_parser = names::resource())]
    resources: Vec<Resource>,
    /// The file to write, or the directory when there are several lists; - is standard output
    #[arg(long, value_name = "PATH")]
    out: PathBuf,
    /// Output format; by default that of the file name extension, else jsonl
    #[arg(long, value_parser = names::one_of(Format::ALL))]
    format: Option<Format>,
    /// Continue an interrupted export to this file, or begin if there is none; not for arrow
    #[arg(long)]
    resume: bool,
    /// Write what was done, and whether completeness is proven, to this file as JSON; for several
    /// lists an array. It says "unfinished" while the export runs and after it has failed
    #[arg(long, value_name = "PATH")]
    receipt: Option<PathBuf>,
    /// Records per page to ask for; the list's maximum by default
    #[arg(long, value_name = "N")]
    page_size: Option<u64>,
    /// Types of nested values and of timestamps: lists, structs and timestamps, or JSON text and strings.
    /// CSV has the text of the service in any case
    #[arg(long, value_name = "TYPES", value_parser = names::one_of(Columns::ALL), conflicts_with = "schema")]
    columns: Option<Columns>,
    /// The columns: a file that `talentdata schema` has printed; for one list. The receipt lists any differences
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,
    /// What to do with fields that the schema does not have: keep them in the column _extra and report them,
    /// keep them there silently, or fail
    #[arg(long, value_name = "ACTION", value_parser = names::one_of(OnNew::ALL), requires = "schema")]
    on_new_field: Option<OnNew>,
    /// Read the list from this mirror, and not from the service
    #[arg(long, value_name = "FILE", conflicts_with_all = ["resume", "page_size"])]
    from: Option<PathBuf>,
    /// As which sync has read it: by its number, or the last one that had ended by a time such as 2026-11-20T06:00:00Z;
    /// by default as of now
    #[arg(long, value_name = "TIME|N", requires = "from")]
    as_of: Option<At>,
    #[command(flatten)]
    filters: Filters,
}

impl Job for Export {
    type Done = Receipt;

    fn list(&self) -> Resource {
        self.resource
    }

    async fn run(
        &self,
        client: &Client,
        stop: impl Future<Output = ()>,
        note: impl FnMut(&Receipt),
    ) -> Result<Receipt, Error> {
        Export::run(self, client, stop, note).await
    }

    fn unfinished(&self, last: Option<&Receipt>) -> Receipt {
        Receipt {
            resource: self.resource.name().to_owned(),
            parameters: self.parameters(),
            completeness: Completeness::Unfinished,
            ..last.cloned().unwrap_or_default()
        }
    }

    fn doubt(&self, receipt: &Receipt) -> Option<String> {
        if receipt.completeness != Completeness::NotProven {
            return None;
        }
        let doubts = receipt.doubts.iter();
        let reasons: Vec<&str> = doubts.map(|doubt| Doubt::reason(*doubt)).collect();
        let place = match &self.target {
            Target::File(path) => path.display().to_string(),
            Target::Stdout => "standard output".into(),
        };
        Some(format!(
            "completeness is not proven: {}; {place} was written nevertheless, with {} records",
            reasons.join("; "),
            receipt.records
        ))
    }

    fn warning(&self, receipt: &Receipt) -> Option<String> {
        let differences = receipt.schema.as_ref()?;
        let kinds = [
            ("not in the schema", &differences.new_fields),
            ("missing", &differences.missing_fields),
            ("of another type", &differences.other_types),
        ];
        let found = kinds.iter().filter(|(_, fields)| !fields.is_empty());
        let found = found.map(|(what, fields)| {
            let mut names: Vec<&str> = fields.keys().take(SHOWN).map(String::as_str).collect();
            if fields.len() > SHOWN {
                names.push("...");
            }
            format!("{what}: {}", names.join(", "))
        });
        let found: Vec<String> = found.collect();
        (!found.is_empty()).then(|| {
            format!(
                "the records differ from the schema ({}); the receipt has counts and examples",
                found.join("; ")
            )
        })
    }
}

/// `arguments` are those of the whole command line.
pub(crate) async fn run(
    verb: &Verb,
    common: &Common,
    arguments: &[OsString],
) -> Result<(), Ending> {
    let exports = verb.exports()?;
    if let Some(from) = &verb.from {
        verb.prepare(&exports)?;
        return mirror::export(&exports, from, verb.as_of.as_ref(), verb.receipt.as_deref());
    }
    let connection = connect(common)?;
    verb.prepare(&exports)?;
    let client = &connection.client;
    let continuation = Continuation::new(&exports, client, arguments, common.sandbox);
    let last_words = continuation.clone();
    let before_exit = move || {
        if let Some(hint) = last_words.hint() {
            remark(&format!("error: stopped immediately; {hint}"));
        }
    };
    let run = Run {
        client,
        receipt: verb.receipt.as_deref(),
        to_stdout: verb.out == Path::new("-"),
        verbose: common.verbose > 0,
        width: exports.len(),
    };
    let hint = |_: &Error| continuation.hint().map(str::to_owned);
    let (progress, receipts) = run.all(&exports, hint, before_exit).await?;
    progress.sum_up(&receipts, &verb.out);
    Ok(())
}

impl Verb {
    /// Whether the lists come from a mirror.
    pub(crate) fn is_from_mirror(&self) -> bool {
        self.from.is_some()
    }

    /// An export for each list.
    fn exports(&self) -> Result<Vec<Export>, Error> {
        let refuse = |message: String| Err(Error::new(ErrorKind::InvalidArgument, message));
        names::refuse_twice(&self.resources)?;
        for resource in &self.resources {
            let most = resource.shape().max_limit.unwrap_or(u64::MAX);
            if let Some(size) = self.page_size.filter(|size| !(1..=most).contains(size)) {
                return refuse(format!(
                    "--page-size must be between 1 and {most} (got {size})"
                ));
            }
        }
        if self.receipt.as_ref() == Some(&self.out) {
            return refuse("--receipt and --out must not be the same file".into());
        }
        let one = self.resources.len() == 1;
        if self.out == Path::new("-") && !one {
            return refuse("--out -: standard output takes one list; give a directory".into());
        }
        if self.schema.is_some() && !one {
            return refuse("--schema: a schema is of one list; export the lists one by one".into());
        }
        let schema = self.schema.as_deref().map(TableSchema::from_file);
        let table = TableOptions {
            columns: self.columns.unwrap_or_default(),
            schema: schema.transpose()?.map(Arc::new),
            on_new: self.on_new_field.unwrap_or_default(),
        };
        let exports = self.resources.iter();
        exports
            .map(|name| {
                let export = self.export(*name, one, table.clone())?;
                export.check().map(|()| export)
            })
            .collect()
    }

    /// Creates the directory for several lists, and checks the path of the receipt, before hours are spent.
    fn prepare(&self, exports: &[Export]) -> Result<(), Error> {
        if self.resources.len() > 1 {
            std::fs::create_dir_all(&self.out).map_err(|error| {
                let shown = self.out.display();
                Error::new(
                    ErrorKind::Io,
                    format!("cannot create directory {shown}: {error}"),
                )
            })?;
        }
        self.receipt
            .as_deref()
            .map_or(Ok(()), |path| receipts::check(path, exports))
    }

    /// The format requested explicitly, or by the name of the single file.
    fn format(&self, one: bool) -> Result<Format, Error> {
        match self.format {
            Some(format) => Ok(format),
            None if one => Format::of_path(&self.out),
            // Then the path is a directory.
            None => Ok(Format::Jsonl),
        }
    }

    fn export(&self, resource: Resource, one: bool, table: TableOptions) -> Result<Export, Error> {
        let format = self.format(one)?;
        let file = format!("{resource}.{}", format.name());
        Ok(Export {
            resource,
            format,
            target: match one {
                true if self.out == Path::new("-") => Target::Stdout,
                true => Target::File(self.out.clone()),
                false => Target::File(self.out.join(file)),
            },
            scan: ScanOptions {
                page_size: self.page_size,
                arguments: self.filters.of(resource)?,
                ..ScanOptions::default()
            },
            table,
            resume: self.resume,
        })
    }
}
