//! How a scan handles a list that changes while it is read.

use crate::choice::choice;
use serde::{Deserialize, Serialize};

/// How a scan handles a list that changes while it is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u32)]
pub enum Consistency {
    /// Pages overlap, and the scan steps back where they do not join: every record present throughout
    /// the scan is delivered exactly once, provided the list has a stable order. The receipt says whether that is
    /// proven.
    #[default]
    Complete = 1,
    /// Pages follow each other without overlap; nothing is checked.
    Fast = 2,
    /// The list as it was at one instant: it is read completely, at least twice and at most five times, until
    /// two passes in a row read the same records with the same contents; only then are they delivered.
    ///
    /// Until then the records are in a temporary file. Such a scan cannot be resumed.
    Snapshot = 3,
}

choice!(Consistency, "consistency", {
    Complete => "complete",
    Fast => "fast",
    Snapshot => "snapshot",
});
