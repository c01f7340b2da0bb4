//! A connection to the server, with the TLS that all connections of ours have.

use super::script::{self, Ask, Reply};
use crate::budget::BudgetState;
use crate::clock;
use crate::error::Scrubber;
use crate::request::transport::system_tls;
use crate::settings::Config;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, RedisConnectionInfo, RedisError};
use rustls::pki_types::ServerName;
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
const MAX_TEXT: usize = 200;

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

    /// What an error says, without secrets.
    fn text(&self, error: &RedisError) -> String {
        self.scrubber.show(&error.to_string(), MAX_TEXT)
    }

    /// Waits for a reply; else why there is none.
    async fn replied<T>(
        &self,
        reply: impl Future<Output = Result<T, RedisError>>,
    ) -> Result<T, String> {
        let replied = clock::in_time(REPLY, reply).await;
        let replied = replied.ok_or_else(|| "no reply in time".to_owned())?;
        replied.map_err(|error| self.text(&error))
    }

    /// Names the server in the reason why something failed.
    fn explain<T>(&self, outcome: Result<T, String>) -> Result<T, String> {
        outcome.map_err(|reason| format!("{}: {reason}", self.shown))
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

/// A connection.
pub(super) struct Connection {
    place: Arc<Place>,
    commands: MultiplexedConnection,
    driver: JoinHandle<()>,
}

impl Connection {
    /// Connects and logs in; else why not.
    pub(super) async fn to(place: &Arc<Place>) -> Result<Self, String> {
        let connected = clock::in_time(CONNECT, Self::connect(place)).await;
        place.explain(connected.unwrap_or_else(|| Err("connecting timed out".into())))
    }

    async fn connect(place: &Arc<Place>) -> Result<Self, String> {
        let text = |error: io::Error| error.to_string();
        let address = (place.host.as_str(), place.port);
        let stream = TcpStream::connect(address).await.map_err(text)?;
        stream.set_nodelay(true).map_err(text)?;
        if !place.tls {
            return Self::log_in(place, stream).await;
        }
        let tls = system_tls().map_err(|error| error.message().to_owned())?;
        let name = ServerName::try_from(place.host.clone()).map_err(|error| error.to_string())?;
        let connector = TlsConnector::from(Arc::new(tls));
        let stream = connector.connect(name, stream).await;
        Self::log_in(place, stream.map_err(|error| no_tls(&error))?).await
    }

    async fn log_in<S>(place: &Arc<Place>, stream: S) -> Result<Self, String>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        // The time limits are ours.
        let limits = AsyncConnectionConfig::new().set_response_timeout(None);
        let made = MultiplexedConnection::new_with_config(&place.login, stream, limits).await;
        let (commands, driver) = made.map_err(|error| place.text(&error))?;
        Ok(Connection {
            place: Arc::clone(place),
            commands,
            driver: tokio::spawn(driver),
        })
    }

    /// Asks over the connection that there is, or a new one. Where the server has closed the one that there is, as after a
    /// restart, another one is made at once.
    pub(super) async fn ask(
        connection: &mut Option<Self>,
        place: &Arc<Place>,
        ask: &Ask,
    ) -> Result<Reply, String> {
        if let Some(mut present) = connection.take() {
            match present.ask_once(ask).await {
                // A connection without a reply is left: one may come late, or from a server that is no longer the right one.
                Err(reason) if !present.driver.is_finished() => return Err(reason),
                Err(_) => {}
                Ok(reply) => {
                    *connection = Some(present);
                    return Ok(reply);
                }
            }
        }
        let mut made = Self::to(place).await?;
        let reply = made.ask_once(ask).await?;
        *connection = Some(made);
        Ok(reply)
    }

    /// Asks, and waits for the reply; else why there is none.
    pub(super) async fn ask_once(&mut self, ask: &Ask) -> Result<Reply, String> {
        let place = Arc::clone(&self.place);
        let asked = async {
            let text = serde_json::to_string(ask).map_err(|error| error.to_string())?;
            let mut call = place.script.key(&place.key);
            let reply = call.arg(text).invoke_async(&mut self.commands);
            let reply: String = place.replied(reply).await?;
            Reply::read(&reply)
        };
        place.explain(asked.await)
    }

    /// Reads the state of the budget, without taking part in it; else why not.
    pub(super) async fn look(&mut self) -> Result<BudgetState, String> {
        let place = &*self.place;
        let mut commands = redis::pipe();
        commands.cmd("TIME").cmd("GET").arg(&place.key);
        let read = place
            .replied(commands.query_async(&mut self.commands))
            .await;
        let ((seconds, micros), text): ((f64, f64), Option<String>) = place.explain(read)?;
        let (now, text) = (seconds + micros / 1e6, text.unwrap_or_default());
        Ok(script::show(place.shown.clone(), now, &text))
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}
