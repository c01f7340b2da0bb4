//! JSON Lines: the bytes of each record as the service sent them, on one line.

use super::Sink;
use super::output::{Output, refused};
use std::io::Write;
use talentdata_core::RawRecord;
use talentdata_core::Result;

/// Writes JSON Lines. White space outside strings is left out where a record holds line breaks;
/// nothing else is ever changed.
pub struct JsonlSink<W: Write> {
    output: Output<W>,
    line: Vec<u8>,
}

impl<W: Write> JsonlSink<W> {
    /// Writes to `writer`, which holds `position` bytes already.
    pub fn new(writer: W, position: u64) -> Self {
        JsonlSink {
            output: Output::new(writer, position),
            line: Vec::new(),
        }
    }
}

impl<W: Write + Send> Sink for JsonlSink<W> {
    fn write(&mut self, records: &[RawRecord]) -> Result<usize> {
        for record in records {
            let line = line(record, &mut self.line);
            self.output.write_all(line).map_err(refused)?;
            self.output.write_all(b"\n").map_err(refused)?;
        }
        Ok(records.len())
    }

    fn position(&self) -> u64 {
        self.output.position()
    }

    fn flush(&mut self) -> Result<()> {
        self.output.flush().map_err(refused)
    }
}

/// The line that a record is; `buffer` may hold it.
pub(crate) fn line<'a>(record: &'a RawRecord, buffer: &'a mut Vec<u8>) -> &'a [u8] {
    let json = record.as_bytes();
    if !json.contains(&b'\n') && !json.contains(&b'\r') {
        return json;
    }
    strip(json, buffer);
    buffer
}

/// Copies JSON without white space outside strings.
fn strip(json: &[u8], line: &mut Vec<u8>) {
    line.clear();
    let (mut quoted, mut escaped) = (false, false);
    for byte in json {
        if quoted || !byte.is_ascii_whitespace() {
            line.push(*byte);
        }
        quoted ^= *byte == b'"' && !escaped;
        escaped = *byte == b'\\' && !escaped;
    }
}
