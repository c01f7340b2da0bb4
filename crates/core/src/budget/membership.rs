//! Names the clients of one company that share a budget, and reports the state of that budget.

use crate::budget::gate::{MemberInfo, MemberStats};
use crate::process::lock;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Instant, SystemTime};
use tokio::sync::watch;

/// The number of hexadecimal digits in the name of a company.
const DIGITS: usize = 32;
/// The maximum number of characters in the name of a program. A longer name is truncated.
const MAX_PROGRAM: usize = 40;
/// The maximum number of characters in the name of a host. A longer name is truncated.
const MAX_HOST: usize = 64;

/// Returns the name that all clients of a company share. With `boot_of_host`, the name is valid for one boot of one
/// host. Neither the address of the service, the client ID nor the company can be derived from the name.
pub(crate) fn company_key(company: &[String; 2], boot_of_host: Option<&str>) -> String {
    let mut hash = blake3::Hasher::new();
    absorb(&mut hash, boot_of_host);
    absorb(&mut hash, company);
    let name = hash.finalize().to_hex();
    name.get(..DIGITS).unwrap_or_default().to_owned()
}

/// Hashes a list of strings. Different lists have different hashes, even if their strings have the same concatenation.
pub(crate) fn absorb(hash: &mut blake3::Hasher, texts: impl IntoIterator<Item = impl AsRef<str>>) {
    for text in texts {
        let text = text.as_ref().as_bytes();
        hash.update(&(text.len() as u64).to_le_bytes());
        hash.update(text);
    }
}

/// The identity of one client in a budget.
#[derive(Debug, Clone, Default)]
pub(crate) struct MemberIdentity {
    /// A number that is unique among the clients of all hosts.
    pub(super) id: u64,
    /// The description for display. The program's arguments are omitted, because they may contain secrets.
    pub(super) about: MemberStats,
}

impl MemberIdentity {
    /// Creates the identity of a new client of this process.
    pub(super) fn new() -> Self {
        let path = std::env::args_os().next().unwrap_or_default();
        let program = Path::new(&path).file_name().unwrap_or_default();
        let truncate = |text: &str, max: usize| text.chars().take(max).collect();
        let process = std::process::id();
        // Processes that were forked from the same parent draw the same random numbers.
        let unique = format!("{} {process} {:?}", fastrand::u64(..), SystemTime::now());
        MemberIdentity {
            id: xxhash_rust::xxh3::xxh3_64(unique.as_bytes()),
            about: MemberStats {
                process,
                name: truncate(&program.to_string_lossy(), MAX_PROGRAM),
                host: Some(truncate(&name_of_host(), MAX_HOST)),
                ..MemberStats::default()
            },
        }
    }

    /// Returns the description of this client for a gate, with its share of the limit.
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

/// The statistics of a budget that a client shares with others.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BudgetStats {
    /// The place of the budget: `process`, `host`, or the server's URL without user and password.
    pub store: String,
    /// The number of clients that share it now, including this one.
    pub members: usize,
    /// The maximum number of clients at the same time.
    pub max_members: usize,
    /// The number of seconds for which the budget could not be reached.
    pub seconds_unreachable: f64,
    /// The latest reason why the budget could not be reached.
    pub unreachable_reason: Option<String>,
}

/// The clients that share a budget, and their request rate.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct BudgetState {
    /// The place of the budget: `host`, or the server's URL without user and password.
    pub store: String,
    /// The name under which clients share the budget: the setting `company`, otherwise the client ID.
    pub company: String,
    /// The clients that were seen within the last ten seconds. The client with the most requests comes first.
    pub members: Vec<MemberStats>,
    /// The number of requests per second at which all clients together aim; null if no client has used the budget
    /// recently.
    pub requests_per_second: Option<f64>,
    /// The pacing of requests. On a host: `universal` (evenly, right for every service), `refill` (the service counts
    /// like a token bucket) or `aligned` (with the windows of the service). On a server: `slots` (evenly).
    pub mode: Option<String>,
    /// The number of seconds for which the service forbids requests.
    pub seconds_paused: f64,
}

/// The connection of one client to the budget that it shares. Changes are logged. No lock may be held while a change
/// is logged, because a log callback may wait for a thread that needs the lock.
pub(crate) struct SharingStatus {
    /// The statistics, and the time since which the budget cannot be reached.
    stats: Mutex<(BudgetStats, Option<Instant>)>,
    /// The sender that is dropped when the client leaves.
    present: watch::Sender<()>,
    process: u32,
    /// True if a server refuses this client, so that waiting for it is in vain.
    is_refused: AtomicBool,
}

impl SharingStatus {
    /// Creates the status of a budget in this store, which has not been reached yet.
    pub(super) fn new(store: &str) -> Self {
        let stats = BudgetStats {
            store: store.to_owned(),
            ..BudgetStats::default()
        };
        SharingStatus {
            stats: Mutex::new((stats, None)),
            present: watch::Sender::new(()),
            process: std::process::id(),
            is_refused: AtomicBool::new(false),
        }
    }

    /// Records that the budget was reached, and is shared by this many clients.
    pub(super) fn reached(&self, members: usize) {
        let mut status = lock(&self.stats);
        let (stats, unreachable_since) = &mut *status;
        let joined = (stats.members == 0).then(|| stats.store.clone());
        let lost_since = unreachable_since.take();
        stats.seconds_unreachable += lost_since.map_or(0.0, |since| since.elapsed().as_secs_f64());
        stats.members = members;
        stats.max_members = stats.max_members.max(members);
        drop(status);
        if let Some(store) = joined {
            tracing::info!(store, members, "joined the shared budget");
        }
        if lost_since.is_some() {
            tracing::info!(members, "the shared budget can be reached again");
        }
    }

    /// Records that the budget cannot be reached.
    pub(super) fn mark_unreachable(&self, reason: &str, is_refused: bool) {
        self.is_refused.store(is_refused, Ordering::Relaxed);
        let mut status = lock(&self.stats);
        let (stats, unreachable_since) = &mut *status;
        let is_new = unreachable_since.is_none();
        unreachable_since.get_or_insert_with(Instant::now);
        stats.unreachable_reason = Some(reason.to_owned());
        drop(status);
        if is_new {
            tracing::warn!(reason, "the shared budget cannot be reached");
        }
    }

    /// Returns whether the server refused this client at the latest attempt.
    pub(crate) fn is_refused(&self) -> bool {
        self.is_refused.load(Ordering::Relaxed)
    }

    /// Returns whether the latest attempt reached the budget. In a forked child this is false, because the membership
    /// belongs to the parent.
    pub(super) fn is_reached(&self) -> bool {
        let (stats, unreachable_since) = &*lock(&self.stats);
        let is_connected = stats.members > 0 && unreachable_since.is_none();
        is_connected && self.process == std::process::id()
    }

    /// Waits, after the budget was dropped, until the client leaves it.
    pub(crate) fn departed(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut presence = self.present.subscribe();
        async move { while presence.changed().await.is_ok() {} }
    }

    pub(crate) fn stats(&self) -> BudgetStats {
        let (mut stats, unreachable_since) = lock(&self.stats).clone();
        stats.members = stats.members.max(1);
        stats.max_members = stats.max_members.max(1);
        let seconds = unreachable_since.map_or(0.0, |since| since.elapsed().as_secs_f64());
        stats.seconds_unreachable += seconds;
        stats
    }
}
