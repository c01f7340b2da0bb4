//! The file that contains the shared gate: locked, read, decoded, changed, encoded and written anew for each operation, in
//! some microseconds.
//!
//! Nothing is kept open, so that a fork shares no lock, and a file that was removed or replaced is noticed. The state lies
//! there in two copies, each with a number and a checksum, which are written in turn: a process that is killed while it
//! writes leaves the copy before.

use crate::gate::{GateSettings, SharedGate};
use crate::host::{Identity, Locked, SharedFile, clock, directory};
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

/// What such a file begins with; another state has another mark, and another name of the file.
pub(super) const MARK: [u8; 16] = *b"talentdata\x00budg5";
/// Where the copies begin, and how much room each has.
const FIRST: u64 = 4096;
const ROOM: usize = 256 * 1024;
/// Before each copy: its number, its checksum and its length.
const HEAD: usize = 20;

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

    /// Changes the state. The operation may be done more than once, each time to a state in which it was not done yet, and
    /// only the last one counts.
    pub(super) fn change<T>(
        &mut self,
        mut operation: impl FnMut(&mut SharedGate, Duration) -> T,
    ) -> Result<T> {
        for _ in 0..MOVES {
            let locked = self.lock()?;
            let now = clock::now();
            let (number, mut state) = self.load(&locked, now)?;
            let done = operation(&mut state, now);
            match write(&locked.file, number, now, &state) {
                Ok(number) if locked.is_current() => {
                    let file = locked.identity;
                    self.seen = Some(Seen {
                        file,
                        number,
                        state,
                    });
                    return Ok(done);
                }
                Ok(_) => {}
                Err(error) => {
                    // To the others nothing has been done: who goes on alone does so from where they do.
                    let image = read(&locked.file, &self.settings).ok();
                    self.seen = image.and_then(Image::state).map(|(number, state)| Seen {
                        file: locked.identity,
                        number,
                        state,
                    });
                    return Err(error);
                }
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
        let image = file.map_or(Ok(Image::Empty), |file| read(&file, &self.settings))?;
        Ok(image.state().map(|(_, state)| state))
    }

    /// What this process saw last; it goes on with that alone.
    pub(super) fn take_seen(&mut self) -> Option<Box<SharedGate>> {
        self.seen.take().map(|seen| seen.state)
    }

    /// Locks the file. One that a stopped process has locked is left to it, and another one takes its state along.
    fn lock(&mut self) -> Result<Locked> {
        let (settings, seen, has_moved) = (&self.settings, &mut self.seen, &mut self.has_moved);
        let mut begin = |stopped: &File, new: &File| {
            let now = clock::now();
            let state = match read(stopped, settings)?.state() {
                Some((_, state)) => Some(state),
                None => recent(seen, now),
            };
            let lost = || Box::new(SharedGate::after_loss(*settings, now));
            *has_moved = true;
            write(new, None, now, &state.unwrap_or_else(lost)).map(drop)
        };
        let mut waiter = self.file.waiter(TRIES);
        loop {
            match waiter.try_lock(&mut begin)? {
                Some(locked) => return Ok(locked),
                None => std::thread::sleep(PAUSE),
            }
        }
    }

    /// The state in the file, and the number of its copy if it has one.
    fn load(&mut self, locked: &Locked, now: Duration) -> Result<(Option<u64>, Box<SharedGate>)> {
        let newest = heads(&locked.file)?.first().map(|(head, _)| head.number);
        let is_known =
            |seen: &mut Seen| seen.file == locked.identity && Some(seen.number) == newest;
        let (number, state) = match self.seen.take_if(is_known) {
            Some(seen) => (Some(seen.number), seen.state),
            None => match read(&locked.file, &self.settings)? {
                Image::State(number, state) => (Some(number), state),
                image => {
                    directory::sweep(self.file.directory());
                    let unknown = || match image {
                        // Others have sent, and nobody knows how much.
                        Image::Damaged => SharedGate::after_loss(self.settings, now),
                        _ => SharedGate::new(self.settings, now),
                    };
                    let state = recent(&mut self.seen, now);
                    (None, state.unwrap_or_else(|| Box::new(unknown())))
                }
            },
        };
        match state.used() > now + AHEAD || state.is_over(now) {
            true => Ok((number, Box::new(SharedGate::new(self.settings, now)))),
            false => Ok((number, state)),
        }
    }
}

/// What this process saw last, if that is not long ago.
fn recent(seen: &mut Option<Seen>, now: Duration) -> Option<Box<SharedGate>> {
    let state = seen.take()?.state;
    (state.used() <= now && state.used() + FRESH >= now).then_some(state)
}

/// What a file contains.
pub(super) enum Image {
    /// Nothing yet.
    Empty,
    /// Something else, or no copy that is whole.
    Damaged,
    /// The state, and the number of its copy.
    State(u64, Box<SharedGate>),
}

impl Image {
    pub(super) fn state(self) -> Option<(u64, Box<SharedGate>)> {
        match self {
            Image::State(number, state) => Some((number, state)),
            Image::Empty | Image::Damaged => None,
        }
    }
}

#[derive(Clone, Copy)]
struct Head {
    number: u64,
    checksum: u64,
    length: usize,
}

/// The heads of the copies, whole or not, and where these are; the newest first.
fn heads(file: &File) -> Result<Vec<(Head, u64)>> {
    let mut heads = Vec::new();
    for at in [at(0), at(1)] {
        let head = read_at::<HEAD>(file, at)?;
        if let Some(head) = head {
            let field = |from: usize| u64::from_le_bytes(std::array::from_fn(|n| head[from + n]));
            let (number, checksum) = (field(0), field(8));
            let length = u32::from_le_bytes(std::array::from_fn(|n| head[16 + n])) as usize;
            if number > 0 && length <= ROOM {
                let head = Head {
                    number,
                    checksum,
                    length,
                };
                heads.push((head, at + HEAD as u64));
            }
        }
    }
    heads.sort_by_key(|(head, _)| Reverse(head.number));
    Ok(heads)
}

/// The newest copy that is whole, and that a gate with these settings can have written.
pub(super) fn read(file: &File, settings: &GateSettings) -> Result<Image> {
    if file.metadata()?.len() == 0 {
        return Ok(Image::Empty);
    }
    if read_at(file, 0)? != Some(MARK) {
        return Ok(Image::Damaged);
    }
    for (head, at) in heads(file)? {
        let mut bytes = vec![0; head.length];
        let is_whole = file.read_exact_at(&mut bytes, at).is_ok();
        if is_whole
            && xxh3_64(&bytes) == head.checksum
            && let Ok(state) = postcard::from_bytes::<SharedGate>(&bytes)
            && state.is_valid(settings)
        {
            return Ok(Image::State(head.number, Box::new(state)));
        }
    }
    Ok(Image::Damaged)
}

/// Writes the state over the copy before the last, which has this number; where there is none, anew. The first number is the
/// present time, so that a copy of another file that had the same inode before is never taken for one of this.
pub(super) fn write(
    file: &File,
    last: Option<u64>,
    now: Duration,
    state: &SharedGate,
) -> Result<u64> {
    let number = last.map_or(now.as_nanos() as u64, |last| last + 1);
    let mut bytes = postcard::to_extend(state, vec![0; HEAD]).map_err(Error::other)?;
    let (head, body) = bytes.split_at_mut(HEAD);
    if body.len() > ROOM {
        return Err(Error::other("the state of the budget is too large"));
    }
    head[..8].copy_from_slice(&number.to_le_bytes());
    head[8..16].copy_from_slice(&xxh3_64(body).to_le_bytes());
    head[16..].copy_from_slice(&(body.len() as u32).to_le_bytes());
    if last.is_none() {
        file.set_len(0)?;
    }
    file.write_all_at(&bytes, at(number % 2))?;
    if last.is_none() {
        file.write_all_at(&MARK, 0)?;
    }
    Ok(number)
}

fn at(place: u64) -> u64 {
    FIRST + place * (ROOM + HEAD) as u64
}

/// So many bytes; none where the file ends before.
fn read_at<const N: usize>(file: &File, at: u64) -> Result<Option<[u8; N]>> {
    let mut bytes = [0; N];
    match file.read_exact_at(&mut bytes, at) {
        Ok(()) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}
