//! Progress of exports and syncs on a terminal: records, rate, share of the budget, time left.

use indicatif::{HumanDuration, ProgressBar, ProgressStyle};
use std::cell::RefCell;
use std::io::IsTerminal;
use std::time::Duration;
use talentdata_core::scan::{Basis, Receipt};
use talentdata_core::settings::REQUESTS_PER_SECOND;

/// The one line about all lists of a run; silent where standard error is no terminal.
pub(crate) struct Progress {
    bar: ProgressBar,
    /// How far each list is.
    lists: RefCell<Vec<Option<Receipt>>>,
}

/// What a line says of lists that were read side by side.
struct Counts {
    records: u64,
    total: u64,
    /// Records per second.
    rate: f64,
    /// How much of the company's budget was used, and with how many it was shared, where it was.
    budget: String,
}

impl Counts {
    /// Their totals are what a service claims, and may be anything.
    fn of<'a>(receipts: impl Iterator<Item = &'a Receipt>) -> Self {
        let (mut records, mut total, mut requests, mut members) = (0_u64, 0_u64, 0, 0);
        // The budget of the first second is there at once.
        let mut seconds = 1.0_f64;
        for receipt in receipts {
            let claimed = u64::try_from(receipt.total_last.unwrap_or(0)).unwrap_or(0);
            records = records.saturating_add(receipt.records);
            // A total that the records have outgrown is wrong.
            total = total.saturating_add(claimed.max(receipt.records));
            requests += receipt.requests;
            seconds = seconds.max(receipt.seconds);
            let budget = receipt.budget.as_ref();
            members = members.max(budget.map_or(1, |budget| budget.max_members));
        }
        let used = 100.0 * requests as f64 / (f64::from(REQUESTS_PER_SECOND) * seconds);
        let shared = match members {
            0 | 1 => String::new(),
            members => format!(" (shared by {members})"),
        };
        Counts {
            records,
            total,
            rate: records as f64 / seconds,
            budget: format!("{used:.0} % of the budget{shared}"),
        }
    }
}

impl Progress {
    /// Begins. Records on the same terminal, or log lines, would be torn by the line: then it is left out.
    pub(crate) fn start(lists: usize, to_stdout: bool, verbose: bool) -> Self {
        let torn = verbose || (to_stdout && std::io::stdout().is_terminal());
        let bar = match torn || !std::io::stderr().is_terminal() {
            true => ProgressBar::hidden(),
            false => ProgressBar::new(0),
        };
        if let Ok(style) =
            ProgressStyle::with_template("{wide_bar} {human_pos} of {human_len} {msg}")
        {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        Progress {
            bar,
            lists: RefCell::new(vec![None; lists]),
        }
    }

    /// Notes how far the list of this number is.
    pub(crate) fn note(&self, list: usize, receipt: &Receipt) {
        let mut lists = self.lists.borrow_mut();
        lists[list] = Some(receipt.clone());
        let all = Counts::of(lists.iter().flatten());
        let left = (all.total - all.records) as f64 / all.rate;
        let left = Duration::try_from_secs_f64(left).unwrap_or_default();
        self.bar.set_length(all.total);
        self.bar.set_position(all.records);
        self.bar.set_message(format!(
            "records, {:.0}/s, {}, {:#} left",
            all.rate,
            all.budget,
            HumanDuration(left)
        ));
    }

    /// How far the list of this number was.
    pub(crate) fn last(&self, list: usize) -> Option<Receipt> {
        self.lists.borrow()[list].clone()
    }

    /// Takes the line away.
    pub(crate) fn end(&self) {
        self.bar.finish_and_clear();
    }
}

/// The last line of an export that went well.
pub(crate) fn summary(receipts: &[&Receipt], place: &str) -> String {
    let all = Counts::of(receipts.iter().copied());
    let seconds = receipts.iter().map(|receipt| receipt.seconds);
    let any = |basis| receipts.iter().any(|receipt| receipt.basis == basis);
    // Of several lists, the weakest.
    let proof = match (any(None), any(Some(Basis::Joined))) {
        (true, _) => "not checked",
        (_, true) => "proven (joined)",
        _ => "proven (counted)",
    };
    format!(
        "{} records in {:.1} s, {}, completeness {proof}: {place}",
        all.records,
        seconds.fold(0.0, f64::max),
        all.budget
    )
}
