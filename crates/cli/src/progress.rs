//! Progress of exports on a terminal: records, rate, share of the budget, time left.

use indicatif::{HumanDuration, ProgressBar, ProgressStyle};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::Path;
use std::time::Duration;
use talentdata_core::scan::{Basis, Receipt};
use talentdata_core::settings::REQUESTS_PER_SECOND;

/// The one line about all lists of a run; silent where standard error is no terminal.
pub(crate) struct Progress {
    bar: ProgressBar,
    lists: RefCell<BTreeMap<usize, Counts>>,
}

/// What the line needs to know of a list, or of all.
#[derive(Clone, Copy, Default)]
struct Counts {
    records: u64,
    total: u64,
    requests: u64,
    seconds: f64,
    /// Clients that shared the budget.
    members: u64,
}

impl Counts {
    fn of(receipt: &Receipt) -> Self {
        let total = receipt
            .total_last
            .map_or(0, |total| u64::try_from(total).unwrap_or(0));
        Counts {
            records: receipt.records,
            // A total that the records have outgrown is wrong.
            total: total.max(receipt.records),
            requests: receipt.requests,
            seconds: receipt.seconds,
            members: receipt
                .budget
                .as_ref()
                .map_or(1, |budget| budget.max_members),
        }
    }

    /// Lists that were read side by side, as one. Their totals are what a service claims, and may be anything.
    fn together(lists: impl IntoIterator<Item = Counts>) -> Self {
        lists
            .into_iter()
            .fold(Counts::default(), |all, list| Counts {
                records: all.records.saturating_add(list.records),
                total: all.total.saturating_add(list.total),
                requests: all.requests.saturating_add(list.requests),
                seconds: all.seconds.max(list.seconds),
                members: all.members.max(list.members),
            })
    }

    /// Records per second.
    fn rate(&self) -> f64 {
        self.records as f64 / self.spell()
    }

    /// The used part of the company's budget (section 8), in percent.
    fn budget(&self) -> f64 {
        100.0 * self.requests as f64 / (f64::from(REQUESTS_PER_SECOND) * self.spell())
    }

    /// With how many the budget was shared, where it was.
    fn sharing(&self) -> String {
        match self.members {
            0 | 1 => String::new(),
            members => format!(" (shared by {members})"),
        }
    }

    fn left(&self) -> Duration {
        let records = (self.total - self.records) as f64;
        Duration::try_from_secs_f64(records / self.rate()).unwrap_or_default()
    }

    /// The time to relate counts to: the budget of the first second is there at once.
    fn spell(&self) -> f64 {
        self.seconds.max(1.0)
    }
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
            ProgressStyle::with_template("{wide_bar} {human_pos} of {human_len} {msg}")
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
        let mut lists = self.lists.borrow_mut();
        lists.insert(list, Counts::of(receipt));
        let all = Counts::together(lists.values().copied());
        self.bar.set_length(all.total);
        self.bar.set_position(all.records);
        self.bar.set_message(format!(
            "records, {:.0}/s, {:.0} % of the budget{}, {:#} left",
            all.rate(),
            all.budget(),
            all.sharing(),
            HumanDuration(all.left())
        ));
    }

    /// Takes the line away.
    pub(crate) fn end(&self) {
        self.bar.finish_and_clear();
    }

    /// The last line of a run that went well.
    pub(crate) fn sum_up(&self, receipts: &[Receipt], out: &Path) {
        if !std::io::stderr().is_terminal() {
            return;
        }
        let all = Counts::together(receipts.iter().map(Counts::of));
        crate::output::remark(&format!(
            "{} records in {:.1} s, {:.0} % of the budget{}, completeness {}: {}",
            all.records,
            all.seconds,
            all.budget(),
            all.sharing(),
            proof(receipts),
            match out == Path::new("-") {
                true => "standard output".into(),
                false => out.display().to_string(),
            }
        ));
    }
}

/// What completeness rests on; of several lists, the weakest.
fn proof(receipts: &[Receipt]) -> &'static str {
    let any = |basis| receipts.iter().any(|receipt| receipt.basis == basis);
    if any(None) {
        "not checked"
    } else if any(Some(Basis::Joined)) {
        "proven (joined)"
    } else {
        "proven (counted)"
    }
}
