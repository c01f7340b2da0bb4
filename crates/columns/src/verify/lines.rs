//! Cuts JSON Lines into lines, chunk by chunk.

use memchr::memchr;

/// A line longer than this is no record: no page that the client takes is as large.
const MOST: usize = 256 * 1024 * 1024;

/// Hands on each line that is not empty, without its line break, with its number from 1.
#[derive(Default)]
pub(super) struct Lines {
    /// The beginning of a line whose end has not come.
    begun: Vec<u8>,
    /// Lines that have ended.
    ended: u64,
    too_long: bool,
}

impl Lines {
    pub(super) fn push(&mut self, mut chunk: &[u8], mut take: impl FnMut(u64, &[u8])) {
        while let Some(end) = memchr(b'\n', chunk) {
            let (line, rest) = chunk.split_at(end);
            chunk = rest.get(1..).unwrap_or_default();
            self.ended += 1;
            match self.begun.is_empty() {
                true => hand_on(self.ended, line, &mut take),
                false => {
                    self.begun.extend_from_slice(line);
                    hand_on(self.ended, &self.begun, &mut take);
                    self.begun.clear();
                }
            }
        }
        match self.begun.len() + chunk.len() > MOST {
            true => self.too_long = true,
            false => self.begun.extend_from_slice(chunk),
        }
    }

    /// Hands on the last line, should it lack its line break.
    ///
    /// # Errors
    /// In words, where a line is too long for a record.
    pub(super) fn end(self, mut take: impl FnMut(u64, &[u8])) -> Result<(), String> {
        if self.too_long {
            return Err("it is not JSON Lines: a line is too long for a record".into());
        }
        hand_on(self.ended + 1, &self.begun, &mut take);
        Ok(())
    }
}

/// A record never ends with a carriage return, a line break of Windows does.
fn hand_on(number: u64, line: &[u8], take: &mut impl FnMut(u64, &[u8])) {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if !line.is_empty() {
        take(number, line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_the_same_whatever_the_chunks() {
        let text = b"{}\r\n\n{\"a\":1}\n\r\n{\"b\":2}";
        for size in 1..=text.len() {
            let (mut lines, mut found) = (Lines::default(), Vec::new());
            let mut take = |number, line: &[u8]| found.push((number, line.to_vec()));
            for chunk in text.chunks(size) {
                lines.push(chunk, &mut take);
            }
            lines.end(&mut take).unwrap();
            let expected = [(1, "{}"), (3, "{\"a\":1}"), (5, "{\"b\":2}")];
            let expected = expected.map(|(number, line)| (number, line.as_bytes().to_vec()));
            assert_eq!(found, expected, "{size}");
        }
    }
}
