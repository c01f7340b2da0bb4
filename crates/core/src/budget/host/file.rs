//! The file that contains the shared gate: locked, read, decoded, changed, encoded and written anew for each operation, in
//! some microseconds.
//!
//! Nothing is kept open, so that a fork shares no lock, and a file that was removed or replaced is noticed. The state lies
//! there in two copies, each with a number and a checksum, which are written in turn: a process that is killed while it
//! writes leaves the copy before.

use crate::gate::{GateSettings, SharedGate};
use crate::host::{Identity, Locked, SharedFile, clock, directory};
use postcard::fixint;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::time::Duration;
use xxhash_rust::xxh3::xxh3_64;

/// A process that has the lock after so many tries, with such pauses, has been stopped: an operation takes some
/// microseconds.
const TRIES: u32 = 1500;
const PAUSE: Duration = Duration::from_micros(100);
/// How often an operation begins again because the file was replaced meanwhile.
const MOVES: u32 = 8;
/// What this process knows of the state is of use for so long, should the file be lost.
const FRESH: Duration = Duration::from_secs(2);
/// A state from further in the future than this was written by another run of the host.
const AHEAD: Duration = Duration::from_secs(1);
/// How much room each copy has.
const ROOM: usize = 256 * 1024;
/// How long the head of a copy is.
const HEAD: usize = 20;

/// Before each copy.
#[derive(Serialize, Deserialize)]
struct Head {
    #[serde(with = "fixint::le")]
    number: u64,
    #[serde(with = "fixint::le")]
    checksum: u64,
    #[serde(with = "fixint::le")]
    length: u32,
}

/// The file, and what this process saw in it last.
pub(super) struct StateFile {
    file: SharedFile,
    settings: GateSettings,
    seen: Option<Seen>,
}

/// A state, and where it lies.
struct Seen {
    file: Identity,
    number: u64,
    state: Box<SharedGate>,
}

impl StateFile {
    /// The file at this path, which is made when it is needed.
    pub(super) fn new(path: PathBuf, settings: GateSettings) -> Self {
        StateFile {
            file: SharedFile::new(path),
            settings,
            seen: None,
        }
    }

    /// Changes the state. The operation may be done more than once, each time to a state in which it was not done yet, and
    /// only the last one counts.
    pub(super) fn change<T>(
        &mut self,
        mut operation: impl FnMut(&mut SharedGate, Duration) -> T,
    ) -> Result<T> {
        for _ in 0..MOVES {
            let locked = self.file.lock(TRIES, PAUSE)?;
            let now = clock::now();
            let (number, mut state) = self.load(&locked, now);
            let done = operation(&mut state, now);
            let number = write(&locked.file, number, now, &state)?;
            if locked.is_current() {
                let file = locked.identity;
                self.seen = Some(Seen {
                    file,
                    number,
                    state,
                });
                return Ok(done);
            }
        }
        Err(Error::other("the file is replaced again and again"))
    }

    /// The state as it is now, for somebody who only looks; none where there is none.
    pub(super) fn look(&self) -> Result<Option<Box<SharedGate>>> {
        let file = match self.file.look() {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        // Without the lock, the newest copy may be only half written; then the one before is whole.
        let read = file.and_then(|file| read(&file, &self.settings));
        Ok(read.map(|(_, state)| state))
    }

    /// What is known of the state where it cannot be changed: what others see, or else what this process saw last.
    pub(super) fn last_seen(&mut self) -> Option<Box<SharedGate>> {
        let seen = self.seen.take().map(|seen| seen.state);
        self.look().ok().flatten().or(seen)
    }

    /// The state in the file, and the number of its copy if it has one.
    fn load(&mut self, locked: &Locked, now: Duration) -> (Option<u64>, Box<SharedGate>) {
        let newest = heads(&locked.file).first().map(|(head, _)| head.number);
        let is_known =
            |seen: &mut Seen| seen.file == locked.identity && Some(seen.number) == newest;
        let known = self.seen.take_if(is_known);
        let known = known.map(|seen| (seen.number, seen.state));
        let (number, state) = match known.or_else(|| read(&locked.file, &self.settings)) {
            Some((number, state)) => (Some(number), state),
            None => {
                directory::sweep(self.file.directory());
                let is_empty = locked.file.metadata().is_ok_and(|facts| facts.len() == 0);
                let seen = self.seen.take().map(|seen| seen.state);
                let seen = seen.filter(|it| it.used() <= now && it.used() + FRESH >= now);
                let unknown = || match is_empty {
                    true => SharedGate::new(self.settings, now),
                    // Others have sent, and nobody knows how much.
                    false => SharedGate::after_loss(self.settings, now),
                };
                (None, seen.unwrap_or_else(|| Box::new(unknown())))
            }
        };
        match state.used() > now + AHEAD || state.is_over(now) {
            true => (number, Box::new(SharedGate::new(self.settings, now))),
            false => (number, state),
        }
    }
}

fn at(place: u64) -> u64 {
    place * (ROOM + HEAD) as u64
}

/// The heads of the copies, whole or not, and where these are; the newest first.
fn heads(file: &File) -> Vec<(Head, u64)> {
    let head = |at| {
        let mut bytes = [0; HEAD];
        file.read_exact_at(&mut bytes, at).ok()?;
        let head: Head = postcard::from_bytes(&bytes).ok()?;
        (head.number > 0 && head.length as usize <= ROOM).then_some((head, at + HEAD as u64))
    };
    let mut heads: Vec<_> = [at(0), at(1)].into_iter().filter_map(head).collect();
    heads.sort_by_key(|(head, _)| Reverse(head.number));
    heads
}

/// The newest copy that is whole, and that a gate with these settings can have written, and its number.
pub(super) fn read(file: &File, settings: &GateSettings) -> Option<(u64, Box<SharedGate>)> {
    heads(file).into_iter().find_map(|(head, at)| {
        let mut bytes = vec![0; head.length as usize];
        file.read_exact_at(&mut bytes, at).ok()?;
        let is_whole = xxh3_64(&bytes) == head.checksum;
        let state: SharedGate = is_whole.then(|| postcard::from_bytes(&bytes).ok())??;
        let is_valid = state.is_valid(settings);
        is_valid.then(|| (head.number, Box::new(state)))
    })
}

/// Writes the state over the copy before the last, which has this number; where there is none, anew. The first number is the
/// present time, so that a copy of another file that had the same inode before is never taken for one of this.
pub(super) fn write(
    file: &File,
    last: Option<u64>,
    now: Duration,
    state: &SharedGate,
) -> Result<u64> {
    let number = last.map_or(now.as_nanos() as u64, |last| last.wrapping_add(1));
    let body = postcard::to_stdvec(state).map_err(Error::other)?;
    if body.len() > ROOM {
        return Err(Error::other("the state of the budget is too large"));
    }
    let head = Head {
        number,
        checksum: xxh3_64(&body),
        length: body.len() as u32,
    };
    let head = postcard::to_stdvec(&head).map_err(Error::other)?;
    if last.is_none() {
        file.set_len(0)?;
    }
    file.write_all_at(&[head, body].concat(), at(number % 2))?;
    Ok(number)
}
