//! Makes the client that a verb uses, from arguments, environment and profile, or of the embedded service.

use crate::common::Common;
use crate::output::Ending;
use crate::settings;
use talentdata_core::process::check_threads;
use talentdata_core::settings::Scope;
use talentdata_core::{Client, Error, ErrorKind};
use talentdata_sandbox::{Options, Sandbox};

/// Does `work` with the client that the arguments ask for, and lets that leave its budget in the end.
///
/// # Errors
/// Those of the work. `InvalidArgument` for `--sandbox` with an address or credentials; `Config`, naming the setting;
/// `Io` when the embedded service cannot be started.
pub(crate) async fn with_client<T>(
    common: &Common,
    work: impl AsyncFnOnce(&Client) -> Result<T, Ending>,
) -> Result<T, Ending> {
    let mut builder = Client::builder();
    if common.sandbox {
        // Nobody else knows the service of this run.
        builder.budget("process");
    }
    settings::set(&common.matches, &mut builder)?;
    let mut running = None;
    if common.sandbox {
        if let Some(flag) = settings::first_of(&common.matches, Scope::Service) {
            let message =
                format!("--sandbox starts a service of its own; leave out either it or {flag}");
            return Err(Error::invalid(message).into());
        }
        let sandbox = running.insert(start(Options::default())?);
        builder
            .base_url(sandbox.base_url())
            .client_id(sandbox.client_id())
            .client_secret(sandbox.client_secret());
    }
    let client = builder.build()?;
    let done = work(&client).await;
    let closed = client.closed();
    drop(client);
    closed.await;
    done
}

/// Starts the embedded service.
///
/// # Errors
/// `Io` when the port is taken or the system grants no threads; `InvalidArgument` for a list that there is not.
pub(crate) fn start(options: Options) -> Result<Sandbox, Error> {
    check_threads(2)?;
    Sandbox::start(options).map_err(|error| {
        let kind = match error.kind() {
            std::io::ErrorKind::InvalidInput => ErrorKind::InvalidArgument,
            _ => ErrorKind::Io,
        };
        Error::new(kind, format!("the sandbox could not be started: {error}"))
    })
}
