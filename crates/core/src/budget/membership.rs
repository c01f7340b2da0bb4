//! The clients of one company that share a budget: the names of the company and of each client, and their reports.

use crate::budget::gate::{MemberInfo, MemberStats};
use crate::process::lock;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Instant, SystemTime};
use tokio::sync::watch;

/// The number of hexadecimal digits in the name of a company.
const DIGITS: usize = 32;
/// The lengths at which names of programs and of hosts are truncated.
const MAX_PROGRAM: usize = 40;
const MAX_HOST: usize = 64;

/// Returns the name that all clients of a company share, within one boot of a host if `run_of_host` is given. Neither
/// the address of the service nor the client ID can be derived from it.
pub(crate) fn company_key(company: &[String; 2], run_of_host: Option<&str>) -> String {
    let mut hash = blake3::Hasher::new();
    absorb(&mut hash, run_of_host);
    absorb(&mut hash, company);
    let name = hash.finalize().to_hex();
    name.get(..DIGITS).unwrap_or_default().to_owned()
}

/// Hashes a list of strings, so that different lists have different hashes, even if they join to the same text.
pub(crate) fn absorb(hash: &mut blake3::Hasher, texts: impl IntoIterator<Item = impl AsRef<str>>) {
    for text in texts {
        let text = text.as_ref().as_bytes();
        hash.update(&(text.len() as u64).to_le_bytes());
        hash.update(text);
    }
}

/// One client.
#[derive(Debug, Clone, Default)]
pub(crate) struct MemberIdentity {
    /// A number that is unique among the clients of all hosts.
    pub(super) id: u64,
    /// The description for display. The program's name comes without arguments, which may contain secrets.
    pub(super) about: MemberStats,
}

impl MemberIdentity {
    /// Makes the identity of a new client of this process.
    pub(super) fn new() -> Self {
        let program = std::env::args_os().next().unwrap_or_default();
        let program = Path::new(&program).file_name().unwrap_or_default();
        let cut = |text: &str, max: usize| text.chars().take(max).collect();
        let process = std::process::id();
        // Processes forked from one draw the same random numbers.
        let unique = format!("{} {process} {:?}", fastrand::u64(..), SystemTime::now());
        MemberIdentity {
            id: xxhash_rust::xxh3::xxh3_64(unique.as_bytes()),
            about: MemberStats {
                process,
                name: cut(&program.to_string_lossy(), MAX_PROGRAM),
                host: Some(cut(&name_of_host(), MAX_HOST)),
                ..MemberStats::default()
            },
        }
    }

    /// Returns the client as a requester at a gate, with this part of the limit.
    pub(super) fn info(&self, share: f64) -> MemberInfo<'_> {
        MemberInfo {
            id: self.id,
            process: self.about.process,
            name: &self.about.name,
            share,
        }
    }
}

#[cfg(unix)]
fn name_of_host() -> String {
    let system = rustix::system::uname();
    system.nodename().to_string_lossy().into_owned()
}

#[cfg(not(unix))]
fn name_of_host() -> String {
    std::env::var("COMPUTERNAME").unwrap_or_default()
}

/// The sharing of a client's budget.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BudgetStats {
    /// The place of the budget: `process`, `host`, or the server's URL without user and password.
    pub store: String,
    /// The number of clients that share it now, including this one.
    pub members: usize,
    /// The largest number of clients at the same time.
    pub max_members: usize,
    /// The number of seconds for which it could not be reached.
    pub seconds_unreachable: f64,
    /// The reason why it cannot be reached now, or could not the last time.
    pub unreachable_reason: Option<String>,
}

/// The clients that share a budget, and their pace.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct BudgetState {
    /// The place of the budget.
    pub store: String,
    /// The clients that were seen within the last ten seconds, those that sent most first.
    pub members: Vec<MemberStats>,
    /// Requests per second that all of them together aim at; none where nobody has used the budget lately.
    pub requests_per_second: Option<f64>,
    /// The pacing of requests: on a host `universal` (evenly, right for every service), `refill` (the service counts like a token bucket)
    /// or `aligned` (with the windows of the service); on a server `slots` (evenly).
    pub mode: Option<String>,
    /// The number of seconds for which the service has forbidden requests.
    pub seconds_paused: f64,
}

/// The contact of one client with the budget that it shares. Changes are logged. No lock may be held during that,
/// because a log callback may wait for a thread that needs the lock.
pub(crate) struct SharingStatus {
    /// Guards the sharing, and the time since which the budget cannot be reached.
    stats: Mutex<(BudgetStats, Option<Instant>)>,
    /// A sender that is dropped when the client has left.
    present: watch::Sender<()>,
    process: u32,
}

impl SharingStatus {
    /// Makes the status of a budget in this store that was not reached yet.
    pub(super) fn new(store: &str) -> Self {
        let stats = BudgetStats {
            store: store.to_owned(),
            ..BudgetStats::default()
        };
        SharingStatus {
            stats: Mutex::new((stats, None)),
            present: watch::Sender::new(()),
            process: std::process::id(),
        }
    }

    /// Records that the budget was reached, and is shared by this many clients.
    pub(super) fn reached(&self, members: usize) {
        let mut contact = lock(&self.stats);
        let (stats, unreachable_since) = &mut *contact;
        let joined = (stats.members == 0).then(|| stats.store.clone());
        let lost = unreachable_since.take();
        stats.seconds_unreachable += lost.map_or(0.0, |since| since.elapsed().as_secs_f64());
        stats.members = members;
        stats.max_members = stats.max_members.max(members);
        drop(contact);
        if let Some(store) = joined {
            tracing::info!(store, members, "joined the shared budget");
        }
        if lost.is_some() {
            tracing::info!(members, "the shared budget can be reached again");
        }
    }

    /// Records that the budget cannot be reached.
    pub(super) fn mark_unreachable(&self, reason: &str) {
        let mut contact = lock(&self.stats);
        let is_new = contact.1.is_none();
        contact.1.get_or_insert_with(Instant::now);
        contact.0.unreachable_reason = Some(reason.to_owned());
        drop(contact);
        if is_new {
            tracing::warn!("the shared budget cannot be reached: {reason}");
        }
    }

    /// Returns whether the budget was reached the last time. False in a forked child, because the membership is the
    /// parent's.
    pub(super) fn is_reached(&self) -> bool {
        let contact = lock(&self.stats);
        contact.0.members > 0 && contact.1.is_none() && self.process == std::process::id()
    }

    /// Waits until the client has left, after its budget was dropped.
    pub(crate) fn departed(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut gone = self.present.subscribe();
        async move { while gone.changed().await.is_ok() {} }
    }

    pub(crate) fn stats(&self) -> BudgetStats {
        let (mut stats, since) = lock(&self.stats).clone();
        stats.members = stats.members.max(1);
        stats.max_members = stats.max_members.max(1);
        stats.seconds_unreachable += since.map_or(0.0, |since| since.elapsed().as_secs_f64());
        stats
    }
}
