//! By what a member sends, and how it comes to send by something else.

use super::train::Train;
use super::{Member, Reply, Solo};
use crate::clock::Time;
use std::time::Duration;

/// A member that is the only one may send by its own gate for so long after it has shown itself. The server gives others
/// no slots for a little longer.
const SOLO_LASTS: Duration = Duration::from_millis(500);
/// A member that has become the only one shows its sends to its own gate after this long, when none of those that others
/// sent can be counted any more;
const SENDS_SHOWN: Duration = Duration::from_millis(1000);
/// the responses after this long, when all requests of a window are known to the gate;
const RESPONSES_SHOWN: Duration = Duration::from_millis(2200);
/// and sends by it after this long, when it knows what is left.
const SOLO_AGAIN: Duration = Duration::from_secs(4);
/// A member that has met no other one sends by its gate after this long: of several that start together, none has to be
/// stopped first.
const SOLO_AT_FIRST: Duration = Duration::from_millis(300);

/// By what a member sends.
#[derive(Debug)]
pub(super) enum Mode {
    /// By nothing: the server has not been asked, or not for long.
    Unknown,
    /// By leased slots.
    Leased,
    /// By a gate of its own, since it is the only member.
    Solo,
    /// The server cannot be reached: by slots of its own once the leased ones are spent, or by its gate where it
    /// was the only member.
    Lost { share: Option<Train> },
}

impl Mode {
    pub(super) fn is_solo(&self) -> bool {
        matches!(self, Mode::Solo)
    }
}

/// Since when this is the only member.
#[derive(Debug, Default)]
pub(super) struct Sole {
    since: Option<Time>,
    /// There were others, whose sends its gate does not know.
    had_others: bool,
}

impl Sole {
    pub(super) fn sends_are_shown(&self, now: Time) -> bool {
        !self.had_others || self.since.is_some_and(|since| now >= since + SENDS_SHOWN)
    }

    pub(super) fn response_is_shown(&self, sent: Time) -> bool {
        let since = self.since;
        !self.had_others || since.is_some_and(|since| sent >= since + RESPONSES_SHOWN)
    }

    fn may_be_solo(&self, now: Time) -> bool {
        let after = match self.had_others {
            true => SOLO_AGAIN,
            false => SOLO_AT_FIRST,
        };
        self.since.is_some_and(|since| now >= since + after)
    }
}

impl Member {
    /// What to tell the server about sending alone.
    pub(super) fn solo(&self, now: Time) -> Solo {
        match self.mode {
            Mode::Solo => Solo::Yes,
            Mode::Lost { share: None } => Solo::Yes,
            _ if self.sole.may_be_solo(now) => Solo::Ready,
            _ => Solo::No,
        }
    }

    /// Gives up what has lasted too long without contact, though nobody tried.
    pub(super) fn lapse(&mut self, now: Time) {
        if self.mode.is_solo() && now > self.asking.contact() + SOLO_LASTS {
            if self.asking.is_failing() {
                self.lose(now);
            } else {
                self.mode = Mode::Unknown;
            }
        }
    }

    /// Goes on as the server has replied to what was said about sending alone.
    pub(super) fn follow(&mut self, now: Time, solo: Solo, reply: &Reply) {
        if reply.members > 1 {
            self.sole.since = None;
            self.sole.had_others = true;
            self.mode = Mode::Leased;
            return;
        }
        self.sole.since.get_or_insert(now);
        if solo == Solo::No {
            self.mode = Mode::Leased;
        } else {
            self.sole.had_others = false;
            self.mode = Mode::Solo;
        }
    }

    /// The server cannot be reached.
    pub(super) fn lose(&mut self, now: Time) {
        let still_solo = self.mode.is_solo() && now < self.asking.contact() + SOLO_LASTS;
        if still_solo || self.is_lost() {
            return;
        }
        // Alone, as far as known: what its gate has learned stays.
        let alone = self.asking.members().is_none_or(|members| members == 1);
        let share = (!alone).then(|| {
            let members = f64::from(self.asking.members().unwrap_or(1));
            let limit = f64::from(self.settings.limit) / self.settings.window.as_secs_f64();
            let rate = (self.asking.rate() / members).min(self.settings.share * limit);
            Train::new(now, self.last_slot, rate)
        });
        self.mode = Mode::Lost { share };
    }
}
