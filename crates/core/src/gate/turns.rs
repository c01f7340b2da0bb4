//! Whose turn it is among the members who share a gate: single calls before scans, else the least recently served.
//!
//! A member that has to wait is told when to ask again, and is expected then. Nobody waits for a member that is expected
//! later, or that has let its moment pass: it may have been stopped, or killed.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Time;
use super::long_window::{LongWindow, Part};
use super::model::Plan;

/// A member that is this much late has lost its turn.
const GRACE: Duration = Duration::from_millis(5);
/// A member that is expected so soon is waited for.
const SOON: Duration = Duration::from_millis(2);
/// The pace of a member's share is this much denser, so that a late request does not cost its place; the share is kept.
const CATCH_UP: f64 = 0.97;
/// A member that has waited this long for its turn goes with the single calls, so that these cannot starve scans for ever.
const PATIENCE: Duration = Duration::from_secs(5);
/// A member that has not asked for this long takes no part.
const PRESENT: Duration = Duration::from_secs(10);
/// And is forgotten after this.
const REMEMBERED: Duration = Duration::from_secs(60);
/// So many members are remembered at most, the latest ones.
const MOST: usize = 500;

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

impl Requester<'_> {
    /// How many requests in each window are its part.
    fn part(&self, plan: Plan) -> u32 {
        // A cast from a float saturates, and so keeps a senseless share within the limit.
        ((f64::from(plan.limit) * self.share) as u32).max(1)
    }
}

/// A member as it is remembered.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Member {
    pub(super) id: u64,
    pub(super) process: u32,
    pub(super) name: String,
    /// When it was last seen.
    pub(super) seen: Time,
    pub(super) waits: Option<Wait>,
    last_sent: Time,
    /// Its latest sends, as far back as its share of the limit reaches; none kept where it may use all of it.
    sends: VecDeque<Time>,
    /// What it has sent within a longer window, where it may use a part of the limit.
    pub(super) part: Part,
    /// How many requests it sent lately.
    pub(super) last_minute: LastMinute,
}

/// A member that waits for its turn.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Wait {
    pub(super) class: PriorityClass,
    since: Time,
    /// Before this, its share of the limit keeps it.
    allowed: Time,
    /// When it was told to ask again.
    expected: Time,
}

/// The members, and their turns.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Turns {
    members: Vec<Member>,
}

impl Turns {
    /// Notes that a member asks for its turn in this class.
    pub(super) fn ask(&mut self, now: Time, requester: &Requester<'_>, class: PriorityClass) {
        self.forget(now);
        let member = self.member_or_new(now, requester);
        member.seen = now;
        let since = member.waits.map_or(now, |wait| wait.since);
        member.waits = Some(Wait {
            class,
            since,
            allowed: now,
            expected: now,
        });
    }

    /// When the share of a member lets it send: its part of the limit in any window, evenly, and of a longer window its part
    /// in each.
    pub(super) fn share_allows(
        &self,
        requester: &Requester<'_>,
        plan: Plan,
        long_window: Option<&LongWindow>,
    ) -> Time {
        let Some(member) = self.member(requester.id).filter(|_| requester.share < 1.0) else {
            return Time::ZERO;
        };
        let budget = requester.part(plan);
        let gap = (plan.window / budget).mul_f64(CATCH_UP);
        let even = member.sends.back().map_or(Time::ZERO, |last| *last + gap);
        let oldest = member.sends.len().checked_sub(budget as usize);
        let oldest = oldest.and_then(|index| member.sends.get(index));
        let rolling = oldest.map_or(even, |oldest| even.max(*oldest + plan.window));
        long_window.map_or(rolling, |window| {
            rolling.max(member.part.allows(window.limit, requester.share))
        })
    }

    /// How many members go before this one at a time to come: those that wait, may then send, are not later than they
    /// were told, and rank first.
    pub(super) fn ahead(&self, now: Time, at: Time, id: u64) -> u32 {
        self.before(now, at, id).count() as u32
    }

    /// Whether a member that goes before this one is expected at once.
    pub(super) fn is_preceded(&self, now: Time, id: u64) -> bool {
        self.before(now, now, id)
            .any(|wait| wait.expected <= now + SOON)
    }

    fn before(&self, now: Time, at: Time, id: u64) -> impl Iterator<Item = Wait> {
        let place = self.member(id).and_then(|member| member.place(now));
        self.members.iter().filter_map(move |member| {
            let wait = member.waits.filter(|_| member.id != id)?;
            let expected = wait.expected + GRACE >= now && wait.allowed <= at + SOON;
            (expected && member.place(now) < place).then_some(wait)
        })
    }

    /// A member was told to ask again at this time, and not to send before it is allowed to.
    pub(super) fn notified(&mut self, id: u64, allowed: Time, again: Time) {
        if let Some(wait) = self.member_mut(id).and_then(|member| member.waits.as_mut()) {
            (wait.allowed, wait.expected) = (allowed, again);
        }
    }

    /// It is a member's turn.
    pub(super) fn served(
        &mut self,
        now: Time,
        requester: &Requester<'_>,
        plan: Plan,
        long_window: Option<&LongWindow>,
    ) {
        let Some(member) = self.member_mut(requester.id) else {
            return;
        };
        member.waits = None;
        member.last_sent = now;
        member.last_minute.send(now);
        if requester.share < 1.0 {
            member.sends.push_back(now);
            let surplus = member
                .sends
                .len()
                .saturating_sub(requester.part(plan) as usize);
            member.sends.drain(..surplus);
            member
                .part
                .send(now, long_window.map_or(plan.window, |long| long.window));
        }
    }

    /// No longer window lasts beyond this time.
    pub(super) fn correct(&mut self, latest: Time) {
        for member in &mut self.members {
            member.part.until = member.part.until.min(latest);
        }
    }

    /// A member has done something else.
    pub(super) fn saw(&mut self, now: Time, id: u64) -> Option<&mut Member> {
        let member = self.member_mut(id)?;
        member.seen = now;
        Some(member)
    }

    /// A member has ended.
    pub(super) fn left(&mut self, id: u64) {
        self.members.retain(|member| member.id != id);
    }

    /// When a member was last seen.
    pub(super) fn seen(&self, id: u64) -> Option<Time> {
        self.member(id).map(|member| member.seen)
    }

    /// The members that take part.
    pub(super) fn present(&self, now: Time) -> impl Iterator<Item = &Member> {
        let present = move |member: &&Member| member.seen + PRESENT >= now;
        self.members.iter().filter(present)
    }

    fn forget(&mut self, now: Time) {
        self.members
            .retain(|member| member.seen + REMEMBERED >= now);
        if self.members.len() > MOST {
            self.members.sort_by_key(|member| Reverse(member.seen));
            self.members.truncate(MOST);
        }
    }

    fn member_or_new(&mut self, now: Time, requester: &Requester<'_>) -> &mut Member {
        let known = self
            .members
            .iter()
            .position(|member| member.id == requester.id);
        let index = known.unwrap_or_else(|| {
            self.members.push(Member {
                id: requester.id,
                process: requester.process,
                name: requester.name.to_owned(),
                seen: now,
                waits: None,
                last_sent: Time::ZERO,
                sends: VecDeque::new(),
                part: Part::default(),
                last_minute: LastMinute::default(),
            });
            self.members.len() - 1
        });
        &mut self.members[index]
    }

    fn member(&self, id: u64) -> Option<&Member> {
        self.members.iter().find(|member| member.id == id)
    }

    fn member_mut(&mut self, id: u64) -> Option<&mut Member> {
        self.members.iter_mut().find(|member| member.id == id)
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
/// and told for so many of them.
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
