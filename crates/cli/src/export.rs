//! `export`: whole lists into files or standard output, side by side through one client.

use crate::args::Common;
use crate::connect::{Connection, connect};
use crate::ending::Ending;
use crate::outcomes::{say_doubts, say_failures};
use crate::output::reader_gone;
use crate::progress::Progress;
use crate::signals::Signals;
use crate::{names, receipts};
use clap::ValueEnum;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;
use talentdata_core::export::{Export, Format, Target};
use talentdata_core::scan::{self, Receipt};
use talentdata_core::types::Resource;
use talentdata_core::{Error, ErrorKind, ScanOptions};
use tokio::task::{JoinSet, LocalSet};

/// Shown below the verb's help.
pub(crate) const EXAMPLES: &str = "\
One list is written to PATH; of several lists PATH is a folder with a file for each, such as
contacts.jsonl. The lists are read side by side and share one request budget.

Examples:
  talentdata export contacts --sandbox --out contacts.jsonl
  talentdata export contacts --sandbox --out contacts.parquet
  talentdata export contacts vacancies ja-skills --out lists/ --receipt receipts.json
  talentdata export contacts --out - | head";

/// How long a stop may take when the reader of standard output might never go on reading.
const PATIENCE: Duration = Duration::from_secs(1);

/// What to export, where to and how.
#[derive(Debug, clap::Args)]
pub(crate) struct Verb {
    /// The lists
    #[arg(required = true, value_name = "RESOURCE", value_parser = names::resource())]
    resources: Vec<Resource>,
    /// The file to write, or the folder when there are several lists; - is standard output
    #[arg(long, value_name = "PATH")]
    out: PathBuf,
    /// The form of the records; by default what the name of the file ends with, and else jsonl
    #[arg(long, value_parser = names::one_of(Format::ALL))]
    format: Option<Format>,
    /// Go on where an interrupted export to this file stopped, or begin where there was none; not
    /// for arrow
    #[arg(long)]
    resume: bool,
    /// Write what was done, and whether completeness is proven, to this file as JSON; of several
    /// lists an array. No export may write to the same file
    #[arg(long, value_name = "PATH")]
    receipt: Option<PathBuf>,
    /// Whether pages overlap, so that records are complete even while the list changes
    #[arg(long, default_value = "complete")]
    consistency: Consistency,
    /// Records per page to ask for; the list's maximum by default
    #[arg(long, value_name = "N")]
    page_size: Option<u64>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Consistency {
    /// Each record that is there all the time, exactly once
    Complete,
    /// One request in a hundred less, and nothing is checked
    Fast,
}

pub(crate) async fn run(verb: &Verb, common: &Common) -> Result<(), Ending> {
    let exports = verb.exports()?;
    let connection = connect(common)?;
    verb.prepare(&exports)?;
    let to_stdout = verb.out == Path::new("-");
    let signals = Signals::take(to_stdout.then_some(PATIENCE))?;
    let progress = Rc::new(Progress::start(to_stdout, common.verbose > 0));
    let outcomes = LocalSet::new()
        .run_until(all(&exports, &connection, &signals, &progress))
        .await;
    progress.end();

    let failed = |kind: ErrorKind| {
        let mut errors = outcomes.iter().filter_map(|outcome| outcome.as_ref().err());
        errors.any(|error| error.kind() == kind)
    };
    if to_stdout && failed(ErrorKind::Io) && reader_gone() {
        return Err(Ending::ReaderGone);
    }
    let receipts: Vec<&Receipt> = outcomes.iter().flatten().collect();
    if let Some(path) = &verb.receipt {
        receipts::write(path, &receipts, exports.len())?;
    }
    let kind = say_failures(&exports, &outcomes, common.verbose > 0)
        .or(say_doubts(&exports, &outcomes).then_some(ErrorKind::Incomplete));
    match (signals.caught(), kind) {
        (Some(signal), Some(_)) if failed(ErrorKind::Cancelled) => Err(Ending::Stopped(signal)),
        (_, Some(kind)) => Err(Ending::Said(kind)),
        (_, None) => {
            progress.sum_up(&receipts, &verb.out);
            Ok(())
        }
    }
}

impl Verb {
    /// What is to be done, a row for each list.
    fn exports(&self) -> Result<Vec<Export>, Error> {
        let refuse = |message: String| Err(Error::new(ErrorKind::InvalidArgument, message));
        names::refuse_twice(&self.resources)?;
        for resource in &self.resources {
            let most = resource.shape().max_limit.unwrap_or(u64::MAX);
            if let Some(size) = self.page_size.filter(|size| !(1..=most).contains(size)) {
                return refuse(format!(
                    "--page-size: {size} is not possible; give 1 to {most}"
                ));
            }
        }
        if self.receipt.as_ref() == Some(&self.out) {
            return refuse("--receipt and --out name the same file".into());
        }
        let one = self.resources.len() == 1;
        if self.resume && self.format(one) == Format::Arrow {
            return refuse(
                "--resume: an Arrow file has no place to go on from; take parquet, csv or jsonl"
                    .into(),
            );
        }
        if self.out == Path::new("-") && !one {
            return refuse("--out -: standard output takes one list; name a folder".into());
        }
        Ok(self
            .resources
            .iter()
            .map(|name| self.export(*name, one))
            .collect())
    }

    /// Makes the folder for several lists, and sees that the receipt has a place of its own, before
    /// hours are spent.
    fn prepare(&self, exports: &[Export]) -> Result<(), Error> {
        if self.resources.len() > 1 {
            std::fs::create_dir_all(&self.out).map_err(|error| {
                let shown = self.out.display();
                Error::new(
                    ErrorKind::Io,
                    format!("cannot make folder {shown}: {error}"),
                )
            })?;
        }
        self.receipt
            .as_deref()
            .map_or(Ok(()), |path| receipts::check(path, exports))
    }

    /// The format asked for, in so many words or by the name of the one file.
    fn format(&self, one: bool) -> Format {
        let ending = self.out.extension().filter(|_| one);
        let named = || ending.and_then(|ending| ending.to_str()?.to_lowercase().parse().ok());
        self.format.or_else(named).unwrap_or(Format::Jsonl)
    }

    fn export(&self, resource: Resource, one: bool) -> Export {
        let format = self.format(one);
        let file = format!("{resource}.{}", format.extension());
        Export {
            resource,
            format,
            target: match one {
                true if self.out == Path::new("-") => Target::Stdout,
                true => Target::File(self.out.clone()),
                false => Target::File(self.out.join(file)),
            },
            scan: ScanOptions {
                consistency: match self.consistency {
                    Consistency::Complete => scan::Consistency::Complete,
                    Consistency::Fast => scan::Consistency::Fast,
                },
                page_size: self.page_size,
                resume: None,
            },
            resume: self.resume,
        }
    }
}

/// Runs them side by side; each goes on whatever becomes of the others. Outcomes are in the same order.
async fn all(
    exports: &[Export],
    connection: &Connection,
    signals: &Signals,
    progress: &Rc<Progress>,
) -> Vec<Result<Receipt, Error>> {
    let mut running = JoinSet::new();
    for (index, export) in exports.iter().cloned().enumerate() {
        let (client, signals) = (connection.client.clone(), signals.clone());
        let progress = Rc::clone(progress);
        running.spawn_local(async move {
            let stop = async {
                signals.stopped().await;
            };
            let note = |receipt: &Receipt| progress.note(index, receipt);
            (index, export.run(&client, stop, note).await)
        });
    }
    let unended = || Error::new(ErrorKind::Internal, "an export ended by a defect");
    let mut outcomes: Vec<Result<Receipt, Error>> =
        exports.iter().map(|_| Err(unended())).collect();
    while let Some(ended) = running.join_next().await {
        if let Ok((index, outcome)) = ended {
            outcomes[index] = outcome;
        }
    }
    outcomes
}
