//! Where records stand in their list: positions far apart, so that an insert hardly ever renumbers another record.

/// The distance between neighbours that were inserted side by side at an end of the list.
const GAP: i64 = 1 << 38;
/// Records that are inserted between two others take this part of the room, at its end, so that a list that grows at one
/// place, such as one with the newest first behind a pinned record, uses up the room there slowly.
const PART: i64 = 4;
const PLENTY: i64 = GAP / 64;

/// The positions of records in the order of the list, given those that they had (none for new ones): they increase, and
/// as few as possible change.
pub(crate) fn positions(old: &[Option<i64>]) -> Vec<i64> {
    let kept = longest_increasing(old);
    let filled = fill(kept, old.len());
    // Where the numbers end, all records get new ones.
    filled
        .or_else(|| fill(Vec::new(), old.len()))
        .unwrap_or_default()
}

/// Gives positions to the records between those that keep theirs; none beyond the ends of all numbers.
fn fill(kept: Vec<(usize, i64)>, count: usize) -> Option<Vec<i64>> {
    let mut all: Vec<i64> = Vec::with_capacity(count);
    let mut kept = kept.into_iter();
    while all.len() < count {
        let start = all.last().copied();
        let room = |(index, end): (usize, i64)| {
            let parts = i64::try_from(index - all.len()).ok()? + 1;
            Some(end.checked_sub(start?)? / parts)
        };
        let mut next = kept.next();
        // Where there is no room, the records behind get new positions too, until there is plenty.
        if next.and_then(room) == Some(0) {
            while next.and_then(room).is_some_and(|room| room < PLENTY) {
                next = kept.next();
            }
        }
        let run = next.map_or(count, |(index, _)| index) - all.len();
        let (start, step) = match (start, next) {
            (_, Some((index, end))) => {
                let step = room((index, end)).map_or(GAP, |room| (room / PART).max(1));
                let parts = i64::try_from(run).ok()? + 1;
                (end.checked_sub(step.checked_mul(parts)?)?, step)
            }
            (start, None) => (start.unwrap_or(0), GAP),
        };
        for index in 1..=run {
            all.push(start.checked_add(step.checked_mul(i64::try_from(index).ok()?)?)?);
        }
        all.extend(next.map(|(_, position)| position));
    }
    Some(all)
}

/// The longest run of records whose positions increase.
fn longest_increasing(old: &[Option<i64>]) -> Vec<(usize, i64)> {
    let known = old.iter().enumerate();
    let known = known.filter_map(|(index, position)| Some((index, (*position)?)));
    let known: Vec<(usize, i64)> = known.collect();
    if known.is_sorted_by(|one, next| one.1 < next.1) {
        return known;
    }
    // For each length, the run with the smallest end.
    let (mut ends, mut before): (Vec<usize>, _) = (Vec::new(), Vec::with_capacity(known.len()));
    for (index, (_, position)) in known.iter().enumerate() {
        let length = ends.partition_point(|end| known[*end].1 < *position);
        before.push(length.checked_sub(1).map(|shorter| ends[shorter]));
        match ends.get_mut(length) {
            Some(end) => *end = index,
            None => ends.push(index),
        }
    }
    let last = ends.last().copied();
    let run = std::iter::successors(last, |index| before[*index]);
    let mut run: Vec<(usize, i64)> = run.map(|index| known[index]).collect();
    run.reverse();
    run
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_increase_wherever_records_are_inserted_and_few_others_change() {
        let mut random = fastrand::Rng::with_seed(7);
        for round in 0..40 {
            let (mut list, mut renumbered): (Vec<Option<i64>>, _) = (Vec::new(), 0);
            for _ in 0..300 {
                let length = list.len();
                let at = [0, length, length.min(1), random.usize(..=length)][round % 4];
                list.splice(at..at, vec![None; random.usize(1..4)]);
                let new = positions(&list);
                assert!(new.is_sorted_by(|one, other| one < other), "{round}");
                let pairs = list.iter().zip(&new);
                renumbered += pairs
                    .filter(|(old, new)| old.is_some_and(|old| old != **new))
                    .count();
                list = new.into_iter().map(Some).collect();
            }
            assert!(
                renumbered < 2 * list.len(),
                "{renumbered} of {}",
                list.len()
            );
        }
        // At the end of all numbers, every record gets a new one.
        let new = positions(&[Some(5), Some(i64::MAX), None]);
        assert!(new.is_sorted_by(|one, other| one < other));
    }

    #[test]
    fn one_record_that_moves_is_all_that_changes() {
        let moved = |order: &[i64]| {
            let old: Vec<Option<i64>> = order.iter().map(|at| Some(at * GAP)).collect();
            let new = positions(&old).into_iter().map(Some);
            new.zip(&old)
                .map(|(new, old)| new != *old)
                .collect::<Vec<_>>()
        };
        assert_eq!(moved(&[0, 1, 2, 3]), [false; 4]);
        assert_eq!(moved(&[0, 5, 1, 2]), [false, true, false, false]);
        assert_eq!(moved(&[1, 2, 3, 0]), [false, false, false, true]);
        assert_eq!(moved(&[]), [false; 0]);
    }
}
