//! Gives out slots: what the script on the server does, in Rust.

use super::state::{HORIZON, LONGEST_LEAD, MOST_SLOTS, SECOND, State};
use super::{Ask, Micros, Reply, Solo};
use crate::gate::Lane;

/// A member that sends by a gate of its own has to show itself within this time.
const SOLO_LASTS: Micros = 600_000.0;
/// After that gate has stopped, slots begin so much later: it may have sent more densely than slots are.
const HANDOVER: Micros = 150_000.0;
/// A newcomer that waits for this asks so often.
const HANDOVER_POLL: Micros = 50_000.0;
/// A slot so near is given to whoever asks, for it may be lost otherwise.
const URGENT: Micros = 60_000.0;
/// In the background, while other scans wait, only a slot that is as near as this.
const SPARE: Micros = 10_000.0;
/// Whoever asks so much sooner than told gets a slot all the same: the way to the server takes more or less time.
const EARLY: Micros = 8000.0;
/// Nobody is told to wait longer before asking again.
const LONGEST_WAIT: Micros = 1e6;
/// Nobody asks again sooner than this.
const SHORTEST_WAIT: Micros = 2000.0;

/// Replies to a question that came `now`, by the server's clock.
pub(crate) fn reserve(mut state: State, now: Micros, ask: &Ask) -> (State, Reply) {
    state.advance(now);
    if ask.leaving {
        state.members.remove(&ask.member);
        return (
            state,
            Reply {
                now,
                ..Reply::default()
            },
        );
    }
    state.take_up(now, ask);
    let blocked = state.note(now, ask);
    let mut reply = Reply {
        now,
        gap: state.pace.gap(),
        rate: state.pace.rate(),
        members: state.members.len() as u32,
        pause: state.pause,
        ..Reply::default()
    };
    let solo = ask.solo != Solo::No && reply.members == 1;
    if ask.slots > 0 && !solo {
        state.grant(now, ask, blocked, &mut reply);
    }
    (state, reply)
}

impl State {
    /// Notes the member. Until when another one sends by a gate of its own, and nobody else may.
    fn note(&mut self, now: Micros, ask: &Ask) -> Micros {
        let mut least = f64::INFINITY;
        let mut blocked = 0.0_f64;
        let mut others = false;
        let background = ask.lane == Lane::Background;
        for (id, other) in &self.members {
            if *id == ask.member {
                continue;
            }
            others = true;
            if other.waits(now) && other.background == background {
                least = least.min(other.turn);
            }
            if other.solo {
                blocked = blocked.max(other.seen + SOLO_LASTS);
            }
        }
        let me = self.members.entry(ask.member).or_default();
        if (!me.waits(now) || me.background != background) && least < f64::INFINITY {
            // Whoever comes back gets nothing for the time it was away, or in the background.
            me.turn = me.turn.max(least);
        }
        me.seen = now;
        me.about = ask.about.clone();
        me.lead = ask.lead.min(LONGEST_LEAD);
        me.solo = ask.solo != Solo::No && !others;
        if ask.solo == Solo::Yes && others {
            self.next = self.next.max(now + me.lead + HANDOVER);
            self.pace.blind = self.next + SECOND;
        }
        blocked
    }

    /// How many slots go to others before `ask` is served, by what they have had.
    fn ahead(&self, now: Micros, ask: &Ask) -> f64 {
        let background = ask.lane == Lane::Background;
        let turn = self.members.get(&ask.member).map_or(0.0, |me| me.turn);
        let mut ahead = 0.0;
        for (id, other) in &self.members {
            if *id == ask.member || !other.waits(now) {
                continue;
            }
            if background && !other.background {
                ahead += 1.0;
            } else if background == other.background {
                let first = if *id < ask.member { 1.0 } else { 0.0 };
                ahead += (turn - other.turn + first).max(0.0);
            }
        }
        ahead
    }

    fn grant(&mut self, now: Micros, ask: &Ask, blocked: Micros, reply: &mut Reply) {
        let gap = reply.gap;
        let lead = self.members.get(&ask.member).map_or(0.0, |me| me.lead);
        let soonest = now + lead;
        // Slots up to the first of whoever is furthest away are for the others.
        let waiting = self.members.values().filter(|one| one.waits(now));
        let furthest = waiting.fold(lead, |furthest, one| furthest.max(one.lead));
        let horizon = HORIZON.max(furthest + URGENT);
        let scans_wait = self
            .members
            .values()
            .any(|one| one.waits(now) && !one.background);
        let left_over = ask.lane == Lane::Background && scans_wait;
        let urgent = soonest + if left_over { SPARE } else { URGENT };
        let (reach, mut ahead) = match ask.lane {
            Lane::Single => (now + 2.0 * horizon, 0.0),
            Lane::Scan => (now + horizon, self.ahead(now, ask)),
            Lane::Background => (urgent, self.ahead(now, ask)),
        };
        let reach = reach.max(urgent);
        let mut start = self.next.max(soonest).max(self.pause);
        let early = if left_over { 0.0 } else { EARLY };
        let in_turn = start <= urgent || start + ahead * gap <= reach + early;
        if blocked <= now && start <= reach + early && in_turn {
            reply.slots = ask.slots.min(MOST_SLOTS as u32);
            reply.first = start;
            for _ in 0..reply.slots {
                self.granted.push(start);
                start += gap;
            }
            self.next = start;
            if ask.lane != Lane::Single {
                let turn = f64::from(reply.slots);
                if let Some(me) = self.members.get_mut(&ask.member) {
                    me.turn += turn;
                }
                ahead = self.ahead(now, ask);
            }
        }
        let mut again = start + ahead * gap - (reach - now);
        if blocked > now {
            again = now + HANDOVER_POLL;
        }
        reply.again = again.max(now + SHORTEST_WAIT).min(now + LONGEST_WAIT);
        if ask.lane != Lane::Single
            && let Some(me) = self.members.get_mut(&ask.member)
        {
            me.due = reply.again;
            me.background = ask.lane == Lane::Background;
        }
    }
}
