//! The commands: one file for each, with its arguments, its examples and its code.

pub(crate) mod adbc;
pub(crate) mod budget;
pub(crate) mod changes;
pub(crate) mod completions;
pub(crate) mod doctor;
pub(crate) mod export;
pub(crate) mod forget;
pub(crate) mod history;
pub(crate) mod operation;
pub(crate) mod page;
pub(crate) mod plan;
pub(crate) mod resources;
pub(crate) mod sandbox;
pub(crate) mod schema;
pub(crate) mod sync;
pub(crate) mod verify;
