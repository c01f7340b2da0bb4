//! What becomes of requests on their way, and what the referee hears of it.

use http::HeaderMap;
use talentdata_core::gate::{RateHeaders, Ticket};

use super::{Event, Request, TIMEOUT, World, id};
use crate::sharing::team::Work;

impl World {
    /// The referee expects no more responses to a member.
    pub(super) fn forget(&mut self, member: usize) {
        for _ in 0..std::mem::take(&mut self.members[member].unanswered) {
            self.referee.gives_up();
        }
        let own = |request: &&mut Request| request.member == member;
        for request in self.requests.iter_mut().filter(own) {
            request.counted = false;
        }
    }

    /// The referee expects no response to a request any more, where it still did.
    fn settle(&mut self, index: usize) {
        let request = &mut self.requests[index];
        if std::mem::take(&mut request.counted) {
            self.members[request.member].unanswered -= 1;
            self.referee.gives_up();
        }
    }

    pub(super) fn send(&mut self, member: usize, ticket: Ticket) {
        self.referee.sends(self.told);
        self.findings.sends += 1;
        let sends = self.findings.sends;
        let waiting = &mut self.members[member];
        let overtaken = sends - 1 - waiting.sends_before;
        waiting.sends_before = sends;
        waiting.unanswered += 1;
        let since = waiting.queue.pop_front().unwrap_or(self.now);
        if waiting.plan.work == Work::Scan {
            waiting.queue.push_back(self.now);
        }
        let part = &mut self.findings.parts[member];
        part.sent.push(self.now);
        part.waits.push(self.now - since);
        part.most_overtaken = part.most_overtaken.max(overtaken);
        let index = self.requests.len();
        self.requests.push(Request {
            member,
            ticket,
            verdict: None,
            headers: HeaderMap::new(),
            settled: false,
            counted: true,
        });
        self.push(self.now + TIMEOUT, Event::GiveUp(index));
        let at = self.now + self.network.one_way();
        if !self.network.vanishes(self.now) {
            self.push(at, Event::Arrive(index));
        }
    }

    pub(super) fn arrive(&mut self, index: usize) {
        let (verdict, took) = self.network.arrive(self.now);
        self.requests[index].verdict = Some(verdict);
        self.push(self.now + took, Event::Answer(index));
    }

    pub(super) fn answer(&mut self, index: usize) {
        let verdict = self.requests[index].verdict.expect("decided on before");
        self.requests[index].headers = self.network.answer(self.now, verdict);
        let at = self.now + self.network.one_way();
        if !self.network.vanishes(self.now) {
            self.push(at, Event::Receive(index));
        }
    }

    pub(super) fn receive(&mut self, index: usize) {
        if std::mem::replace(&mut self.requests[index].settled, true) {
            return;
        }
        let now = self.clock(self.requests[index].member);
        self.settle(index);
        let request = &self.requests[index];
        let verdict = request.verdict.expect("decided on before");
        let admitted = verdict.decision.admitted;
        let status = self.network.status(verdict);
        let headers = RateHeaders::read(&request.headers, self.network.wall(self.now));
        let (member, ticket) = (request.member, request.ticket);
        self.referee.hears(self.told, !admitted, &headers);
        self.findings.refused += u64::from(!admitted);
        if admitted {
            self.findings.parts[member].served.push(self.now);
        }
        self.gate
            .response(now, id(member), ticket, status, &headers);
        self.rewrite();
        self.pump(member);
    }

    pub(super) fn give_up(&mut self, index: usize) {
        if std::mem::replace(&mut self.requests[index].settled, true) {
            return;
        }
        let Request { member, ticket, .. } = self.requests[index];
        let now = self.clock(member);
        self.settle(index);
        self.findings.lost += 1;
        self.gate.lost(now, id(member), ticket);
        self.pump(member);
    }

    pub(super) fn other(&mut self) {
        if let Some((served, wait)) = self.network.other(self.now) {
            self.findings.others_asked += 1;
            self.findings.others_served += u64::from(served);
            self.push(self.now + wait, Event::Other);
        }
    }
}
