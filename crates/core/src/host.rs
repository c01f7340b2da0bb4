//! What the processes of a user share on this host: a clock, and files in a directory that only this user may write to.

pub(crate) mod clock;
pub(crate) mod directory;
mod file;

pub(crate) use file::{Identity, Locked, SharedFile};
