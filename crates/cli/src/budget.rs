//! `budget`: who shares the request budget now, and how it is spent.

use crate::args::Common;
use crate::ending::Ending;
use crate::output;
use talentdata_core::budget::BudgetState;
use talentdata_core::{Builder, Error, ErrorKind};

/// Shown below the help of the command.
pub(crate) const EXAMPLES: &str = "\
Looks at the budget of the base URL and client ID of the settings. It sends nothing and takes no part, so it may be
run at any time. A process that was killed is shown for ten seconds.

Examples:
  talentdata budget
  talentdata budget --json";

/// How to show it.
#[derive(Debug, clap::Args)]
pub(crate) struct Verb {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(verb: &Verb, common: &Common) -> Result<(), Ending> {
    if common.sandbox {
        let message =
            "--sandbox starts a service of its own, whose budget nobody shares; leave it out";
        return Err(Error::new(ErrorKind::InvalidArgument, message).into());
    }
    let mut builder = Builder::default();
    common.settings.set(&mut builder)?;
    let state = builder.config()?.budget_state()?;
    match verb.json {
        true => output::json(&state),
        false => output::data(&text(&state)),
    }
}

fn text(state: &BudgetState) -> String {
    let (Some(rate), Some(mode)) = (state.requests_per_second, &state.mode) else {
        return "Nobody has used this budget within the last minute.\n".to_owned();
    };
    let pause = match state.seconds_paused > 0.0 {
        true => format!(
            "paused by the service for {:.1} s more",
            state.seconds_paused
        ),
        false => "not paused".to_owned(),
    };
    let members = state.members.len();
    let heading = format!(
        "Clients: {members}; all together {rate:.1} requests per second, mode {mode}, {pause}\n"
    );
    let head = [
        "PROGRAM",
        "HOST",
        "WAITS FOR",
        "PROCESS",
        "LAST MINUTE",
        "SECONDS SINCE SEEN",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(state.members.iter().map(|member| {
        vec![
            // The names of programs and hosts may be anything.
            member.name.escape_debug().to_string(),
            member
                .host
                .as_deref()
                .unwrap_or("-")
                .escape_debug()
                .to_string(),
            member.waiting.unwrap_or("-").to_owned(),
            member.process.to_string(),
            member.sent_last_minute.to_string(),
            format!("{:.1}", member.seconds_since_seen),
        ]
    }));
    let mut texts = 3;
    if state.members.iter().all(|member| member.host.is_none()) {
        rows.iter_mut().for_each(|row| drop(row.remove(1)));
        texts -= 1;
    }
    match members {
        0 => heading,
        _ => heading + &output::table(&rows, texts),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use talentdata_core::gate::MemberStats;

    fn shown(host: Option<&str>) -> String {
        let member = MemberStats {
            process: 4711,
            name: "python3".to_owned(),
            host: host.map(str::to_owned),
            sent_last_minute: 12,
            waiting: Some("scan"),
            seconds_since_seen: 0.25,
        };
        text(&BudgetState {
            home: "redis://cache.example:6379".to_owned(),
            members: vec![member],
            requests_per_second: Some(38.5),
            mode: Some("slots".to_owned()),
            seconds_paused: 0.0,
        })
    }

    #[test]
    fn hosts_are_shown_where_there_may_be_several() {
        let head = "Clients: 1; all together 38.5 requests per second, mode slots, not paused\n";
        assert_eq!(
            shown(Some("one\u{1b}")),
            format!(
                "{head}\
                 PROGRAM  HOST       WAITS FOR  PROCESS  LAST MINUTE  SECONDS SINCE SEEN\n\
                 python3  one\\u{{1b}}  scan          4711           12                 0.2\n"
            )
        );
        assert_eq!(
            shown(None),
            format!(
                "{head}\
                 PROGRAM  WAITS FOR  PROCESS  LAST MINUTE  SECONDS SINCE SEEN\n\
                 python3  scan          4711           12                 0.2\n"
            )
        );
    }
}
