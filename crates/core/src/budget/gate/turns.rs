//! The order in which the members of a gate send: single calls before scans, and otherwise the least recently served
//! first.
//!
//! A member that must wait receives the time at which it should ask again, and is expected then. The others do not wait
//! for a member that is expected later, or that missed its time, because it may be stopped or killed.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{EXPIRE_AFTER, Time};

/// The delay after which a member loses its turn.
const GRACE: Duration = Duration::from_millis(5);
/// The time within which a member must be expected for the others to wait for it.
const WAIT_FOR_EXPECTED: Duration = Duration::from_millis(2);
/// The wait after which a member ranks with the single calls. So single calls cannot starve scans.
const PATIENCE: Duration = Duration::from_secs(5);
/// The time without a question after which a member no longer takes part.
const PRESENT_FOR: Duration = Duration::from_secs(10);

/// The priority of a request; the first goes first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum PriorityClass {
    /// A single call, whose caller waits for it.
    Single,
    /// A page of a scan.
    Scan,
    /// A page of a scan in the background.
    #[default]
    Background,
}

impl PriorityClass {
    /// Returns the name for display.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Single => "single call",
            Self::Scan => "scan",
            Self::Background => "background scan",
        }
    }
}

/// A member that asks for its turn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MemberInfo<'a> {
    /// A number that is unique among the members.
    pub id: u64,
    /// The ID of its process.
    pub process: u32,
    /// The name for display, for example the name of its program.
    pub name: &'a str,
    /// The share of the limit that it may use, above 0 and at most 1.
    pub share: f64,
}

/// The stored state of a member.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct MemberState {
    process: u32,
    name: String,
    /// The last time at which it was seen.
    pub(super) seen: Time,
    waits: Option<Wait>,
    last_sent: Time,
    /// The requests that it sent within the last minute.
    last_minute: LastMinute,
}

/// A member that waits for its turn.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Wait {
    class: PriorityClass,
    since: Time,
    /// The time before which its share of the limit does not admit it.
    allowed: Time,
    /// The time at which it is expected to ask again.
    expected: Time,
}

/// One member, for people.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemberStats {
    /// The ID of its process.
    pub process: u32,
    /// The name that people know it by.
    pub name: String,
    /// Its host, if the members may be on several hosts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Requests that it sent within the last minute.
    pub sent_last_minute: u32,
    /// The priority class in which it waits, if it waits.
    pub waiting: Option<String>,
    /// Seconds since it was last seen.
    pub seconds_since_seen: f64,
}

/// The members by their ids, and their turns.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Turns(pub(super) BTreeMap<u64, MemberState>);

impl Turns {
    /// Notes that a member asks for its turn in this class.
    pub(super) fn ask(&mut self, now: Time, requester: &MemberInfo<'_>, class: PriorityClass) {
        let since = now.saturating_sub(EXPIRE_AFTER);
        self.0.retain(|_, member| member.seen >= since);
        let member = self.0.entry(requester.id).or_default();
        member.process = requester.process;
        requester.name.clone_into(&mut member.name);
        member.seen = now;
        member.waits = Some(Wait {
            class,
            since: member.waits.map_or(now, |wait| wait.since),
            allowed: now,
            expected: now,
        });
    }

    /// Returns the number of members that go before this one at the time `at`, and whether one of them is expected at
    /// once. Those members wait, may send by then, are not overdue, and rank higher.
    pub(super) fn ahead(&self, now: Time, at: Time, id: u64) -> (u32, bool) {
        let class = |wait: Wait| {
            if wait.since <= now.saturating_sub(PATIENCE) {
                PriorityClass::Single
            } else {
                wait.class
            }
        };
        let place = |id, member: &MemberState| Some((class(member.waits?), member.last_sent, id));
        let own = self.0.get(&id).and_then(|member| place(id, member));
        let (mut ahead, mut at_once) = (0, false);
        for (other, member) in &self.0 {
            if let Some(wait) = member.waits
                && (wait.expected >= now.saturating_sub(GRACE)
                    && wait.allowed <= at + WAIT_FOR_EXPECTED)
                && place(*other, member) < own
            {
                ahead += 1;
                at_once |= wait.expected <= now + WAIT_FOR_EXPECTED;
            }
        }
        (ahead, at_once)
    }

    /// Records that a member should ask again at `again`, and may not send before `allowed`.
    pub(super) fn notified(&mut self, id: u64, allowed: Time, again: Time) {
        if let Some(wait) = &mut self.0.entry(id).or_default().waits {
            (wait.allowed, wait.expected) = (allowed, again);
        }
    }

    /// Records that a member sends a request.
    pub(super) fn served(&mut self, now: Time, id: u64) {
        let member = self.0.entry(id).or_default();
        (member.waits, member.last_sent) = (None, now);
        member.last_minute.count(now);
    }

    /// Returns the active members, those with the most requests first.
    pub(super) fn present(&self, now: Time) -> Vec<MemberStats> {
        let since = now.saturating_sub(PRESENT_FOR);
        let present = self.0.values().filter(|member| member.seen >= since);
        let stats = present.map(|member| MemberStats {
            process: member.process,
            name: member.name.clone(),
            host: None,
            sent_last_minute: member.last_minute.sum(now),
            waiting: member.waits.map(|wait| wait.class.name().to_owned()),
            seconds_since_seen: now.saturating_sub(member.seen).as_secs_f64(),
        });
        let mut stats: Vec<_> = stats.collect();
        stats.sort_by_key(|member| Reverse(member.sent_last_minute));
        stats
    }
}

/// The length of a span in which events are counted, in seconds.
const SPAN: u64 = 5;
/// The number of spans that make a minute.
const SPANS: u64 = 12;

/// A count of events within the last minute: a number for each span, keyed by the span's number since the epoch of the
/// clock.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct LastMinute(BTreeMap<u64, u32>);

impl LastMinute {
    /// Counts an event.
    pub(crate) fn count(&mut self, now: Time) {
        let span = now.as_secs() / SPAN;
        self.0 = self.0.split_off(&(span + 1).saturating_sub(SPANS));
        let count = self.0.entry(span).or_default();
        *count = count.saturating_add(1);
    }

    /// Returns the number of events.
    pub(crate) fn sum(&self, now: Time) -> u32 {
        let first = (now.as_secs() / SPAN + 1).saturating_sub(SPANS);
        let counts = self.0.range(first..).map(|(_, count)| *count);
        counts.fold(0, u32::saturating_add)
    }
}
