//! Where records stand in their list: positions between which there is always room, so that an insert renumbers nobody.
//!
//! A position is a text of bytes, at least eight of them, and sorts as such.

/// The distance between neighbours that came one behind the other.
const STEP: u64 = 1 << 20;
/// Where a list begins.
const MIDDLE: u64 = 1 << 63;
/// Bytes that are divided at once.
const WIDTH: usize = 15;

/// The positions of `count` records between two others; none is an end of the list.
pub(crate) fn between(
    before: Option<&[u8]>,
    behind: Option<&[u8]>,
    count: usize,
) -> impl Iterator<Item = Vec<u8>> {
    let spaced = match (before, behind) {
        (Some(before), Some(behind)) if before < behind => divided(before, behind, count),
        (None, Some(behind)) => {
            let first = head(behind).wrapping_sub(STEP.wrapping_mul(count as u64));
            (Vec::new(), u128::from(first), u128::from(STEP), 8)
        }
        (before, _) => {
            let first = before.map_or(MIDDLE, |before| head(before).wrapping_add(STEP));
            (Vec::new(), u128::from(first), u128::from(STEP), 8)
        }
    };
    let (prefix, first, step, width) = spaced;
    (0..count as u128).map(move |index| {
        let number = first.wrapping_add(step.wrapping_mul(index)).to_be_bytes();
        let mut position = prefix.clone();
        position.extend_from_slice(&number[number.len() - width..]);
        if position.len() > 8 && position.ends_with(&[0]) {
            // Zeros at the end would leave no room before it.
            position.push(128);
        }
        position
    })
}

/// The first eight bytes.
fn head(position: &[u8]) -> u64 {
    position
        .iter()
        .take(8)
        .chain(std::iter::repeat_n(
            &0,
            8_usize.saturating_sub(position.len()),
        ))
        .fold(0, |head, byte| head << 8 | u64::from(*byte))
}

/// Divides the room between two positions: a prefix, the first number behind it, their distance, and their bytes.
fn divided(before: &[u8], behind: &[u8], count: usize) -> (Vec<u8>, u128, u128, usize) {
    let at = |position: &[u8], index: usize| position.get(index).copied().unwrap_or(0);
    let length = before.len().max(behind.len());
    let shared = (0..length).take_while(|index| at(before, *index) == at(behind, *index));
    let shared = shared.count();
    let number = |position: &[u8], width: usize| {
        (shared..shared + width).fold(0_u128, |number, index| {
            number << 8 | u128::from(at(position, index))
        })
    };
    let parts = count as u128 + 1;
    let prefix = || (0..shared).map(|index| at(behind, index)).collect();
    for width in (1..=WIDTH).filter(|width| shared + width > 8) {
        let (low, high) = (number(before, width), number(behind, width));
        let step = (high - low) / parts;
        if step > 256 || step > 0 && width == WIDTH {
            return (prefix(), low + step, step, width);
        }
    }
    // What begins with the one before, and goes on, still stands before the other.
    let step = u128::from(u64::MAX) / parts;
    let mut prefix = before.to_vec();
    prefix.resize(prefix.len().max(shared + WIDTH), 0);
    (prefix, step, step, 9)
}

/// Positions one behind the other, in one piece of memory.
#[derive(Default)]
pub(crate) struct Positions {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Positions {
    pub(crate) fn push(&mut self, position: &[u8]) {
        self.bytes.extend_from_slice(position);
        self.ends.push(self.bytes.len());
    }

    fn get(&self, index: usize) -> &[u8] {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[index]]
    }

    /// Which of them have to change for all to be in order: as few as possible.
    pub(crate) fn moved(&self) -> Vec<bool> {
        let count = self.ends.len();
        if (1..count).all(|index| self.get(index - 1) < self.get(index)) {
            return vec![false; count];
        }
        // The longest increasing run: for each length the smallest position that ends one.
        let (mut ends, mut before) = (Vec::new(), Vec::with_capacity(count));
        for index in 0..count {
            let length = ends.partition_point(|end| self.get(*end) < self.get(index));
            before.push(length.checked_sub(1).map_or(index, |shorter| ends[shorter]));
            match ends.get_mut(length) {
                Some(end) => *end = index,
                None => ends.push(index),
            }
        }
        let mut moved = vec![true; count];
        let mut next = ends.last().copied();
        while let Some(index) = next {
            moved[index] = false;
            next = Some(before[index]).filter(|before| *before != index);
        }
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Inserts so many between two places of a list that keeps its order.
    fn insert(list: &mut Vec<Vec<u8>>, at: usize, count: usize) {
        let before = at.checked_sub(1).map(|before| list[before].clone());
        let behind = list.get(at).cloned();
        let fresh: Vec<Vec<u8>> = between(before.as_deref(), behind.as_deref(), count).collect();
        list.splice(at..at, fresh);
    }

    #[test]
    fn there_is_always_room_and_always_order() {
        let mut random = fastrand::Rng::with_seed(7);
        for round in 0..60 {
            let mut list = Vec::new();
            for step in 0..200 {
                let at = match round % 4 {
                    0 => 0,
                    1 => list.len(),
                    2 => list.len().min(1),
                    _ => random.usize(..=list.len()),
                };
                let count = if step % 50 == 49 {
                    300
                } else {
                    random.usize(1..4)
                };
                insert(&mut list, at, count);
            }
            assert!(list.is_sorted_by(|one, other| one < other), "{round}");
            let longest = list.iter().map(Vec::len).max();
            assert!(longest < Some(120), "{longest:?}");
        }
    }

    #[test]
    fn one_record_that_moves_is_all_that_changes() {
        let of = |order: &[usize]| {
            let all: Vec<Vec<u8>> = between(None, None, 6).collect();
            let mut positions = Positions::default();
            order.iter().for_each(|index| positions.push(&all[*index]));
            positions.moved()
        };
        assert_eq!(of(&[0, 1, 2, 3]), [false; 4]);
        assert_eq!(of(&[0, 5, 1, 2]), [false, true, false, false]);
        assert_eq!(of(&[1, 2, 3, 0]), [false, false, false, true]);
        assert_eq!(of(&[]), [false; 0]);
    }
}
