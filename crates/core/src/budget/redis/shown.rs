//! What people are told of a budget on a server: how a member describes itself there, and how that is read.

use crate::budget::lease::{About, Micros};
use crate::budget::look::BudgetState;
use crate::budget::who::Who;
use crate::gate::{Lane, MemberStats};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A member that has not asked for so long is not shown.
const PRESENT: Micros = 10e6;
/// How members find the time of the next request: by leased slots,
const SLOTS: &str = "slots";
/// or by a gate of its own, which is for the only member.
const ALONE: &str = "alone";

/// A member as it describes itself.
#[derive(Debug, Serialize, Deserialize)]
struct Description {
    process: u32,
    name: String,
    host: String,
    sent_last_minute: u32,
    waiting: Option<Lane>,
    own_rate: Option<f64>,
}

/// The text that the server keeps for people.
pub(super) fn describe(who: &Who, about: &About) -> String {
    let description = Description {
        process: who.process,
        name: who.name.clone(),
        host: who.host.clone(),
        sent_last_minute: about.sent_last_minute,
        waiting: about.waiting,
        own_rate: about.own_rate,
    };
    serde_json::to_string(&description).unwrap_or_default()
}

/// The state of the budget with these fields, at this time of the server.
pub(super) fn read(home: String, now: Micros, fields: &BTreeMap<String, String>) -> BudgetState {
    let shown = fields.get("shown").map(|text| numbers(text));
    let (pause, rate) = match shown.as_deref() {
        Some(&[pause, rate]) => (pause, Some(rate)),
        _ => (0.0, None),
    };
    let mut members: Vec<_> = fields
        .values()
        .filter_map(|text| member(now, text))
        .collect();
    members.sort_by(|(one, _), (other, _)| {
        let place = |member: &MemberStats| std::cmp::Reverse(member.sent_last_minute);
        let name = |member: &MemberStats| (member.host.clone(), member.process);
        (place(one), name(one)).cmp(&(place(other), name(other)))
    });
    let own_rate = match members.as_slice() {
        [(_, own_rate)] => *own_rate,
        _ => None,
    };
    BudgetState {
        home,
        requests_per_second: own_rate.or(rate),
        mode: rate.map(|_| if own_rate.is_some() { ALONE } else { SLOTS }.to_owned()),
        seconds_paused: (pause - now).max(0.0) / 1e6,
        members: members.into_iter().map(|(member, _)| member).collect(),
    }
}

/// A member that was heard of lately, and the rate of its own gate.
fn member(now: Micros, text: &str) -> Option<(MemberStats, Option<f64>)> {
    let (state, description) = text.split_at(text.find('{')?);
    let seen = *numbers(state).first()?;
    let description: Description = serde_json::from_str(description).ok()?;
    let member = MemberStats {
        process: description.process,
        name: description.name,
        host: Some(description.host),
        sent_last_minute: description.sent_last_minute,
        waiting: description.waiting.map(Lane::name),
        seconds_since_seen: (now - seen).max(0.0) / 1e6,
    };
    (seen + PRESENT > now).then_some((member, description.own_rate))
}

fn numbers(text: &str) -> Vec<f64> {
    let numbers = text.split(' ').filter_map(|number| number.parse().ok());
    numbers.filter(|number: &f64| number.is_finite()).collect()
}
