//! What is found while a spec is read: refusals, which stop generation, and notes on what is not generated.

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
    MediaType,
    Response,
    Header,
    Deprecated,
    Raw,
    Unnamed,
    Keyword,
    Format,
    Other,
}

impl Topic {
    fn title(self) -> &'static str {
        match self {
            Topic::ListGone => "lists that were generated before and are gone",
            Topic::NoList => "operations that look like a list and are not generated as one",
            Topic::Operation => "operations without a method of a client",
            Topic::Parameter => "parameters that no method takes",
            Topic::Security => "security schemes that the client does not send",
            Topic::MediaType => "media types other than JSON",
            Topic::Response => "response bodies that are not read",
            Topic::Header => "response headers that are not read",
            Topic::Deprecated => "deprecations that no language shows",
            Topic::Raw => "values kept as raw JSON",
            Topic::Unnamed => {
                "fields and values that no language can name; they are delivered like undocumented ones"
            }
            Topic::Keyword => "keywords that change nothing",
            Topic::Format => "formats that are delivered as plain text or numbers",
            Topic::Other => "parts of the document that are not read",
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

    /// The summary of what is not generated; empty where everything is.
    pub(crate) fn summary(&self, file: &str) -> String {
        if self.notes.is_empty() {
            return String::new();
        }
        let mut text = format!("Not generated from {file}:\n");
        for (topic, notes) in &self.notes {
            text += &format!("  {} ({}):\n", topic.title(), notes.len());
            notes
                .iter()
                .for_each(|note| text += &format!("    {note}\n"));
        }
        text
    }
}
