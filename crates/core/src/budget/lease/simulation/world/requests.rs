//! Requests to the service, and its responses.

use super::{Event, World};
use crate::budget::lease::simulation::server::{Quirk, Server};
use crate::gate::RateHeaders;
use std::time::{Duration, SystemTime};
use talentdata_sandbox::limit::ResetRounding;

impl World {
    pub(super) fn arrives(&mut self, index: usize) {
        if let Some((at, limit)) = self.scenario.limit
            && self.now >= at
            && limit != self.shown
        {
            self.shown = limit;
            let (policy, seed) = (self.scenario.policy, self.rng.u64(..));
            self.server = Server::new(
                policy,
                ResetRounding::Up,
                Quirk::None,
                (limit, Duration::from_secs(1)),
                seed,
            );
        }
        let verdict = self.server.decide(self.epoch + self.now);
        self.requests[index].verdict = Some(verdict);
        let at = self.now + self.one_way(self.scenario.service);
        self.push(at, Event::Responds(index));
    }

    pub(super) fn responds(&mut self, index: usize) {
        let now = self.now;
        let request = &self.requests[index];
        let (client, ticket, life) = (request.client, request.ticket, request.life);
        let Some(verdict) = request.verdict else {
            return;
        };
        let admitted = verdict.decision.admitted;
        if admitted {
            self.outcome.served.push((now, client));
            if verdict.decision.remaining == 0 {
                self.outcome.zeros.push(now);
            }
        } else {
            self.outcome.refused.push(now);
        }
        let headers = self.server.headers(verdict, self.epoch + now);
        let headers = RateHeaders::read(&headers, SystemTime::UNIX_EPOCH + self.epoch + now);
        let status = if admitted { 200 } else { 429 };
        if life == self.lives[client]
            && let Some(member) = &mut self.clients[client].member
        {
            member.answered(now, ticket, status, &headers);
            self.pump(client);
        }
    }
}
