//! Writes the JSON object of `_extra`.

use super::schema::ABSENT;
use serde_json::Value;
use talentdata_core::json;

/// The `_extra` of one record at a time.
#[derive(Default)]
pub(super) struct Extra {
    members: String,
    absent: String,
    /// The record has a field `_absent`, which must not be taken for the list.
    ambiguous: bool,
    text: String,
}

impl Extra {
    pub(super) fn clear(&mut self) {
        self.members.clear();
        self.absent.clear();
        self.ambiguous = false;
    }

    /// Adds a field as it stands in the record.
    pub(super) fn note(&mut self, raw_name: &str, value: &str) {
        if self.members.is_empty() {
            self.ambiguous = json::is_named(raw_name, ABSENT);
        } else {
            self.members.push(',');
        }
        self.members.extend(["\"", raw_name, "\":", value]);
    }

    /// Adds a field to the list of those that are absent.
    pub(super) fn note_absent(&mut self, name: &str) {
        if !self.absent.is_empty() {
            self.absent.push(',');
        }
        self.absent += &Value::from(name).to_string();
    }

    /// The object; none where it would be empty.
    pub(super) fn finish(&mut self) -> Option<&str> {
        if self.members.is_empty() && self.absent.is_empty() {
            return None;
        }
        self.text.clear();
        self.text.push('{');
        if self.ambiguous || !self.absent.is_empty() {
            self.text.extend(["\"", ABSENT, "\":[", &self.absent, "]"]);
            if !self.members.is_empty() {
                self.text.push(',');
            }
        }
        self.text += &self.members;
        self.text.push('}');
        Some(&self.text)
    }
}
