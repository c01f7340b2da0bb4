//! Whose turn it is among the members who share a gate: single calls before scans, else the least recently served.
//!
//! A member that has to wait is notified when to ask again, and is expected then. Nobody waits for a member that is expected
//! later, or that has let its moment pass: it may have been stopped, or killed.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Time;
use super::long_window::Part;

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
/// So many members are remembered at most, the latest ones.
const MAX_MEMBERS: usize = 500;

/// Who goes before whom: in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum PriorityClass {
    /// A call that somebody waits for.
    Single,
    /// A page of a scan.
    Scan,
    /// A page of a scan in the background.
    Background,
}

impl PriorityClass {
    /// The name that people read.
    #[must_use]
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
    /// Tells it from all other members.
    pub id: u64,
    /// Its process.
    pub process: u32,
    /// What people know it by, such as the name of its program.
    pub name: &'a str,
    /// The part of the limit that it may use, above 0 and at most 1.
    pub share: f64,
}

/// A member as it is remembered.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Member {
    id: u64,
    process: u32,
    name: String,
    /// When it was last seen.
    seen: Time,
    waits: Option<Wait>,
    last_sent: Time,
    /// What it has sent within a longer window, where it may use a part of the limit.
    pub(super) part: Part,
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
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
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
    pub waiting: Option<&'static str>,
    /// Seconds since it was last seen.
    pub seconds_since_seen: f64,
}

/// The members, and their turns.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Turns(Vec<Member>);

impl Turns {
    /// Notes that a member asks for its turn in this class.
    pub(super) fn ask(&mut self, now: Time, requester: &Requester<'_>, class: PriorityClass) {
        self.0.retain(|member| member.seen + REMEMBERED >= now);
        if self.0.len() > MAX_MEMBERS {
            self.0.sort_by_key(|member| Reverse(member.seen));
            self.0.truncate(MAX_MEMBERS);
        }
        let waits = |since| {
            Some(Wait {
                class,
                since,
                allowed: now,
                expected: now,
            })
        };
        if let Some(member) = self.saw(now, requester.id) {
            member.waits = waits(member.waits.map_or(now, |wait| wait.since));
            return;
        }
        self.0.push(Member {
            id: requester.id,
            process: requester.process,
            name: requester.name.to_owned(),
            seen: now,
            waits: waits(now),
            last_sent: Time::ZERO,
            part: Part::default(),
            last_minute: LastMinute::default(),
        });
    }

    /// How many members go before this one at a time to come: those that wait, may then send, are not later than they
    /// are expected, and rank first. And whether one of them is expected at once.
    pub(super) fn ahead(&self, now: Time, at: Time, id: u64) -> (u32, bool) {
        let place = self.member(id).and_then(|member| member.place(now));
        let (mut ahead, mut at_once) = (0, false);
        for member in self.0.iter().filter(|member| member.id != id) {
            if let Some(wait) = member.waits
                && (wait.expected + GRACE >= now && wait.allowed <= at + SOON)
                && member.place(now) < place
            {
                ahead += 1;
                at_once |= wait.expected <= now + SOON;
            }
        }
        (ahead, at_once)
    }

    /// A member is notified to ask again at this time, and may not send before it is allowed to.
    pub(super) fn notified(&mut self, id: u64, allowed: Time, again: Time) {
        if let Some(wait) = self.member_mut(id).and_then(|member| member.waits.as_mut()) {
            (wait.allowed, wait.expected) = (allowed, again);
        }
    }

    /// It is a member's turn; `window` is the longest that the service counts over.
    pub(super) fn served(&mut self, now: Time, id: u64, window: Duration) {
        if let Some(member) = self.member_mut(id) {
            member.waits = None;
            member.last_sent = now;
            member.last_minute.send(now);
            member.part.send(now, window);
        }
    }

    /// No longer window lasts beyond this time.
    pub(super) fn correct(&mut self, latest: Time) {
        for member in &mut self.0 {
            member.part.until = member.part.until.min(latest);
        }
    }

    /// A member has done something.
    pub(super) fn saw(&mut self, now: Time, id: u64) -> Option<&mut Member> {
        let member = self.member_mut(id)?;
        member.seen = now;
        Some(member)
    }

    /// A member has ended.
    pub(super) fn left(&mut self, id: u64) {
        self.0.retain(|member| member.id != id);
    }

    /// Whether a member was last seen before this time.
    pub(super) fn is_silent(&self, id: u64, since: Time) -> bool {
        self.member(id).is_none_or(|member| member.seen < since)
    }

    /// How many members take part.
    pub(super) fn present(&self, now: Time) -> usize {
        self.0.iter().filter(|it| it.seen + PRESENT >= now).count()
    }

    /// The members that take part, those that sent most first.
    pub(super) fn stats(&self, now: Time) -> Vec<MemberStats> {
        let present = self.0.iter().filter(|it| it.seen + PRESENT >= now);
        let stats = present.map(|member| MemberStats {
            process: member.process,
            name: member.name.clone(),
            host: None,
            sent_last_minute: member.last_minute.sent(now),
            waiting: member.waits.map(|wait| wait.class.name()),
            seconds_since_seen: now.saturating_sub(member.seen).as_secs_f64(),
        });
        let mut stats: Vec<_> = stats.collect();
        stats.sort_by_key(|member| Reverse(member.sent_last_minute));
        stats
    }

    pub(super) fn member(&self, id: u64) -> Option<&Member> {
        self.0.iter().find(|member| member.id == id)
    }

    fn member_mut(&mut self, id: u64) -> Option<&mut Member> {
        self.0.iter_mut().find(|member| member.id == id)
    }
}

impl Member {
    /// How it ranks among those who wait: the least goes first.
    fn place(&self, now: Time) -> Option<(PriorityClass, Time, u64)> {
        let wait = self.waits?;
        let class = match wait.since + PATIENCE <= now {
            true => PriorityClass::Single,
            false => wait.class,
        };
        Some((class, self.last_sent, self.id))
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
            Some((begun, count)) if now < *begun + SPAN => *count += 1,
            _ => self.0.push_back((now, 1)),
        }
        let surplus = self.0.len().saturating_sub(SPANS);
        self.0.drain(..surplus);
    }

    /// How many there were.
    pub(crate) fn sent(&self, now: Time) -> u32 {
        let minute = SPAN * SPANS as u32;
        let recent = self.0.iter().filter(|(begun, _)| *begun + minute > now);
        recent.map(|(_, count)| count).sum()
    }
}
