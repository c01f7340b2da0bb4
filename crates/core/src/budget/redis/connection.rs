//! A connection to the server, with the TLS that all connections of ours have.

use super::script::{self, Ask, Reply};
use crate::budget::look::BudgetState;
use crate::clock;
use crate::error::Scrubber;
use crate::request::transport::system_tls;
use crate::settings::Config;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, RedisConnectionInfo, RedisError};
use rustls::pki_types::ServerName;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use talentdata_types::Secret;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use url::Url;

/// A connection is made within this time.
const CONNECT: Duration = Duration::from_secs(1);
/// A question is replied to within this time.
const REPLY: Duration = Duration::from_secs(1);
/// The port where the URL names none.
const PORT: u16 = 6379;
/// The longest text of an error of the server that is shown, in bytes.
const LONGEST_TEXT: usize = 200;

/// Where the budget is: a server, and a key on it.
pub(super) struct Place {
    host: String,
    port: u16,
    tls: bool,
    login: RedisConnectionInfo,
    shown: String,
    scrubber: Scrubber,
    /// Sent by its digest; a server that does not have it is given the text.
    script: redis::Script,
    key: String,
}

impl Place {
    pub(super) fn new(url: &Url, config: &Config) -> Self {
        let mut login = RedisConnectionInfo::default().set_skip_set_lib_name();
        let database = url.path().trim_start_matches('/').parse();
        login = login.set_db(database.unwrap_or(0));
        if !url.username().is_empty() {
            login = login.set_username(decoded(url.username()));
        }
        let password = url.password().map(decoded);
        if let Some(password) = &password {
            login = login.set_password(password);
        }
        let secrets = [url.password().map(Secret::new), password.map(Secret::new)];
        Place {
            // Brackets around an IPv6 address are part of the URL only.
            host: url
                .host_str()
                .unwrap_or_default()
                .trim_matches(['[', ']'])
                .to_owned(),
            port: url.port().unwrap_or(PORT),
            tls: url.scheme() == "rediss",
            login,
            shown: config.budget.to_string(),
            scrubber: Scrubber::new(secrets.iter().flatten()),
            script: redis::Script::new(script::SOURCE),
            key: script::key(config),
        }
    }

    /// The server's URL without user and password.
    pub(super) fn shown(&self) -> &str {
        &self.shown
    }

    /// Connects and logs in; else why not.
    pub(super) async fn connect(self: &Arc<Self>) -> Result<Connection, String> {
        let connecting = clock::in_time(CONNECT, self.connect_now());
        let connected = connecting
            .await
            .unwrap_or_else(|| Err("connecting timed out".into()));
        connected.map_err(|reason| format!("{}: {reason}", self.shown))
    }

    async fn connect_now(self: &Arc<Self>) -> Result<Connection, String> {
        let address = (self.host.as_str(), self.port);
        let stream = TcpStream::connect(address).await;
        let stream = stream.map_err(|error| error.to_string())?;
        stream
            .set_nodelay(true)
            .map_err(|error| error.to_string())?;
        if !self.tls {
            return self.log_in(stream).await;
        }
        let tls = system_tls().map_err(|error| error.message().to_owned())?;
        let name = ServerName::try_from(self.host.clone()).map_err(|error| error.to_string())?;
        let connector = TlsConnector::from(Arc::new(tls));
        let stream = connector.connect(name, stream).await;
        self.log_in(stream.map_err(|error| no_tls(&error))?).await
    }

    async fn log_in<S>(self: &Arc<Self>, stream: S) -> Result<Connection, String>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        // The time limits are ours.
        let limits = AsyncConnectionConfig::new().set_response_timeout(None);
        let made = MultiplexedConnection::new_with_config(&self.login, stream, limits).await;
        let (commands, driver) = made.map_err(|error| self.text(&error))?;
        Ok(Connection {
            place: Arc::clone(self),
            commands,
            driver: tokio::spawn(driver),
        })
    }

    /// What an error says, without secrets.
    fn text(&self, error: &RedisError) -> String {
        self.scrubber.show(&error.to_string(), LONGEST_TEXT)
    }
}

/// Why there is no TLS, and what to do about it.
fn no_tls(error: &io::Error) -> String {
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref());
    let way_out = match cause {
        Some(rustls::Error::InvalidCertificate(_)) => {
            "; the certificate has to be valid for the host that the setting budget names, and be issued by an \
             authority that this system trusts, or whose certificate is in the file that SSL_CERT_FILE names"
        }
        Some(rustls::Error::InvalidMessage(_)) => {
            "; the server seems not to use TLS on this port: where none is needed, set budget to redis://..."
        }
        _ => "",
    };
    format!("TLS handshake failed: {error}{way_out}")
}

/// Texts of a URL are percent-encoded.
fn decoded(text: &str) -> String {
    let pair = format!("x={}", text.replace('+', "%2B"));
    let mut pairs = url::form_urlencoded::parse(pair.as_bytes());
    pairs
        .next()
        .map(|(_, text)| text.into_owned())
        .unwrap_or_default()
}

/// Waits for a reply; else there is none.
async fn replied<T>(reply: impl Future<Output = T>) -> Result<T, String> {
    let replied = clock::in_time(REPLY, reply).await;
    replied.ok_or_else(|| "no reply in time".into())
}

/// A connection.
pub(super) struct Connection {
    place: Arc<Place>,
    commands: MultiplexedConnection,
    driver: JoinHandle<()>,
}

impl Connection {
    /// Asks, and waits for the reply; else why there is none.
    pub(super) async fn ask(&mut self, ask: &Ask) -> Result<Reply, String> {
        let Place { script, key, .. } = &*self.place;
        let text = serde_json::to_string(ask).map_err(|error| error.to_string())?;
        let mut call = script.key(key);
        call.arg(text);
        let asked = replied(call.invoke_async::<String>(&mut self.commands)).await;
        let reply =
            asked.and_then(|text| Reply::read(&text.map_err(|error| self.place.text(&error))?));
        reply.map_err(|reason| format!("{}: {reason}", self.place.shown))
    }

    /// Whether the other side has closed it.
    pub(super) fn has_ended(&self) -> bool {
        self.driver.is_finished()
    }

    /// Reads the state of the budget, without taking part in it; else why not.
    pub(super) async fn look(&mut self) -> Result<BudgetState, String> {
        let Place { key, shown, .. } = &*self.place;
        let mut commands = redis::pipe();
        commands.cmd("TIME").cmd("HGETALL").arg(key);
        let reading = commands.query_async(&mut self.commands);
        let read = replied(reading).await;
        let read = read.and_then(|read| read.map_err(|error| self.place.text(&error)));
        let ((seconds, micros), fields): ((f64, f64), BTreeMap<String, String>) =
            read.map_err(|reason| format!("{shown}: {reason}"))?;
        Ok(script::show(shown.clone(), seconds + micros / 1e6, &fields))
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}
