//! `budget`: the clients that share the request budget.

use crate::common::Common;
use crate::output::{self, Ending};
use crate::settings;
use talentdata_core::Builder;
use talentdata_core::types::BudgetState;

/// The text below the help of the command.
const EXAMPLES: &str = "\
Looks at the budget of the base URL and of the company (if it is not set, of the client ID) in the settings. It sends
nothing and takes no part, so it may be run at any time. A process that was killed is shown for ten seconds.

Examples:
  talentdata budget
  talentdata budget --json";

/// The form of the output.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct BudgetArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &BudgetArgs, common: &Common) -> Result<(), Ending> {
    let mut builder = Builder::default();
    settings::set(&common.matches, &mut builder)?;
    let state = builder.config()?.budget_state()?;
    if args.json {
        output::json(&state)
    } else {
        output::data(&budget_text(&state))
    }
}

fn budget_text(state: &BudgetState) -> String {
    let company = state.company.escape_debug();
    let (Some(rate), Some(mode)) = (state.requests_per_second, &state.mode) else {
        return format!("Nobody has used the budget of {company} within the last minute.\n");
    };
    let pause = if state.seconds_paused > 0.0 {
        format!(
            "paused by the service for {:.1} s more",
            state.seconds_paused
        )
    } else {
        "not paused".to_owned()
    };
    let members = state.members.len();
    let mut text = format!(
        "Clients of {company}: {members}; all together {rate:.1} requests per second, mode {mode}, {pause}\n"
    );
    if members > 0 {
        text += "PROGRAM           HOST              WAITS FOR    PROCESS  LAST MINUTE  SECONDS SINCE SEEN\n";
    }
    for member in &state.members {
        // The names of programs and hosts may be anything.
        text += &format!(
            "{:<16}  {:<16}  {:<10}  {:>8}  {:>11}  {:>18.1}\n",
            member.name.escape_debug().to_string(),
            member
                .host
                .as_deref()
                .unwrap_or("-")
                .escape_debug()
                .to_string(),
            member.waiting.as_deref().unwrap_or("-"),
            member.process,
            member.sent_last_minute,
            member.seconds_since_seen,
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use talentdata_core::types::MemberStats;

    #[test]
    fn the_members_of_a_budget_are_rows_and_their_names_harmless() {
        let member = |host: Option<&str>| MemberStats {
            process: 4711,
            name: "python3".to_owned(),
            host: host.map(str::to_owned),
            sent_last_minute: 12,
            waiting: Some("scan".to_owned()),
            seconds_since_seen: 0.25,
        };
        let shown = budget_text(&BudgetState {
            store: "redis://cache.example:6379".to_owned(),
            company: "acme\n".to_owned(),
            members: vec![member(Some("one\u{1b}")), member(None)],
            requests_per_second: Some(38.5),
            mode: Some("slots".to_owned()),
            seconds_paused: 0.0,
        });
        assert_eq!(
            shown,
            "Clients of acme\\n: 2; all together 38.5 requests per second, mode slots, not paused\n\
             PROGRAM           HOST              WAITS FOR    PROCESS  LAST MINUTE  SECONDS SINCE SEEN\n\
             python3           one\\u{1b}         scan            4711           12                 0.2\n\
             python3           -                 scan            4711           12                 0.2\n"
        );
    }
}
