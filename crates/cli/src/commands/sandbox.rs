//! `sandbox`: the embedded service as a process of its own, for trying and for tests in other languages.

use crate::connect::start;
use crate::lists::one_of;
use crate::output::{self, Ending};
use crate::signals::Signals;
use std::str::FromStr;
use std::time::Duration;
use talentdata_core::types::ListName;
use talentdata_core::{Error, ErrorKind};
use talentdata_sandbox::limit::{Policy, ResetRounding};
use talentdata_sandbox::{Drift, Ids, ListOrder, Options, Pages, Replicas, Tokens, Total};

/// The text below the help of the command.
const EXAMPLES: &str = "\
Prints one line of JSON with base_url, client_id and client_secret when it is ready. It listens on
127.0.0.1 only, and its data are made up.

With --faults, it has these endpoints, which do not count against the limit:
  POST /__faults    replaces the fault rules; DELETE removes them
  GET /__requests   lists the requests received, with secrets redacted
  GET /__stats      counts requests, by path
  POST /__drift?list=LIST   changes the list at once
  GET /__changes?list=LIST  lists every insert, update and delete since the start; skip=N leaves out
                            the first N

A fault rule changes the responses to the requests that it matches; of several, the first applies:
  {\"rules\": [{\"match\": {\"path\": \"/v1/contacts\", \"nth\": 3}, \"reply\": {\"status\": 503}}]}
match: path (one of the service's), method, nth (only the nth match), from (the nth and all later
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

/// The behaviour of the service.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SandboxArgs {
    /// The port on 127.0.0.1; 0 takes any free one
    #[arg(long, value_name = "N", default_value_t = 0)]
    port: u16,
    /// Sizes of lists; others keep their usual size
    #[arg(long, value_name = "LIST=N,...", value_delimiter = ',', value_parser = size)]
    records: Vec<(ListName, u64)>,
    /// How requests are counted against the limit
    #[arg(long, default_value_t = Options::default().policy, value_parser = one_of(Policy::ALL))]
    policy: Policy,
    /// How x-ratelimit-reset is rounded
    #[arg(long, default_value_t = Options::default().rounding, value_parser = one_of(ResetRounding::ALL))]
    rounding: ResetRounding,
    /// Milliseconds added to each round trip
    #[arg(long, value_name = "N", default_value_t = 0)]
    latency_ms: u64,
    /// Seconds that a token lives
    #[arg(long, value_name = "S", default_value_t = Options::default().token_lifetime.as_secs())]
    token_lifetime: u64,
    /// Which tokens are valid: all until they expire, or only the one issued last
    #[arg(long, default_value_t = Options::default().tokens, value_parser = one_of(Tokens::ALL))]
    tokens: Tokens,
    /// The most records on a page of any list, whatever is asked for; by default, each list has its own maximum
    #[arg(long, value_name = "N")]
    max_limit: Option<u64>,
    /// The same from the fourth page request of a list on
    #[arg(long, value_name = "N")]
    later_max_limit: Option<u64>,
    /// Compress answers for clients that accept it
    #[arg(long)]
    gzip: bool,
    /// Lists change after every so many page requests, by so many records: every=N, times=N, inserts=N, deletes=N,
    /// updates=N, bulk-deletes=N, seed=N
    #[arg(long, value_name = "NAME=N,...", value_parser = str::parse::<Drift>)]
    drift: Option<Drift>,
    /// What lists are sorted by: something stable, a column with ties, nothing, the time of the last change, or a
    /// column that updates change
    #[arg(long, default_value_t = Options::default().order, value_parser = one_of(ListOrder::ALL))]
    order: ListOrder,
    /// What tells records from each other
    #[arg(long, default_value_t = Options::default().ids, value_parser = one_of(Ids::ALL))]
    ids: Ids,
    /// What the pagination object says of the length of a list; with unknown, hasMore is always true as well
    #[arg(long, default_value_t = Options::default().total, value_parser = one_of(Total::ALL))]
    total: Total,
    /// Which pages a list has: those at any offset, or at multiples of the limit, with other offsets rounded (the pagination
    /// object may tell) or refused, or pages of one size only
    #[arg(long, default_value_t = Options::default().pages, value_parser = one_of(Pages::ALL))]
    pages: Pages,
    /// Answer every page request with the first page, whatever its offset
    #[arg(long)]
    ignore_offset: bool,
    /// Replicas answer page requests in turn; the last one lacks the end of each list: count=N, lag-percent=N
    #[arg(long, value_name = "NAME=N,...", value_parser = str::parse::<Replicas>)]
    replicas: Option<Replicas>,
    /// Send an array of warnings beside an empty array of records, where the interface does not name the latter
    #[arg(long)]
    warnings: bool,
    /// Offer /__faults, which takes fault rules, /__drift, which changes lists, and /__requests, /__stats and /__changes,
    /// which report what happened
    #[arg(long)]
    faults: bool,
    /// End when standard input is closed, so that nothing stays behind when the parent process ends
    #[arg(long)]
    until_stdin_closes: bool,
}

pub(crate) async fn run(args: &SandboxArgs) -> Result<(), Ending> {
    let signals = Signals::take()?;
    let sandbox = start(args.options())?;
    output::data(&format!(
        "{}\n",
        serde_json::json!({
            "base_url": sandbox.base_url(),
            "client_id": sandbox.client_id(),
            "client_secret": sandbox.client_secret(),
        })
    ))?;
    if args.until_stdin_closes {
        // A read that never returns would hold up the end of the runtime, if it were on one of its threads.
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

impl SandboxArgs {
    fn options(&self) -> Options {
        let sizes = self.records.iter();
        Options {
            port: self.port,
            records: sizes
                .map(|(list, size)| (list.name().to_owned(), *size))
                .collect(),
            policy: self.policy,
            rounding: self.rounding,
            latency: Duration::from_millis(self.latency_ms),
            token_lifetime: Duration::from_secs(self.token_lifetime),
            tokens: self.tokens,
            max_limit: self.max_limit,
            later_max_limit: self.later_max_limit,
            gzip: self.gzip,
            drift: self.drift,
            order: self.order,
            ids: self.ids,
            total: self.total,
            pages: self.pages,
            ignore_offset: self.ignore_offset,
            replicas: self.replicas,
            warnings: self.warnings,
            faults: self.faults,
            ..Options::default()
        }
    }
}

fn size(text: &str) -> Result<(ListName, u64), String> {
    let (name, size) = text.split_once('=').ok_or("give LIST=N")?;
    Ok((name.parse()?, number(size)?))
}

fn number<N: FromStr>(text: &str) -> Result<N, String> {
    text.parse()
        .map_err(|_| format!("{text:?} is not a whole number that fits"))
}
