//! Brings texts into an order that is far from that of their files.
//!
//! A list that is sorted otherwise from one sync to the next has its texts all over its files. Read one by one, each would
//! have a whole row group unpacked. So each file is read once from its beginning to its end, and the texts are put
//! aside by where they go, in shelves of so many records; each shelf is put in order when its turn comes.

use super::order::Order;
use super::texts::Texts;
use crate::error::{Error, ErrorKind, Result};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

/// Records of a shelf.
const SHELF: usize = 16_384;

/// Bytes of all shelves that wait for being written to the disk.
const WAITING: usize = 32 * 1024 * 1024;

/// Rows that are probably unpacked along with the one before.
const NEAR: u64 = 8192;

/// Whether reading these runs one after the other would unpack the files many times over.
pub(super) fn is_needed(order: &Order, runs: usize) -> bool {
    let mut ends = vec![0_u64; order.files.paths.len()];
    let (mut jumps, mut records) = (0, 0);
    for run in order.runs().take(runs) {
        let end = &mut ends[run.file as usize];
        jumps += u64::from(end.abs_diff(run.first) > NEAR);
        *end = run.first + run.rows;
        records += run.rows;
    }
    jumps.saturating_mul(NEAR) > records.saturating_mul(4)
}

/// Texts in order.
pub(super) struct Gathered {
    file: File,
    shelves: Vec<Shelf>,
    /// The next shelf, and the texts of the one before, the next one last.
    next: usize,
    texts: Vec<String>,
}

#[derive(Default)]
struct Shelf {
    waiting: Vec<u8>,
    /// Where the rest is in the file: offsets and lengths.
    written: Vec<(u64, usize)>,
    records: usize,
}

impl Gathered {
    /// The texts of the first `runs` runs.
    ///
    /// # Errors
    /// `Io`.
    pub(super) fn new(order: &Order, runs: usize, texts: &mut Texts) -> Result<Self> {
        // File, row, and where it goes; there are fewer than 2^32 of them.
        let mut rows: Vec<[u32; 3]> = Vec::new();
        for run in order.runs().take(runs) {
            for row in run.first..run.first + run.rows {
                rows.push([run.file, row as u32, rows.len() as u32]);
            }
        }
        rows.sort_unstable();
        let mut gathered = Gathered {
            file: tempfile::tempfile().map_err(|error| failed(&error))?,
            shelves: Vec::new(),
            next: 0,
            texts: Vec::new(),
        };
        let count = rows.len().div_ceil(SHELF);
        gathered.shelves.resize_with(count, Shelf::default);
        let most = WAITING / count.max(1);
        for [file, row, place] in rows {
            let text = texts.get(&order.files.paths[file as usize], row.into())?;
            let put = gathered.put(place as usize, text, most);
            put.map_err(|error| failed(&error))?;
        }
        Ok(gathered)
    }

    fn put(&mut self, place: usize, text: &str, most: usize) -> io::Result<()> {
        let shelf = &mut self.shelves[place / SHELF];
        shelf.records += 1;
        let head = [place % SHELF, text.len()].map(|number| (number as u64).to_le_bytes());
        shelf.waiting.extend(head.as_flattened());
        shelf.waiting.extend(text.as_bytes());
        if shelf.waiting.len() < most {
            return Ok(());
        }
        let at = self.file.stream_position()?;
        self.file.write_all(&shelf.waiting)?;
        shelf.written.push((at, shelf.waiting.len()));
        shelf.waiting.clear();
        Ok(())
    }

    /// The next text; none at the end.
    pub(super) fn next(&mut self) -> Result<Option<String>> {
        if self.texts.is_empty()
            && let Some(shelf) = self.shelves.get_mut(self.next)
        {
            self.next += 1;
            let texts = std::mem::take(shelf).read(&mut self.file);
            self.texts = texts.map_err(|error| failed(&error))?;
            self.texts.reverse();
        }
        Ok(self.texts.pop())
    }
}

impl Shelf {
    /// Its texts in order.
    fn read(self, file: &mut File) -> io::Result<Vec<String>> {
        let mut bytes = self.waiting;
        for (at, length) in self.written {
            let from = bytes.len();
            bytes.resize(from + length, 0);
            file.seek(SeekFrom::Start(at))?;
            file.read_exact(&mut bytes[from..])?;
        }
        let mut texts = vec![String::new(); self.records];
        let mut rest = &bytes[..];
        while let Some((head, behind)) = rest.split_first_chunk::<16>() {
            let number = |from: usize| {
                let mut number = [0; 8];
                number.copy_from_slice(&head[from..from + 8]);
                u64::from_le_bytes(number) as usize
            };
            let damaged = || io::Error::from(io::ErrorKind::UnexpectedEof);
            let (text, behind) = behind.split_at_checked(number(8)).ok_or_else(damaged)?;
            let place = texts.get_mut(number(0)).ok_or_else(damaged)?;
            *place = String::from_utf8(text.to_vec()).map_err(io::Error::other)?;
            rest = behind;
        }
        Ok(texts)
    }
}

fn failed(error: &io::Error) -> Error {
    let message = format!("cannot use a temporary file: {error}");
    Error::new(ErrorKind::Io, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_back_in_order_from_memory_and_from_the_disk() {
        let count = 2 * SHELF + 7;
        let mut places: Vec<usize> = (0..count).collect();
        fastrand::Rng::with_seed(1).shuffle(&mut places);
        for most in [0, 1000, usize::MAX] {
            let mut gathered = Gathered {
                file: tempfile::tempfile().unwrap(),
                shelves: Vec::new(),
                next: 0,
                texts: Vec::new(),
            };
            gathered.shelves.resize_with(3, Shelf::default);
            for place in &places {
                gathered.put(*place, &format!("é{place}"), most).unwrap();
            }
            for place in 0..count {
                let text = gathered.next().unwrap();
                assert_eq!(text.as_deref(), Some(&*format!("é{place}")));
            }
            assert_eq!(gathered.next().unwrap(), None);
        }
    }
}
