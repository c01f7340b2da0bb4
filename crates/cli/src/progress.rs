//! Progress of exports and syncs on a terminal: records, rate, share of the budget, time left.

use crate::output::stderr_line;
use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use std::cell::RefCell;
use std::fmt::Write;
use std::io::IsTerminal;
use std::time::Duration;
use talentdata_core::process::check_threads;
use talentdata_core::scan::{Completeness, Receipt};

const LINE: &str = "{wide_bar} {human_pos} of {human_len} records, {rate}, {msg}, {eta} left";

/// The one line about all lists of a run; silent where standard error is no terminal.
pub(crate) struct ProgressLine {
    bar: ProgressBar,
    /// How far each list is.
    lists: RefCell<Vec<Receipt>>,
}

impl ProgressLine {
    /// Begins. Records on the same terminal, or log lines, would be torn by the line: then it is left out.
    pub(crate) fn start(lists: Vec<Receipt>, to_stdout: bool, verbose: bool) -> Self {
        let torn = verbose || (to_stdout && std::io::stdout().is_terminal());
        let bar = if torn || !std::io::stderr().is_terminal() {
            ProgressBar::hidden()
        } else {
            ProgressBar::new(0)
        };
        if let Ok(style) = ProgressStyle::with_template(LINE) {
            let rate = |state: &ProgressState, out: &mut dyn Write| {
                let _ = write!(out, "{:.0}/s", state.per_sec());
            };
            bar.set_style(style.with_key("rate", rate));
        }
        bar.set_message("0 % of the budget");
        // It ticks on a thread, without which it moves with each page.
        if !bar.is_hidden() && check_threads(1).is_ok() {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        let lists = RefCell::new(lists);
        ProgressLine { bar, lists }
    }

    /// Notes how far the list of this number is.
    pub(crate) fn note(&self, list: usize, receipt: &Receipt) {
        let mut lists = self.lists.borrow_mut();
        lists[list] = Receipt {
            completeness: Completeness::Unfinished,
            ..receipt.clone()
        };
        let (mut records, mut total, mut used) = (0_u64, 0_u64, 0.0);
        for receipt in lists.iter() {
            let claimed = u64::try_from(receipt.total_last.unwrap_or(0)).unwrap_or(0);
            records = records.saturating_add(receipt.records);
            // What a service claims may be anything; a total that the records have outgrown is wrong.
            total = total.saturating_add(claimed.max(receipt.records));
            used += receipt.budget_used;
        }
        self.bar.set_length(total);
        self.bar.set_position(records);
        let used = format!("{:.0} % of the budget", 100.0 * used);
        self.bar.set_message(used);
    }

    /// Prints a line on standard error, above the progress.
    pub(crate) fn warn(&self, line: &str) {
        self.bar.suspend(|| stderr_line(line));
    }

    /// How far the list of this number was.
    pub(crate) fn last(&self, list: usize) -> Receipt {
        self.lists.borrow()[list].clone()
    }

    /// Takes the line away.
    pub(crate) fn end(&self) {
        self.bar.finish_and_clear();
    }
}
