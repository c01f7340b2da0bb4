//! The script and its twin in Rust reply alike to any sequence of questions, on both servers.

use super::{SOURCE, arguments, reply};
use crate::budget::lease::{About, Ask, Count, Micros, Report, Solo, State, reserve};
use crate::budget::look::BudgetState;
use crate::budget::redis::shown;
use crate::budget::redis::test_server::Server;
use crate::budget::who::Who;
use crate::gate::Lane;
use fastrand::Rng;
use std::collections::BTreeMap;

/// Where the script reads the clock; the test gives it the time instead.
const CLOCK: &str = r#"local clock = redis.call("TIME")
local now = tonumber(clock[1]) * 1000000 + tonumber(clock[2])
"#;
const SEQUENCES: u64 = 25;
const QUESTIONS: usize = 150;

fn rounds() -> u64 {
    let rounds = std::env::var("TALENTDATA_ROUNDS").ok();
    rounds.and_then(|text| text.parse().ok()).unwrap_or(1)
}

/// A question of one of a few members, at a time that mostly goes on, and sometimes jumps.
fn question(rng: &mut Rng, now: &mut Micros) -> Ask {
    *now += match rng.u8(0..100) {
        0 => 20e6,
        1 => -20e6,
        2..5 => 2e6,
        _ => f64::from(rng.u32(0..60_000)),
    };
    let lanes = [Lane::Single, Lane::Scan, Lane::Scan, Lane::Background];
    let solos = [Solo::No, Solo::No, Solo::No, Solo::Ready, Solo::Yes];
    let sent = *now - f64::from(rng.u32(0..300_000));
    let furthest = [80_000, 800_000][rng.usize(0..2)];
    let count = (rng.u8(0..3) > 0).then(|| Count {
        sent,
        limit: [40.0, 40.0, 40.0, 40.0, 20.0, 0.3, 100.0][rng.usize(0..7)],
        remaining: f64::from(rng.u32(0..41)) / [1.0, 1.0, 3.0][rng.usize(0..3)],
    });
    Ask {
        member: rng.u64(1..6) * 0x0123_4567_89ab_cdef,
        limit: 40.0,
        lane: lanes[rng.usize(0..4)],
        slots: rng.u32(0..6),
        lead: f64::from(rng.u32(0..furthest)),
        solo: solos[rng.usize(0..5)],
        leaving: rng.u8(0..30) == 0,
        report: Report {
            count,
            used_up: (rng.u8(0..12) == 0).then_some(sent),
            pause: if rng.u8(0..20) == 0 { 1e6 } else { 0.0 },
        },
        about: About {
            sent_last_minute: rng.u32(0..2400),
            waiting: rng.bool().then_some(lanes[rng.usize(0..4)]),
            own_rate: rng.bool().then(|| 40.0 * rng.f64()),
        },
    }
}

/// What people are to be shown of a state.
fn shown_of(state: &State, now: Micros, who: &Who) -> BudgetState {
    let (pause, rate, members) = state.shown();
    let mut fields = BTreeMap::from([("shown".to_owned(), format!("{pause} {rate}"))]);
    for (id, (seen, about)) in members.into_iter().enumerate() {
        let text = format!("{seen} 0 0 0 0 0 {}", shown::describe(who, about));
        fields.insert(id.to_string(), text);
    }
    shown::read(String::new(), now, &fields)
}

#[tokio::test]
async fn the_script_replies_as_its_twin_does() {
    assert!(
        SOURCE.contains(CLOCK),
        "the script reads its clock otherwise"
    );
    let script = redis::Script::new(&SOURCE.replace(CLOCK, "local now = tonumber(ARGV[#ARGV])\n"));
    for server in Server::both().await {
        let mut connection = server.connection().await;
        let mut granted = 0;
        // A program may be called anything, and what it says of itself must not be taken for anything else.
        let who = Who {
            process: 4711,
            name: "1 2 3 4 5 6 \"{}\n\u{7f}é".into(),
            host: "shown".into(),
        };
        for seed in 0..SEQUENCES * rounds() {
            let mut rng = Rng::with_seed(seed);
            let mut now = 1.7e15 + f64::from(rng.u32(..));
            let mut state = State::default();
            let key = format!("twin:{seed}");
            for number in 0..QUESTIONS {
                let ask = question(&mut rng, &mut now);
                let mut call = script.key(&key);
                for argument in arguments(&ask, &who) {
                    call.arg(argument);
                }
                call.arg(now.to_string());
                let texts: Vec<String> = call.invoke_async(&mut connection).await.unwrap();
                let told = reply(&texts).unwrap();
                let (next, expected) = reserve(state, now, &ask);
                assert_eq!(
                    told, expected,
                    "seed {seed}, question {number}: {ask:?} of {next:?}"
                );
                granted += told.slots;
                state = next;
                let fields: BTreeMap<String, String> = redis::cmd("HGETALL")
                    .arg(&key)
                    .query_async(&mut connection)
                    .await
                    .unwrap();
                let kept = shown::read(String::new(), now, &fields);
                let expected = shown_of(&state, now, &who);
                assert_eq!(kept, expected, "seed {seed}, question {number}: {ask:?}");
            }
            let lasts: i64 = redis::cmd("PTTL")
                .arg(&key)
                .query_async(&mut connection)
                .await
                .unwrap();
            assert!(
                (59_000..70_000).contains(&lasts),
                "the key lasts for {lasts} ms"
            );
        }
        assert!(
            u64::from(granted) > SEQUENCES * QUESTIONS as u64 / 10,
            "{granted} slots"
        );
    }
}
