//! The script that gives out slots, and how its arguments and replies are written.

use super::shown;
use crate::budget::company;
use crate::budget::lease::{Ask, Reply, Solo};
use crate::budget::who::Who;
use crate::gate::Lane;
use crate::settings::Config;
use redis::RedisResult;
use redis::aio::MultiplexedConnection;

/// The twin of `lease/reserve.rs`.
pub(super) const SOURCE: &str = include_str!("reserve.lua");
/// Members whose script writes another state have another key.
const PREFIX: &str = "talentdata:budget-2:";

/// No reply of the script has more slots.
const MOST_SLOTS: f64 = 16.0;

/// The script, sent by its digest; a server that does not have it is given the text.
pub(super) struct Script(redis::Script);

impl Default for Script {
    fn default() -> Self {
        Script(redis::Script::new(SOURCE))
    }
}

impl Script {
    pub(super) async fn run(
        &self,
        connection: &mut MultiplexedConnection,
        key: &str,
        ask: &Ask,
        who: &Who,
    ) -> RedisResult<Vec<String>> {
        let mut call = self.0.key(key);
        for argument in arguments(ask, who) {
            call.arg(argument);
        }
        call.invoke_async(connection).await
    }
}

/// The key of a company's budget. Neither the address of the service nor the client ID can be read from it; the braces
/// keep all keys of a company on one node of a cluster.
pub(super) fn key(config: &Config) -> String {
    format!("{PREFIX}{{{}}}", company::name(config, None))
}

/// A question as the script reads it.
pub(super) fn arguments(ask: &Ask, who: &Who) -> [String; 13] {
    let number = |number: Option<f64>| number.map(|number| number.to_string()).unwrap_or_default();
    let count = ask.report.count;
    let lane = match ask.lane {
        Lane::Single => 1,
        Lane::Scan => 2,
        Lane::Background => 3,
    };
    let solo = match ask.solo {
        Solo::No => 0,
        Solo::Ready => 1,
        Solo::Yes => 2,
    };
    [
        format!("{:016x}", ask.member),
        ask.limit.to_string(),
        lane.to_string(),
        ask.slots.to_string(),
        ask.lead.to_string(),
        solo.to_string(),
        u8::from(ask.leaving).to_string(),
        number(count.map(|count| count.sent)),
        number(count.map(|count| count.limit)),
        number(count.map(|count| count.remaining)),
        number(ask.report.used_up),
        ask.report.pause.to_string(),
        shown::describe(who, &ask.about),
    ]
}

/// Reads what the script replies.
pub(super) fn reply(texts: &[String]) -> Result<Reply, String> {
    let number = |text: &String| text.parse().ok().filter(|number: &f64| number.is_finite());
    let numbers: Option<Vec<f64>> = texts.iter().map(number).collect();
    match numbers.as_deref() {
        Some(&[now, slots, first, gap, again, pause, members, rate]) if slots <= MOST_SLOTS => {
            Ok(Reply {
                now,
                // Casts from floats saturate.
                slots: slots as u32,
                first,
                gap,
                again,
                pause,
                members: members as u32,
                rate,
            })
        }
        _ => Err("the reply is not that of the script".into()),
    }
}

#[cfg(test)]
mod tests;
