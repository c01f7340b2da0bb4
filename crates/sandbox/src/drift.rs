//! What is changed in a list: a little after every few page requests, or a lot at once.

use std::str::FromStr;

use serde::Deserialize;

/// Changes made to a list between page requests: records come, go and are updated; the order of the others stays.
///
/// A third of the changes happens before the end of the page last asked for, a third right at it, a third behind it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Drift {
    /// A list changes after every so many of its page requests; 0 counts as 1.
    pub every_requests: u32,
    /// How many times it changes; 0 is without end.
    pub times: u32,
    /// Records inserted each time.
    pub inserts: u32,
    /// Records deleted each time.
    pub deletes: u32,
    /// Records updated each time: other members, the same `id`; without one, their members stay as they are. Where
    /// an updated record goes is for the [`Order`](crate::Order) to say.
    pub updates: u32,
    /// Records deleted each time in one piece, at a random place.
    pub bulk_deletes: u32,
    /// Chooses the places.
    pub seed: u64,
}

impl Drift {
    /// The names that [`set`](Self::set) knows.
    pub const NAMES: [&'static str; 7] = [
        "every",
        "times",
        "inserts",
        "deletes",
        "updates",
        "bulk-deletes",
        "seed",
    ];

    /// Sets a number by its name on the command line.
    ///
    /// # Errors
    ///
    /// In words, when there is no such name, or the number is too large for it.
    pub fn set(&mut self, name: &str, number: u64) -> Result<(), String> {
        let field = match name {
            "every" => &mut self.every_requests,
            "times" => &mut self.times,
            "inserts" => &mut self.inserts,
            "deletes" => &mut self.deletes,
            "updates" => &mut self.updates,
            "bulk-deletes" => &mut self.bulk_deletes,
            "seed" => {
                self.seed = number;
                return Ok(());
            }
            _ => return Err(unknown(name, &Self::NAMES)),
        };
        *field = u32::try_from(number).map_err(|_| format!("{name}: {number} is too large"))?;
        Ok(())
    }
}

/// Written `every=N,inserts=N`, with any of [`Drift::NAMES`].
impl FromStr for Drift {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut drift = Self::default();
        read(text, &Self::NAMES, |name, number| drift.set(name, number))?;
        Ok(drift)
    }
}

/// Read replicas: copies of a list that answer its requests in place of each other, of which one lags behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Replicas {
    /// How many there are; with fewer than two, none lags.
    pub count: u32,
    /// How many percent of the list, at its end, the last replica lacks. It has its own `total` and `hasMore`.
    pub lag_percent: u32,
    /// Whether the replica is chosen at random for each request; otherwise they take turns, the last one last.
    pub random: bool,
}

impl Default for Replicas {
    /// Two that take turns, one without the last quarter.
    fn default() -> Self {
        Self {
            count: 2,
            lag_percent: 25,
            random: false,
        }
    }
}

impl Replicas {
    /// The names that [`set`](Self::set) knows.
    pub const NAMES: [&'static str; 3] = ["count", "lag-percent", "random"];

    /// Sets a number by its name on the command line; `random` is 0 or 1.
    ///
    /// # Errors
    ///
    /// In words, when there is no such name, or the number is too large for it.
    pub fn set(&mut self, name: &str, number: u64) -> Result<(), String> {
        let (field, most) = match name {
            "count" => (&mut self.count, u32::MAX),
            "lag-percent" => (&mut self.lag_percent, 100),
            "random" if number <= 1 => {
                self.random = number == 1;
                return Ok(());
            }
            "random" => return Err("random: give 0 or 1".to_owned()),
            _ => return Err(unknown(name, &Self::NAMES)),
        };
        let given = u32::try_from(number).ok().filter(|given| *given <= most);
        *field = given.ok_or_else(|| format!("{name}: {number} is more than {most}"))?;
        Ok(())
    }
}

/// Written `count=N,lag-percent=N`, with any of [`Replicas::NAMES`].
impl FromStr for Replicas {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut replicas = Self::default();
        read(text, &Self::NAMES, |name, number| {
            replicas.set(name, number)
        })?;
        Ok(replicas)
    }
}

/// A change made at once, such as between two runs of a program that resumes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Inserts so many records at random places.
    Insert(u64),
    /// Updates records so many times, each time one chosen at random.
    Update(u64),
    /// Deletes so many records, chosen at random.
    Delete(u64),
    /// Deletes so many records at the front.
    DeleteFirst(u64),
    /// Updates so many records at the front; where they go is for the [`Order`](crate::Order) to say.
    UpdateFirst(u64),
    /// Moves so many records, chosen at random, to random places.
    Move(u64),
    /// Turns the list around.
    Reverse,
    /// Puts the list in a random order.
    Shuffle,
}

fn read(
    text: &str,
    names: &[&str],
    mut set: impl FnMut(&str, u64) -> Result<(), String>,
) -> Result<(), String> {
    for part in text.split(',') {
        let (name, value) = part
            .split_once('=')
            .ok_or_else(|| format!("give NAME=N,... with any of {}", names.join(", ")))?;
        let number = value.parse();
        let number = number.map_err(|_| format!("{value:?} is not a whole number that fits"))?;
        set(name, number)?;
    }
    Ok(())
}

fn unknown(name: &str, names: &[&str]) -> String {
    format!("{name:?} is not one of: {}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_on_a_command_line_is_read() {
        let drift = "every=3,times=9,inserts=2,deletes=1,updates=4,bulk-deletes=60,seed=7".parse();
        let expected = Drift {
            every_requests: 3,
            times: 9,
            inserts: 2,
            deletes: 1,
            updates: 4,
            bulk_deletes: 60,
            seed: 7,
        };
        assert_eq!(drift, Ok(expected));
        let replicas = "count=3,lag-percent=50,random=1".parse();
        let expected = Replicas {
            count: 3,
            lag_percent: 50,
            random: true,
        };
        assert_eq!(replicas, Ok(expected));
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        for (text, named) in [
            ("", "every"),
            ("inserts", "every"),
            ("speed=1", "speed"),
            ("inserts=-1", "-1"),
            ("inserts=5000000000", "inserts"),
        ] {
            let error = text.parse::<Drift>().unwrap_err();
            assert!(error.contains(named), "{text}: {error}");
        }
        for (text, named) in [("lag-percent=101", "lag-percent"), ("random=2", "random")] {
            let error = text.parse::<Replicas>().unwrap_err();
            assert!(error.contains(named), "{text}: {error}");
        }
    }
}
