//! When a member asks the server, and for what.

use super::mode::Mode;
use super::server_clock::ServerClock;
use super::{Ask, LATE, Member, Reply, Solo};
use crate::budget::lease::{About, Count, Report};
use crate::clock::Time;
use crate::gate::Lane;
use std::time::Duration;

/// A member that sends by its own gate shows itself so often.
const RENEWAL: Duration = Duration::from_millis(200);
/// A member that has sent nothing for so long leaves.
const IDLE: Duration = Duration::from_secs(3);
/// Slots are leased ahead of time for whoever has asked to send so lately.
const EAGER: Duration = Duration::from_millis(300);
/// Slots of this member ahead of time, at most.
const MOST_AHEAD: usize = 16;
/// Whoever has waited in the background for so long asks as other scans do, so that nobody waits for ever.
const PATIENCE: Duration = Duration::from_secs(5);
/// The most slots of one lease.
const MOST_SLOTS: u32 = 4;
/// The round trip that is believed to be the longest shrinks by this factor with each reply,
const SHRINKS: f64 = 0.95;
/// and grows to twice what it was, and this: a reply that is late but once says nothing about the way.
const GROWS: Duration = Duration::from_millis(20);
/// What timers and schedulers add to the way of a reply.
const TIMERS: Duration = Duration::from_millis(2);
/// After a question that was not replied to, the next one comes after this long, doubled each time,
const FIRST_RETRY: Duration = Duration::from_millis(100);
/// and at most after this long.
const LONGEST_RETRY: Duration = Duration::from_secs(2);

/// What has been asked, and what is known from the replies.
#[derive(Debug)]
pub(super) struct Asking {
    last_take: Time,
    lane: Lane,
    /// Somebody waits to send, since this time.
    waiting: bool,
    since: Time,
    /// The question under way, and when it was sent.
    question: Option<(Time, Solo)>,
    asked: Time,
    /// When to ask again, in the lane of the last question.
    again: (Time, Lane),
    failures: u32,
    retry: Time,
    /// When the last question was sent that was replied to.
    contact: Time,
    round_trip: Duration,
    clock: Option<ServerClock>,
    members: Option<u32>,
    rate: f64,
}

impl Default for Asking {
    fn default() -> Self {
        Asking {
            last_take: Time::ZERO,
            lane: Lane::Background,
            waiting: false,
            since: Time::ZERO,
            question: None,
            asked: Time::ZERO,
            again: (Time::ZERO, Lane::Background),
            failures: 0,
            retry: Time::ZERO,
            contact: Time::ZERO,
            round_trip: Duration::ZERO,
            clock: None,
            members: None,
            rate: 0.0,
        }
    }
}

impl Asking {
    pub(super) fn wanted(&mut self, now: Time, lane: Lane) {
        self.last_take = now;
        self.lane = lane;
        if !self.waiting {
            self.since = now;
        }
        self.waiting = true;
    }

    /// In which lane to ask.
    fn lane(&self, now: Time) -> Lane {
        match self.lane {
            Lane::Background if self.waiting && now >= self.since + PATIENCE => Lane::Scan,
            lane => lane,
        }
    }

    pub(super) fn served(&mut self) {
        self.waiting = false;
    }

    pub(super) fn members(&self) -> Option<u32> {
        self.members
    }

    /// Requests a second of all members together, as told last.
    pub(super) fn rate(&self) -> f64 {
        self.rate
    }

    pub(super) fn contact(&self) -> Time {
        self.contact
    }

    pub(super) fn is_failing(&self) -> bool {
        self.failures > 0
    }
}

impl Member {
    /// When to ask the server the next question; none before something happens.
    pub(crate) fn ask_at(&mut self, now: Time) -> Option<Time> {
        self.drop_late(now);
        self.lapse(now);
        let asking = &self.asking;
        if asking.question.is_some() {
            return None;
        }
        let leave = asking.last_take + IDLE;
        let idle = !asking.waiting && now >= leave;
        match self.mode {
            Mode::Unknown => asking.waiting.then_some(now.max(asking.retry)),
            Mode::Lost { .. } => (!idle).then_some(asking.retry),
            _ if idle => Some(now.max(asking.retry)),
            Mode::Solo => Some((asking.asked + RENEWAL).max(asking.retry)),
            Mode::Leased if self.observed.is_urgent() => Some(now.max(asking.retry)),
            Mode::Leased => {
                let more = self.more_at(now).unwrap_or(Time::MAX);
                // Whoever waits for nothing shows itself now and then, until it leaves.
                let shown = asking.asked + Duration::from_secs(1);
                Some(more.min(shown).max(asking.retry))
            }
        }
    }

    /// When to ask for more slots.
    fn more_at(&self, now: Time) -> Option<Time> {
        let asking = &self.asking;
        let eager = self.wanted
            && asking.lane != Lane::Single
            && now < asking.last_take + EAGER
            && self.slots.len() < MOST_AHEAD;
        if !(eager || asking.waiting && self.slots.is_empty()) {
            return None;
        }
        let (again, lane) = asking.again;
        let again = if asking.lane(now) < lane { now } else { again };
        // The budget that the settings leave comes later.
        let own = self
            .own_share_from()
            .saturating_sub(LATE + asking.round_trip);
        Some(again.max(own))
    }

    /// The next question, which is sent now.
    pub(crate) fn ask(&mut self, now: Time) -> Ask {
        let idle = !self.asking.waiting && now >= self.asking.last_take + IDLE;
        let leaving = idle && !self.is_lost();
        let solo = self.solo(now);
        let wants = match self.mode {
            Mode::Leased => self.more_at(now).is_some_and(|at| at <= now),
            _ => self.asking.waiting && self.slots.is_empty(),
        };
        let report = self.report(now);
        let about = self.about(now);
        let asking = &mut self.asking;
        asking.question = Some((now, solo));
        asking.asked = now;
        let lane = asking.lane(now);
        asking.again.1 = lane;
        let round_trip = asking.round_trip;
        let members = f64::from(asking.members.unwrap_or(1));
        // As many as this member is given in a round trip, and one.
        let per_trip = (round_trip.as_secs_f64() * asking.rate / members) as u32;
        let slots = match lane {
            Lane::Single => 1,
            Lane::Scan | Lane::Background => (1 + per_trip).min(MOST_SLOTS),
        };
        let ask = Ask {
            member: self.id,
            limit: f64::from(self.settings.limit) / self.settings.window.as_secs_f64(),
            lane,
            slots: if wants && !leaving { slots } else { 0 },
            lead: (round_trip / 2 + TIMERS).as_micros() as f64,
            solo,
            leaving,
            report,
            about,
        };
        if leaving {
            self.mode = Mode::Unknown;
            self.sole = super::Sole::default();
        }
        ask
    }

    fn about(&self, now: Time) -> About {
        let asking = &self.asking;
        let goes_on = asking.lane != Lane::Single && now < asking.last_take + EAGER;
        About {
            sent_last_minute: self.last_minute.sent(now),
            waiting: (asking.waiting || goes_on).then_some(asking.lane),
            own_rate: self.mode.is_solo().then(|| self.solo.stats().target_rate),
        }
    }

    fn report(&mut self, now: Time) -> Report {
        let observed = std::mem::take(&mut self.observed);
        let pause = observed.pause.map(|until| until.saturating_sub(now));
        let mut report = Report {
            pause: pause.unwrap_or_default().as_micros() as f64,
            ..Report::default()
        };
        // The server knows nothing of what was sent otherwise.
        if matches!(self.mode, Mode::Leased) {
            let used_up = observed.used_up;
            report.used_up = used_up
                .zip(self.asking.clock)
                .map(|(sent, clock)| clock.there(sent));
            report.count = observed.count.and_then(|(sent, limit, remaining)| {
                let sent = self.asking.clock?.there(sent);
                Some(Count {
                    sent,
                    limit,
                    remaining,
                })
            });
        }
        report
    }

    /// The server has replied. Whether those who wait should ask again.
    pub(crate) fn received(&mut self, now: Time, reply: &Reply) -> bool {
        let asking = &mut self.asking;
        let Some((sent, solo)) = asking.question.take() else {
            return false;
        };
        let round_trip = now.saturating_sub(sent);
        let longest = asking.round_trip;
        asking.round_trip = longest
            .mul_f64(SHRINKS)
            .max(round_trip.min(2 * longest + GROWS));
        asking.failures = 0;
        asking.contact = sent;
        asking.clock = ServerClock::compared(asking.clock, sent, round_trip, reply.now);
        if reply.members == 0 {
            return false; // we have left
        }
        asking.members = Some(reply.members);
        asking.rate = reply.rate;
        let clock = asking.clock;
        let here = |time| clock.map_or(now, |clock| clock.here(time));
        asking.again.0 = here(reply.again).saturating_sub(round_trip / 2);
        for slot in 0..reply.slots {
            self.slots
                .push_back(here(reply.first + f64::from(slot) * reply.gap));
        }
        if reply.pause > reply.now {
            let until = here(reply.pause);
            self.slots.retain(|slot| *slot >= until);
        }
        let was_solo = self.mode.is_solo();
        let was_leased = matches!(self.mode, Mode::Leased);
        self.follow(now, solo, reply);
        let moved = was_solo != self.mode.is_solo() || !was_solo && !was_leased;
        reply.slots > 0 || moved
    }

    /// No reply has come, and none will. Whether those who wait should ask again.
    pub(crate) fn failed(&mut self, now: Time) -> bool {
        let asking = &mut self.asking;
        asking.question = None;
        let wait = FIRST_RETRY * (1 << asking.failures.min(5));
        asking.failures += 1;
        asking.retry = now + wait.min(LONGEST_RETRY);
        let was = self.is_lost();
        self.lose(now);
        was != self.is_lost()
    }
}
