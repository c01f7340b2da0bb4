//! What each list holds at the moment: always the same records, or records that come and go.

use std::io;
use std::sync::Mutex;

use crate::drift::Drifting;
use crate::list::lists;
use crate::options::{Drift, Options};
use crate::page::{Asked, Slice};
use crate::sync::lock;

/// The contents of all lists, by their position in the table.
#[derive(Debug)]
pub(crate) struct Contents {
    /// As they are at the start, and for ever without drift.
    sizes: Vec<u64>,
    drift: Option<Drift>,
    /// Empty without drift.
    drifting: Vec<Mutex<Drifting>>,
}

impl Contents {
    /// An error when `options.records` names a list that there is not.
    pub(crate) fn new(options: &Options) -> io::Result<Self> {
        let known = |name: &str| lists().iter().any(|list| list.name == name);
        if let Some(name) = options.records.keys().find(|name| !known(name)) {
            let names: Vec<&str> = lists().iter().map(|list| list.name).collect();
            let message = format!("there is no list `{name}`, only {}", names.join(", "));
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let given = |name| options.records.get(name).copied();
        let sizes = lists()
            .iter()
            .map(|list| given(list.name).unwrap_or(list.default_size()));
        let sizes: Vec<u64> = sizes.collect();
        let drift = options.drift;
        let drifting = drift.iter().flat_map(|drift| {
            let lists = sizes.iter().map(|size| Drifting::new(*drift, *size));
            lists.map(Mutex::new)
        });
        Ok(Self {
            drifting: drifting.collect(),
            sizes,
            drift,
        })
    }

    pub(crate) fn page(&self, position: usize, asked: Asked) -> Slice {
        self.with_drifting(position, |drifting| drifting.page(asked))
            .unwrap_or_else(|| Slice::of(self.sizes[position], asked))
    }

    /// Works on the list at `position`, if the lists of this sandbox change.
    pub(crate) fn with_drifting<T>(
        &self,
        position: usize,
        work: impl FnOnce(&mut Drifting) -> T,
    ) -> Option<T> {
        let drifting = self.drifting.get(position)?;
        Some(work(&mut lock(drifting)))
    }

    /// Gives all lists that change their first state.
    pub(crate) fn restart(&self) {
        if let Some(drift) = self.drift {
            for (list, size) in self.drifting.iter().zip(&self.sizes) {
                *lock(list) = Drifting::new(drift, *size);
            }
        }
    }
}
