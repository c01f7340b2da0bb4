//! The order in which a service lists its records, from stable to another one at every request.

use std::ops::Range;

use crate::name::named;
use crate::rng::{Rng, scramble};
use crate::sequence::Sequence;

/// What a service sorts its lists by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// By something that never changes; an updated record keeps its place.
    #[default]
    Stable,
    /// By a column with ties: runs of seven to twelve records are tied, and come in another order at every request.
    Ties,
    /// Not at all: every request sees another order.
    Random,
    /// By the time of the last change: an updated record moves to the end.
    Updated,
    /// By the time of the last change, the latest first: an updated record moves to the front.
    UpdatedDesc,
    /// By a column that updates change: an updated record moves to a random place.
    Anywhere,
}

named!(Order {
    Stable = "stable",
    Ties = "ties",
    Random = "random",
    Updated = "updated",
    UpdatedDesc = "updated-desc",
    Anywhere = "anywhere",
});

/// More than the longest run of ties, so that ties which a page's edge divides are shuffled as a whole.
const MARGIN: u64 = 32;

/// A list at one request.
pub(crate) struct View<'a> {
    pub(crate) sequence: &'a Sequence,
    /// Records that this request sees, of those in the sequence.
    pub(crate) total: u64,
    /// Numbers below it were there at the start; the others came later.
    pub(crate) original: u64,
    /// Another one for each request.
    pub(crate) rng: Rng,
}

impl Order {
    /// The numbers at `places`, which end before `view.total` does, as runs.
    pub(crate) fn list(self, mut view: View<'_>, places: Range<u64>) -> Vec<Range<u64>> {
        match self {
            Self::Stable | Self::Updated | Self::UpdatedDesc | Self::Anywhere => {
                view.sequence.cut(places)
            }
            Self::Ties => view.tied(places),
            Self::Random => {
                let permutation = Permutation::new(view.total, &mut view.rng);
                let places = places.map(|place| permutation.of(place));
                let numbers = places.flat_map(|place| view.sequence.cut(place..place + 1));
                numbers.collect()
            }
        }
    }

    /// Where an updated record goes, in a list of `others` beside it; `None` where it stays.
    pub(crate) fn after_update(self, others: u64, rng: &mut Rng) -> Option<u64> {
        match self {
            Self::Stable | Self::Ties | Self::Random => None,
            Self::Updated => Some(others),
            Self::UpdatedDesc => Some(0),
            Self::Anywhere => Some(rng.below(others + 1)),
        }
    }
}

impl View<'_> {
    fn tied(&mut self, places: Range<u64>) -> Vec<Range<u64>> {
        let start = places.start.saturating_sub(MARGIN);
        let end = places.end.saturating_add(MARGIN).min(self.total);
        let mut value = 0;
        let numbers = self.sequence.cut(start..end).into_iter().flatten();
        let valued = numbers.map(|number| {
            // A record that was inserted between tied ones is tied with them.
            if number < self.original {
                value = tied_value(number);
            }
            (value, number)
        });
        let mut valued: Vec<(u64, u64)> = valued.collect();
        for tied in valued.chunk_by_mut(|one, other| one.0 == other.0) {
            self.rng.shuffle(tied);
        }
        let before = (places.start - start) as usize;
        let count = places.end.saturating_sub(places.start) as usize;
        let page = valued.iter().skip(before).take(count);
        page.map(|(_, number)| *number..number + 1).collect()
    }
}

/// The value that a record is sorted by: seven records share the first, eight the second, and so on up to twelve.
fn tied_value(number: u64) -> u64 {
    const LAST: [u64; 6] = [7, 15, 24, 34, 45, 57];
    let within = number % LAST[5];
    let run = LAST.iter().filter(|last| **last <= within).count() as u64;
    number / LAST[5] * LAST.len() as u64 + run
}

/// A random order of so many places, computed place by place: a Feistel network over the next power of four.
struct Permutation {
    count: u64,
    half_bits: u32,
    keys: [u64; 4],
}

impl Permutation {
    fn new(count: u64, rng: &mut Rng) -> Self {
        let bits = u64::BITS - count.saturating_sub(1).leading_zeros();
        Self {
            count,
            half_bits: bits.div_ceil(2).max(1),
            keys: std::array::from_fn(|_| rng.next()),
        }
    }

    /// Where `place` goes; it has to be less than the count, or this does not end.
    fn of(&self, mut place: u64) -> u64 {
        let mask = (1 << self.half_bits) - 1;
        loop {
            let (mut left, mut right) = (place >> self.half_bits, place & mask);
            for key in self.keys {
                (left, right) = (right, left ^ (scramble(right ^ key) & mask));
            }
            place = left << self.half_bits | right;
            if place < self.count {
                return place;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(order: Order, total: u64, places: Range<u64>, request: u64) -> Vec<u64> {
        let view = View {
            sequence: &Sequence::new(total),
            total,
            original: total,
            rng: Rng::new(request),
        };
        order.list(view, places).into_iter().flatten().collect()
    }

    #[test]
    fn every_order_lists_every_record_once() {
        for order in Order::ALL {
            for total in [1, 2, 3, 57, 100, 301] {
                let mut all = numbers(order, total, 0..total, 9);
                all.sort_unstable();
                assert!(all.into_iter().eq(0..total), "{order} {total}");
            }
        }
    }

    #[test]
    fn ties_are_short_and_come_in_another_order_each_time() {
        let once = numbers(Order::Ties, 1000, 0..1000, 1);
        assert_ne!(once, numbers(Order::Ties, 1000, 0..1000, 2));
        for (place, number) in once.iter().enumerate() {
            assert!(number.abs_diff(place as u64) < 12, "{number} at {place}");
        }
        let mut lengths = vec![0_u64; 200];
        for number in 0..570 {
            lengths[tied_value(number) as usize] += 1;
        }
        assert_eq!(lengths[..7], [7, 8, 9, 10, 11, 12, 7]);
    }

    #[test]
    fn a_random_page_of_a_huge_list_needs_no_memory() {
        let page = numbers(Order::Random, 1 << 50, 5..105, 3);
        assert_eq!(page.len(), 100);
        assert!(page.iter().any(|number| *number > 1 << 48));
    }
}
