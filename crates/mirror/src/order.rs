//! Where records stand in their list: positions far apart, so that an insert hardly ever moves another record.

/// The distance between neighbours that were inserted side by side at an end of the list.
const GAP: i64 = 1 << 34;
/// Records that are inserted between two others take this part of the room, at its end, so that a list that grows at one
/// place, such as one with the newest first behind a pinned record, uses up the room there slowly.
const PART: i64 = 4;
const PLENTY: i64 = GAP / 64;
/// Stands for the position of a record that has none yet.
pub(crate) const NONE: i64 = i64::MIN;

/// Gives positions to those that have none, and to as few others as possible, so that all increase. Returns which were
/// given one.
pub(crate) fn place(order: &mut [i64]) -> Vec<usize> {
    keep_longest_increasing(order);
    fill(order).unwrap_or_else(|| {
        // Where the numbers end, all records get new ones.
        order.fill(NONE);
        fill(order).unwrap_or_default()
    })
}

/// None beyond the ends of all numbers.
fn fill(order: &mut [i64]) -> Option<Vec<usize>> {
    let (mut given, mut at, mut start) = (Vec::new(), 0, None);
    while at < order.len() {
        let placed = |from: usize| (from..order.len()).find(|index| order[*index] != NONE);
        let room = |index: usize| {
            let parts = i64::try_from(index - at).ok()? + 1;
            Some(order[index].checked_sub(start?)? / parts)
        };
        let mut next = placed(at);
        // Where there is no room, the records behind get new positions too, until there is plenty.
        if next.is_some_and(|index| index > at && room(index) == Some(0)) {
            while next.and_then(room).is_some_and(|room| room < PLENTY) {
                next = next.and_then(|index| placed(index + 1));
            }
        }
        let end = next.unwrap_or(order.len());
        let (mut position, step) = match next {
            Some(index) => {
                let step = room(index).map_or(GAP, |room| (room / PART).max(1));
                let before = step.checked_mul(i64::try_from(end - at).ok()? + 1)?;
                (order[index].checked_sub(before)?, step)
            }
            None => (start.unwrap_or(0), GAP),
        };
        for place in &mut order[at..end] {
            position = position.checked_add(step)?;
            *place = position;
        }
        given.extend(at..end);
        start = next.map(|index| order[index]);
        at = end + 1;
    }
    Some(given)
}

/// Takes their position from all records but those of the longest run whose positions increase.
fn keep_longest_increasing(order: &mut [i64]) {
    let placed = order.iter().filter(|position| **position != NONE);
    if placed.is_sorted_by(|one, next| one < next) {
        return;
    }
    // For each length, the run with the smallest end.
    let (mut ends, mut before) = (Vec::<usize>::new(), vec![None; order.len()]);
    for (index, position) in order.iter().enumerate() {
        if *position == NONE {
            continue;
        }
        let length = ends.partition_point(|end| order[*end] < *position);
        before[index] = length.checked_sub(1).map(|shorter| ends[shorter]);
        match ends.get_mut(length) {
            Some(end) => *end = index,
            None => ends.push(index),
        }
    }
    let mut kept = ends.last().copied();
    for index in (0..order.len()).rev() {
        match kept == Some(index) {
            true => kept = before[index],
            false => order[index] = NONE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(old: &[Option<i64>]) -> Vec<i64> {
        let mut order: Vec<i64> = old.iter().map(|old| old.unwrap_or(NONE)).collect();
        let given = place(&mut order);
        for (index, (old, new)) in old.iter().zip(&order).enumerate() {
            assert!(*old == Some(*new) || given.contains(&index));
        }
        order
    }

    #[test]
    fn positions_increase_wherever_records_are_inserted_and_few_others_change() {
        let mut random = fastrand::Rng::with_seed(7);
        for round in 0..40 {
            let (mut list, mut moved): (Vec<Option<i64>>, _) = (Vec::new(), 0);
            for _ in 0..300 {
                let length = list.len();
                let at = [0, length, length.min(1), random.usize(..=length)][round % 4];
                list.splice(at..at, vec![None; random.usize(1..4)]);
                let new = placed(&list);
                assert!(new.is_sorted_by(|one, other| one < other), "{round}");
                let pairs = list.iter().zip(&new);
                moved += pairs
                    .filter(|(old, new)| old.is_some_and(|old| old != **new))
                    .count();
                list = new.into_iter().map(Some).collect();
            }
            assert!(moved < 2 * list.len(), "{moved} of {}", list.len());
        }
        // At the end of all numbers, every record gets a new one.
        let new = placed(&[Some(5), Some(i64::MAX), None]);
        assert!(new.is_sorted_by(|one, other| one < other));
    }

    #[test]
    fn one_record_that_moves_is_all_that_changes() {
        for (order, moved) in [
            ([0, 1, 2, 3], [false; 4]),
            ([0, 5, 1, 2], [false, true, false, false]),
            ([1, 2, 3, 0], [false, false, false, true]),
        ] {
            let old = order.map(|at| Some(at * GAP));
            let new = placed(&old);
            let pairs = new.into_iter().zip(&old);
            let differ: Vec<bool> = pairs.map(|(new, old)| Some(new) != *old).collect();
            assert_eq!(differ, moved);
        }
    }
}
