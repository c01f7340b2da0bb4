//! Changes that are made to a list at once.

use std::io;

use super::State;
use crate::drift::Change;
use crate::rng::Rng;

/// Changes are remembered one by one, which takes 50 bytes a record or more.
const MOST_CHANGED: u64 = 10_000_000;

impl State {
    /// Changes the list at once.
    ///
    /// # Errors
    ///
    /// When too many records would change.
    pub(crate) fn change(&mut self, change: Change) -> io::Result<()> {
        let most = match change {
            Change::Insert(count)
            | Change::Update(count)
            | Change::Delete(count)
            | Change::DeleteFirst(count)
            | Change::UpdateFirst(count)
            | Change::Move(count) => count,
            Change::Reverse | Change::Shuffle => self.total(),
        };
        if most > MOST_CHANGED {
            let message = format!("at most {MOST_CHANGED} records can be changed at once");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        match change {
            Change::Insert(count) => {
                for _ in 0..count {
                    let place = self.rng.below(self.total() + 1);
                    self.insert(place);
                }
            }
            Change::Update(count) => {
                for _ in 0..count {
                    let place = self.rng.below(self.total());
                    self.update(place);
                }
            }
            Change::Delete(count) => {
                for _ in 0..count.min(self.total()) {
                    let place = self.rng.below(self.total());
                    self.delete(place);
                }
            }
            Change::DeleteFirst(count) => {
                for _ in 0..count.min(self.total()) {
                    self.delete(0);
                }
            }
            Change::UpdateFirst(count) => {
                let first = self.sequence.cut(0..count).into_iter().flatten();
                for number in first {
                    if let Some(place) = self.sequence.place(number) {
                        self.update(place);
                    }
                }
            }
            Change::Move(count) => {
                for _ in 0..count {
                    let place = self.rng.below(self.total());
                    let after = self.rng.below(self.total());
                    self.put(place, after);
                }
            }
            Change::Reverse => self.reorder(|numbers, _| numbers.reverse()),
            Change::Shuffle => self.reorder(|numbers, rng| rng.shuffle(numbers)),
        }
        Ok(())
    }

    fn reorder(&mut self, how: impl FnOnce(&mut [u64], &mut Rng)) {
        let mut numbers: Vec<u64> = self.sequence.numbers().collect();
        how(&mut numbers, &mut self.rng);
        self.sequence.replace(&numbers);
        self.moved.extend(numbers);
    }
}
