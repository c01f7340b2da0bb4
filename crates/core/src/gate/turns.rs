//! Whose turn it is among the members who share a gate: single calls before scans, else the least recently served.
//!
//! A member that has to wait is notified when to ask again, and is expected then. Nobody waits for a member that is expected
//! later, or that has let its moment pass: it may have been stopped, or killed.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Time;

/// A member that is this much late has lost its turn.
const GRACE: Duration = Duration::from_millis(5);
/// A member that is expected so soon is waited for.
const SOON: Duration = Duration::from_millis(2);
/// A member that has waited this long for its turn goes with the single calls, so that these cannot starve scans for ever.
const PATIENCE: Duration = Duration::from_secs(5);
/// A member that has not asked for this long takes no part.
const PRESENT: Duration = Duration::from_secs(10);
/// And is forgotten after this.
const REMEMBERED: Duration = Duration::from_secs(60);

/// Who goes before whom: in this order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum PriorityClass {
    /// A call that somebody waits for.
    Single,
    /// A page of a scan.
    Scan,
    /// A page of a scan in the background.
    #[default]
    Background,
}

impl PriorityClass {
    /// The name that people read.
    pub fn name(self) -> &'static str {
        match self {
            Self::Single => "single call",
            Self::Scan => "scan",
            Self::Background => "background scan",
        }
    }
}

/// A member that asks for its turn.
#[derive(Debug, Clone, Copy)]
pub struct Requester<'a> {
    /// Unique among the members.
    pub id: u64,
    /// Its process.
    pub process: u32,
    /// What people know it by, such as the name of its program.
    pub name: &'a str,
    /// The part of the limit that it may use, above 0 and at most 1.
    pub share: f64,
}

/// A member as it is remembered.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Member {
    process: u32,
    name: String,
    /// When it was last seen.
    pub(super) seen: Time,
    waits: Option<Wait>,
    last_sent: Time,
    /// How many requests it sent lately.
    last_minute: LastMinute,
}

/// A member that waits for its turn.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Wait {
    class: PriorityClass,
    since: Time,
    /// Before this, its share of the limit keeps it.
    allowed: Time,
    /// When it is expected to ask again.
    expected: Time,
}

/// One member, for people.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemberStats {
    /// Its process.
    pub process: u32,
    /// What it is known by.
    pub name: String,
    /// Its host, where the members may be on several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Requests that it sent within the last minute.
    pub sent_last_minute: u32,
    /// The priority class in which it waits; none where it does not.
    pub waiting: Option<String>,
    /// Seconds since it was last seen.
    pub seconds_since_seen: f64,
}

/// The members by their ids, and their turns.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Turns(pub(super) BTreeMap<u64, Member>);

impl Turns {
    /// Notes that a member asks for its turn in this class.
    pub(super) fn ask(&mut self, now: Time, requester: &Requester<'_>, class: PriorityClass) {
        let since = now.saturating_sub(REMEMBERED);
        self.0.retain(|_, member| member.seen >= since);
        let member = self.member(requester.id);
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

    /// How many members go before this one at a time to come: those that wait, may then send, are not later than they
    /// are expected, and rank first. And whether one of them is expected at once.
    pub(super) fn ahead(&self, now: Time, at: Time, id: u64) -> (u32, bool) {
        let place = |id, member: &Member| Some((member.waits?.rank(now), member.last_sent, id));
        let own = self.0.get(&id).and_then(|member| place(id, member));
        let (mut ahead, mut at_once) = (0, false);
        for (other, member) in &self.0 {
            if let Some(wait) = member.waits
                && (wait.expected >= now.saturating_sub(GRACE) && wait.allowed <= at + SOON)
                && place(*other, member) < own
            {
                ahead += 1;
                at_once |= wait.expected <= now + SOON;
            }
        }
        (ahead, at_once)
    }

    /// A member is notified to ask again at this time, and may not send before it is allowed to.
    pub(super) fn notified(&mut self, id: u64, allowed: Time, again: Time) {
        if let Some(wait) = &mut self.member(id).waits {
            (wait.allowed, wait.expected) = (allowed, again);
        }
    }

    /// It is a member's turn.
    pub(super) fn served(&mut self, now: Time, id: u64) {
        let member = self.member(id);
        (member.waits, member.last_sent) = (None, now);
        member.last_minute.send(now);
    }

    pub(super) fn member(&mut self, id: u64) -> &mut Member {
        self.0.entry(id).or_default()
    }

    /// Whether a member was last seen before this time.
    pub(super) fn is_silent(&self, id: u64, since: Time) -> bool {
        self.0.get(&id).is_none_or(|member| member.seen < since)
    }

    /// The members that take part.
    pub(super) fn present(&self, now: Time) -> impl Iterator<Item = MemberStats> {
        let since = now.saturating_sub(PRESENT);
        let present = self.0.values().filter(move |member| member.seen >= since);
        present.map(move |member| MemberStats {
            process: member.process,
            name: member.name.clone(),
            host: None,
            sent_last_minute: member.last_minute.sent(now),
            waiting: member.waits.map(|wait| wait.class.name().to_owned()),
            seconds_since_seen: now.saturating_sub(member.seen).as_secs_f64(),
        })
    }
}

impl Wait {
    /// The class that it waits in by now.
    fn rank(&self, now: Time) -> PriorityClass {
        match self.since <= now.saturating_sub(PATIENCE) {
            true => PriorityClass::Single,
            false => self.class,
        }
    }
}

/// They are counted for spans of this length,
const SPAN: Duration = Duration::from_secs(5);
/// and so many of them are summed up.
const SPANS: usize = 12;

/// The number of requests in each span, newest last.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct LastMinute(VecDeque<(Time, u32)>);

impl LastMinute {
    /// A request is sent.
    pub(crate) fn send(&mut self, now: Time) {
        match self.0.back_mut() {
            Some((begun, count)) if now.saturating_sub(SPAN) < *begun => {
                *count = count.saturating_add(1)
            }
            _ => self.0.push_back((now, 1)),
        }
        let surplus = self.0.len().saturating_sub(SPANS);
        self.0.drain(..surplus);
    }

    /// How many there were.
    pub(crate) fn sent(&self, now: Time) -> u32 {
        let since = now.saturating_sub(SPAN * SPANS as u32);
        let recent = self.0.iter().filter(|(begun, _)| *begun >= since);
        let counts = recent.map(|(_, count)| *count);
        counts.fold(0, u32::saturating_add)
    }
}
