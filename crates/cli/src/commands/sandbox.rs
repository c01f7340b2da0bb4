//! `sandbox`: runs the embedded service as a separate process, for trials and for tests in other languages.

use crate::common::Common;
use crate::connect::start;
use crate::output::{self, Ending};
use crate::signals::Signals;
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Command};
use std::time::Duration;
use talentdata_core::{Error, ErrorKind};
use talentdata_sandbox::{Options, SANDBOX_OPTIONS, SandboxOption, SandboxValue};

/// The text below the help of the command.
const EXAMPLES: &str = "\
Prints one line of JSON with base_url, client_id and client_secret when it is ready. It listens on
127.0.0.1 only, and serves sample data.

With --faults, it has these endpoints, which do not count against the limit:
  POST /__faults    replaces the fault rules; DELETE removes them
  GET /__requests   lists the requests received, with secrets redacted
  GET /__stats      counts requests, by path
  POST /__drift?list=LIST   changes the list at once
  GET /__changes?list=LIST  lists every insert, update and delete since the start; skip=N skips the
         first N

A fault rule changes the responses to the requests that it matches. If several match, the first applies:
  {\"rules\": [{\"match\": {\"path\": \"/v1/contacts\", \"nth\": 3}, \"reply\": {\"status\": 503}}]}
match: path (of the API), method, nth (only the nth match), from (the nth and all later
ones), accept: true (connections instead of requests).
reply: status (the body is dropped unless one is given), headers, omit_headers, body, body_base64,
gzip, gzip_bomb_mb, delay_ms, close_after_read, how (fin, rst or stall), cut_at, cut_at_wire,
framing (length, chunked or close), trickle ({\"bytes\": N, \"every_ms\": N}), endless, raw.

Examples:
  talentdata sandbox --faults
  talentdata sandbox --records contacts=100000,ja-skills=5000
  talentdata sandbox --policy token-bucket --latency-ms 20 --drift every=3,inserts=2,deletes=1
  talentdata sandbox --order updated --drift every=2,updates=1
  talentdata sandbox --replicas count=2,lag-percent=50 --ids none";

/// The arguments of the command that are not in the table of options.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SandboxArgs {
    /// Exit when standard input is closed, so that the sandbox does not outlive its parent process
    #[arg(long)]
    until_stdin_closes: bool,
}

pub(crate) async fn run(args: &SandboxArgs, common: &Common) -> Result<(), Ending> {
    let signals = Signals::take()?;
    let sandbox = start(options(&common.matches)?)?;
    output::data(&format!(
        "{}\n",
        serde_json::json!({
            "base_url": sandbox.base_url(),
            "client_id": sandbox.client_id(),
            "client_secret": sandbox.client_secret(),
        })
    ))?;
    if args.until_stdin_closes {
        // On a thread of the runtime, a blocked read would delay the end.
        let wait = || {
            let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
            std::process::exit(0);
        };
        std::thread::Builder::new()
            .spawn(wait)
            .map_err(|error| Error::new(ErrorKind::Internal, format!("no thread: {error}")))?;
    }
    Err(Ending::Stopped(signals.stopped().await))
}

/// Adds a flag for each option of the table.
pub(crate) fn add(command: Command) -> Command {
    command.args(SANDBOX_OPTIONS.iter().map(flag))
}

fn flag(option: &'static SandboxOption) -> Arg {
    let flag = Arg::new(option.name).long(option.flag()).help(option.what);
    let checked = move |text: &str| {
        let checked = Options::default().set(option, text);
        checked.map(|()| text.to_owned())
    };
    match option.kind {
        SandboxValue::Flag(_) => flag.action(ArgAction::SetTrue),
        SandboxValue::Choice(names, _) => {
            let help = format!("{} [default: {}]", option.what, names[0]);
            let names = PossibleValuesParser::new(names);
            flag.help(help).value_parser(names).value_name("NAME")
        }
        SandboxValue::Whole(_) => flag.value_name("N").value_parser(checked),
        SandboxValue::Seconds(_) => flag.value_name("SECONDS").value_parser(checked),
        SandboxValue::ShortTime(_) => flag.value_name("MILLISECONDS").value_parser(milliseconds),
        SandboxValue::Numbers(form, _) => flag
            .value_name(form)
            .value_parser(checked)
            .action(ArgAction::Append),
    }
}

/// Converts milliseconds to seconds, the unit of the table.
fn milliseconds(text: &str) -> Result<String, String> {
    let number = text.parse().map(Duration::from_millis);
    let time = number.map_err(|_| format!("{text:?} is not an integer, or too large"))?;
    Ok(time.as_secs_f64().to_string())
}

fn options(matches: &ArgMatches) -> Result<Options, Error> {
    let mut options = Options::default();
    for option in SANDBOX_OPTIONS {
        let texts: Vec<&str> = match option.kind {
            SandboxValue::Flag(_) if matches.get_flag(option.name) => vec!["true"],
            SandboxValue::Flag(_) => Vec::new(),
            _ => {
                let texts = matches.get_many::<String>(option.name);
                texts.into_iter().flatten().map(String::as_str).collect()
            }
        };
        for text in texts {
            options.set(option, text).map_err(Error::invalid)?;
        }
    }
    Ok(options)
}
