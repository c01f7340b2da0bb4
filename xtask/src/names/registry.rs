//! The registry of names: whatever a generated file declares, on which surface, and what users of it rest on.
//!
//! Names are registered as they are made, so that none is forgotten: a second thing of one name is refused with both
//! places, and `spec-diff` compares what two specs declare.

use super::{ends_texts, snake};
use crate::spec::Document;
use Surface::{C, CommandLine, Cpp, Python, Rust};
use indexmap::IndexMap;
use std::cell::RefCell;
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
    pub(crate) const ALL: [Surface; 5] = [Rust, C, Cpp, Python, CommandLine];

    pub(crate) fn title(self) -> &'static str {
        ["Rust", "C", "C++", "Python", "command line"][self as usize]
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
    /// What code rests on, by surface, scope and name: a signature, any change of which breaks code, or a number that says
    /// how much users have to bring, where more breaks code and less does not.
    pub(crate) declared: BTreeMap<(Surface, String, String), String>,
}

/// The things that names are made of, by their keys.
pub(crate) type Subjects = IndexMap<String, Subject>;

/// Everything that the files of one spec declare.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    /// What has a name in a scope: what the spec calls it, and where it stands.
    pub(crate) owners: BTreeMap<(String, String), (String, String)>,
    pub(crate) subjects: Subjects,
}

/// A thing of the spec that names are made of.
pub(crate) struct NamedItem<'a> {
    pub(crate) document: &'a Document,
    pub(crate) names: &'a RefCell<Registry>,
    /// What it is and how it is called: the same in every version of the spec.
    pub(crate) key: String,
    /// What the spec calls it.
    pub(crate) written: String,
    /// Where it stands.
    pub(crate) at: String,
    /// What to do where it cannot be named.
    pub(crate) fix: &'static str,
}

impl NamedItem<'_> {
    /// Says what it is, and what it is a part of.
    pub(crate) fn describe(&self, shown: &str, prose: &str, part_of: Option<&str>) {
        let mut names = self.names.borrow_mut();
        let subject = names.subjects.entry(self.key.clone()).or_default();
        subject.shown = shown.to_owned();
        subject.prose = prose.to_owned();
        subject.part_of = part_of.map(str::to_owned);
    }

    /// Registers its name in a scope of a surface; `scope` reads on in a sentence: `in C`.
    pub(crate) fn declare(&self, surface: Surface, scope: &str, name: &str, signature: &str) {
        self.claim(scope, name);
        self.facts(&[surface], scope, name, signature);
    }

    /// A fact on some surfaces that needs no name of its own.
    pub(crate) fn facts(&self, surfaces: &[Surface], scope: &str, name: &str, signature: &str) {
        let mut names = self.names.borrow_mut();
        let subject = names.subjects.entry(self.key.clone()).or_default();
        for surface in surfaces {
            let key = (*surface, scope.to_owned(), name.to_owned());
            subject.declared.insert(key, signature.to_owned());
        }
    }

    /// Takes a name that nobody calls it by, and which nothing else may have.
    pub(crate) fn claim(&self, scope: &str, name: &str) {
        let mut names = self.names.borrow_mut();
        let place = (scope.to_owned(), name.to_owned());
        let own = (self.written.clone(), self.at.clone());
        if let Some((other, place)) = names.owners.insert(place, own) {
            let written = &self.written;
            self.refuse(format!(
                "{written:?} becomes {name} {scope}, and so does {other:?} of {place}"
            ));
        }
    }

    /// Refuses what has no letters or digits to be named by, or others than C takes.
    pub(crate) fn check(&self, written: &str) {
        let reason = match snake(written).as_str() {
            "" => "has no letter or digit to be named by",
            name if !name.is_ascii() => "has letters that no name in C can have",
            _ if ends_texts(written) => "has a character that generated texts cannot hold",
            _ => return,
        };
        self.refuse(format!("{written:?} {reason}"));
    }

    pub(crate) fn refuse(&self, reason: String) {
        self.document.refuse(&self.at, &reason, self.fix);
    }
}
