//! Settings that are one of a few names: the rows of the kind `Choice`.

use crate::choice;

/// What a client does while the shared budget cannot be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnUnreachable {
    /// It spends an equal share of the budget.
    Share,
    /// It waits, as long as the time limit of each call allows.
    Wait,
}

choice!(OnUnreachable, "on_unreachable", { Share => "share", Wait => "wait" });

/// How scans rank among all that share the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// After single calls.
    Normal,
    /// Like single calls.
    Foreground,
    /// After all others.
    Background,
}

choice!(Priority, "priority", { Normal => "normal", Foreground => "foreground", Background => "background" });

/// Where the access token of a client is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenCache {
    /// Each client has a token of its own.
    Process,
    /// The processes of this user on this host share one, in a file.
    Host,
}

choice!(TokenCache, "token_cache", { Process => "process", Host => "host" });
