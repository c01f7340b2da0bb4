//! Members that end, with a word or without, and those that are stopped.

use std::time::Duration;

use super::{Event, Request, SUCCESSION, World, id};
use crate::sharing::team::Work;

impl World {
    /// When the member of this event goes on, if it is stopped.
    pub(super) fn stopped_until(&self, event: Event) -> Option<Duration> {
        let (stopped, from, until) = self.team.stopped?;
        let member = match event {
            Event::Begin(member) | Event::Leave(member) | Event::Wake(member, _) => member,
            Event::Call(member) => member,
            Event::Receive(index) | Event::GiveUp(index) => self.requests[index].member,
            Event::Arrive(_) | Event::Answer(_) | Event::Kill | Event::Other => return None,
        };
        (member == stopped && from <= self.now && self.now < until).then_some(until)
    }

    pub(super) fn leave(&mut self, member: usize) {
        if self.silence(member) {
            let now = self.clock(member);
            self.gate.leave(now, id(member));
            self.rewrite();
        }
    }

    /// A scan ends without a word, and another takes its place.
    pub(super) fn kill(&mut self) {
        let scans: Vec<usize> = (0..self.members.len())
            .filter(|index| self.members[*index].present)
            .filter(|index| self.members[*index].plan.work == Work::Scan)
            .collect();
        if let Some(victim) = self.network.rng.choice(&scans).copied() {
            self.silence(victim);
            let mut plan = self.members[victim].plan;
            plan.during.0 = self.now + SUCCESSION;
            self.add(plan);
        }
        let every = self.team.killed_every.unwrap_or_default();
        self.push(self.now + every, Event::Kill);
    }

    /// A member neither sends nor hears any more; whether it did before.
    fn silence(&mut self, member: usize) -> bool {
        self.forget(member);
        let own = |request: &&mut Request| request.member == member;
        for request in self.requests.iter_mut().filter(own) {
            request.settled = true;
        }
        self.members[member].queue.clear();
        self.members[member].wake += 1;
        std::mem::take(&mut self.members[member].present)
    }
}
