//! The file that holds the shared gate: opened by its path and locked anew for each operation, for some microseconds.
//!
//! Nothing is kept open, so that a fork shares no lock, and a file that was removed or replaced is noticed. A process that
//! is stopped while it holds the lock holds up nobody for long: the others move on to a copy of the file, and what the
//! stopped one then writes goes nowhere.

use super::image::{self, Image};
use crate::gate::{GateSettings, SharedGate};
use crate::host::{Identity, SharedFile, clock, directory};
use std::fs::{File, TryLockError};
use std::io::{Error, ErrorKind, Result};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The lock is tried so often with a short pause in between, together longer than an operation takes; then with longer ones.
const TRIES: u32 = 10;
const SHORT_PAUSE: Duration = Duration::from_micros(20);
const LONG_PAUSE: Duration = Duration::from_millis(1);
/// A process that holds the lock for longer than this, however often it is tried, has been stopped.
const STOPPED: Duration = Duration::from_millis(250);
const OFTEN: u32 = 30;
/// How often an operation begins again because the file was replaced meanwhile.
const MOVES: u32 = 8;
/// What this process knows of the state is of use for so long, should the file be lost.
const FRESH: Duration = Duration::from_secs(2);
/// A state from further in the future than this was written by another run of the host.
const AHEAD: Duration = Duration::from_secs(1);

/// The file, and what this process saw in it last.
pub(super) struct StateFile {
    file: SharedFile,
    settings: GateSettings,
    seen: Option<Seen>,
    /// A copy has replaced a file that was locked without end.
    has_moved: bool,
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
            has_moved: false,
        }
    }

    /// Whether a copy has replaced the file since this was asked last, for a stopped process had locked it.
    pub(super) fn take_moved(&mut self) -> bool {
        std::mem::take(&mut self.has_moved)
    }

    /// Changes the state. What is to be done may be done more than once, each time to a state in which it was not done
    /// yet, and only the last one counts.
    pub(super) fn change<T>(
        &mut self,
        mut operation: impl FnMut(&mut SharedGate, Duration) -> T,
    ) -> Result<T> {
        for _ in 0..MOVES {
            let Some((file, identity)) = self.file.open()? else {
                self.file.replace_foreign()?;
                continue;
            };
            if !lock(&file)? {
                self.move_on(&file, identity)?;
                continue;
            }
            let done = self.change_locked(&file, identity, &mut operation);
            // Closing is not enough while a process that is being forked off has a copy of the file.
            let _ = file.unlock();
            if let Some(done) = done? {
                return Ok(done);
            }
        }
        Err(Error::other("the file is replaced again and again"))
    }

    /// The state as it is now, for somebody who only looks; none where there is none.
    pub(super) fn look(&self) -> Result<Option<Box<SharedGate>>> {
        let file = match self.file.open_existing() {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        // Without the lock, the newest copy may be only half written; then the one before is whole.
        match image::read(&file, &self.settings)? {
            Image::State(_, state) => Ok(Some(state)),
            Image::Empty | Image::Damaged => Ok(None),
        }
    }

    /// What this process saw last; it goes on with that alone.
    pub(super) fn take_seen(&mut self) -> Option<Box<SharedGate>> {
        self.seen.take().map(|seen| seen.state)
    }

    /// None when the operation has to begin again.
    fn change_locked<T>(
        &mut self,
        file: &File,
        identity: Identity,
        operation: &mut impl FnMut(&mut SharedGate, Duration) -> T,
    ) -> Result<Option<T>> {
        if !self.file.leads_to(identity) {
            return Ok(None);
        }
        let now = clock::now();
        let Some((number, mut state)) = self.load(file, identity, now)? else {
            let state = self.seen(now);
            self.replace(identity, state)?;
            return Ok(None);
        };
        let done = operation(&mut state, now);
        let written = match number {
            Some(number) => image::write(file, number + 1, &state).map(|()| number + 1),
            None => image::begin(file, now, &state),
        };
        let number = match written {
            Ok(number) => number,
            Err(error) => {
                // To the others nothing has been done: whoever goes on alone does so from where they do.
                if let Ok(Image::State(number, state)) = image::read(file, &self.settings) {
                    self.seen = Some(Seen {
                        file: identity,
                        number,
                        state,
                    });
                }
                return Err(error);
            }
        };
        if !self.file.leads_to(identity) {
            return Ok(None);
        }
        self.seen = Some(Seen {
            file: identity,
            number,
            state,
        });
        Ok(Some(done))
    }

    /// The state in the file and the number of its copy, if it has one yet; none where it is damaged.
    fn load(
        &mut self,
        file: &File,
        identity: Identity,
        now: Duration,
    ) -> Result<Option<(Option<u64>, Box<SharedGate>)>> {
        let newest = image::newest(file)?;
        let known = |seen: &mut Seen| seen.file == identity && Some(seen.number) == newest;
        let (number, state) = match self.seen.take_if(known) {
            Some(seen) => (Some(seen.number), seen.state),
            None => match image::read(file, &self.settings)? {
                Image::State(number, state) => (Some(number), state),
                Image::Damaged => return Ok(None),
                Image::Empty => {
                    directory::sweep(self.file.directory());
                    let state = self.seen(now);
                    let new = || Box::new(SharedGate::new(self.settings, now));
                    (None, state.unwrap_or_else(new))
                }
            },
        };
        if state.used() > now + AHEAD || state.is_over(now) {
            return Ok(Some((
                number,
                Box::new(SharedGate::new(self.settings, now)),
            )));
        }
        Ok(Some((number, state)))
    }

    /// What this process saw last, if that is not long ago.
    fn seen(&mut self, now: Duration) -> Option<Box<SharedGate>> {
        let seen = self.take_seen();
        seen.filter(|state| state.used() <= now && state.used() + FRESH >= now)
    }

    /// Leaves a file that somebody holds the lock of without end, and takes its state along.
    fn move_on(&mut self, file: &File, identity: Identity) -> Result<()> {
        let state = match image::read(file, &self.settings)? {
            Image::State(_, state) => Some(state),
            Image::Empty | Image::Damaged => self.seen(clock::now()),
        };
        self.has_moved |= self.replace(identity, state)?;
        Ok(())
    }

    /// Puts another file with this state in the place of one that cannot be used, which stays as it is, unless somebody
    /// else has done so.
    fn replace(&self, stale: Identity, state: Option<Box<SharedGate>>) -> Result<bool> {
        let now = clock::now();
        let lost = || Box::new(SharedGate::after_loss(self.settings, now));
        let state = state.unwrap_or_else(lost);
        let begin = |new: &File| image::begin(new, now, &state).map(drop);
        let replaced = self
            .file
            .replace_if(|| Ok(self.file.leads_to(stale)), begin)?;
        Ok(replaced.is_some())
    }
}

/// Takes the lock; false where somebody holds it without end.
fn lock(file: &File) -> Result<bool> {
    let began = Instant::now();
    for attempt in 1.. {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if attempt <= TRIES => std::thread::sleep(SHORT_PAUSE),
            Err(TryLockError::WouldBlock) if attempt <= OFTEN || began.elapsed() < STOPPED => {
                std::thread::sleep(LONG_PAUSE);
            }
            Err(TryLockError::WouldBlock) => break,
        }
    }
    Ok(false)
}
