//! What each list holds at the moment.

use std::io;
use std::sync::Mutex;

use serde_json::Value;

use crate::changes::Logged;
use crate::options::Options;
use crate::page::{Asked, Slice};
use crate::records::Records;
use crate::shared::{Clock, lock};
use crate::spec::Spec;
use crate::state::State;

/// The contents of all lists.
#[derive(Debug)]
pub(crate) struct Contents {
    options: Options,
    lists: Vec<Held>,
}

/// The contents of one list.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) records: Records,
    state: Mutex<State>,
    clock: Clock,
}

impl Held {
    /// Works on the list as it is now.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        work(lock(&self.state).at(self.clock.now()))
    }

    pub(crate) fn page(&self, asked: Asked) -> Slice {
        self.with(|state| state.page(asked))
    }

    /// The record with this `id`, if the list holds it.
    pub(crate) fn record(&self, id: &str) -> Option<Value> {
        let number = self.records.find(id)?;
        let (version, read) = self.with(|state| state.reads_of(number))?;
        Some(self.records.value(number, version, read))
    }

    /// Deletes the record with this `id`, if the list holds it.
    pub(crate) fn delete(&self, id: &str) {
        if let Some(number) = self.records.find(id) {
            self.with(|state| state.delete_number(number));
        }
    }

    /// What has happened to the list, but for the first `skip` changes.
    pub(crate) fn changes(&self, skip: usize) -> Vec<Logged> {
        self.with(|state| {
            let entries = state.log().iter().skip(skip);
            entries.map(|entry| entry.logged(&self.records)).collect()
        })
    }
}

impl Contents {
    /// An error when `options.records` names a list that there is not.
    pub(crate) fn new(spec: &'static Spec, options: &Options, clock: Clock) -> io::Result<Self> {
        let lists = spec.lists.iter().map(|list| {
            let records = Records::new(spec, list, options);
            let state = State::new(options, records.size, records.has_id);
            Held {
                records,
                state: Mutex::new(state),
                clock,
            }
        });
        let contents = Self {
            lists: lists.collect(),
            options: options.clone(),
        };
        let mut names = options.records.keys();
        names.try_for_each(|name| contents.named(name).map(drop))?;
        Ok(contents)
    }

    pub(crate) fn at_path(&self, path: &str) -> Option<&Held> {
        self.lists
            .iter()
            .find(|held| held.records.list.path == path)
    }

    /// The list of this name.
    ///
    /// # Errors
    ///
    /// When there is no such list.
    pub(crate) fn named(&self, name: &str) -> io::Result<&Held> {
        let mut all = self.lists.iter();
        if let Some(held) = all.find(|held| held.records.list.name == name) {
            return Ok(held);
        }
        let names = self
            .lists
            .iter()
            .map(|held| held.records.list.name.as_str());
        let names = names.collect::<Vec<_>>().join(", ");
        let message = format!("there is no list `{name}`, only {names}");
        Err(io::Error::new(io::ErrorKind::InvalidInput, message))
    }

    /// Gives all lists their first state.
    pub(crate) fn restart(&self) {
        for held in &self.lists {
            let (size, has_id) = (held.records.size, held.records.has_id);
            *lock(&held.state) = State::new(&self.options, size, has_id);
        }
    }
}
