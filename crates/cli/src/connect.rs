//! Makes the client that a verb uses, from arguments, environment and profile, or of the embedded service.

use crate::args::Common;
use crate::output;
use std::io::{IsTerminal, Read};
use std::path::Path;
use talentdata_core::types::Secret;
use talentdata_core::{Client, Error, ErrorKind, config};
use talentdata_sandbox::{Options, Sandbox};

/// What is longer is no secret.
const LONGEST_SECRET: u64 = 64 * 1024;

/// A client, and the service that was started for it.
pub(crate) struct Connection {
    pub(crate) client: Client,
    _sandbox: Option<Sandbox>,
}

/// The client that the arguments ask for; nothing is sent.
///
/// # Errors
/// `InvalidArgument` for `--sandbox` with an address or credentials; `Config`, naming the setting;
/// `Io` when the embedded service cannot be started.
pub(crate) fn connect(common: &Common) -> Result<Connection, Error> {
    let mut builder = Client::builder().paced(!common.unpaced);
    if let Some(share) = common.share {
        builder = builder.share(share);
    }
    if common.sandbox {
        refuse_address(common)?;
        let sandbox = start(Options::default())?;
        builder = builder
            .base_url(sandbox.base_url())
            .client_id(sandbox.client_id())
            .client_secret(sandbox.client_secret());
        return Ok(Connection {
            client: builder.build()?,
            _sandbox: Some(sandbox),
        });
    }
    if let Some(url) = &common.base_url {
        builder = builder.base_url(url);
    }
    if let Some(id) = &common.client_id {
        builder = builder.client_id(id);
    }
    if let Some(name) = &common.profile {
        tell_what_goes_before(name, common);
        builder = builder.profile(name);
    }
    if let Some(path) = &common.client_secret_file {
        builder = builder.client_secret(read_secret(path)?.expose());
    }
    Ok(Connection {
        client: builder.build()?,
        _sandbox: None,
    })
}

/// Starts the embedded service.
///
/// # Errors
/// `Io` when the port is taken or the system grants no threads.
pub(crate) fn start(options: Options) -> Result<Sandbox, Error> {
    Sandbox::start(options).map_err(|error| {
        Error::new(
            ErrorKind::Io,
            format!("the sandbox could not be started: {error}"),
        )
    })
}

/// Says which settings are not those of the profile that was asked for, lest the wrong service is asked.
fn tell_what_goes_before(profile: &str, common: &Common) {
    let given = [
        common.base_url.is_some(),
        common.client_id.is_some(),
        common.client_secret_file.is_some(),
    ];
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let variables = config::VARIABLES.into_iter().zip(given);
    let set = variables.filter_map(|(name, given)| (!given && set(name)).then_some(name));
    let set: Vec<_> = set.collect();
    if !set.is_empty() {
        output::remark(&format!(
            "note: {} of the environment goes before the profile {profile}",
            set.join(", ")
        ));
    }
}

fn refuse_address(common: &Common) -> Result<(), Error> {
    match common.address() {
        None => Ok(()),
        Some(flag) => Err(Error::new(
            ErrorKind::InvalidArgument,
            format!("--sandbox starts a service of its own; leave out either it or {flag}"),
        )),
    }
}

fn read_secret(path: &Path) -> Result<Secret, Error> {
    if path != Path::new("-") {
        return config::read_secret_file(path);
    }
    let config = |message: String| Error::new(ErrorKind::Config, message);
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        return Err(config(
            "--client-secret-file -: the terminal would show the secret; send it through a pipe"
                .into(),
        ));
    }
    let mut text = String::new();
    stdin
        .take(LONGEST_SECRET)
        .read_to_string(&mut text)
        .map_err(|error| config(format!("--client-secret-file -: {error}")))?;
    Ok(Secret::new(text.trim_end_matches(['\r', '\n'])))
}
