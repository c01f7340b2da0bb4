//! The options of a budget: its company, its store, and the share that a client may use.

use crate::tls::TlsFiles;
use std::fmt;
use url::Url;

/// The company's limit, in requests per second.
pub const REQUESTS_PER_SECOND: u32 = 40;

/// The budget that one client asks for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BudgetOptions {
    /// The texts that name the company: the address of the service, and the setting `company` or the client ID.
    pub(crate) company: [String; 2],
    /// The store of the budget.
    pub(crate) store: BudgetStore,
    /// The share of the limit that this client may use.
    pub(crate) share: f64,
    /// True if the client keeps to the limit.
    pub(crate) paced: bool,
    /// The behaviour of the client while the budget cannot be reached.
    pub(crate) on_unreachable: OnUnreachable,
    /// The certificates for a server.
    pub(crate) tls: TlsFiles,
}

/// The place of the budget, which decides who shares it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum BudgetStore {
    /// The client has a budget of its own.
    Process,
    /// A file, for the processes of this user on this host.
    Host,
    /// A Redis or Valkey server, for every host that reaches it. The URL may contain a user and a password.
    Redis(Url),
}

impl fmt::Display for BudgetStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BudgetStore::Process => formatter.write_str("process"),
            BudgetStore::Host => formatter.write_str("host"),
            BudgetStore::Redis(url) => write_server(formatter, url, 6379),
        }
    }
}

impl fmt::Debug for BudgetStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// Writes the URL of a server without user and password.
pub(crate) fn write_server(
    formatter: &mut fmt::Formatter<'_>,
    url: &Url,
    port: u16,
) -> fmt::Result {
    let port = url.port_or_known_default().unwrap_or(port);
    let host = url.host_str().unwrap_or_default();
    write!(formatter, "{}://{host}:{port}", url.scheme())
}

/// The behaviour of a client while the shared budget cannot be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnUnreachable {
    /// The client spends an equal share of the budget.
    Share,
    /// The client waits within the time limit of each call.
    Wait,
}
