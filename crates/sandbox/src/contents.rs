//! What each list holds at the moment.

use std::io;
use std::sync::Mutex;

use serde_json::Value;

use crate::changes::Logged;
use crate::clock::Clock;
use crate::list::lists;
use crate::options::Options;
use crate::page::{Asked, Slice};
use crate::plan::Plan;
use crate::records::Records;
use crate::state::State;
use crate::sync::lock;

/// The contents of all lists, by their position in the table.
#[derive(Debug)]
pub(crate) struct Contents {
    options: Options,
    clock: Clock,
    /// As they are at the start.
    sizes: Vec<u64>,
    plans: Vec<Plan>,
    states: Vec<Mutex<State>>,
}

impl Contents {
    /// An error when `options.records` names a list that there is not.
    pub(crate) fn new(options: &Options, clock: Clock) -> io::Result<Self> {
        if let Some(name) = options.records.keys().find(|name| position(name).is_none()) {
            return Err(no_list(name));
        }
        let given = |name| options.records.get(name).copied();
        let sizes = lists()
            .iter()
            .map(|list| given(list.name).unwrap_or(list.default_size()));
        let sizes: Vec<u64> = sizes.collect();
        let plans = lists().iter().map(|list| Plan::new(list, options));
        let plans: Vec<Plan> = plans.collect();
        let states = sizes.iter().zip(&plans);
        let states = states.map(|(size, plan)| Mutex::new(first_state(options, *size, plan)));
        Ok(Self {
            states: states.collect(),
            plans,
            sizes,
            options: options.clone(),
            clock,
        })
    }

    pub(crate) fn page(&self, position: usize, asked: Asked) -> Slice {
        let mut state = lock(&self.states[position]);
        state.at(self.clock.now()).page(asked)
    }

    /// What the list at `position` serves.
    pub(crate) fn plan(&self, position: usize) -> &Plan {
        &self.plans[position]
    }

    /// The record with this `id` as a JSON object, if the list at `position` holds it.
    pub(crate) fn record(&self, position: usize, id: &str) -> Option<Value> {
        let records = self.records(position);
        let number = records.find(id)?;
        let (version, read) = lock(&self.states[position]).reads_of(number)?;
        let mut out = Vec::new();
        records.write(number, version, read, &mut out);
        serde_json::from_slice(&out).ok()
    }

    /// Deletes the record with this `id`, if the list at `position` holds it.
    pub(crate) fn delete(&self, position: usize, id: &str) {
        if let Some(number) = self.records(position).find(id) {
            let mut state = lock(&self.states[position]);
            state.at(self.clock.now()).delete_number(number);
        }
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
        Ok(work(state.at(self.clock.now()), self.records(position)))
    }

    /// What has happened to the list of this name, but for the first `skip` changes.
    ///
    /// # Errors
    ///
    /// When there is no such list.
    pub(crate) fn changes(&self, name: &str, skip: usize) -> io::Result<Vec<Logged>> {
        self.with_state(name, |state, records| {
            let entries = state.log().iter().skip(skip);
            entries.map(|entry| entry.told(&records)).collect()
        })
    }

    /// What writes the records of the list at `position`.
    pub(crate) fn records(&self, position: usize) -> Records<'_> {
        Records {
            list: &lists()[position],
            plan: &self.plans[position],
            seed: self.options.seed,
            ids: self.options.ids,
            size: self.sizes[position],
        }
    }

    /// Gives all lists their first state.
    pub(crate) fn restart(&self) {
        for ((state, size), plan) in self.states.iter().zip(&self.sizes).zip(&self.plans) {
            *lock(state) = first_state(&self.options, *size, plan);
        }
    }
}

fn first_state(options: &Options, size: u64, plan: &Plan) -> State {
    State::new(options, size, plan.has_id && options.ids.are_given())
}

fn position(name: &str) -> Option<usize> {
    lists().iter().position(|list| list.name == name)
}

fn no_list(name: &str) -> io::Error {
    let names: Vec<&str> = lists().iter().map(|list| list.name).collect();
    let message = format!("there is no list `{name}`, only {}", names.join(", "));
    io::Error::new(io::ErrorKind::InvalidInput, message)
}
