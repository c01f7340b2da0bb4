//! The clock of the server, by that of this process.

use crate::budget::lease::Micros;
use crate::clock::Time;
use std::time::Duration;

/// A comparison is used for so many replies at most, so that clocks cannot drift apart.
const LASTS: u32 = 16;
/// Two comparisons may differ by this much more than half of their round trips.
const TOLERANCE: Duration = Duration::from_millis(5);

/// One moment by both clocks: in the middle of a round trip, of which the shortest of the last ones is the most exact.
#[derive(Debug, Clone, Copy)]
pub(super) struct ServerClock {
    here: Time,
    there: Micros,
    round_trip: Duration,
    replies: u32,
}

impl ServerClock {
    /// The better of what is known and of a question sent at `sent`, to which the server replied at its time `there`.
    pub(super) fn compared(
        known: Option<Self>,
        sent: Time,
        round_trip: Duration,
        there: Micros,
    ) -> Option<Self> {
        let new = ServerClock {
            here: sent + round_trip / 2,
            there,
            round_trip,
            replies: 0,
        };
        let Some(mut known) = known else {
            return Some(new);
        };
        known.replies += 1;
        let differs = known.here(there).abs_diff(new.here);
        let agree = differs <= (known.round_trip + round_trip) / 2 + TOLERANCE;
        let keep = agree && known.round_trip < round_trip && known.replies < LASTS;
        Some(if keep { known } else { new })
    }

    /// A time of the server by the clock of this process.
    pub(super) fn here(&self, there: Micros) -> Time {
        let ahead = (there - self.there).clamp(-1e15, 1e15) / 1e6;
        let by = Duration::from_secs_f64(ahead.abs());
        match ahead < 0.0 {
            true => self.here.saturating_sub(by),
            false => self.here.saturating_add(by),
        }
    }

    /// A time of this process by the clock of the server.
    pub(super) fn there(&self, here: Time) -> Micros {
        let ahead = here.as_secs_f64() - self.here.as_secs_f64();
        (self.there + ahead * 1e6).round().max(0.0)
    }
}
