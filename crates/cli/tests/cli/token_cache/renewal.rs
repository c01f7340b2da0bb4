//! What becomes of the process that renews the shared token is nobody else's concern.

use super::{Company, PERMISSIONS, TOKEN, end, ends_well};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use std::process::Child;
use std::time::Duration;
use talentdata_sandbox::Options;

impl Company {
    /// The first response that holds a token comes so late.
    fn delay_first_token(&self, time: Duration) {
        let matched = json!({"path": TOKEN, "nth": 1});
        let reply = json!({"delay_ms": time.as_millis() as u64});
        let script = json!({"rules": [{"match": matched, "reply": reply}]});
        self.sandbox.set_faults(&script.to_string()).unwrap();
    }
}

fn send(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(child.id().try_into().unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

#[test]
fn a_process_that_is_killed_while_it_renews_holds_up_nobody() {
    let company = Company::new(Options::default());
    company.delay_first_token(Duration::from_secs(600));
    let victim = company.call();
    company.wait_for(TOKEN, 1);
    let waiting = [company.call(), company.call()];
    end(victim);
    waiting.into_iter().for_each(ends_well);
    assert_eq!(company.count(TOKEN), 2);
}

#[test]
fn a_process_that_is_stopped_while_it_renews_holds_up_nobody_and_spoils_nothing() {
    let company = Company::new(Options::default());
    company.delay_first_token(Duration::from_secs(4));
    let stopped = company.call();
    company.wait_for(TOKEN, 1);
    send(&stopped, Signal::STOP);
    let waiting = [company.call(), company.call()];
    waiting.into_iter().for_each(ends_well);
    assert_eq!(company.count(TOKEN), 2);
    // Its own token has been ended by the one that it finds now.
    send(&stopped, Signal::CONT);
    ends_well(stopped);
    company.call_well();
    assert_eq!(company.count(TOKEN), 2);
    assert_eq!(company.count(PERMISSIONS), 4, "none was refused");
}
