//! A connection to the server, with the TLS that all connections of ours have.

use super::script::{self, Ask, Reply};
use crate::budget::BudgetState;
use crate::clock;
use crate::error::Scrubber;
use crate::request::transport::system_tls;
use crate::settings::Config;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, IntoConnectionInfo, RedisConnectionInfo, RedisError};
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
        // The settings have checked the URL, but for texts that are not UTF-8. TLS is ours.
        let mut plain = url.clone();
        let _ = plain.set_scheme("redis");
        let login = plain.into_connection_info();
        let login = login.map_or_else(|_| Default::default(), |info| info.redis_settings().clone());
        let password = login.password().map(Secret::new);
        let secrets = [url.password().map(Secret::new), password];
        Place {
            // Brackets around an IPv6 address are part of the URL only.
            host: url
                .host_str()
                .unwrap_or_default()
                .trim_matches(['[', ']'])
                .to_owned(),
            port: url.port().unwrap_or(PORT),
            tls: url.scheme() == "rediss",
            login: login.set_skip_set_lib_name(),
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

    /// Waits so long for something of the server; otherwise why there is nothing.
    async fn within<T>(
        &self,
        limit: Duration,
        outcome: impl Future<Output = Result<T, String>>,
    ) -> Result<T, String> {
        let outcome = clock::in_time(limit, outcome).await;
        let outcome = outcome.unwrap_or_else(|| Err("no reply in time".into()));
        outcome.map_err(|reason| format!("{}: {reason}", self.shown))
    }

    /// What the server replies to commands; otherwise an error without secrets.
    async fn reply<T>(
        &self,
        reply: impl Future<Output = Result<T, RedisError>>,
    ) -> Result<T, String> {
        let text = |error: RedisError| self.scrubber.show(&error.to_string(), MAX_TEXT);
        reply.await.map_err(text)
    }
}

/// A connection.
pub(super) struct Connection {
    commands: MultiplexedConnection,
    driver: JoinHandle<()>,
}

impl Connection {
    /// Connects and logs in; otherwise why not.
    pub(super) async fn to(place: &Place) -> Result<Self, String> {
        place.within(CONNECT, Self::connect(place)).await
    }

    async fn connect(place: &Place) -> Result<Self, String> {
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
        let no_tls = |error| {
            format!(
                "TLS handshake failed: {error}; the server has to use TLS on this port, with a certificate for the host in \
                 the setting budget from an authority that this system trusts or SSL_CERT_FILE names"
            )
        };
        Self::log_in(place, stream.map_err(no_tls)?).await
    }

    async fn log_in<S>(place: &Place, stream: S) -> Result<Self, String>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        // The time limits are ours.
        let limits = AsyncConnectionConfig::new().set_response_timeout(None);
        let made = MultiplexedConnection::new_with_config(&place.login, stream, limits);
        let (commands, driver) = place.reply(made).await?;
        Ok(Connection {
            commands,
            driver: tokio::spawn(driver),
        })
    }

    /// Asks over the connection that there is, or a new one. Where the server has closed the one that there is, as after a
    /// restart, another one is made at once.
    pub(super) async fn ask(
        connection: &mut Option<Self>,
        place: &Place,
        ask: &Ask,
    ) -> Result<Reply, String> {
        let present = connection.take();
        let is_new = present.is_none();
        let mut present = match present {
            Some(present) => present,
            None => Self::to(place).await?,
        };
        let mut reply = present.ask_once(place, ask).await;
        // A connection without a reply is left: one may come late, or from a server that is no longer the right one.
        if reply.is_err() && !is_new && present.driver.is_finished() {
            present = Self::to(place).await?;
            reply = present.ask_once(place, ask).await;
        }
        *connection = reply.is_ok().then_some(present);
        reply
    }

    /// Asks, and waits for the reply; otherwise why there is none.
    pub(super) async fn ask_once(&mut self, place: &Place, ask: &Ask) -> Result<Reply, String> {
        let text = serde_json::to_string(ask).map_err(|error| error.to_string())?;
        let mut call = place.script.key(&place.key);
        let reply = call.arg(text).invoke_async(&mut self.commands);
        let reply: String = place.within(REPLY, place.reply(reply)).await?;
        Reply::read(&reply)
    }

    /// Reads the state of the budget, without taking part in it; otherwise why not.
    pub(super) async fn look(&mut self, place: &Place) -> Result<BudgetState, String> {
        let mut commands = redis::pipe();
        commands.cmd("TIME").cmd("GET").arg(&place.key);
        let read = commands.query_async(&mut self.commands);
        let read = place.within(REPLY, place.reply(read)).await?;
        let ((seconds, micros), text): ((f64, f64), Option<String>) = read;
        let (now, text) = (seconds + micros / 1e6, text.unwrap_or_default());
        Ok(script::show(place.shown.clone(), now, &text))
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}
