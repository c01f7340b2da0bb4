//! The registry of names: whatever a generated file declares, on which surface, and what users of it rest on.
//!
//! Names are registered as they are made, so that none is forgotten: a second thing of one name gets a number, and
//! `spec-diff` compares what two specs declare.

use super::C_NAME;
use crate::spec::Clash;
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
    /// The things whose names others have.
    pub(crate) clashes: Vec<Clash>,
}

/// A thing of the spec that names are made of.
pub(crate) struct NamedItem<'a> {
    pub(crate) names: &'a RefCell<Registry>,
    /// What it is and how it is called: the same in every version of the spec.
    pub(crate) key: String,
    /// What the spec calls it.
    pub(crate) written: String,
    /// Where it stands.
    pub(crate) at: String,
    /// What it is, as the numbers of the document know it.
    pub(crate) own: String,
    /// What to do where another thing has its name.
    pub(crate) fix: String,
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
        let other = match names.owners.insert(place, own) {
            Some((other, place)) => format!("so does {other:?} of {place}"),
            None if scope == "in C" && C_NAME.contains(name) => {
                "so is a part of the library".to_owned()
            }
            None => return,
        };
        let written = &self.written;
        names.clashes.push(Clash {
            own: self.own.clone(),
            at: self.at.clone(),
            reason: format!("{written:?} becomes {name} {scope}, and {other}"),
            fix: self.fix.clone(),
        });
    }
}
