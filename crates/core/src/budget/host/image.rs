//! How the state lies in its file: two copies, each with a number and a checksum, written in turn. Whoever is killed while
//! writing leaves the copy before.

use crate::gate::{GateSettings, SharedGate};
use std::fs::File;
use std::io::{Error, Result};
use std::os::unix::fs::FileExt;
use std::time::Duration;
use xxhash_rust::xxh3::xxh3_64;

/// What such a file begins with; another state has another mark, and another name of the file.
pub(super) const MARK: [u8; 16] = *b"talentdata\x00budg5";
/// Where the copies begin, and how much room each has.
const FIRST: u64 = 4096;
const ROOM: usize = 256 * 1024;
/// Before each copy: its number, its checksum and its length.
const HEAD: usize = 20;

/// What a file holds.
pub(super) enum Image {
    /// Nothing yet.
    Empty,
    /// Something else, or no copy that is whole.
    Damaged,
    /// The state, and the number of its copy.
    State(u64, Box<SharedGate>),
}

struct Head {
    number: u64,
    checksum: u64,
    length: usize,
}

impl Head {
    fn read(file: &File, place: u64) -> Result<Option<Self>> {
        let mut bytes = [0; HEAD];
        if read_at(file, &mut bytes, at(place))? < HEAD {
            return Ok(None);
        }
        let (number, rest) = bytes.split_at(8);
        let (checksum, length) = rest.split_at(8);
        let number = number.try_into().map(u64::from_le_bytes);
        let checksum = checksum.try_into().map(u64::from_le_bytes);
        let length = length.try_into().map(u32::from_le_bytes);
        let (Ok(number), Ok(checksum), Ok(length)) = (number, checksum, length) else {
            return Ok(None);
        };
        let length = length as usize;
        let usable = number > 0 && length <= ROOM;
        Ok(usable.then_some(Head {
            number,
            checksum,
            length,
        }))
    }
}

/// The number of the newest copy, whole or not.
pub(super) fn newest(file: &File) -> Result<Option<u64>> {
    let heads = [Head::read(file, 0)?, Head::read(file, 1)?];
    Ok(heads.into_iter().flatten().map(|head| head.number).max())
}

/// The newest copy that is whole, and that a gate with these settings can have written.
pub(super) fn read(file: &File, settings: &GateSettings) -> Result<Image> {
    let mut mark = [0; MARK.len()];
    match read_at(file, &mut mark, 0)? {
        0 => return Ok(Image::Empty),
        _ if mark != MARK => return Ok(Image::Damaged),
        _ => {}
    }
    let mut copies: Vec<(Head, u64)> = Vec::new();
    for place in [0, 1] {
        copies.extend(Head::read(file, place)?.map(|head| (head, place)));
    }
    copies.sort_by_key(|(head, _)| std::cmp::Reverse(head.number));
    for (head, place) in copies {
        let mut bytes = vec![0; head.length];
        let whole = read_at(file, &mut bytes, at(place) + HEAD as u64)? == head.length
            && xxh3_64(&bytes) == head.checksum;
        let state = whole.then(|| postcard::from_bytes::<SharedGate>(&bytes));
        if let Some(Ok(state)) = state
            && state.is_valid(settings)
        {
            return Ok(Image::State(head.number, Box::new(state)));
        }
    }
    Ok(Image::Damaged)
}

/// Writes the copy of this number, over the one before the last.
pub(super) fn write(file: &File, number: u64, state: &SharedGate) -> Result<()> {
    let mut bytes = postcard::to_extend(state, vec![0; HEAD]).map_err(Error::other)?;
    let (head, body) = bytes.split_at_mut(HEAD);
    if body.len() > ROOM {
        return Err(Error::other("the state of the budget is too large"));
    }
    head[..8].copy_from_slice(&number.to_le_bytes());
    head[8..16].copy_from_slice(&xxh3_64(body).to_le_bytes());
    head[16..].copy_from_slice(&(body.len() as u32).to_le_bytes());
    file.write_all_at(&bytes, at(number % 2))
}

/// Writes the first copy into an empty file. Its number is the present time, so that a copy of another file that had the
/// same inode before is never taken for one of this.
pub(super) fn begin(file: &File, now: Duration, state: &SharedGate) -> Result<u64> {
    let number = now.as_nanos() as u64;
    write(file, number, state)?;
    file.write_all_at(&MARK, 0)?;
    Ok(number)
}

fn at(place: u64) -> u64 {
    FIRST + place * (ROOM + HEAD) as u64
}

fn read_at(file: &File, bytes: &mut [u8], at: u64) -> Result<usize> {
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read_at(&mut bytes[filled..], at + filled as u64) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
