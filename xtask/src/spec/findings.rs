//! What is found while a spec is read: refusals, which stop generation, and notes on what is not generated.

use super::cursor::Document;
use std::collections::{BTreeMap, BTreeSet};

/// What a note is about: its place in the summary, and its title there.
pub(crate) type Topic = (u8, &'static str);

pub(crate) const LIST_GONE: Topic = (0, "lists of earlier versions that are gone");
pub(crate) const NO_LIST: Topic = (
    1,
    "operations that look like a list and are not generated as one",
);
pub(crate) const OPERATION: Topic = (2, "operations without a method of a client");
pub(crate) const PARAMETER: Topic = (3, "parameters that no method takes");
pub(crate) const SECURITY: Topic = (4, "security schemes that the client does not send");
pub(crate) const SERVER: Topic = (
    5,
    "servers whose path belongs to the base URL, which users give",
);
pub(crate) const RAW: Topic = (6, "values kept as raw JSON");
pub(crate) const UNNAMED: Topic = (
    7,
    "fields and values that no language can name; they are delivered like undocumented ones",
);

/// Everything found in one spec; a shared schema is met once per reference to it.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// Sentences with the place (a JSON pointer), the reason and the way out.
    refusals: Vec<String>,
    notes: BTreeMap<Topic, BTreeSet<String>>,
}

impl Findings {
    pub(crate) fn refuse(&mut self, at: &str, reason: &str, way_out: &str) {
        let refusal = format!("{at}: {reason}; {way_out}");
        if !self.refusals.contains(&refusal) {
            self.refusals.push(refusal);
        }
    }

    pub(crate) fn note(&mut self, topic: Topic, text: impl Into<String>) {
        self.notes.entry(topic).or_default().insert(text.into());
    }

    /// All refusals; none where the spec can be generated.
    pub(crate) fn refusals(&self, file: &str) -> Option<String> {
        let lines = self.refusals.iter().map(|one| format!("{file}{one}"));
        let lines = lines.collect::<Vec<_>>().join("\n");
        match self.refusals.len() {
            0 => None,
            1 => Some(lines),
            count => Some(format!("{lines}\n{count} problems; nothing was written")),
        }
    }

    /// The summary of what is not generated: the notes, and what was not read, by keyword.
    pub(crate) fn summary(&self, document: &Document, file: &str) -> String {
        let mut text = format!("Not generated from {file}:\n");
        for ((_, title), notes) in &self.notes {
            text += &format!("  {title} ({}):\n", notes.len());
            notes
                .iter()
                .for_each(|note| text += &format!("    {note}\n"));
        }
        let mut unread: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (at, _) in document.unread() {
            let key = at.rsplit('/').next().unwrap_or_default().to_owned();
            unread.entry(key).or_default().push(at);
        }
        for (key, places) in &unread {
            let shown = places[..places.len().min(SHOWN)].join(" ");
            let more = match places.len().saturating_sub(SHOWN) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            text += &format!("  {key} ({}): {shown}{more}\n", places.len());
        }
        text
    }
}

/// How many places of a keyword the summary shows.
const SHOWN: usize = 4;
