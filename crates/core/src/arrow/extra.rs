//! Writes the JSON object of `_extra`.

use super::schema::ABSENT;
use crate::json;

/// The `_extra` of one record at a time.
#[derive(Default)]
pub(super) struct Extra {
    members: Vec<u8>,
    absent: Vec<u8>,
    /// The record has a field `_absent`, which must not be taken for the list.
    ambiguous: bool,
    text: Vec<u8>,
}

impl Extra {
    pub(super) fn clear(&mut self) {
        self.members.clear();
        self.absent.clear();
        self.ambiguous = false;
    }

    /// Adds a field as it stands in the record.
    pub(super) fn note(&mut self, raw_name: &[u8], value: &str) {
        if self.members.is_empty() {
            let escaped = raw_name.contains(&b'\\');
            self.ambiguous = raw_name == ABSENT.as_bytes()
                || escaped && json::text(raw_name).is_some_and(|name| name == ABSENT);
        } else {
            self.members.push(b',');
        }
        for piece in [b"\"", raw_name, b"\":", value.as_bytes()] {
            self.members.extend_from_slice(piece);
        }
    }

    /// Adds a field to the list of those that are absent.
    pub(super) fn note_absent(&mut self, name: &str) {
        if !self.absent.is_empty() {
            self.absent.push(b',');
        }
        // Text goes to memory: nothing can fail.
        let _ = serde_json::to_writer(&mut self.absent, name);
    }

    /// The object; none where it would be empty.
    pub(super) fn finish(&mut self) -> Option<&str> {
        if self.members.is_empty() && self.absent.is_empty() {
            return None;
        }
        self.text.clear();
        self.text.push(b'{');
        if self.ambiguous || !self.absent.is_empty() {
            for piece in [b"\"", ABSENT.as_bytes(), b"\":[", &self.absent, b"]"] {
                self.text.extend_from_slice(piece);
            }
            if !self.members.is_empty() {
                self.text.push(b',');
            }
        }
        self.text.extend_from_slice(&self.members);
        self.text.push(b'}');
        simdutf8::basic::from_utf8(&self.text).ok()
    }
}
