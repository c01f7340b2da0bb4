//! Client of the talent data service: authentication, rate gate, retry, pages and scans.

pub mod gate;
