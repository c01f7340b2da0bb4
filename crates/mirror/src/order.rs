//! Positions of records in their list. They are far apart, so that an insert rarely moves other records. See
//! "order-maintenance list".

/// The distance between neighbours that are inserted at an end of the list. There is room for two billion such inserts.
const GAP: i64 = 1 << 32;
/// The divisor of the room between two records. Inserted records take this part of the room, at its end. So a list that
/// grows at one place, for example newest first after a pinned record, uses up the room slowly.
const INSERT_DIVISOR: i64 = 4;
/// The step between positions that leaves room for later inserts.
const AMPLE_STEP: i64 = GAP / 64;
/// The position of a record that does not have one yet.
pub(crate) const UNPLACED: i64 = i64::MIN;

/// Assigns positions to the records without one, and to as few others as possible, so that all positions increase.
/// Returns the indexes of the records that got a position.
pub(crate) fn assign_positions(order: &mut [i64]) -> Vec<usize> {
    keep_longest_increasing(order);
    let (mut given, mut at, mut start) = (Vec::new(), 0, None);
    while at < order.len() {
        let placed = |from: usize| (from..order.len()).find(|index| order[*index] != UNPLACED);
        let count = |index: usize| (index - at + 1) as i64;
        let step = |index: usize| start.map_or(GAP, |start| (order[index] - start) / count(index));
        let mut next = placed(at);
        // If there is no room, the records after it also get new positions, until there is ample room.
        if next.is_some_and(|index| index > at && step(index) == 0) {
            while let Some(index) = next.filter(|index| step(*index) < AMPLE_STEP) {
                next = placed(index + 1);
            }
        }
        let step = (start.and(next)).map_or(GAP, |index| (step(index) / INSERT_DIVISOR).max(1));
        let before = next.map(|index| order[index] - step * count(index));
        let (before, end) = (before.or(start).unwrap_or(0), next.unwrap_or(order.len()));
        for (place, number) in order[at..end].iter_mut().zip(1..) {
            *place = before + step * number;
        }
        given.extend(at..end);
        start = order.get(end).copied();
        at = end + 1;
    }
    given
}

/// Removes the positions of all records that are not in the longest increasing subsequence.
fn keep_longest_increasing(order: &mut [i64]) {
    // `ends` has the smallest last position for each length of a subsequence. `lengths` has, for each record, the
    // length of the longest subsequence that ends with it.
    let mut ends: Vec<i64> = Vec::new();
    let mut length = |position: &i64| {
        let shorter = ends.partition_point(|end| end < position);
        match ends.get_mut(shorter) {
            _ if *position == UNPLACED => return 0,
            Some(end) => *end = *position,
            None => ends.push(*position),
        }
        shorter + 1
    };
    let lengths: Vec<usize> = order.iter().map(&mut length).collect();
    let (mut wanted, mut next) = (ends.len(), i64::MAX);
    for (position, length) in order.iter_mut().zip(lengths).rev() {
        if length == wanted && *position < next && wanted > 0 {
            (wanted, next) = (wanted - 1, *position)
        } else {
            *position = UNPLACED
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_increase_after_inserts_and_few_others_change() {
        let mut random = fastrand::Rng::with_seed(7);
        for round in 0..40 {
            let (mut list, mut moved) = (Vec::new(), 0);
            for _ in 0..300 {
                let length = list.len();
                let at = [0, length, length.min(1), random.usize(..=length)][round % 4];
                list.splice(at..at, vec![UNPLACED; random.usize(1..4)]);
                let old = list.clone();
                assign_positions(&mut list);
                assert!(list.is_sorted_by(|one, other| one < other), "{round}");
                let pairs = old.iter().zip(&list);
                moved += pairs
                    .filter(|(old, new)| **old != UNPLACED && old != new)
                    .count();
            }
            assert!(moved < 2 * list.len(), "{moved} of {}", list.len());
        }
    }

    #[test]
    fn only_the_moved_record_gets_another_position() {
        for (order, moved) in [
            ([0, 1, 2, 3], vec![]),
            ([0, 5, 1, 2], vec![1]),
            ([1, 2, 3, 0], vec![3]),
        ] {
            let mut order = order.map(|at| at * GAP);
            assert_eq!(assign_positions(&mut order), moved);
            assert!(order.is_sorted_by(|one, other| one < other));
        }
    }
}
