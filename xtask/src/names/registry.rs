//! The registry of names: everything that generated files declare, on which surface, and the facts on which users of it
//! rely.
//!
//! Names are registered when they are made, so that none is forgotten. A second item with the same name gets a number.
//! `spec-diff` compares the declarations of two specs.

use super::C_NAME;
use crate::spec::Clash;
use Surface::{C, CommandLine, Cpp, Python, Rust};
use indexmap::IndexMap;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// A surface for users: a language, or the command line.
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

/// The description of an item, apart from its names.
#[derive(Debug, Default)]
pub(crate) struct Subject {
    /// A short description of the item.
    pub(crate) shown: String,
    /// Prose, whose changes break nothing.
    pub(crate) prose: String,
    /// The item that it is a part of. If that one is new or gone, its parts are not reported.
    pub(crate) part_of: Option<String>,
    /// The facts on which code relies, by surface, scope and name: a signature, any change of which breaks code, or a
    /// number for how much users must provide, where an increase breaks code and a decrease does not.
    pub(crate) declared: BTreeMap<(Surface, String, String), String>,
}

/// The items from which names are made, by their keys.
pub(crate) type Subjects = IndexMap<String, Subject>;

/// All declarations in the files of one spec.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    /// The owner of each name in a scope: its name in the spec, and its place.
    pub(crate) owners: BTreeMap<(String, String), (String, String)>,
    pub(crate) subjects: Subjects,
    /// The items whose names others have.
    pub(crate) clashes: Vec<Clash>,
}

/// An item of the spec from which names are made.
pub(crate) struct NamedItem<'a> {
    pub(crate) names: &'a RefCell<Registry>,
    /// The kind and the name of the item, which are the same in every version of the spec.
    pub(crate) key: String,
    /// The name in the spec.
    pub(crate) written: String,
    /// The place in the spec.
    pub(crate) at: String,
    /// The key under which [`Document`](crate::spec::Document) numbers it.
    pub(crate) own: String,
    /// The advice if another item has its name.
    pub(crate) fix: String,
}

impl NamedItem<'_> {
    /// Describes the item, and the item that it is a part of.
    pub(crate) fn describe(&self, shown: &str, prose: &str, part_of: Option<&str>) {
        let mut names = self.names.borrow_mut();
        let subject = names.subjects.entry(self.key.clone()).or_default();
        subject.shown = shown.to_owned();
        subject.prose = prose.to_owned();
        subject.part_of = part_of.map(str::to_owned);
    }

    /// Registers its name in a scope of a surface. `scope` continues a sentence: `in C`.
    pub(crate) fn declare(&self, surface: Surface, scope: &str, name: &str, signature: &str) {
        self.claim(scope, name);
        self.facts(&[surface], scope, name, signature);
    }

    /// Registers a fact on some surfaces that needs no name of its own.
    pub(crate) fn facts(&self, surfaces: &[Surface], scope: &str, name: &str, signature: &str) {
        let mut names = self.names.borrow_mut();
        let subject = names.subjects.entry(self.key.clone()).or_default();
        for surface in surfaces {
            let key = (*surface, scope.to_owned(), name.to_owned());
            subject.declared.insert(key, signature.to_owned());
        }
    }

    /// Reserves a name that no user needs, but that no other item may have.
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
