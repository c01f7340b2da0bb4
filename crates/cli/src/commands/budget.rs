//! `budget`: shows the clients that share the request budget.

use crate::common::Common;
use crate::connect::warn_of_profile;
use crate::output::{self, Ending};
use crate::settings;
use crate::signals::Signals;
use std::io::IsTerminal;
use std::time::{Duration, SystemTime};
use talentdata_core::internal::utc;
use talentdata_core::types::BudgetState;
use talentdata_core::{Builder, Config};

/// The text below the help of the command.
const EXAMPLES: &str = "\
Shows the budget of the base URL and of the company (or the client ID, if no company is set) in the settings. It sends
no request and uses no budget, so you can run it at any time. A killed process is still shown for ten seconds.

With --watch, it looks once a second until Ctrl-C. On a terminal the table is updated in place. A file or a pipe gets a
line each time.

Examples:
  talentdata budget
  talentdata budget --json
  talentdata budget --watch";

/// The time between two updates.
const INTERVAL: Duration = Duration::from_secs(1);
/// The maximum number of members in a picture, so that it fits a screen.
const PICTURED: usize = 20;
/// The escape sequence that switches a terminal to its alternate screen.
const OPEN_SCREEN: &str = "\x1b[?1049h";
/// The escape sequence that restores the previous screen of a terminal.
const CLOSE_SCREEN: &str = "\x1b[?1049l";

/// The form of the output.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct BudgetArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Update every second, until Ctrl-C
    #[arg(long)]
    watch: bool,
}

pub(crate) async fn run(args: &BudgetArgs, common: &Common) -> Result<(), Ending> {
    let mut builder = Builder::default();
    settings::set(&common.matches, &mut builder)?;
    let config = builder.config()?;
    warn_of_profile(&config);
    let state = config.budget_state()?;
    if args.watch {
        return watch(&config, args.json).await;
    }
    if args.json {
        output::json(&state)
    } else {
        output::data(&budget_text(&state, usize::MAX))
    }
}

/// Shows the state every second until a signal arrives. The last picture stays on the terminal.
async fn watch(config: &Config, is_json: bool) -> Result<(), Ending> {
    let signals = Signals::take()?;
    if is_json || !std::io::stdout().is_terminal() {
        let each = async |state: &BudgetState| output::data(&budget_line(state, is_json)?);
        return look_again(config, &signals, each).await;
    }
    output::draw(OPEN_SCREEN)?;
    let mut last = String::new();
    let each = async |state: &BudgetState| {
        last = budget_text(state, PICTURED);
        output::draw(&picture(&last))
    };
    let ended = look_again(config, &signals, each).await;
    output::draw(CLOSE_SCREEN)?;
    output::draw(&last)?;
    ended
}

/// Calls `each` with the state of the budget every second.
///
/// # Errors
/// `Stopped` after a signal; the first error of reading the state or of the output.
async fn look_again(
    config: &Config,
    signals: &Signals,
    mut each: impl AsyncFnMut(&BudgetState) -> Result<(), Ending>,
) -> Result<(), Ending> {
    loop {
        each(&config.budget_state()?).await?;
        if let Ok(code) = tokio::time::timeout(INTERVAL, signals.stopped()).await {
            return Err(Ending::Stopped(code));
        }
    }
}

/// Returns the escape sequences that replace the contents of a terminal with a text.
fn picture(text: &str) -> String {
    // Each line clears the rest of the old line, and the last one clears everything below.
    format!("\x1b[H{}\x1b[J", text.replace('\n', "\x1b[K\n"))
}

/// Returns the state as one line.
fn budget_line(state: &BudgetState, is_json: bool) -> Result<String, Ending> {
    if is_json {
        let text = serde_json::to_string(state).map_err(output::unwritable)?;
        return Ok(format!("{text}\n"));
    }
    let time = utc(SystemTime::now());
    let summary = budget_text(state, 0);
    let used = state.members.iter().map(|member| {
        let (name, process) = (member.name.escape_debug(), member.process);
        format!("; {name} {process}: {}", member.sent_last_minute)
    });
    let used: String = used.collect();
    Ok(format!("{time}  {}{used}\n", summary.trim_end()))
}

/// Returns the state as a summary and a table of at most `most` members.
fn budget_text(state: &BudgetState, most: usize) -> String {
    let company = state.company.escape_debug();
    let Some(rate) = state.requests_per_second else {
        return format!("Nobody has used the budget of {company} within the last minute.\n");
    };
    let pause = if state.seconds_paused > 0.0 {
        let seconds = state.seconds_paused;
        format!(", paused by the service for {seconds:.1} s more")
    } else {
        String::new()
    };
    let members = state.members.len();
    let clients = if members == 1 {
        "1 client uses"
    } else {
        &*format!("{members} clients share")
    };
    let mut text = format!("{clients} up to {rate:.1} requests/s of {company}{pause}\n");
    if members.min(most) > 0 {
        text +=
            "PROGRAM           HOST              WAITS FOR    PROCESS  LAST MINUTE  LAST SEEN\n";
    }
    for member in state.members.iter().take(most) {
        // Names of programs and hosts may contain control characters.
        text += &format!(
            "{:<16}  {:<16}  {:<10}  {:>8}  {:>11}  {:>5.1} s ago\n",
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
    if most > 0 && members > most {
        text += &format!("and {} more\n", members - most);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use talentdata_core::types::MemberStats;

    #[test]
    fn members_of_a_budget_are_rows_with_escaped_names() {
        let member = |host: Option<&str>| MemberStats {
            process: 4711,
            name: "python3".to_owned(),
            host: host.map(str::to_owned),
            sent_last_minute: 12,
            waiting: Some("scan".to_owned()),
            seconds_since_seen: 0.25,
        };
        let state = BudgetState {
            store: "redis://cache.example:6379".to_owned(),
            company: "acme\n".to_owned(),
            members: vec![member(Some("one\u{1b}")), member(None)],
            requests_per_second: Some(38.5),
            mode: Some("slots".to_owned()),
            seconds_paused: 0.0,
        };
        let shown = budget_text(&state, usize::MAX);
        assert_eq!(
            shown,
            "2 clients share up to 38.5 requests/s of acme\\n\n\
             PROGRAM           HOST              WAITS FOR    PROCESS  LAST MINUTE  LAST SEEN\n\
             python3           one\\u{1b}         scan            4711           12    0.2 s ago\n\
             python3           -                 scan            4711           12    0.2 s ago\n"
        );
        assert!(budget_text(&state, 1).ends_with("0.2 s ago\nand 1 more\n"));
        let line = budget_line(&state, false).unwrap();
        let used = "  2 clients share up to 38.5 requests/s of acme\\n; python3 4711: 12; python3 4711: 12\n";
        assert!(line.ends_with(used), "{line}");
    }
}
