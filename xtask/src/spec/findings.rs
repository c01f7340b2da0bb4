//! What is found while a spec is read: refusals, which stop generation, and notes on what is not generated.

use super::cursor::Document;
use std::collections::{BTreeMap, BTreeSet};

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

/// Everything found in one spec; a shared schema is met once per reference to it.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// Ways out, with the places (JSON pointers) and reasons of each.
    refusals: Vec<(String, Vec<(String, String)>)>,
    notes: BTreeMap<Topic, Vec<String>>,
    noted: BTreeSet<(Topic, String)>,
}

impl Findings {
    pub(crate) fn refuse(&mut self, at: &str, reason: &str, way_out: &str) {
        let place = self.refusals.iter().position(|(way, _)| way == way_out);
        let place = place.unwrap_or_else(|| {
            self.refusals.push((way_out.to_owned(), Vec::new()));
            self.refusals.len() - 1
        });
        let (refusal, members) = (
            (at.to_owned(), reason.to_owned()),
            &mut self.refusals[place].1,
        );
        if !members.contains(&refusal) {
            members.push(refusal);
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
        let texts = self
            .refusals
            .iter()
            .map(|(way, members)| match members.as_slice() {
                [(at, reason)] => format!("{file}{at}: {reason}; {way}"),
                several => {
                    let lines = several
                        .iter()
                        .map(|(at, reason)| format!("\n  {file}{at}: {reason}"));
                    format!(
                        "{} of one kind; {way}:{}",
                        several.len(),
                        lines.collect::<String>()
                    )
                }
            });
        let texts: Vec<String> = texts.collect();
        match self.refusals.iter().map(|(_, members)| members.len()).sum() {
            0 => None,
            1 => Some(texts.concat()),
            count => Some(format!(
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
            let shown = places.iter().take(SHOWN).map(String::as_str);
            let shown = shown.collect::<Vec<_>>().join(" ");
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
