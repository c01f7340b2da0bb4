//! The client secret and its source, which is read again when the service refuses the secret: a file, a command, or a
//! function of the program.

mod command;

pub(crate) use command::split;

use super::plain_text::check_text;
use crate::clock;
use crate::error::{Error, ErrorKind, Result, Scrubber, system_text};
use crate::private_file::read_secret_file;
use crate::process::lock;
use serde_json::Value;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;
use talentdata_types::Secret;
use tokio::sync::oneshot;

/// The time limit of a command, and of a function that is called again.
const READ_TIMEOUT: Duration = Duration::from_secs(10);
/// The time for which another secret is looked for after a refusal. A secret may be replaced in several steps.
const LOOK_FOR: Duration = Duration::from_secs(2);
/// The pause between two looks.
const LOOK_AGAIN: Duration = Duration::from_millis(700);
/// Limits the length of the reason that a command or a function gives for its failure, in bytes.
const LONGEST_REASON: usize = 512;

/// The source of the client secret.
#[derive(Clone)]
pub(crate) enum SecretSource {
    /// The secret itself, which cannot be read again.
    Given(Secret),
    /// A file that contains nothing else.
    File(PathBuf),
    /// A program with its arguments.
    Command(Vec<String>),
    /// A function of the program.
    Function(SecretFunction),
}

/// A function of the program that returns the client secret, or the reason why it cannot.
#[derive(Clone)]
pub(crate) struct SecretFunction(
    pub(super) Arc<dyn Fn() -> std::result::Result<String, String> + Send + Sync>,
);

/// The credentials that a source holds.
pub(super) struct Held {
    /// The client ID, if the source has one.
    pub(super) client_id: Option<String>,
    pub(super) secret: Secret,
}

/// The client secret of a client and its clones.
pub(crate) struct Credential {
    source: SecretSource,
    /// The client ID that the secret belongs to.
    client_id: Option<String>,
    /// All secrets so far, the one in use last. The service may still quote an earlier one.
    known: Mutex<Vec<Secret>>,
}

impl SecretSource {
    /// Reads the credentials.
    ///
    /// # Errors
    /// `Config`, naming the setting, without anything that may be the secret.
    pub(super) fn read(&self, limit: Duration) -> Result<Held> {
        let (source, held) = match self {
            SecretSource::Given(secret) => ("client_secret".into(), Held::alone(secret.clone())),
            SecretSource::File(path) => {
                let setting = "client_secret_file";
                let secret = read_secret_file(path);
                let secret = secret.map_err(|error| failed(setting, error.message()))?;
                let content = format!("{setting}: the content of {}", path.display());
                (content, Held::alone(secret))
            }
            SecretSource::Command(words) => {
                let setting = "credential_command";
                let text = command::run(words, limit).map_err(|why| failed(setting, &why))?;
                let held = Held::read(setting, text.trim_end_matches(['\r', '\n']))?;
                (format!("{setting}: its output"), held)
            }
            SecretSource::Function(function) => {
                let setting = "client_secret";
                let secret = (function.0)().map_err(|why| {
                    let why = Scrubber::default().redact_untrusted(&why, LONGEST_REASON);
                    failed(setting, &format!("its function failed: {why}"))
                })?;
                (setting.into(), Held::alone(Secret::new(secret)))
            }
        };
        check_text(&source, held.secret.expose())?;
        Ok(held)
    }
}

impl Held {
    fn alone(secret: Secret) -> Self {
        Held {
            client_id: None,
            secret,
        }
    }

    /// Reads the output of a command: the secret alone, or a JSON object.
    fn read(setting: &str, text: &str) -> Result<Self> {
        if !text.trim_start().starts_with('{') {
            return Ok(Held::alone(Secret::new(text)));
        }
        let fields: Value = serde_json::from_str(text).unwrap_or_default();
        let field = |name: &str| fields[name].as_str().map(str::to_owned);
        let Some(secret) = field("client_secret") else {
            let why = "its output is not the secret alone, and not a JSON object with client_id and client_secret, which are strings";
            return Err(failed(setting, why));
        };
        let client_id = field("client_id");
        if let Some(id) = &client_id {
            check_text(&format!("{setting}: client_id"), id)?;
        }
        Ok(Held {
            client_id,
            secret: Secret::new(secret),
        })
    }
}

impl Credential {
    /// Reads the credentials for the first time. `client_id` is the setting, which takes precedence over the ID of the
    /// source.
    ///
    /// # Errors
    /// `Config`, naming the setting.
    pub(super) fn open(source: SecretSource, client_id: Option<String>) -> Result<Self> {
        let held = source.read(READ_TIMEOUT)?;
        check_id(client_id.as_deref(), held.client_id.as_deref())?;
        Ok(Credential {
            client_id: client_id.or(held.client_id),
            source,
            known: Mutex::new(vec![held.secret]),
        })
    }

    /// Returns a secret that cannot be read again.
    #[cfg(test)]
    pub(crate) fn given(secret: &str) -> Self {
        Credential {
            source: SecretSource::Given(Secret::new(secret)),
            client_id: None,
            known: Mutex::new(vec![Secret::new(secret)]),
        }
    }

    /// Returns the client ID that the secret belongs to.
    pub(super) fn client_id(&self) -> Option<&str> {
        self.client_id.as_deref()
    }

    /// Returns the secret in use.
    pub(crate) fn current(&self) -> Secret {
        let known = lock(&self.known);
        known.last().cloned().unwrap_or_else(|| Secret::new(""))
    }

    /// Returns all secrets that were in use so far.
    pub(crate) fn known(&self) -> Vec<Secret> {
        lock(&self.known).clone()
    }

    /// Reads the secret again after the service refused this one, several times within two seconds. Returns another
    /// secret, or `None` if it is the same one.
    ///
    /// # Errors
    /// `Config`, naming the setting; `Internal` if the system grants no thread.
    pub(crate) async fn renewed(&self, refused: &Secret) -> Result<Option<Secret>> {
        let current = self.current();
        if current != *refused {
            return Ok(Some(current));
        }
        if let SecretSource::Given(_) = self.source {
            return Ok(None);
        }
        let until = clock::now() + LOOK_FOR;
        let held = loop {
            let held = self.read_again().await;
            let is_new = held.as_ref().is_ok_and(|held| held.secret != *refused);
            if is_new || clock::now() >= until {
                break held?;
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        };
        check_id(self.client_id(), held.client_id.as_deref())?;
        if held.secret == *refused {
            return Ok(None);
        }
        lock(&self.known).push(held.secret.clone());
        Ok(Some(held.secret))
    }

    /// Reads the credentials on a thread of its own.
    async fn read_again(&self) -> Result<Held> {
        let (sender, receiver) = oneshot::channel();
        let source = self.source.clone();
        // A file system, a command or a function may be slow, and must not delay other requests.
        let reader =
            thread::Builder::new().spawn(move || sender.send(source.read(READ_TIMEOUT)).is_ok());
        reader.map_err(|error| {
            let why = system_text(&error);
            Error::new(ErrorKind::Internal, format!("no thread: {why}"))
        })?;
        let read = clock::in_time(READ_TIMEOUT + Duration::from_secs(1), receiver).await;
        let late = || {
            let limit = READ_TIMEOUT.as_secs();
            failed(
                "client_secret",
                &format!("it could not be read within {limit} s"),
            )
        };
        read.ok_or_else(late)?.map_err(|_| late())?
    }
}

/// Checks that the source still holds the secret of the same client. Another client would have another budget.
fn check_id(known: Option<&str>, held: Option<&str>) -> Result<()> {
    match (known, held) {
        (Some(known), Some(held)) if known != held => Err(failed(
            "credential_command",
            &format!("its client_id is {held:?}, but that of this client is {known:?}"),
        )),
        _ => Ok(()),
    }
}

fn failed(setting: &str, why: &str) -> Error {
    Error::config(format!("{setting}: {why}"))
}

impl fmt::Debug for Credential {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("[redacted]")
    }
}

impl fmt::Debug for SecretFunction {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("[a function]")
    }
}
