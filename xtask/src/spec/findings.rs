//! What is found while a spec is read: refusals, which stop generation, and notes on what is not generated.

use super::cursor::Document;
use std::collections::{BTreeMap, BTreeSet};

/// Why a spec cannot be generated.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Refusal {
    /// JSON pointer into the document.
    pub(crate) at: String,
    pub(crate) reason: String,
    pub(crate) way_out: String,
}

/// What a note is about; the order is that of the summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Topic {
    ListGone,
    NoList,
    Operation,
    Parameter,
    Security,
    Server,
    Raw,
    Unnamed,
}

impl Topic {
    fn title(self) -> &'static str {
        match self {
            Topic::ListGone => "lists of earlier versions that are gone",
            Topic::NoList => "operations that look like a list and are not generated as one",
            Topic::Operation => "operations without a method of a client",
            Topic::Parameter => "parameters that no method takes",
            Topic::Security => "security schemes that the client does not send",
            Topic::Server => "servers whose path belongs to the base URL, which users give",
            Topic::Raw => "values kept as raw JSON",
            Topic::Unnamed => {
                "fields and values that no language can name; they are delivered like undocumented ones"
            }
        }
    }
}

/// Everything found in one spec.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    refusals: Vec<Refusal>,
    notes: BTreeMap<Topic, Vec<String>>,
    /// What was found before: a shared schema is met once per reference to it.
    refused: BTreeSet<Refusal>,
    noted: BTreeSet<(Topic, String)>,
}

impl Findings {
    pub(crate) fn refuse(&mut self, at: &str, reason: &str, way_out: &str) {
        let refusal = Refusal {
            at: at.to_owned(),
            reason: reason.to_owned(),
            way_out: way_out.to_owned(),
        };
        if self.refused.insert(refusal.clone()) {
            self.refusals.push(refusal);
        }
    }

    pub(crate) fn note(&mut self, topic: Topic, text: impl Into<String>) {
        let text = text.into();
        if self.noted.insert((topic, text.clone())) {
            self.notes.entry(topic).or_default().push(text);
        }
    }

    /// All refusals, grouped by the way out; none where the spec can be generated.
    pub(crate) fn refusals(&self, file: &str) -> Option<String> {
        let mut groups: Vec<(&str, Vec<&Refusal>)> = Vec::new();
        for one in &self.refusals {
            match groups.iter_mut().find(|(way, _)| *way == one.way_out) {
                Some((_, members)) => members.push(one),
                None => groups.push((&one.way_out, vec![one])),
            }
        }
        let texts = groups
            .iter()
            .map(|(way, members)| match members.as_slice() {
                [only] => format!("{file}{}: {}; {way}", only.at, only.reason),
                several => {
                    let line = |one: &&Refusal| format!("\n  {file}{}: {}", one.at, one.reason);
                    let lines: String = several.iter().map(line).collect();
                    format!("{} of one kind; {way}:{lines}", several.len())
                }
            });
        let texts: Vec<String> = texts.collect();
        let count = self.refusals.len();
        match count {
            0 => None,
            1 => Some(texts.concat()),
            _ => Some(format!(
                "{}\n{count} problems; nothing was written",
                texts.join("\n")
            )),
        }
    }

    /// The summary of what is not generated: the notes, and what was not read, by keyword.
    pub(crate) fn summary(&self, document: &Document, file: &str) -> String {
        let mut text = format!("Not generated from {file}:\n");
        for (topic, notes) in &self.notes {
            text += &format!("  {} ({}):\n", topic.title(), notes.len());
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
            let more = places.len().saturating_sub(SHOWN);
            let more = match more {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let shown = &places[..places.len().min(SHOWN)];
            text += &format!("  {key} ({}): {}{more}\n", places.len(), shown.join(" "));
        }
        text
    }
}

/// How many places of a keyword the summary shows.
const SHOWN: usize = 4;
