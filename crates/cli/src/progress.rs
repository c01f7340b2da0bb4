//! Progress of exports and syncs on a terminal: records, rate, share of the budget, and remaining time.

use crate::output::stderr_line;
use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use std::cell::RefCell;
use std::fmt::Write;
use std::io::IsTerminal;
use std::time::Duration;
use talentdata_core::internal::process::check_threads;
use talentdata_core::scan::{Completeness, Receipt};

/// The environment variable whose value 0 hides the line.
const OFF: &str = "TALENTDATA_PROGRESS";
/// The line before the first page.
const BEGIN: &str = "connecting to the service";
/// The line while the number of records is unknown.
const COUNT: &str = "{human_pos} records, {rate}, {msg}";
const LINE: &str = "{wide_bar} {human_pos} of {human_len} records, {rate}, {msg}, {eta} left";

/// The progress line for all lists of a run. It is hidden if standard error is not a terminal.
pub(crate) struct ProgressLine {
    bar: ProgressBar,
    /// The progress of each list.
    lists: RefCell<Vec<Receipt>>,
}

impl ProgressLine {
    /// Starts the line. It is hidden if records or log lines on the same terminal would break it.
    pub(crate) fn start(lists: Vec<Receipt>, to_stdout: bool, verbose: bool) -> Self {
        let torn = verbose || (to_stdout && std::io::stdout().is_terminal());
        let is_off = std::env::var_os(OFF).is_some_and(|value| value == "0");
        let bar = if torn || is_off || !std::io::stderr().is_terminal() {
            ProgressBar::hidden()
        } else {
            ProgressBar::new(0)
        };
        show(&bar, BEGIN);
        // A thread updates the line regularly. Without a thread, each page updates it.
        if !bar.is_hidden() && check_threads(1).is_ok() {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        let lists = RefCell::new(lists);
        ProgressLine { bar, lists }
    }

    /// Records the progress of the list with this index.
    pub(crate) fn note(&self, list: usize, receipt: &Receipt) {
        let mut lists = self.lists.borrow_mut();
        lists[list] = receipt.clone();
        lists[list].completeness = Completeness::Unfinished;
        let (mut records, mut total, mut used) = (0_u64, 0_u64, 0.0);
        for receipt in lists.iter() {
            let claimed = u64::try_from(receipt.total_last.unwrap_or(0)).unwrap_or(0);
            records = records.saturating_add(receipt.records);
            // A service may claim any total. A total below the number of records is wrong.
            total = total.saturating_add(claimed.max(receipt.records));
            used += receipt.budget_used;
        }
        let used = format!("{:.0} % of the budget", 100.0 * used);
        // The template is set last, because each of these calls draws the line.
        self.bar.set_message(used);
        self.bar.set_length(total);
        self.bar.set_position(records);
        let has_total = lists.iter().any(|receipt| receipt.total_last.is_some());
        show(&self.bar, if has_total { LINE } else { COUNT });
    }

    /// Prints a line on standard error, above the progress.
    pub(crate) fn warn(&self, line: &str) {
        self.bar.suspend(|| stderr_line(line));
    }

    /// Returns the last progress of the list with this index.
    pub(crate) fn last(&self, list: usize) -> Receipt {
        self.lists.borrow()[list].clone()
    }

    /// Removes the line.
    pub(crate) fn end(&self) {
        self.bar.finish_and_clear();
    }
}

/// Changes the template of the line.
fn show(bar: &ProgressBar, form: &str) {
    if let Ok(style) = ProgressStyle::with_template(form) {
        let rate = |state: &ProgressState, out: &mut dyn Write| {
            let _ = write!(out, "{:.0}/s", state.per_sec());
        };
        bar.set_style(style.with_key("rate", rate));
    }
}
