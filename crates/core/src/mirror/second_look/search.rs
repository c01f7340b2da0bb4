//! Where to read in search of one gap.

use super::Shown;
use super::chain::Chain;

/// So many pages that do not lengthen a chain are read for one gap before it is given up.
const TRIES: u32 = 16;

/// A chain is broken so often before a gap is given up.
const BREAKS: u32 = 12;

/// What is known of the way to a gap.
pub(super) struct Way<'a> {
    /// The offset where it should be.
    pub(super) target: u64,
    /// Whether a record that was delivered stood before it, and behind it.
    pub(super) begins: bool,
    pub(super) ends: bool,
    pub(super) page_size: u64,
    /// The chain of pages that leads up to it.
    pub(super) chain: Option<&'a Chain>,
}

/// The search for one gap.
#[derive(Default)]
pub(super) struct Search {
    tries: u32,
    breaks: u32,
    /// By how much the chain has moved since its last page was read, if it has been broken there.
    moved: Option<i64>,
    /// The offset behind a record that stood before it, and that of one that stood behind it.
    low: Option<u64>,
    high: Option<u64>,
    /// How far the search went back last.
    back: u64,
    /// The offset asked for last.
    last: Option<u64>,
    /// Whether the next page lengthens the chain.
    pub(super) walks: bool,
    /// Whether all is read from what stood before the gap on: so much is new there that a page may show nothing known, or
    /// the two sides are near.
    blind: bool,
}

impl Search {
    /// The offset to read next; none when the gap is given up.
    pub(super) fn next(&mut self, way: &Way<'_>) -> Option<u64> {
        let aimed = self.aim(way);
        self.tries += u32::from(!self.walks);
        self.last = Some(aimed);
        (self.tries <= TRIES && self.breaks < BREAKS).then_some(aimed)
    }

    fn aim(&mut self, way: &Way<'_>) -> u64 {
        let goal = self.high.map_or(way.target, |high| way.target.min(high));
        if let Some(chain) = way.chain {
            let next = chain.next().saturating_add(way.page_size);
            let near = goal < next.saturating_sub(way.margin());
            self.walks = self.blind || near;
            if self.walks {
                return chain.next().saturating_add_signed(self.moved.unwrap_or(0));
            }
        }
        self.walks = false;
        let before = |offset: u64| offset.saturating_sub(way.margin());
        match (self.low, self.high) {
            _ if !way.begins && self.last.is_none() => 0,
            (Some(low), high) if self.blind || is_near(low, high, way) => {
                // It is seen again on that page, or the list has moved.
                (self.low, self.blind) = (None, true);
                low.saturating_sub(1)
            }
            (Some(low), Some(high)) if self.tries > 3 || !(low..high).contains(&goal) => {
                before(low.midpoint(high))
            }
            (None, Some(high)) if self.tries > 1 => self.go_back(high, way),
            (None, None) if self.blind => self.go_back(self.last.unwrap_or(0), way),
            _ => before(goal),
        }
    }

    /// Farther back each time, until a page shows what stood before the gap, or the beginning of the list.
    fn go_back(&mut self, from: u64, way: &Way<'_>) -> u64 {
        self.back = (2 * self.back).max(way.page_size);
        from.saturating_sub(self.back)
    }

    /// Takes what a page shows of the sides of the gap.
    pub(super) fn note(
        &mut self,
        page: &Shown,
        (before, behind): (Option<usize>, Option<usize>),
        blind: bool,
    ) {
        let offset = |index: usize| page.offset + index as u64;
        self.blind |= blind && !page.records.is_empty();
        self.low = before.map(offset).or(self.low);
        self.high = behind.map(offset).or(self.high);
        if page.records.is_empty() {
            // The list has become shorter than that.
            self.high = Some(page.total);
        }
        if let (Some(low), Some(high)) = (self.low, self.high)
            && low > high
        {
            // The list has moved since one of them was seen, or its records have.
            self.low = before.map(offset).filter(|_| behind.is_none());
            self.high = behind.map(offset).filter(|_| before.is_none());
            self.breaks += u32::from(before.is_some() && behind.is_some());
        }
    }

    /// A page has been taken into the chain; `stalls` if that did not lengthen it.
    pub(super) fn note_taken(&mut self, stalls: bool) {
        self.moved = None;
        self.breaks += u32::from(stalls);
    }

    /// A page did not join the chain, from which it should have moved by so much; whether to try once more.
    pub(super) fn take_up(&mut self, moved: i64) -> bool {
        self.breaks += 1;
        let again = self.moved.is_none();
        self.moved = again.then_some(moved);
        // Else all is read anew from where the gap begins.
        self.blind |= !again;
        again
    }
}

/// Whether hardly more than a page is between the two sides.
fn is_near(low: u64, high: Option<u64>, way: &Way<'_>) -> bool {
    high.is_some_and(|high| high - low < 2 * way.page_size)
}

impl Way<'_> {
    /// How much of a page stands before the gap: the next gaps may be on it, and of the end of the list there may
    /// be more by now.
    fn margin(&self) -> u64 {
        let margin = self.page_size / if self.ends { 8 } else { 2 };
        margin.max(1)
    }
}
