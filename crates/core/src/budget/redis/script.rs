//! The script that gives out moments to send at: what it is asked, what it replies, and what it keeps for people.

use crate::budget::BudgetState;
use crate::budget::identity;
use crate::gate::MemberStats;
use crate::settings::Config;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::cmp::Reverse;
use std::collections::BTreeMap;

pub(super) const SOURCE: &str = include_str!("moments.lua");
/// Members whose script keeps another state have another key.
const PREFIX: &str = "talentdata:budget-5:";
/// A member that has not asked for so many seconds is not shown.
const PRESENT: f64 = 10.0;
/// No reply has more moments.
pub(super) const MAX_MOMENTS: u32 = 4;
/// How members find the time of the next request, for people.
const MODE: &str = "slots";

/// What a member asks for and reports; times are seconds.
#[derive(Debug, Default, Serialize)]
pub(super) struct Ask {
    pub(super) member: String,
    /// Requests a second, by the settings.
    pub(super) limit: f64,
    /// 1 for single calls, 2 for scans, 3 for scans in the background.
    pub(super) class: u8,
    pub(super) moments: u32,
    /// How far ahead moments have to be.
    pub(super) lead: f64,
    pub(super) leaving: bool,
    /// For how long moments of the state that this member knows may still be used, should the state be lost.
    pub(super) known: Option<f64>,
    /// For how long this member may be kept waiting: a second, or as long as the service has told it.
    pub(super) believes: f64,
    /// At least 0 and below 1.
    pub(super) random: f64,
    #[serde(flatten)]
    pub(super) report: Report,
    /// The member, for people.
    pub(super) about: MemberStats,
}

/// What a member has seen since it last asked. Requests are known by the numbers of their moments.
#[derive(Debug, Default, Serialize)]
pub(super) struct Report {
    /// The limit that the service has named, in requests a second.
    pub(super) shown: Option<f64>,
    /// The request after which the least was left, of the window that is paced by or of a longer one.
    pub(super) seen: Option<u64>,
    pub(super) remaining: Option<f64>,
    /// What is left of a longer window, and until when.
    pub(super) left: Option<f64>,
    pub(super) resets: Option<f64>,
    /// The newest request that found nothing left, or was refused.
    pub(super) used_up: Option<u64>,
    /// How long ago a request succeeded; how many have failed since, and how long ago the last of them was sent.
    pub(super) ok: Option<f64>,
    pub(super) failed: Option<u32>,
    pub(super) ago: Option<f64>,
    /// How long nobody may send.
    pub(super) pause: Option<f64>,
}

/// What the script replies; times are seconds by the server's clock.
#[derive(Debug, Deserialize)]
pub(super) struct Reply {
    pub(super) now: f64,
    pub(super) moments: u32,
    pub(super) first: f64,
    pub(super) gap: f64,
    /// Of the first moment.
    pub(super) number: u64,
    /// When to ask again, where there is no moment; else 0.
    pub(super) again: f64,
    pub(super) pause: f64,
    pub(super) members: u32,
    /// Requests a second of all members together.
    pub(super) rate: f64,
    /// How many requests have failed since the last success, and since when.
    pub(super) failures: u32,
    pub(super) since: f64,
}

impl Reply {
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let reply: Option<Reply> = serde_json::from_str(text).ok();
        let usable = reply.filter(|reply| reply.moments <= MAX_MOMENTS && reply.rate > 0.0);
        usable.ok_or_else(|| "the reply is not that of the script".into())
    }
}

/// The key of a company's budget. Neither the address of the service nor the client ID can be read from it.
pub(super) fn key(config: &Config) -> String {
    format!("{PREFIX}{}", identity::company(config, None))
}

/// What `talentdata budget` reads at the key.
#[derive(Deserialize)]
struct Kept {
    state: State,
    members: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
struct State {
    rate: f64,
    pause: f64,
}

#[derive(Deserialize)]
struct Member {
    seen: f64,
    about: MemberStats,
}

/// The state of the budget with this text at its key, at this time of the server.
pub(super) fn show(store: String, now: f64, text: &str) -> BudgetState {
    let kept: Option<Kept> = serde_json::from_str(text).ok();
    let (state, members) = kept.map(|kept| (kept.state, kept.members)).unzip();
    let members = members.into_iter().flatten().filter_map(|(_, member)| {
        let Member { seen, about } = serde_json::from_value(member).ok()?;
        (seen + PRESENT > now).then(|| MemberStats {
            seconds_since_seen: (now - seen).max(0.0),
            ..about
        })
    });
    let mut members: Vec<_> = members.collect();
    members.sort_by_key(|member| {
        let sent = Reverse(member.sent_last_minute);
        (sent, member.host.clone(), member.process)
    });
    BudgetState {
        store,
        requests_per_second: state.as_ref().map(|state| state.rate),
        mode: state.as_ref().map(|_| MODE.to_owned()),
        seconds_paused: state.map_or(0.0, |state| (state.pause - now).max(0.0)),
        members,
    }
}
