//! The server: a connection with our TLS settings, the questions and replies of the script, and the stored state for
//! display.

use crate::budget::gate::MemberStats;
use crate::budget::membership::{BudgetState, company_key};
use crate::budget::options::BudgetOptions;
use crate::clock;
use crate::error::{Scrubber, system_text};
use crate::process::lock;
use crate::tls::{self, Peer, TlsFiles};
use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, ErrorKind, IntoConnectionInfo, RedisConnectionInfo, RedisError,
    RedisResult,
};
use rustls::pki_types::ServerName;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::cmp::Reverse;
use std::error::Error as StdError;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;
use talentdata_types::Secret;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use url::Url;

pub(super) const SOURCE: &str = include_str!("send_slots.lua");
/// The prefix of the key. Versions with another stored state have another prefix.
const PREFIX: &str = "talentdata:budget-5:";
/// The number of seconds without a question after which a member is not shown.
const PRESENT: f64 = 10.0;
/// Limits the send slots in a reply.
pub(super) const MAX_SLOTS: u32 = 4;
/// The name of this pacing mode, for display.
const MODE: &str = "slots";
/// The time limit for a connection and for a reply.
const REPLY_TIMEOUT: Duration = Duration::from_secs(1);
/// The port, if the URL names none.
const PORT: u16 = 6379;
/// The longest text of an error of the server that is shown, in bytes.
const MAX_TEXT: usize = 200;

/// The errors of the server by their codes: whether the server would refuse every repeat, and the meaning with the remedy.
const REFUSALS: &[(&[&str], bool, &str)] = &[
    (
        &["NOAUTH"],
        true,
        "it requires a password; put user and password into the setting budget, as in redis://USER:PASSWORD@HOST",
    ),
    (
        &["WRONGPASS"],
        true,
        "it does not accept the user and the password in the setting budget; correct them",
    ),
    (
        &["NOPERM"],
        true,
        "its user may not do this; allow it the commands SELECT, TIME, GET, SET, EVAL, EVALSHA and SCRIPT, and the keys talentdata:*",
    ),
    (
        &["READONLY"],
        false,
        "it is a replica, which takes no writes; name the primary in the setting budget",
    ),
    (
        &["MOVED", "ASK", "CROSSSLOT", "CLUSTERDOWN", "TRYAGAIN"],
        false,
        "it is a node of a cluster; name a server without a cluster in the setting budget",
    ),
    (
        &["LOADING", "MASTERDOWN", "BUSY"],
        false,
        "it is busy or starting; wait until it answers",
    ),
    (
        &["OOM"],
        false,
        "its memory is full; give it more, or remove other data from it",
    ),
    (
        &["MISCONF"],
        false,
        "it takes no writes, because it cannot save its data; its log says why",
    ),
];

/// The reason why a budget on a server cannot be used.
pub(super) struct Unreached {
    pub(super) reason: String,
    /// True if the server refuses this client, until user, password or permissions are changed.
    pub(super) is_refused: bool,
}

impl From<String> for Unreached {
    fn from(reason: String) -> Self {
        Unreached {
            reason,
            is_refused: false,
        }
    }
}

/// A question of a member to the server, with its reports. Times are in seconds.
#[derive(Debug, Serialize)]
pub(super) struct Ask {
    pub(super) member: String,
    /// The configured limit, in requests per second.
    pub(super) limit: f64,
    /// 1 for single calls, 2 for scans, 3 for scans in the background.
    pub(super) class: u8,
    pub(super) slots: u32,
    /// The minimum time until a send slot.
    pub(super) lead: f64,
    pub(super) leaving: bool,
    /// The time for which send slots of the state that this member knows may still be used if the state is lost.
    pub(super) known: Option<f64>,
    /// The longest time that this member may be kept waiting: one second, or as long as the service asked it to wait.
    pub(super) max_wait: f64,
    /// At least 0 and below 1.
    pub(super) random: f64,
    /// The member, for display.
    pub(super) about: MemberStats,
    #[serde(flatten)]
    pub(super) seen: Observations,
}

/// The observations of a member since it last asked. Requests have the numbers of their send slots.
#[derive(Debug, Default, Serialize)]
pub(super) struct Observations {
    /// The limit that the service named, in requests per second.
    pub(super) shown: Option<f64>,
    /// The request after which the fewest requests were left, in the window that sets the pace or in a longer one.
    pub(super) seen: Option<u64>,
    pub(super) remaining: Option<f64>,
    /// The requests left in a longer window, and its end.
    pub(super) left: Option<f64>,
    pub(super) resets: Option<f64>,
    /// The newest request that found nothing left, or was refused.
    pub(super) used_up: Option<u64>,
    /// The time since the last successful request. Until the question is sent, the time of that request.
    pub(super) ok: Option<f64>,
    /// The number of requests that failed since the last success.
    pub(super) failed: Option<u32>,
    /// The time between sending the last failed request and its failure.
    pub(super) ago: Option<f64>,
    /// The time for which nobody may send.
    pub(super) pause: Option<f64>,
}

/// The reply of the script. Times are in seconds by the server's clock.
#[derive(Debug, Deserialize)]
pub(super) struct Reply {
    pub(super) now: f64,
    pub(super) slots: u32,
    pub(super) first: f64,
    /// The number of the first send slot.
    pub(super) number: u64,
    /// The time to ask again if there is no send slot, else 0.
    pub(super) again: f64,
    pub(super) pause: f64,
    pub(super) members: u32,
    /// Requests a second of all members together.
    pub(super) rate: f64,
    /// The number of failures since the last success, and the time of the first.
    pub(super) failures: u32,
    pub(super) since: f64,
}

impl Reply {
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let reply: Option<Reply> = serde_json::from_str(text).ok();
        let usable = reply.filter(|reply| reply.slots <= MAX_SLOTS && reply.rate > 0.0);
        usable.ok_or_else(|| "the reply does not come from the script".into())
    }
}

/// The address of a budget: a server, and a key on it.
pub(super) struct BudgetAddress {
    url: Url,
    login: RedisConnectionInfo,
    tls: TlsFiles,
    /// The reason why the server ended the last TLS connection. The Redis library does not return it.
    refusal: Arc<Mutex<Option<String>>>,
    /// The server's URL without user and password.
    pub(super) shown: String,
    /// The name of the company, for display.
    company: String,
    scrubber: Scrubber,
    /// The script, which is called by its digest. A server that does not have it receives its source.
    script: redis::Script,
    /// The key of the budget, from which neither the address of the service nor the client ID can be derived.
    key: String,
}

impl BudgetAddress {
    pub(super) fn new(url: &Url, options: &BudgetOptions) -> Self {
        // The URL was checked with the settings, except for text that is not UTF-8. TLS is added by us.
        let mut plain = url.clone();
        let _ = plain.set_scheme("redis");
        let login = plain.into_connection_info();
        let login = login.map_or_else(|_| Default::default(), |info| info.redis_settings().clone());
        let passwords = [url.password(), login.password()].map(|it| it.map(Secret::new));
        BudgetAddress {
            url: url.clone(),
            tls: options.tls.clone(),
            refusal: Arc::default(),
            scrubber: Scrubber::new(passwords.iter().flatten()),
            login: login.set_skip_set_lib_name(),
            shown: options.store.to_string(),
            company: options.company[1].clone(),
            script: redis::Script::new(SOURCE),
            key: format!("{PREFIX}{}", company_key(&options.company, None)),
        }
    }

    /// Returns the server as the other end of a connection with TLS.
    fn peer(&self) -> Peer<'static> {
        Peer {
            whose: "the server",
            knows_us: self.tls.client_cert.is_some(),
            ca_file: None,
        }
    }

    /// Returns the error of a handshake.
    fn tls_failed(&self, error: &io::Error) -> io::Error {
        let peer = Peer {
            ca_file: self.tls.ca_file.as_deref(),
            ..self.peer()
        };
        let reason = tls::tls_error(error).map(|reason| tls::meaning(peer, reason));
        let reason = reason.unwrap_or_else(|| system_text(error));
        io::Error::other(format!(
            "TLS handshake failed: {reason}; the server has to use TLS on this port, with a certificate for the host in \
             the setting budget from an authority that this system or ca_file names"
        ))
    }

    /// Waits for a result of the server. On failure, returns the reason, without secrets.
    async fn wait<T>(&self, outcome: impl Future<Output = RedisResult<T>>) -> Result<T, Unreached> {
        let (is_refused, reason) = match clock::in_time(REPLY_TIMEOUT, outcome).await {
            Some(Ok(value)) => return Ok(value),
            Some(Err(error)) => self.meaning(&error),
            None => (false, "no reply in time".into()),
        };
        Err(Unreached {
            reason: format!("{}: {reason}", self.shown),
            is_refused,
        })
    }

    /// Returns whether the server refuses this client, and the meaning of an error.
    fn meaning(&self, error: &RedisError) -> (bool, String) {
        if error.is_io_error() {
            let refusal = lock(&self.refusal).take();
            let system = error.source().and_then(|cause| cause.downcast_ref());
            let text = || match system.map(system_text) {
                Some(text) => text,
                None if error.is_connection_dropped() => "the connection was lost".into(),
                // The text of our own error, such as that of a handshake.
                None => error.to_string(),
            };
            return (false, refusal.unwrap_or_else(text));
        }
        Self::answered(error, &self.scrubber)
    }

    /// Returns whether the server refuses this client, and the meaning of an error that it sent, with the remedy.
    fn answered(error: &RedisError, scrubber: &Scrubber) -> (bool, String) {
        let code = match error.kind() {
            ErrorKind::AuthenticationFailed => "WRONGPASS",
            _ => error.code().unwrap_or_default(),
        };
        if code.is_empty() {
            let why = "the server at this address does not answer like Redis or Valkey";
            return (false, why.into());
        }
        let mut known = REFUSALS.iter();
        let known = known.find(|(codes, ..)| codes.contains(&code));
        let (is_refused, meaning) = known.map_or(
            (false, "it cannot do this; it has to be Redis or Valkey"),
            |&(_, is_refused, meaning)| (is_refused, meaning),
        );
        let said = match error.detail() {
            Some(detail) => format!("; it says: {code} {detail}"),
            None => String::new(),
        };
        let said = scrubber.redact_untrusted(&said, MAX_TEXT);
        (is_refused, format!("{meaning}{said}"))
    }
}

/// The connection that carries commands, with TLS or without.
trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for T {}

/// A TLS connection that records why the server refused the client.
///
/// In TLS 1.3, the server refuses a client after the handshake. If it closed the connection by then, a write fails, but
/// its alert can still be read.
struct SecuredStream {
    stream: TlsStream<Box<dyn ByteStream>>,
    peer: Peer<'static>,
    refusal: Arc<Mutex<Option<String>>>,
}

impl SecuredStream {
    /// Records the meaning of an alert, and returns the error.
    fn explained(&self, error: io::Error) -> io::Error {
        if let Some(reason) = tls::tls_error(&error) {
            *lock(&self.refusal) = Some(tls::meaning(self.peer, reason));
        }
        error
    }

    /// Returns the error of a failed write, or the alert that the server sent before.
    fn alert_or(&mut self, context: &mut Context<'_>, error: io::Error) -> io::Error {
        let mut byte = [0];
        match Pin::new(&mut self.stream).poll_read(context, &mut ReadBuf::new(&mut byte)) {
            Poll::Ready(Err(alert)) if tls::tls_error(&alert).is_some() => self.explained(alert),
            _ => self.explained(error),
        }
    }
}

impl AsyncRead for SecuredStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        read.map_err(|error| self.explained(error))
    }
}

impl AsyncWrite for SecuredStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        written.map_err(|error| self.alert_or(context, error))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        flushed.map_err(|error| self.alert_or(context, error))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// A connection, and the task that drives it.
pub(super) struct Connection(MultiplexedConnection, JoinSet<()>);

impl Connection {
    /// Connects and logs in.
    async fn to(place: &BudgetAddress) -> RedisResult<Self> {
        // Brackets around an IPv6 address are part of the URL only.
        let host = place.url.host_str().unwrap_or_default();
        let host = host.trim_matches(['[', ']']);
        let stream = TcpStream::connect((host, place.url.port().unwrap_or(PORT))).await?;
        stream.set_nodelay(true)?;
        let mut stream: Box<dyn ByteStream> = Box::new(stream);
        if place.url.scheme() == "rediss" {
            // Read for each connection, because certificates are replaced before they expire.
            let tls = tls::system(&place.tls);
            let tls = tls.map_err(|error| io::Error::other(error.message().to_owned()))?;
            let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
            let connector = TlsConnector::from(Arc::new(tls));
            let secured = connector.connect(name, stream).await;
            stream = Box::new(SecuredStream {
                stream: secured.map_err(|error| place.tls_failed(&error))?,
                peer: place.peer(),
                refusal: Arc::clone(&place.refusal),
            });
        }
        // The time limits are ours.
        let limits = AsyncConnectionConfig::new().set_response_timeout(None);
        let made = MultiplexedConnection::new_with_config(&place.login, stream, limits);
        let (commands, driver) = made.await?;
        Ok(Connection(commands, JoinSet::from_iter([driver])))
    }

    /// Asks over the existing connection, or over a new one. If the server closed the existing one, for example in a
    /// restart, a new one is opened at once.
    pub(super) async fn ask(
        connection: &mut Option<Self>,
        place: &BudgetAddress,
        ask: &Ask,
    ) -> Result<Reply, Unreached> {
        // A connection that the server closed is not used again.
        connection.take_if(|present| present.1.try_join_next().is_some());
        // A connection without a reply is dropped: its reply may arrive late, or from a server that is no longer the
        // right one.
        let mut used = match connection.take() {
            Some(present) => present,
            None => place.wait(Self::to(place)).await?,
        };
        let reply = used.ask_once(place, ask).await?;
        *connection = Some(used);
        Ok(reply)
    }

    /// Sends a question, and returns the reply or the reason for its absence.
    pub(super) async fn ask_once(
        &mut self,
        place: &BudgetAddress,
        ask: &Ask,
    ) -> Result<Reply, Unreached> {
        let text = serde_json::to_string(ask).map_err(|error| error.to_string())?;
        let mut call = place.script.key(&place.key);
        let reply = call.arg(text).invoke_async(&mut self.0);
        let reply: String = place.wait(reply).await?;
        Ok(Reply::read(&reply)?)
    }
}

/// Reads the state of the budget without becoming a member. On failure, returns the reason.
pub(super) async fn look(place: &BudgetAddress) -> Result<BudgetState, Unreached> {
    let mut connection = place.wait(Connection::to(place)).await?;
    let [time, mut state] = ["TIME", "GET"].map(redis::cmd);
    let read = time.query_async(&mut connection.0);
    let (seconds, micros): (f64, f64) = place.wait(read).await?;
    let read = state.arg(&place.key).query_async(&mut connection.0);
    let text: Option<String> = place.wait(read).await?;
    let now = seconds + micros / 1e6;
    let kept: Value = serde_json::from_str(&text.unwrap_or_default()).unwrap_or_default();
    let member = |member: &Value| {
        let about: MemberStats = serde_json::from_value(member["about"].clone()).ok()?;
        let idle = now - member["seen"].as_f64()?;
        (idle < PRESENT).then(|| MemberStats {
            seconds_since_seen: idle.max(0.0),
            ..about
        })
    };
    let members = kept["members"].as_object().into_iter();
    let members = members.flat_map(|all| all.values());
    let mut members: Vec<_> = members.filter_map(member).collect();
    members.sort_by_key(|member| Reverse(member.sent_last_minute));
    let [rate, pause] = ["rate", "pause"].map(|name| kept["state"][name].as_f64());
    Ok(BudgetState {
        store: place.shown.clone(),
        company: place.company.clone(),
        members,
        requests_per_second: rate,
        mode: rate.map(|_| MODE.to_owned()),
        seconds_paused: pause.map_or(0.0, |pause| (pause - now).max(0.0)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_the_server_has_a_meaning_and_a_remedy_and_no_names_of_the_library() {
        for (sent, is_final, says) in [
            (
                "NOAUTH Authentication required.",
                true,
                "it requires a password; put",
            ),
            (
                "WRONGPASS invalid username-password pair",
                true,
                "it does not accept the user",
            ),
            (
                "NOPERM User x has no permissions",
                true,
                "its user may not do this; allow",
            ),
            ("READONLY You can't write", false, "it is a replica, which"),
            (
                "MOVED 1234 10.0.0.1:6379",
                false,
                "it is a node of a cluster; name",
            ),
            (
                "LOADING Valkey is loading",
                false,
                "it is busy or starting; wait",
            ),
            ("OOM command not allowed", false, "its memory is full; give"),
            (
                "MISCONF Errors writing",
                false,
                "it takes no writes, because",
            ),
            (
                "ERR unknown command 'TIME'",
                false,
                "it cannot do this; it has",
            ),
        ] {
            let read = redis::parse_redis_value(format!("-{sent}\r\n").as_bytes());
            let error = read.and_then(redis::Value::extract_error).unwrap_err();
            let (is_refused, meaning) = BudgetAddress::answered(&error, &Scrubber::default());
            assert_eq!(is_refused, is_final, "{sent}");
            assert!(meaning.starts_with(says), "{sent}: {meaning}");
            assert!(
                meaning.ends_with(&format!("; it says: {sent}")),
                "{sent}: {meaning}"
            );
        }
    }
}
