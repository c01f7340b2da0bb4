//! The registry of names: whatever a generated file declares, on which surface, and what users of it rest on.
//!
//! Names are registered as they are made, so that none is forgotten: a second thing of one name is refused with both
//! places, and `spec-diff` compares what two specs declare.

use super::{ends_texts, snake};
use crate::spec::Document;
use std::collections::BTreeMap;

/// Who uses what is generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Surface {
    Rust,
    C,
    Cpp,
    Python,
    CommandLine,
}

impl Surface {
    pub(crate) const ALL: [Surface; 5] = [
        Self::Rust,
        Self::C,
        Self::Cpp,
        Self::Python,
        Self::CommandLine,
    ];

    pub(crate) fn title(self) -> &'static str {
        match self {
            Surface::Rust => "Rust",
            Surface::C => "C",
            Surface::Cpp => "C++",
            Surface::Python => "Python",
            Surface::CommandLine => "command line",
        }
    }
}

/// A thing of the spec that names are made of.
#[derive(Clone, Debug)]
pub(crate) struct Thing {
    /// What it is and how it is called: the same in every version of the spec.
    pub(crate) key: String,
    /// What the spec calls it.
    pub(crate) written: String,
    /// Where it stands.
    pub(crate) at: String,
    /// What to do where it cannot be named.
    pub(crate) way: &'static str,
}

impl Thing {
    pub(crate) fn new(key: &str, written: &str, at: &str, way: &'static str) -> Self {
        Thing {
            key: key.to_owned(),
            written: written.to_owned(),
            at: at.to_owned(),
            way,
        }
    }
}

/// What is said of a thing beside its names.
#[derive(Debug, Default)]
pub(crate) struct Subject {
    /// What it is, in short.
    pub(crate) shown: String,
    /// Prose, which breaks nothing.
    pub(crate) prose: String,
    /// The thing that it is a part of: with that one new or gone, nothing more is said of it.
    pub(crate) part_of: Option<String>,
    /// What code rests on, by surface, scope and name.
    pub(crate) declared: BTreeMap<(Surface, String, String), Fact>,
}

/// What code rests on, beside a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fact {
    /// Any change of it breaks code.
    pub(crate) signature: String,
    /// More breaks code, less does not.
    pub(crate) demand: u64,
}

/// Everything that the files of one spec declare.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    owners: BTreeMap<(String, String), (String, String)>,
    pub(crate) subjects: Vec<(String, Subject)>,
    /// Where each thing is among them.
    places: BTreeMap<String, usize>,
    /// Places, reasons and ways out.
    refused: Vec<(String, String, &'static str)>,
}

impl Registry {
    pub(crate) fn get(&self, key: &str) -> Option<&Subject> {
        let place = self.places.get(key)?;
        self.subjects.get(*place).map(|(_, subject)| subject)
    }

    /// Begins a thing, or goes on with it.
    fn subject(&mut self, key: &str) -> &mut Subject {
        let next = self.subjects.len();
        let place = *self.places.entry(key.to_owned()).or_insert(next);
        if place == next {
            self.subjects.push((key.to_owned(), Subject::default()));
        }
        &mut self.subjects[place].1
    }

    /// Begins a thing with what is said of it.
    pub(crate) fn describe(&mut self, key: &str, shown: &str, prose: &str, part_of: Option<&str>) {
        let subject = self.subject(key);
        subject.shown = shown.to_owned();
        subject.prose = prose.to_owned();
        subject.part_of = part_of.map(str::to_owned);
    }

    /// Registers the name that a thing has in a scope of a surface; `scope` reads on in a sentence: `in C`.
    pub(crate) fn declare(
        &mut self,
        thing: &Thing,
        surface: Surface,
        scope: &str,
        name: &str,
        signature: &str,
    ) {
        self.claim(thing, scope, name);
        self.facts(thing, &[surface], scope, name, signature);
    }

    /// A fact on some surfaces that needs no name of its own.
    pub(crate) fn facts(
        &mut self,
        thing: &Thing,
        surfaces: &[Surface],
        scope: &str,
        name: &str,
        signature: &str,
    ) {
        for surface in surfaces {
            let fact = Fact {
                signature: signature.to_owned(),
                demand: 0,
            };
            let key = (*surface, scope.to_owned(), name.to_owned());
            self.subject(&thing.key).declared.insert(key, fact);
        }
    }

    /// What users of every surface have to bring: more breaks code, less does not.
    pub(crate) fn demand(&mut self, thing: &Thing, scope: &str, demand: u64) {
        for surface in Surface::ALL {
            let signature = String::new();
            let key = (surface, scope.to_owned(), String::new());
            let fact = Fact { signature, demand };
            self.subject(&thing.key).declared.insert(key, fact);
        }
    }

    /// Takes a name that nobody calls a thing by, and which nothing else may have.
    pub(crate) fn claim(&mut self, thing: &Thing, scope: &str, name: &str) {
        let key = (scope.to_owned(), name.to_owned());
        let owner = (thing.written.clone(), thing.at.clone());
        let Some((other, place)) = self.owners.get(&key) else {
            self.owners.insert(key, owner);
            return;
        };
        if (other, place) == (&owner.0, &owner.1) && other.is_empty() {
            return;
        }
        let written = &thing.written;
        let reason =
            format!("{written:?} becomes {name} {scope}, and so does {other:?} of {place}");
        self.refuse(thing, reason);
    }

    /// Refuses what has no letters or digits to be named by, or others than C takes.
    pub(crate) fn check(&mut self, thing: &Thing, written: &str) {
        self.check_as(thing, written, &snake(written));
    }

    /// The same for a name that is not made of all that is written.
    pub(crate) fn check_as(&mut self, thing: &Thing, written: &str, name: &str) {
        let reason = match name {
            "" => format!("{written:?} has no letter or digit to be named by"),
            name if !name.is_ascii() => {
                format!("{written:?} has letters that no name in C can have")
            }
            _ if ends_texts(written) => {
                format!("{written:?} has a character that generated texts cannot hold")
            }
            _ => return,
        };
        self.refuse(thing, reason);
    }

    pub(crate) fn refuse(&mut self, thing: &Thing, reason: String) {
        self.refused.push((thing.at.clone(), reason, thing.way));
    }

    /// Reports what was refused.
    pub(crate) fn report(&self, document: &Document) {
        for (at, reason, way) in &self.refused {
            document.refuse(at, reason, way);
        }
    }
}
