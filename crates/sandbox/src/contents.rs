//! What each list holds at the moment.

use std::io;
use std::sync::Mutex;

use crate::list::lists;
use crate::options::Options;
use crate::page::{Asked, Slice};
use crate::records::Records;
use crate::state::State;
use crate::sync::lock;

/// The contents of all lists, by their position in the table.
#[derive(Debug)]
pub(crate) struct Contents {
    options: Options,
    /// As they are at the start.
    sizes: Vec<u64>,
    states: Vec<Mutex<State>>,
}

impl Contents {
    /// An error when `options.records` names a list that there is not.
    pub(crate) fn new(options: &Options) -> io::Result<Self> {
        if let Some(name) = options.records.keys().find(|name| position(name).is_none()) {
            return Err(no_list(name));
        }
        let given = |name| options.records.get(name).copied();
        let sizes = lists()
            .iter()
            .map(|list| given(list.name).unwrap_or(list.default_size()));
        let sizes: Vec<u64> = sizes.collect();
        let states = sizes.iter().map(|size| State::new(options, *size));
        Ok(Self {
            states: states.map(Mutex::new).collect(),
            sizes,
            options: options.clone(),
        })
    }

    pub(crate) fn page(&self, position: usize, asked: Asked) -> Slice {
        lock(&self.states[position]).page(asked)
    }

    /// Works on the list of this name.
    ///
    /// # Errors
    ///
    /// When there is no such list.
    pub(crate) fn with_state<T>(
        &self,
        name: &str,
        work: impl FnOnce(&mut State, Records<'_>) -> T,
    ) -> io::Result<T> {
        let position = position(name).ok_or_else(|| no_list(name))?;
        let mut state = lock(&self.states[position]);
        Ok(work(&mut state, self.records(position)))
    }

    /// What writes the records of the list at `position`.
    pub(crate) fn records(&self, position: usize) -> Records<'_> {
        Records {
            list: &lists()[position],
            seed: self.options.seed,
            ids: self.options.ids,
            size: self.sizes[position],
        }
    }

    /// Gives all lists their first state.
    pub(crate) fn restart(&self) {
        for (state, size) in self.states.iter().zip(&self.sizes) {
            *lock(state) = State::new(&self.options, *size);
        }
    }
}

fn position(name: &str) -> Option<usize> {
    lists().iter().position(|list| list.name == name)
}

fn no_list(name: &str) -> io::Error {
    let names: Vec<&str> = lists().iter().map(|list| list.name).collect();
    let message = format!("there is no list `{name}`, only {}", names.join(", "));
    io::Error::new(io::ErrorKind::InvalidInput, message)
}
