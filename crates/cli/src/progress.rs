//! Progress of exports on a terminal: records, rate, share of the budget, time left.

use indicatif::{ProgressBar, ProgressStyle};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::Path;
use std::time::Duration;
use talentdata_core::config::REQUESTS_PER_SECOND;
use talentdata_core::scan::{Completeness, Receipt};

/// The one line about all lists of a run; silent where standard error is no terminal.
pub(crate) struct Progress {
    bar: ProgressBar,
    lists: RefCell<BTreeMap<usize, Counts>>,
}

/// What the line needs to know of a list.
#[derive(Clone, Copy, Default)]
struct Counts {
    records: u64,
    total: u64,
    requests: u64,
}

impl Progress {
    /// Begins. Records on the same terminal, or log lines, would be torn by the line: then it is left out.
    pub(crate) fn start(to_stdout: bool, verbose: bool) -> Self {
        let torn = verbose || (to_stdout && std::io::stdout().is_terminal());
        let bar = match torn || !std::io::stderr().is_terminal() {
            true => ProgressBar::hidden(),
            false => ProgressBar::new(0),
        };
        if let Ok(style) =
            ProgressStyle::with_template("{wide_bar} {human_pos} of {human_len} {msg}, {eta} left")
        {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        Progress {
            bar,
            lists: RefCell::default(),
        }
    }

    /// Notes how far the list of this number is.
    pub(crate) fn note(&self, list: usize, receipt: &Receipt) {
        let total = receipt
            .total_last
            .and_then(|total| u64::try_from(total).ok());
        let counts = Counts {
            records: receipt.records,
            // A total that the records have outgrown is wrong.
            total: total.unwrap_or(0).max(receipt.records),
            requests: receipt.requests,
        };
        let mut lists = self.lists.borrow_mut();
        lists.insert(list, counts);
        let sum = |of: fn(&Counts) -> u64| lists.values().map(of).sum::<u64>();
        let seconds = self.bar.elapsed().as_secs_f64();
        self.bar.set_length(sum(|list| list.total));
        self.bar.set_position(sum(|list| list.records));
        self.bar.set_message(format!(
            "records, {:.0}/s, {:.0} % of the budget",
            sum(|list| list.records) as f64 / seconds,
            percent_of_budget(sum(|list| list.requests), seconds)
        ));
    }

    /// Takes the line away.
    pub(crate) fn end(&self) {
        self.bar.finish_and_clear();
    }

    /// The last line of a run that went well.
    pub(crate) fn sum_up(&self, receipts: &[&Receipt], out: &Path) {
        if !std::io::stderr().is_terminal() {
            return;
        }
        let seconds = self.bar.elapsed().as_secs_f64();
        let records: u64 = receipts.iter().map(|receipt| receipt.records).sum();
        let requests: u64 = receipts.iter().map(|receipt| receipt.requests).sum();
        let proven = |receipt: &&Receipt| receipt.completeness == Completeness::Proven;
        crate::output::remark(&format!(
            "{records} records in {seconds:.1} s, {:.0} % of the budget, completeness {}: {}",
            percent_of_budget(requests, seconds),
            match receipts.iter().all(proven) {
                true => "proven",
                false => "not checked",
            },
            match out == Path::new("-") {
                true => "standard output".into(),
                false => out.display().to_string(),
            }
        ));
    }
}

/// The part of the company's budget (section 8) that so many requests are. The budget of the first
/// second is there at once.
fn percent_of_budget(requests: u64, seconds: f64) -> f64 {
    100.0 * requests as f64 / (f64::from(REQUESTS_PER_SECOND) * seconds.max(1.0))
}
