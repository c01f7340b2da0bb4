//! What a member asks of the server that keeps the budget, and what it is told.

use super::Micros;
use crate::gate::Lane;

/// One question to the server.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ask {
    /// Who asks: a random number.
    pub(crate) member: u64,
    /// The configured limit, in requests a second.
    pub(crate) limit: f64,
    pub(crate) lane: Lane,
    /// How many slots; none to be noted only.
    pub(crate) slots: u32,
    /// A slot sooner than this would be over before the reply is there.
    pub(crate) lead: Micros,
    pub(crate) solo: Solo,
    /// The member needs nothing more.
    pub(crate) leaving: bool,
    pub(crate) report: Report,
    pub(crate) about: About,
}

impl Ask {
    /// The member needs nothing more.
    pub(crate) fn leaving(member: u64) -> Self {
        Ask {
            member,
            limit: 0.0,
            lane: Lane::Single,
            slots: 0,
            lead: 0.0,
            solo: Solo::No,
            leaving: true,
            report: Report::default(),
            about: About::default(),
        }
    }
}

/// Whether a member sends by a gate of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Solo {
    /// No.
    No,
    /// It will, if it is the only one.
    Ready,
    /// It has been doing so.
    Yes,
}

/// What people are told of the member. The server keeps it as it is.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct About {
    /// Requests that it sent within the last minute.
    pub(crate) sent_last_minute: u32,
    /// The lane in which it waits.
    pub(crate) waiting: Option<Lane>,
    /// Requests per second that its own gate aims at, where it sends by that.
    pub(crate) own_rate: Option<f64>,
}

/// What the member has seen since it asked last.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Report {
    /// The newest count that the service has shown.
    pub(crate) count: Option<Count>,
    /// When the newest request was sent that saw nothing left, or was refused.
    pub(crate) used_up: Option<Micros>,
    /// For how long, from now, nothing may be sent.
    pub(crate) pause: Micros,
}

/// What one response says about the budget.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Count {
    /// When its request was sent.
    pub(crate) sent: Micros,
    /// Requests a second.
    pub(crate) limit: f64,
    pub(crate) remaining: f64,
}

/// What the server replies.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Reply {
    /// The time of the server.
    pub(crate) now: Micros,
    /// How many slots the member gets.
    pub(crate) slots: u32,
    /// When the first of them is.
    pub(crate) first: Micros,
    /// How far they are apart.
    pub(crate) gap: Micros,
    /// When to ask again for more.
    pub(crate) again: Micros,
    /// Nobody may send before this time.
    pub(crate) pause: Micros,
    /// Members that asked lately, this one included.
    pub(crate) members: u32,
    /// Requests a second of all members together.
    pub(crate) rate: f64,
}
