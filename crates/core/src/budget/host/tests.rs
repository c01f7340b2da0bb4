//! The state of the budget in its file: the members' knowledge of each other, and states that are lost, forged, or
//! cannot be written. Damage of the file itself is tested in `shared_file/tests.rs`.

#![allow(clippy::unwrap_used, reason = "clippy knows tests by cfg(test) alone")]

use super::*;
use crate::budget::gate::{Admission, MemberInfo, RateHeaders};
use crate::budget::shared_file::tests::place;
use std::path::Path;
use talentdata_sandbox::limit::{Limiter, Policy, ResetRounding};

fn member(path: &Path) -> HostMember {
    HostMember::new(path.to_owned())
}

/// Asks for a permit. Returns the number of members, and the admission.
fn ask(file: &mut HostMember, id: u64) -> (usize, Admission) {
    let asked =
        file.change(|gate, now| (take(gate, now, id, Endpoint::Api), gate.members(now).len()));
    let (turn, present) = asked.unwrap();
    (present, turn)
}

/// Asks the gate for a permit of the member with this number.
fn take(gate: &mut SharedGate, now: Duration, id: u64, endpoint: Endpoint) -> Admission {
    let info = MemberInfo {
        id,
        process: 1,
        name: "test",
        share: 1.0,
    };
    gate.take(now, &info, PriorityClass::Scan, endpoint)
}

fn new_gate(now: Duration) -> SharedGate {
    SharedGate::new(REQUESTS_PER_SECOND, true, now)
}

#[test]
fn members_see_the_changes_of_others() {
    let (_directory, SharedFile { path, .. }) = place();
    let (mut one, mut other) = (member(&path), member(&path));
    assert!(matches!(ask(&mut one, 1), (1, Admission::Admitted(_))));
    assert_eq!(ask(&mut other, 2).0, 2);
    assert_eq!(ask(&mut one, 1).0, 2);
    // A client that only reads the state is no member.
    let seen = member(&path).look().unwrap().unwrap();
    assert_eq!(seen.members(seen.last_used()).len(), 2);
}

#[test]
fn a_lost_state_is_restored_from_what_a_member_knows() {
    for damage in [None, Some("something else")] {
        let (_directory, SharedFile { path, .. }) = place();
        let (mut one, mut other) = (member(&path), member(&path));
        ask(&mut one, 1);
        ask(&mut other, 2);
        match damage {
            None => std::fs::remove_file(&path).unwrap(),
            Some(text) => std::fs::write(&path, text).unwrap(),
        }
        // One client knows only itself, and the other knows both.
        assert_eq!(ask(&mut other, 2).0, 2);
        assert_eq!(ask(&mut one, 1).0, 2);
    }
}

/// If the file is damaged, others may have sent any number of requests, so a client first waits for one window.
#[test]
fn a_client_that_finds_a_damaged_state_waits_for_a_window() {
    let (_directory, SharedFile { path, .. }) = place();
    ask(&mut member(&path), 9);
    std::fs::write(&path, "something else").unwrap();
    let Admission::Wait { earliest, .. } = ask(&mut member(&path), 1).1 else {
        panic!("it sends at once");
    };
    let seen = member(&path).look().unwrap().unwrap();
    assert_eq!(earliest, seen.paused_until());
    assert!(earliest > seen.last_used() + Duration::from_millis(500));
}

/// A restarted host counts its time from the beginning.
#[test]
fn a_state_from_the_future_is_discarded() {
    let (_directory, file) = place();
    let future = clock::now() + Duration::from_secs(1000);
    let mut state = new_gate(future);
    take(&mut state, future, 9, Endpoint::Api);
    let state = postcard::to_stdvec(&state).unwrap();
    file.lock().unwrap().write(&state).unwrap();
    assert_eq!(ask(&mut member(&file.path), 1).0, 1);
}

/// The variable with the path of the state. It is set for a process of this test program whose files cannot grow.
const FULL: &str = "TALENTDATA_TEST_FULL_DISK";

/// Simulates a full disk. The others see no change, so the turn and the knowledge of the others must remain.
#[test]
fn a_state_that_cannot_be_written_is_not_changed() {
    if let Some(path) = std::env::var_os(FULL) {
        let mut file = member(Path::new(&path));
        assert!(
            file.change(|gate, now| take(gate, now, 3, Endpoint::Api))
                .is_err()
        );
        let (seen, _) = file.alone(clock::now());
        assert_eq!(seen.members(seen.last_used()).len(), 2);
        return;
    }
    let (_directory, SharedFile { path, .. }) = place();
    ask(&mut member(&path), 1);
    ask(&mut member(&path), 2);
    let before = member(&path).look().unwrap().unwrap();
    let name = "budget::host::tests::a_state_that_cannot_be_written_is_not_changed";
    let limited = "trap '' XFSZ; ulimit -f 0; exec \"$0\" \"$@\"";
    let mut full = std::process::Command::new("sh");
    full.args(["-c", limited])
        .arg(std::env::current_exe().unwrap());
    full.args([name, "--exact", "--nocapture"]).env(FULL, &path);
    let output = full.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let after = member(&path).look().unwrap().unwrap();
    let text = |state: &SharedGate| serde_json::to_string(state).unwrap();
    assert_eq!(text(&after), text(&before));
    assert_eq!(after.members(after.last_used()).len(), 2);
}

/// Returns states after some seconds of requests, in the different modes of the gate.
fn states() -> Vec<Vec<u8>> {
    let mut states = Vec::new();
    for policy in [Policy::ClockWindow, Policy::SlidingLog, Policy::TokenBucket] {
        let window = Duration::from_secs(1);
        let mut limiter = Limiter::new(policy, 40, window, ResetRounding::Up);
        let mut now = Duration::from_secs(1000);
        let mut state = new_gate(now);
        for step in 0..300 {
            now = step_of(&mut state, now, &mut |at| {
                let decision = limiter.decide(at);
                (decision.admitted, decision.remaining.into(), decision.reset)
            });
            if step % 60 == 59 {
                states.push(postcard::to_stdvec(&state).unwrap());
            }
        }
    }
    states
}

/// Makes one request of one of two members, or waits. Returns the time afterwards.
fn step_of(
    state: &mut SharedGate,
    now: Duration,
    serve: &mut dyn FnMut(Duration) -> (bool, u64, Duration),
) -> Duration {
    let id = u64::from(now.subsec_micros() % 2);
    match take(state, now, id, Endpoint::Api) {
        Admission::Wait { again, .. } => {
            assert!(again > now && again <= now + Duration::from_secs(1));
            again
        }
        Admission::Admitted(ticket) => {
            let (admitted, remaining, reset) = serve(now + Duration::from_millis(10));
            let headers = RateHeaders {
                limit: Some(40),
                window: Some(Duration::from_secs(1)),
                remaining: Some(remaining),
                reset: Some(reset),
                reset_is_integer: false,
                retry_after: None,
            };
            let status = if admitted { 200 } else { 429 };
            let now = now + Duration::from_millis(20);
            state.complete(now, id, ticket, &RequestOutcome::Answered(status, headers));
            now
        }
    }
}

/// The checksum is right, but the content is not. Such a state is refused, or it does no harm.
#[test]
fn a_forged_state_neither_panics_nor_waits_forever() {
    let mut rng = fastrand::Rng::with_seed(1);
    let (mut used, mut refused) = (0, 0);
    for good in states() {
        let state: SharedGate = postcard::from_bytes(&good).unwrap();
        assert!(state.is_valid(REQUESTS_PER_SECOND), "it was not changed");
        for _ in 0..2000 {
            let mut forged = good.clone();
            for _ in 0..rng.usize(1..4) {
                let at = rng.usize(0..forged.len());
                let bytes = rng.usize(1..9).min(forged.len() - at);
                let any = rng.u8(..);
                let fill = rng.choice([0, 0xff, 0x7f, any]).unwrap();
                forged[at..at + bytes].fill(fill);
            }
            let Ok(mut state) = postcard::from_bytes::<SharedGate>(&forged) else {
                continue;
            };
            if !state.is_valid(REQUESTS_PER_SECOND) {
                refused += 1;
                continue;
            }
            used += 1;
            let mut now = state.last_used();
            for _ in 0..40 {
                now = step_of(&mut state, now, &mut |_| {
                    (true, 20, Duration::from_millis(500))
                });
            }
            let _ = (state.members(now), state.rate(), state.is_expired(now));
            state.leave(now, 1);
        }
    }
    println!("{used} used, {refused} refused");
    assert!(used > 100 && refused > 100);
}

/// A pause in the file that the service did not name to this process is trusted for at most one window, even if it is
/// plausible. A pause that the service named to this process lasts, even if the file differs.
#[test]
fn a_pause_lasts_as_long_as_the_service_said_or_else_one_window() {
    let now = Duration::from_secs(1000);
    let hour = Duration::from_secs(3600);
    let limited = RateHeaders {
        retry_after: Some(hour),
        ..RateHeaders::default()
    };
    let mut gate = new_gate(now);
    let Admission::Admitted(ticket) = take(&mut gate, now, 1, Endpoint::Token) else {
        panic!("nobody else is there");
    };
    gate.complete(
        now,
        1,
        ticket,
        &RequestOutcome::Answered(429, limited.clone()),
    );
    assert!(gate.is_valid(REQUESTS_PER_SECOND));
    let mut told = Pauses::default();
    told.note(now, 429, &limited, gate.paused_until());
    gate.clamp_pauses(now, &told);
    assert_eq!(gate.paused_until(), now + hour);
    // A process to which the service named no pause asks again after a window. Then the service names the pause to it
    // as well.
    gate.clamp_pauses(now, &Pauses::default());
    assert_eq!(gate.paused_until(), now + Duration::from_secs(1));
    gate.clamp_pauses(now, &told);
    assert_eq!(
        gate.paused_until(),
        now + hour,
        "a process to which the pause was named obeys it"
    );
}

/// An unknown probe and unknown requests in flight do not delay members for long.
#[test]
fn a_forged_outage_and_forged_requests_expire() {
    let mut now = Duration::from_secs(1000);
    let mut gate = new_gate(now);
    let turn = |gate: &mut SharedGate, mut now, id| loop {
        match take(gate, now, id, Endpoint::Api) {
            Admission::Admitted(ticket) => break (now, ticket),
            Admission::Wait { again, .. } => now = again,
        }
    };
    for _ in 0..2 {
        let (at, ticket) = turn(&mut gate, now, 9);
        gate.complete(at, 9, ticket, &RequestOutcome::Failed { sent: true });
        now = at;
    }
    // The probe is in flight, and its member no longer reports.
    let (probed, _) = turn(&mut gate, now, 9);
    let (next, _) = turn(&mut gate, probed, 1);
    let waits = next - probed;
    assert!(waits <= Duration::from_secs(8), "{waits:?}");
}

/// Versions with another state must use another file, or each would read the state of the other as its own. If this
/// test fails, raise the version in PREFIX (host.rs), here, and in docs/budget.md.
#[test]
fn the_state_has_the_shape_of_its_version() {
    assert_eq!(super::PREFIX, "budget-11-");
    let mut found = Vec::new();
    for bytes in states() {
        let state: SharedGate = postcard::from_bytes(&bytes).unwrap();
        // Each field is on a line of its own.
        let text = serde_json::to_string_pretty(&state).unwrap();
        for (name, value) in text.lines().filter_map(|line| line.split_once(": ")) {
            let kind = match value.chars().next().unwrap() {
                '0'..='9' | '-' if value.contains('.') => 'f',
                '0'..='9' | '-' => 'i',
                first => first,
            };
            let field = format!("{}:{kind}", name.trim().trim_matches('"'));
            if !found.contains(&field) {
                found.push(field);
            }
        }
    }
    assert_eq!(found, SHAPE.split_whitespace().collect::<Vec<_>>());
    let state = (Some(300_u32), Duration::new(1, 2), [true, false].to_vec());
    let bytes = postcard::to_stdvec(&(state, 0.5_f64, None::<u8>, "a")).unwrap();
    let half = [0, 0, 0, 0, 0, 0, 0xe0, 0x3f];
    let wanted = [&[1, 0xac, 2, 1, 2, 2, 1, 0][..], &half, &[0, 1, b'a']].concat();
    assert_eq!(bytes, wanted, "the encoding is the same in all versions");
}

/// The fields in the order of their first appearance, each with the first character of its value. Integers have an `i`
/// instead, and other numbers an `f`.
const SHAPE: &str = r#"
limit:i paced:t ledger:{ entries:[ ticket:{ id:i sent:{ secs:i nanos:i endpoint:" member:i
in_flight:f counted_by:f own:i remaining:f samples:i least:f mean:f newest_answered:f rules:{ common:{ until:{
refusals_in_a_row:i refused_until:{ token:{ pace:{ limit:f slots:f last_overshoot:f failed:[ span:[ others:f
high_since:n refills:f windows:{ last:n common:n alignment:n barred_until:f limit_named:{ left:n
outage:{ failures:{ count:i since:{ steps:i last_success:{ ended:[ probe:n probe_at:{ turns:{
0:{ process:i name:" seen:{ waits:{ class:" allowed:{ expected:{ last_sent:{ last_minute:{ 200:i 1:{ next_id:i
used:{ high_since:f last:{ start:f end:f common:[ alignment:{ trial:i entry_delay:f entry_step:f window_start:{ waits:n refills:t"#;
