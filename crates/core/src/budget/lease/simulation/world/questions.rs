//! Questions to the server of the budget, and its replies.

use super::{Event, TIMEOUT, World};
use crate::budget::lease::reserve::reserve;
use crate::budget::lease::simulation::scenario::LIMIT;
use crate::budget::lease::state::{SECOND, State};
use crate::budget::lease::{Ask, Micros, Reply};
use std::time::Duration;

impl World {
    pub(super) fn ask(&mut self, index: usize) {
        let now = self.now;
        let Some(member) = &mut self.clients[index].member else {
            return;
        };
        // Timers may have come too early for a change since.
        if member.ask_at(now).is_none_or(|at| at > now) {
            self.schedule(index);
            return;
        }
        let ask = member.ask(now);
        let question = self.clients[index].question;
        self.outcome.asks += 1;
        if !self.cut_off(index) {
            let at = now + self.way_to_server(index);
            self.push(at, Event::AskArrives(index, question, ask));
        }
        self.push(now + TIMEOUT, Event::AskFails(index, question));
    }

    pub(super) fn reserve(&mut self, index: usize, question: u64, ask: &Ask) {
        if self.scenario.state_lost.is_some_and(|at| self.now >= at) {
            self.scenario.state_lost = None;
            self.state = State::default();
            self.granted.clear();
        }
        let mut clock = (self.epoch + self.now).as_micros() as f64;
        if let Some((at, by)) = self.scenario.clock_set
            && self.now >= at
        {
            clock += by * SECOND;
        }
        let state = std::mem::take(&mut self.state);
        let (state, reply) = reserve(state, clock, ask);
        self.state = state;
        self.judge(clock, &reply);
        if !self.cut_off(index) {
            let at = self.now + self.way_to_server(index);
            self.push(at, Event::ReplyArrives(index, question, reply));
        }
    }

    /// Never more slots than one less than the limit in any window, and none before now.
    fn judge(&mut self, clock: Micros, reply: &Reply) {
        let most = LIMIT - 1;
        for slot in 0..reply.slots {
            let slot = reply.first + f64::from(slot) * reply.gap;
            assert!(slot >= clock, "a slot in the past: {:?}", self.scenario);
            if self.scenario.clock_set.is_some() {
                continue;
            }
            self.granted.push_back(slot);
            if self.granted.len() > most as usize {
                let oldest = self.granted.pop_front().unwrap_or_default();
                assert!(
                    slot >= oldest + SECOND,
                    "too many slots: {:?}",
                    self.scenario
                );
            }
        }
    }

    fn way_to_server(&mut self, index: usize) -> Duration {
        let (members, far) = self.scenario.far;
        self.one_way(if index < members {
            far
        } else {
            self.scenario.server
        })
    }

    fn cut_off(&self, index: usize) -> bool {
        let (members, span) = &self.scenario.cut_off;
        index < *members && span.contains(&self.now)
    }
}
