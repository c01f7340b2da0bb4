//! `export`: whole lists into files or standard output, side by side through one client.

use crate::args::Common;
use crate::connect::{Connection, connect};
use crate::continuation::Continuation;
use crate::ending::Ending;
use crate::filters::Filters;
use crate::outcomes::{say_differences, say_doubts, say_failures};
use crate::output::{reader_gone, remark};
use crate::progress::Progress;
use crate::signals::Signals;
use crate::{mirror, names, receipts};
use std::cell::RefCell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use talentdata_columns::arrow::{Columns, OnNew, TableOptions, TableSchema};
use talentdata_columns::export::{Export, Format, Target};
use talentdata_core::scan::Receipt;
use talentdata_core::types::Resource;
use talentdata_core::{Error, ErrorKind, ScanOptions};
use talentdata_mirror::At;
use tokio::task::{JoinSet, LocalSet};

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
    /// The columns: a file that `talentdata schema` has printed; for one list. How the records differ
    /// from it stands in the receipt
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,
    /// What to do with fields that the schema does not have: keep them in the column _extra and report them,
    /// keep them there silently, or fail
    #[arg(long, value_name = "ACTION", value_parser = names::one_of(OnNew::ALL), requires = "schema")]
    on_new: Option<OnNew>,
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
    let to_stdout = verb.out == Path::new("-");
    let sandbox = common.sandbox;
    let continuation = Continuation::new(&exports, &connection.client, arguments, sandbox);
    let last_words = continuation.clone();
    let before_exit = move || {
        if let Some(hint) = last_words.hint() {
            remark(&format!("error: stopped immediately; {hint}"));
        }
    };
    let signals = Signals::take(before_exit)?;
    if let Some(path) = &verb.receipt {
        receipts::begin(path, &exports)?;
    }
    let progress = Rc::new(Progress::start(to_stdout, common.verbose > 0));
    let reached = Rc::new(RefCell::new(vec![None; exports.len()]));
    let outcomes = LocalSet::new()
        .run_until(all(&exports, &connection, &signals, &progress, &reached))
        .await;
    progress.end();

    let failed = |kind: ErrorKind| {
        let mut errors = outcomes.iter().filter_map(|outcome| outcome.as_ref().err());
        errors.any(|error| error.kind() == kind)
    };
    if to_stdout && failed(ErrorKind::Io) && reader_gone() {
        return Err(Ending::ReaderGone);
    }
    let doubted = say_doubts(&exports, &outcomes);
    say_differences(&exports, &outcomes);
    let hint = outcomes
        .iter()
        .any(Result::is_err)
        .then(|| continuation.hint());
    let kind = say_failures(&exports, &outcomes, hint.flatten(), common.verbose > 0)
        .or(doubted.then_some(ErrorKind::Incomplete));
    if let Some(path) = &verb.receipt {
        let reached = reached.borrow();
        let rows = exports.iter().zip(&outcomes).zip(reached.iter());
        let receipts = rows.map(|((export, outcome), last)| match outcome {
            Ok(receipt) => receipt.clone(),
            Err(_) => receipts::unfinished(export, last.as_ref()),
        });
        receipts::end(path, &receipts.collect::<Vec<_>>())?;
    }
    match (signals.caught(), kind) {
        (Some(signal), Some(_)) if failed(ErrorKind::Cancelled) => Err(Ending::Stopped(signal)),
        (_, Some(kind)) => Err(Ending::Said(kind)),
        (_, None) => {
            let receipts: Vec<&Receipt> = outcomes.iter().flatten().collect();
            progress.sum_up(&receipts, &verb.out);
            Ok(())
        }
    }
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
            on_new: self.on_new.unwrap_or_default(),
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

/// Runs them side by side; each goes on whatever becomes of the others. Outcomes are in the same order,
/// and so is what each has `reached`.
async fn all(
    exports: &[Export],
    connection: &Connection,
    signals: &Signals,
    progress: &Rc<Progress>,
    reached: &Rc<RefCell<Vec<Option<Receipt>>>>,
) -> Vec<Result<Receipt, Error>> {
    let mut running = JoinSet::new();
    for (index, export) in exports.iter().cloned().enumerate() {
        let (client, signals) = (connection.client.clone(), signals.clone());
        let (progress, reached) = (Rc::clone(progress), Rc::clone(reached));
        running.spawn_local(async move {
            let stop = async {
                signals.stopped().await;
            };
            let note = |receipt: &Receipt| {
                progress.note(index, receipt);
                reached.borrow_mut()[index] = Some(receipt.clone());
            };
            (index, export.run(&client, stop, note).await)
        });
    }
    let unended = || Error::new(ErrorKind::Internal, "internal error; please report it");
    let mut outcomes: Vec<Result<Receipt, Error>> =
        exports.iter().map(|_| Err(unended())).collect();
    while let Some(ended) = running.join_next().await {
        if let Ok((index, outcome)) = ended {
            outcomes[index] = outcome;
        }
    }
    outcomes
}
