//! Leased send slots: a budget that many hosts share is kept on a server, which gives each member moments to send at.
//!
//! The state on the server knows the next free slot, the rate of all slots, and who asked lately. A member asks for slots
//! ahead of time ([`Ask`]), and is told when they are, or when to ask again ([`Reply`]). Slots of all members together are
//! evenly spaced, so that the service sees one well-behaved client. Slots are given out for a short time ahead only, the
//! horizon: a single call takes the next free one and never waits longer than that; scans go in the order of how many
//! slots they have had. The literal client rule stays in each process ([`member`]).
//!
//! A member that is the only one spares the way to the server: it sends by a gate of its own, and shows itself so often that
//! a newcomer is noticed before it gets its first slot.
//!
//! What decides on the server is a Lua script. `reserve` is the same function in Rust; tests hold the two against
//! each other, and simulate thousands of runs with the latter.

mod ask;
mod member;
#[cfg(test)]
mod pace;
#[cfg(test)]
mod reserve;
#[cfg(test)]
mod simulation;
#[cfg(test)]
mod state;

#[cfg(test)]
pub(crate) use self::{reserve::reserve, state::State};
pub(crate) use ask::{About, Ask, Count, Reply, Report, Solo};
pub(crate) use member::Member;

/// A time of the server, or a duration, in whole microseconds: a number of Lua, which is exact for these.
pub(crate) type Micros = f64;
