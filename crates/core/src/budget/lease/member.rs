//! A member of a shared budget: when its process may send, and when it has to ask the server.
//!
//! A pure state machine over the time of this process. It sends by leased slots; by a gate of its own while it is the only
//! member; and by its part of the rate while the server cannot be reached. In each case the documented
//! client rule is kept by a gate that knows nothing else, and sees every response.

mod asking;
mod mode;
mod observed;
mod server_clock;
mod train;

use super::{Ask, Reply, Solo};
use crate::budget::Take;
use crate::clock::Time;
use crate::gate::{Gate, GateSettings, Lane, LastMinute, RateHeaders, Ready, Ticket};
use crate::settings::OnLost;
use asking::Asking;
use mode::{Mode, Sole};
use observed::Observed;
use std::collections::{HashMap, VecDeque};
use std::time::Duration;

/// A slot that is missed by this much is given up: what follows it would be too close. A slot costs less than the pause
/// after a window that is used up.
const LATE: Duration = Duration::from_millis(25);
/// Where timers of this process are always late, all slots would be: after one that was given up, the next may be missed by
/// twice as much, and at most by this,
const LATEST: Duration = Duration::from_millis(400);
/// and each that is used makes that less by this factor.
const PUNCTUAL: f64 = 0.95;
/// Unanswered requests at any time, as at a gate.
const MOST_IN_FLIGHT: usize = 128;

/// One member.
#[derive(Debug)]
pub(crate) struct Member {
    id: u64,
    settings: GateSettings,
    on_lost: OnLost,
    /// Keeps the documented rule, and nothing else.
    rule: Gate,
    /// Paces while this is the only member.
    solo: Gate,
    sole: Sole,
    mode: Mode,
    /// Leased slots, in the order of time.
    slots: VecDeque<Time>,
    /// By how much one may be missed.
    late: Duration,
    /// Whether the last slot was waited for: then the next one will be as well, and is leased ahead of time.
    wanted: bool,
    last_slot: Time,
    asking: Asking,
    observed: Observed,
    last_minute: LastMinute,
    under_way: HashMap<Ticket, Sent>,
}

/// A request under way.
#[derive(Debug, Clone, Copy)]
struct Sent {
    at: Time,
    /// The same request at the gate of a member on its own, where it paced it or looked on.
    solo: Option<Ticket>,
}

impl Member {
    /// A member that has asked nothing yet; `id` is a random number.
    pub(crate) fn new(id: u64, settings: GateSettings, on_lost: OnLost) -> Self {
        let rule = GateSettings {
            paced: false,
            ..settings
        };
        Member {
            id,
            settings,
            on_lost,
            rule: Gate::new(rule),
            solo: Gate::new(settings),
            sole: Sole::default(),
            mode: Mode::Unknown,
            slots: VecDeque::new(),
            late: LATE,
            wanted: false,
            last_slot: Time::ZERO,
            asking: Asking::default(),
            observed: Observed::default(),
            last_minute: LastMinute::default(),
            under_way: HashMap::new(),
        }
    }

    /// Asks to send one request now.
    pub(crate) fn take(&mut self, now: Time, lane: Lane) -> Take {
        self.drop_late(now);
        self.asking.wanted(now, lane);
        if let Ready::At(until) = self.rule.ready(now) {
            return Take::Wait {
                earliest: until,
                again: until,
            };
        }
        if self.under_way.len() >= MOST_IN_FLIGHT {
            return Take::AfterChange;
        }
        self.lapse(now);
        match self.ready(now) {
            Ready::Now => Take::Now(self.send(now)),
            Ready::At(at) => {
                self.wanted = true;
                Take::Wait {
                    earliest: now,
                    again: at,
                }
            }
            Ready::AfterResponse => {
                self.wanted = true;
                Take::AfterChange
            }
        }
    }

    /// When the next request may go, as far as the budget is concerned.
    fn ready(&mut self, now: Time) -> Ready {
        if let Some(slot) = self.slots.front() {
            let slot = (*slot).max(self.own_share_from());
            return if slot <= now {
                Ready::Now
            } else {
                Ready::At(slot)
            };
        }
        match &mut self.mode {
            Mode::Unknown | Mode::Leased => Ready::AfterResponse,
            Mode::Solo => self.solo.ready(now),
            Mode::Lost { .. } if self.on_lost == OnLost::Wait => Ready::AfterResponse,
            Mode::Lost { share: None } => self.solo.ready(now),
            Mode::Lost { share: Some(train) } if train.next() > now => Ready::At(train.next()),
            Mode::Lost { share: Some(_) } => Ready::Now,
        }
    }

    /// When the share of the limit that the settings allow lets the next leased request go.
    fn own_share_from(&self) -> Time {
        if self.settings.share >= 1.0 || self.last_slot.is_zero() {
            return Time::ZERO;
        }
        let rate = f64::from(self.settings.limit) * self.settings.share;
        self.last_slot + self.settings.window.div_f64(rate)
    }

    fn drop_late(&mut self, now: Time) {
        let late = self.late;
        while self.slots.front().is_some_and(|slot| *slot + late < now) {
            self.slots.pop_front();
            self.wanted = false;
            self.asking.served();
            self.late = (2 * late).min(LATEST);
        }
    }

    fn send(&mut self, now: Time) -> Ticket {
        self.asking.served();
        self.last_minute.send(now);
        let ticket = self.rule.send(now);
        let solo = if self.slots.pop_front().is_some() {
            self.late = self.late.mul_f64(PUNCTUAL).max(LATE);
            self.last_slot = now;
            let looks_on = self.sole.sends_are_shown(now);
            looks_on.then(|| self.solo.send(now))
        } else {
            match &mut self.mode {
                Mode::Unknown | Mode::Leased => None,
                Mode::Lost { share: Some(train) } => {
                    train.send(now);
                    None
                }
                Mode::Solo | Mode::Lost { share: None } => Some(self.solo.send(now)),
            }
        };
        self.under_way.insert(ticket, Sent { at: now, solo });
        ticket
    }

    /// The request was not sent after all.
    pub(crate) fn unsend(&mut self, ticket: Ticket) {
        let sent = self.under_way.remove(&ticket);
        if let Some(solo) = sent.and_then(|sent| sent.solo) {
            self.solo.unsend(solo);
        }
    }

    /// No response will come.
    pub(crate) fn lost(&mut self, now: Time, ticket: Ticket) {
        let sent = self.under_way.remove(&ticket);
        if let Some(solo) = sent.and_then(|sent| sent.solo) {
            self.solo.lost(now, solo);
        }
    }

    /// A response has arrived.
    pub(crate) fn answered(
        &mut self,
        now: Time,
        ticket: Ticket,
        status: u16,
        headers: &RateHeaders,
    ) {
        let Some(sent) = self.under_way.remove(&ticket) else {
            return;
        };
        self.rule.response(now, ticket, status, headers);
        let until = match self.rule.ready(now) {
            Ready::At(until) => until,
            Ready::Now | Ready::AfterResponse => now,
        };
        let window = self.settings.window;
        self.observed.response(now, sent.at, until, headers, window);
        if let Mode::Lost { share: Some(train) } = &mut self.mode
            && until > now
        {
            train.slow_down(now);
        }
        let shown = self.sole.response_is_shown(sent.at);
        match sent.solo {
            Some(solo) if shown => self.solo.response(now, solo, status, headers),
            Some(solo) => self.solo.lost(now, solo),
            None => {}
        }
    }

    /// The random number by which the server knows it.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Whether the server cannot be reached.
    pub(crate) fn is_lost(&self) -> bool {
        matches!(self.mode, Mode::Lost { .. })
    }
}
