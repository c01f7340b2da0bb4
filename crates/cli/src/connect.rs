//! Creates the client of a command, from arguments, environment and profile, or for the embedded service.

use crate::common::Common;
use crate::output::{Ending, stderr_line};
use crate::settings;
use talentdata_core::internal::process::check_threads;
use talentdata_core::internal::settings::{Scope, TRIAL};
use talentdata_core::types::{ListName, Operation};
use talentdata_core::{Builder, Client, Config, Error};
use talentdata_sandbox::{Options, Sandbox};

/// Creates the client for the arguments, checks that it has the credentials for `operations`, and calls `work` with it.
/// At the end the client leaves its budget.
///
/// # Errors
/// The errors of `work`; `InvalidArgument` for `--sandbox` with an address or credentials; `Config`, which names the
/// setting; `Busy` or `Io` if the embedded service cannot be started.
pub(crate) async fn with_client<T>(
    common: &Common,
    operations: Vec<&Operation>,
    work: impl AsyncFnOnce(&Client) -> Result<T, Ending>,
) -> Result<T, Ending> {
    let (builder, _sandbox) = settings_of(common)?;
    let client = builder.build().and_then(|client| {
        let mut operations = operations.iter();
        let checked = operations.try_for_each(|one| client.config().require_credentials_for(one));
        checked.map(|()| client)
    });
    let client = client.map_err(|error| {
        // On the command line, a flag starts the sandbox.
        let here = TRIAL.replace("use the sandbox", "add --sandbox");
        let message = error.message().replace(TRIAL, &here);
        error.with_message(message)
    })?;
    warn_of_profile(client.config());
    let done = work(&client).await;
    let closed = client.closed();
    drop(client);
    closed.await;
    done
}

/// Returns the settings from the arguments, and the embedded service if they request it.
///
/// # Errors
/// See [`with_client`].
pub(crate) fn settings_of(common: &Common) -> Result<(Builder, Option<Sandbox>), Error> {
    let mut builder = Client::builder();
    if common.sandbox {
        // No other process uses the service of this run.
        builder.budget("process");
    }
    settings::set(&common.matches, &mut builder)?;
    if !common.sandbox {
        return Ok((builder, None));
    }
    if let Some(flag) = settings::first_of(&common.matches, Scope::Service) {
        let message = format!("--sandbox starts its own service; omit either it or {flag}");
        return Err(Error::invalid(message));
    }
    let sandbox = start(Options::default())?;
    builder
        .base_url(sandbox.base_url())
        .client_id(sandbox.client_id())
        .client_secret(sandbox.client_secret());
    Ok((builder, Some(sandbox)))
}

/// Prints a warning if there is a profile file that is not used.
pub(crate) fn warn_of_profile(config: &Config) {
    if let Some(why) = config.profile_warning() {
        stderr_line(&format!("warning: {why}"));
    }
}

/// Returns the operations that read lists.
pub(crate) fn of_lists(lists: impl IntoIterator<Item = ListName>) -> Vec<&'static Operation> {
    let lists = lists.into_iter();
    lists.map(|list| list.shape().operation).collect()
}

/// Starts the embedded service.
///
/// # Errors
/// `Busy` if the port is taken; `Io` if the system grants no threads; `InvalidArgument` for an unknown list.
pub(crate) fn start(options: Options) -> Result<Sandbox, Error> {
    check_threads(2)?;
    Sandbox::start(options).map_err(|error| {
        let message = format!("the sandbox could not be started: {error}");
        match error.kind() {
            std::io::ErrorKind::InvalidInput => Error::invalid(message),
            _ => Error::of_io(&error, message),
        }
    })
}
