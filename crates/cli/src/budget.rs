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
        "WAITS FOR",
        "PROCESS",
        "LAST MINUTE",
        "SECONDS SINCE SEEN",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(state.members.iter().map(|member| {
        vec![
            // The name of a program may be anything.
            member.name.escape_debug().to_string(),
            member.waiting.unwrap_or("-").to_owned(),
            member.process.to_string(),
            member.sent_last_minute.to_string(),
            format!("{:.1}", member.seconds_since_seen),
        ]
    }));
    match members {
        0 => heading,
        _ => heading + &output::table(&rows, 2),
    }
}
