//! The talent data service itself, in-process on loopback, for trying and for testing.

pub mod limit;
