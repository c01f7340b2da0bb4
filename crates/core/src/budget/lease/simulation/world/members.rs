//! Members: what they send, and when they ask.

use super::{Event, Request, World};
use crate::budget::Take;
use crate::gate::Lane;

impl World {
    /// Whom it takes to handle an event.
    pub(super) fn handler(&self, event: &Event) -> Option<usize> {
        match event {
            Event::Wake(index, _)
            | Event::AskDue(index, _)
            | Event::ReplyArrives(index, ..)
            | Event::AskFails(index, _)
            | Event::Call(index) => Some(*index),
            Event::Responds(request) => Some(self.requests[*request].client),
            _ => None,
        }
    }

    /// Sends as long as the member lets.
    pub(super) fn pump(&mut self, index: usize) {
        let now = self.now;
        if index > 0 && self.scenario.others_stop.is_some_and(|at| now >= at) {
            self.clients[index].stopped = true;
        }
        loop {
            let client = &mut self.clients[index];
            let (Some(member), false) = (&mut client.member, client.stopped) else {
                break;
            };
            if client.lane == Lane::Single && client.calls.is_empty() {
                break;
            }
            match member.take(now, client.lane) {
                Take::Now(ticket) => {
                    if let Some(came) = client.calls.pop_front() {
                        self.outcome.waits.push(now - came);
                    }
                    self.outcome.sent += 1;
                    let request = self.requests.len();
                    self.requests.push(Request {
                        client: index,
                        life: self.lives[index],
                        ticket,
                        verdict: None,
                    });
                    let at = now + self.one_way(self.scenario.service);
                    self.push(at, Event::Arrives(request));
                }
                Take::Wait { again: at, .. } => {
                    assert!(at > now, "a wait ends in the future");
                    client.wake += 1;
                    let wake = client.wake;
                    let at = at + self.late();
                    self.push(at, Event::Wake(index, wake));
                    break;
                }
                Take::AfterChange | Take::Lost(_) | Take::Outage { .. } => break,
            }
        }
        self.schedule(index);
    }

    pub(super) fn schedule(&mut self, index: usize) {
        let now = self.now;
        let client = &mut self.clients[index];
        client.ask += 1;
        let ask = client.ask;
        let due = client.member.as_mut().and_then(|member| member.ask_at(now));
        if let Some(at) = due {
            let at = if at > now { at + self.late() } else { at };
            self.push(at, Event::AskDue(index, ask));
        }
    }
}
